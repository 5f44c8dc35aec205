// join_handles.c: what a running join holds of the library, and calls on it.
#include "bindings/postgresql/src/join_handles.h"

#include <stdlib.h>
#include <utils/memutils.h>

#include "bindings/postgresql/src/library.h"
#include "bindings/postgresql/src/library_thread.h"
#include "bindings/postgresql/src/settings.h"

void release_batch(JoinHandles* handles) {
  gpujoin_relation_destroy(handles->batch);
  handles->batch = NULL;
}

void release_probe(JoinHandles* handles) {
  end_output(handles->output);
  release_batch(handles);
  gpujoin_probe_destroy(handles->probe);
  gpujoin_operation_destroy(handles->operation);
  handles->probe = NULL;
  handles->operation = NULL;
}

void release_handles(JoinHandles* handles) {
  release_probe(handles);
  gpujoin_build_destroy(handles->build);
  handles->build = NULL;
  handles->is_large = false;
}

typedef struct Given {
  gpujoin_build* build;
  gpujoin_operation* operation;
  gpujoin_probe* probe;
} Given;

static void give_back(void* arguments) {
  Given* const given = arguments;
  gpujoin_probe_destroy(given->probe);
  gpujoin_operation_destroy(given->operation);
  gpujoin_build_destroy(given->build);
  free(given);
}

// Of a query that fails or is cancelled: who waits for its end does not wait for files to go, which
// takes 60 ms for a GiB.
static void on_reset(void* arguments) {
  JoinHandles* const handles = arguments;
  end_output(handles->output);
  release_batch(handles);
  Given* const given = handles->build != NULL ? malloc(sizeof *given) : NULL;
  if (given != NULL) {
    *given = (Given){handles->build, handles->operation, handles->probe};
    if (release_later(give_back, given)) return;
    free(given);
  }
  release_handles(handles);
}

JoinHandles* make_handles(OutputRows* output) {
  JoinHandles* const handles = palloc0(sizeof *handles);
  handles->output = output;
  handles->on_reset.func = on_reset;
  handles->on_reset.arg = handles;
  MemoryContextRegisterResetCallback(CurrentMemoryContext, &handles->on_reset);
  return handles;
}

typedef struct HandlesCall {
  JoinHandles* handles;
  gpujoin_state state;
  gpujoin_result* result;
} HandlesCall;

static void cancel(void* arguments) {
  JoinHandles const* const handles = ((HandlesCall*)arguments)->handles;
  if (handles->operation != NULL) {
    gpujoin_operation_cancel(handles->operation, NULL);
  } else {
    gpujoin_build_cancel(handles->build, NULL);
  }
}

static gpujoin_status call_append_build(void* arguments, gpujoin_error* error) {
  HandlesCall const* const call = arguments;
  return gpujoin_build_append(call->handles->build, call->handles->batch, 0, error);
}

static gpujoin_status call_finish_build(void* arguments, gpujoin_error* error) {
  return gpujoin_build_finish(((HandlesCall*)arguments)->handles->build, error);
}

static gpujoin_status call_append_probe(void* arguments, gpujoin_error* error) {
  HandlesCall const* const call = arguments;
  return gpujoin_probe_append(call->handles->probe, call->handles->batch, 0, error);
}

static gpujoin_status call_finish_probe(void* arguments, gpujoin_error* error) {
  return gpujoin_probe_finish(((HandlesCall*)arguments)->handles->probe, error);
}

static gpujoin_status call_next_of_probe(void* arguments, gpujoin_error* error) {
  HandlesCall* const call = arguments;
  return gpujoin_probe_next(call->handles->probe, &call->state, &call->result, error);
}

static gpujoin_status call_next_of_operation(void* arguments, gpujoin_error* error) {
  HandlesCall* const call = arguments;
  return gpujoin_operation_next(call->handles->operation, &call->state, &call->result, error);
}

// So few pairs at most, even if all keys are equal, are found before somebody waits for a cancelled
// query to end: not worth a change of threads.
#define BRIEF_PAIRS 2e7
#define BRIEF_ROWS 1e5

static gpujoin_status call(JoinHandles* handles, LibraryCall function, bool is_brief,
                           HandlesCall* arguments, gpujoin_error* error) {
  arguments->handles = handles;
  arguments->state = GPUJOIN_STATE_NOT_READY;
  arguments->result = NULL;
  return is_brief ? call_briefly(function, arguments, error)
                  : call_cancellably(function, cancel, arguments, error);
}

static bool is_brief(const JoinHandles* handles) {
  double const pairs = (double)handles->build_rows * (double)handles->waiting_rows;
  return pairs < BRIEF_PAIRS && handles->build_rows + handles->waiting_rows < BRIEF_ROWS;
}

// A batch is copied in well below a millisecond, but the one that has no room sends half of what is
// there to a file, and the first such partitions all of it: 750 MB were seen to take a second.
static void look_at_size(JoinHandles* handles) {
  if (handles->is_large) return;
  gpujoin_build_info info = GPUJOIN_BUILD_INFO_INIT;
  gpujoin_error error;
  check_status(gpujoin_build_get_info(handles->build, &info, &error), &error);
  // In half of that: the last rows are not counted yet.
  uint64_t const limit = (uint64_t)setting_memory_limit * 1024;
  handles->is_large = info.bytes > limit / BUILD_SHARE / 2;
}

void append_build(JoinHandles* handles) {
  HandlesCall arguments;
  gpujoin_error error;
  bool const is_small = !handles->is_large;
  check_status(call(handles, call_append_build, is_small, &arguments, &error), &error);
  look_at_size(handles);
}

void finish_build(JoinHandles* handles) {
  HandlesCall arguments;
  gpujoin_error error;
  bool const is_small = handles->build_rows < BRIEF_ROWS;
  check_status(call(handles, call_finish_build, is_small, &arguments, &error), &error);
}

gpujoin_status append_probe(JoinHandles* handles) {
  HandlesCall arguments;
  gpujoin_error error;
  bool const is_small = !handles->is_large;
  gpujoin_status const status = call(handles, call_append_probe, is_small, &arguments, &error);
  if (status != GPUJOIN_ERROR_NOT_READY) check_status(status, &error);
  return status;
}

void finish_probe(JoinHandles* handles) {
  HandlesCall arguments;
  gpujoin_error error;
  check_status(call(handles, call_finish_probe, is_brief(handles), &arguments, &error), &error);
}

gpujoin_result* next_of_probe(JoinHandles* handles, gpujoin_state* state) {
  HandlesCall arguments;
  gpujoin_error error;
  gpujoin_status const status =
      call(handles, call_next_of_probe, is_brief(handles), &arguments, &error);
  check_status(status, &error);
  *state = arguments.state;
  return arguments.result;
}

gpujoin_result* next_of_operation(JoinHandles* handles, gpujoin_state* state) {
  HandlesCall arguments;
  gpujoin_error error;
  gpujoin_status const status =
      call(handles, call_next_of_operation, is_brief(handles), &arguments, &error);
  check_status(status, &error);
  *state = arguments.state;
  return arguments.result;
}
