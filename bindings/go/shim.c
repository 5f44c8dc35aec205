#include "shim.h"

// In progress.go.
extern int32_t gpujoinGoProgress(uintptr_t callbacks, uint32_t* stop, char* stage, int64_t done,
                                 int64_t total);
extern void gpujoinGoLog(uintptr_t callbacks, uint32_t* stop, int32_t level, char* message);
// In decider.go.
extern gpujoin_status gpujoinGoDecide(uintptr_t decider, int64_t rows, struct ArrowSchema* schema,
                                      struct ArrowArray* candidates, uint8_t* matches);

// Of the call that this thread is inside; null: none that may be ended.
static _Thread_local uint32_t* stop_flag;

static int32_t ask_flag(const char* stage, int64_t done, int64_t total, void* user) {
  (void)stage, (void)done, (void)total, (void)user;
  return stop_flag != NULL && __atomic_load_n(stop_flag, __ATOMIC_RELAXED) != 0;
}

static int32_t ask_flag_and_caller(const char* stage, int64_t done, int64_t total, void* user) {
  if (ask_flag(stage, done, total, user)) return 1;
  return gpujoinGoProgress((uintptr_t)user, stop_flag, (char*)stage, done, total);
}

// Nobody takes what such a call has made.
static int has_panicked(const uint32_t* stop) {
  return __atomic_load_n(stop, __ATOMIC_RELAXED) == STOP_PANICKED;
}

static void log_line(int32_t level, const char* message, void* user) {
  gpujoinGoLog((uintptr_t)user, stop_flag, level, (char*)message);
}

void gpujoin_go_set_callbacks(gpujoin_context_options* options, uintptr_t callbacks,
                              int has_progress, int has_log) {
  options->progress = has_progress ? ask_flag_and_caller : ask_flag;
  options->progress_user = (void*)callbacks;
  options->log = has_log ? log_line : NULL;
  options->log_user = (void*)callbacks;
}

static gpujoin_status decide(int64_t rows, struct ArrowSchema* schema,
                             struct ArrowArray* candidates, uint8_t* matches, void* user) {
  uint32_t* const stop = stop_flag;  // calls within the function have their own
  gpujoin_status const status = gpujoinGoDecide((uintptr_t)user, rows, schema, candidates, matches);
  stop_flag = stop;
  return status;
}

void gpujoin_go_set_decide(gpujoin_operation_options* options, uintptr_t decider) {
  options->decide = decide;
  options->decide_user = (void*)decider;
}

gpujoin_status gpujoin_go_context_create(const gpujoin_context_options* options, handle* out,
                                         gpujoin_error* error) {
  gpujoin_context* made = NULL;
  gpujoin_status const status = gpujoin_context_create(options, &made, error);
  *out = (handle)made;
  return status;
}

gpujoin_status gpujoin_go_context_get_info(handle context, gpujoin_context_info* info,
                                           gpujoin_error* error) {
  return gpujoin_context_get_info((gpujoin_context*)context, info, error);
}

gpujoin_status gpujoin_go_context_cancel(handle context, gpujoin_error* error) {
  return gpujoin_context_cancel((gpujoin_context*)context, error);
}

gpujoin_status gpujoin_go_context_calibrate(uint32_t* stop, handle context, const char* path,
                                            gpujoin_error* error) {
  stop_flag = stop;
  gpujoin_status const status = gpujoin_context_calibrate((gpujoin_context*)context, path, error);
  stop_flag = NULL;
  return status;
}

gpujoin_status gpujoin_go_context_trim(handle context, gpujoin_error* error) {
  return gpujoin_context_trim((gpujoin_context*)context, error);
}

void gpujoin_go_context_destroy(handle context) {
  gpujoin_context_destroy((gpujoin_context*)context);
}

gpujoin_status gpujoin_go_relation_import(handle context, struct ArrowSchema* schema,
                                          struct ArrowArray* array, handle* out,
                                          gpujoin_error* error) {
  gpujoin_relation* made = NULL;
  gpujoin_status const status =
      gpujoin_relation_import((gpujoin_context*)context, schema, array, &made, error);
  *out = (handle)made;
  return status;
}

gpujoin_status gpujoin_go_relation_import_device(handle context, struct ArrowSchema* schema,
                                                 struct ArrowDeviceArray* array, handle* out,
                                                 gpujoin_error* error) {
  gpujoin_relation* made = NULL;
  gpujoin_status const status =
      gpujoin_relation_import_device((gpujoin_context*)context, schema, array, &made, error);
  *out = (handle)made;
  return status;
}

gpujoin_status gpujoin_go_relation_select(uint32_t* stop, handle relation,
                                          const gpujoin_selection* selection, handle* out,
                                          gpujoin_error* error) {
  gpujoin_relation* made = NULL;
  stop_flag = stop;
  gpujoin_status const status =
      gpujoin_relation_select((gpujoin_relation*)relation, selection, &made, error);
  stop_flag = NULL;
  if (has_panicked(stop)) {
    gpujoin_relation_destroy(made);
    made = NULL;
  }
  *out = (handle)made;
  return status;
}

gpujoin_status gpujoin_go_relation_get_size(handle relation, int64_t* rows, gpujoin_error* error) {
  return gpujoin_relation_get_size((gpujoin_relation*)relation, rows, NULL, error);
}

void gpujoin_go_relation_destroy(handle relation) {
  gpujoin_relation_destroy((gpujoin_relation*)relation);
}

gpujoin_status gpujoin_go_join(uint32_t* stop, handle context, handle left, handle right,
                               const gpujoin_join_spec* spec, const gpujoin_plan_options* options,
                               handle* out, gpujoin_error* error) {
  gpujoin_result* made = NULL;
  stop_flag = stop;
  gpujoin_status const status = gpujoin_join((gpujoin_context*)context, (gpujoin_relation*)left,
                                             (gpujoin_relation*)right, spec, options, &made, error);
  stop_flag = NULL;
  if (has_panicked(stop)) {
    gpujoin_result_destroy(made);
    made = NULL;
  }
  *out = (handle)made;
  return status;
}

gpujoin_status gpujoin_go_join_sequence(uint32_t* stop, handle context, handle fact,
                                        const gpujoin_sequence_spec* spec,
                                        const gpujoin_plan_options* options, handle* out,
                                        gpujoin_error* error) {
  gpujoin_result* made = NULL;
  stop_flag = stop;
  gpujoin_status const status = gpujoin_join_sequence(
      (gpujoin_context*)context, (gpujoin_relation*)fact, spec, options, &made, error);
  stop_flag = NULL;
  if (has_panicked(stop)) {
    gpujoin_result_destroy(made);
    made = NULL;
  }
  *out = (handle)made;
  return status;
}

gpujoin_status gpujoin_go_estimate_join(handle context, const gpujoin_expected_join* join,
                                        gpujoin_estimate* estimate, gpujoin_error* error) {
  return gpujoin_estimate_join((gpujoin_context*)context, join, estimate, error);
}

gpujoin_status gpujoin_go_result_get_rows(handle result, int64_t* rows, gpujoin_error* error) {
  return gpujoin_result_get_rows((gpujoin_result*)result, rows, error);
}

gpujoin_status gpujoin_go_result_fetch(handle result, gpujoin_page* page, gpujoin_fetch* fetches,
                                       int32_t fetch_count, gpujoin_error* error) {
  return gpujoin_result_fetch((gpujoin_result*)result, page, fetches, fetch_count, error);
}

gpujoin_status gpujoin_go_result_export(handle result, gpujoin_page* page,
                                        struct ArrowSchema* schema, struct ArrowArray* array,
                                        gpujoin_error* error) {
  return gpujoin_result_export((gpujoin_result*)result, page, schema, array, error);
}

gpujoin_status gpujoin_go_result_export_device(handle result, gpujoin_page* page,
                                               struct ArrowSchema* schema,
                                               struct ArrowDeviceArray* array,
                                               gpujoin_error* error) {
  return gpujoin_result_export_device((gpujoin_result*)result, page, schema, array, error);
}

gpujoin_status gpujoin_go_result_decide(uint32_t* stop, handle candidates, handle answers,
                                        handle* out, gpujoin_error* error) {
  gpujoin_result* made = NULL;
  stop_flag = stop;
  gpujoin_status const status =
      gpujoin_result_decide((gpujoin_result*)candidates, (gpujoin_relation*)answers, &made, error);
  stop_flag = NULL;
  if (has_panicked(stop)) {
    gpujoin_result_destroy(made);
    made = NULL;
  }
  *out = (handle)made;
  return status;
}

gpujoin_status gpujoin_go_result_get_statistics(handle result, gpujoin_statistics* statistics,
                                                gpujoin_error* error) {
  return gpujoin_result_get_statistics((gpujoin_result*)result, statistics, error);
}

gpujoin_status gpujoin_go_result_get_stage(handle result, int32_t stage,
                                           gpujoin_stage_statistics* statistics,
                                           gpujoin_error* error) {
  return gpujoin_result_get_stage((gpujoin_result*)result, stage, statistics, error);
}

void gpujoin_go_result_destroy(handle result) { gpujoin_result_destroy((gpujoin_result*)result); }

gpujoin_status gpujoin_go_plan_create(uint32_t* stop, handle context, handle left, handle right,
                                      const gpujoin_join_spec* spec,
                                      const gpujoin_plan_options* options, handle* out,
                                      gpujoin_error* error) {
  gpujoin_plan* made = NULL;
  stop_flag = stop;
  gpujoin_status const status =
      gpujoin_plan_create((gpujoin_context*)context, (gpujoin_relation*)left,
                          (gpujoin_relation*)right, spec, options, &made, error);
  stop_flag = NULL;
  if (has_panicked(stop)) {
    gpujoin_plan_destroy(made);
    made = NULL;
  }
  *out = (handle)made;
  return status;
}

gpujoin_status gpujoin_go_plan_explain(handle plan, char* buffer, size_t* length,
                                       gpujoin_error* error) {
  return gpujoin_plan_explain((gpujoin_plan*)plan, buffer, length, error);
}

gpujoin_status gpujoin_go_plan_execute(uint32_t* stop, handle plan, handle* out,
                                       gpujoin_error* error) {
  gpujoin_result* made = NULL;
  stop_flag = stop;
  gpujoin_status const status = gpujoin_plan_execute((gpujoin_plan*)plan, &made, error);
  stop_flag = NULL;
  if (has_panicked(stop)) {
    gpujoin_result_destroy(made);
    made = NULL;
  }
  *out = (handle)made;
  return status;
}

gpujoin_status gpujoin_go_plan_count(uint32_t* stop, handle plan, int64_t* rows, uint64_t* bytes,
                                     gpujoin_error* error) {
  stop_flag = stop;
  gpujoin_status const status = gpujoin_plan_count((gpujoin_plan*)plan, rows, bytes, error);
  stop_flag = NULL;
  return status;
}

gpujoin_status gpujoin_go_plan_cancel(handle plan, gpujoin_error* error) {
  return gpujoin_plan_cancel((gpujoin_plan*)plan, error);
}

void gpujoin_go_plan_destroy(handle plan) { gpujoin_plan_destroy((gpujoin_plan*)plan); }

gpujoin_status gpujoin_go_build_create(handle context, handle like, const int32_t* keys,
                                       int32_t key_count, const int32_t* key_flags,
                                       const gpujoin_build_options* options, handle* out,
                                       gpujoin_error* error) {
  gpujoin_build* made = NULL;
  gpujoin_status const status =
      gpujoin_build_create((gpujoin_context*)context, (gpujoin_relation*)like, keys, key_count,
                           key_flags, options, &made, error);
  *out = (handle)made;
  return status;
}

gpujoin_status gpujoin_go_build_append(uint32_t* stop, handle build, handle batch,
                                       int64_t first_row, gpujoin_error* error) {
  stop_flag = stop;
  gpujoin_status const status =
      gpujoin_build_append((gpujoin_build*)build, (gpujoin_relation*)batch, first_row, error);
  stop_flag = NULL;
  return status;
}

gpujoin_status gpujoin_go_build_finish(uint32_t* stop, handle build, gpujoin_error* error) {
  stop_flag = stop;
  gpujoin_status const status = gpujoin_build_finish((gpujoin_build*)build, error);
  stop_flag = NULL;
  return status;
}

gpujoin_status gpujoin_go_build_get_info(handle build, gpujoin_build_info* info,
                                         gpujoin_error* error) {
  return gpujoin_build_get_info((gpujoin_build*)build, info, error);
}

gpujoin_status gpujoin_go_build_get_filter(uint32_t* stop, handle build, int32_t key,
                                           const gpujoin_key_filter_options* options, handle* out,
                                           gpujoin_error* error) {
  gpujoin_key_filter* made = NULL;
  stop_flag = stop;
  gpujoin_status const status =
      gpujoin_build_get_filter((gpujoin_build*)build, key, options, &made, error);
  stop_flag = NULL;
  if (has_panicked(stop)) {
    gpujoin_key_filter_destroy(made);
    made = NULL;
  }
  *out = (handle)made;
  return status;
}

gpujoin_status gpujoin_go_build_cancel(handle build, gpujoin_error* error) {
  return gpujoin_build_cancel((gpujoin_build*)build, error);
}

void gpujoin_go_build_destroy(handle build) { gpujoin_build_destroy((gpujoin_build*)build); }

gpujoin_status gpujoin_go_key_filter_get_info(handle filter, gpujoin_key_filter_info* info,
                                              gpujoin_error* error) {
  return gpujoin_key_filter_get_info((gpujoin_key_filter*)filter, info, error);
}

gpujoin_status gpujoin_go_key_filter_test(uint32_t* stop, handle filter, handle relation,
                                          const int32_t* columns, int32_t column_count, void* bits,
                                          int64_t* passing, gpujoin_error* error) {
  stop_flag = stop;
  gpujoin_status const status =
      gpujoin_key_filter_test((gpujoin_key_filter*)filter, (gpujoin_relation*)relation, columns,
                              column_count, bits, GPUJOIN_MEMORY_HOST, passing, error);
  stop_flag = NULL;
  return status;
}

void gpujoin_go_key_filter_destroy(handle filter) {
  gpujoin_key_filter_destroy((gpujoin_key_filter*)filter);
}

gpujoin_status gpujoin_go_operation_create(handle build, handle probe_like,
                                           const gpujoin_join_spec* spec,
                                           const gpujoin_operation_options* options, handle* out,
                                           gpujoin_error* error) {
  gpujoin_operation* made = NULL;
  gpujoin_status const status = gpujoin_operation_create(
      (gpujoin_build*)build, (gpujoin_relation*)probe_like, spec, options, &made, error);
  *out = (handle)made;
  return status;
}

gpujoin_status gpujoin_go_operation_explain(handle operation, char* buffer, size_t* length,
                                            gpujoin_error* error) {
  return gpujoin_operation_explain((gpujoin_operation*)operation, buffer, length, error);
}

gpujoin_status gpujoin_go_operation_close(handle operation, gpujoin_error* error) {
  return gpujoin_operation_close((gpujoin_operation*)operation, error);
}

gpujoin_status gpujoin_go_operation_next(uint32_t* stop, handle operation, gpujoin_state* state,
                                         handle* out, gpujoin_error* error) {
  gpujoin_result* made = NULL;
  stop_flag = stop;
  gpujoin_status const status =
      gpujoin_operation_next((gpujoin_operation*)operation, state, &made, error);
  stop_flag = NULL;
  if (has_panicked(stop)) {
    gpujoin_result_destroy(made);
    made = NULL;
  }
  *out = (handle)made;
  return status;
}

gpujoin_status gpujoin_go_operation_cancel(handle operation, gpujoin_error* error) {
  return gpujoin_operation_cancel((gpujoin_operation*)operation, error);
}

gpujoin_status gpujoin_go_operation_get_progress(handle operation, gpujoin_progress* progress,
                                                 gpujoin_error* error) {
  return gpujoin_operation_get_progress((gpujoin_operation*)operation, progress, error);
}

void gpujoin_go_operation_destroy(handle operation) {
  gpujoin_operation_destroy((gpujoin_operation*)operation);
}

gpujoin_status gpujoin_go_probe_create(handle operation, handle* out, gpujoin_error* error) {
  gpujoin_probe* made = NULL;
  gpujoin_status const status = gpujoin_probe_create((gpujoin_operation*)operation, &made, error);
  *out = (handle)made;
  return status;
}

gpujoin_status gpujoin_go_probe_append(uint32_t* stop, handle probe, handle batch,
                                       int64_t first_row, gpujoin_error* error) {
  stop_flag = stop;
  gpujoin_status const status =
      gpujoin_probe_append((gpujoin_probe*)probe, (gpujoin_relation*)batch, first_row, error);
  stop_flag = NULL;
  return status;
}

gpujoin_status gpujoin_go_probe_flush(uint32_t* stop, handle probe, gpujoin_error* error) {
  stop_flag = stop;
  gpujoin_status const status = gpujoin_probe_flush((gpujoin_probe*)probe, error);
  stop_flag = NULL;
  return status;
}

gpujoin_status gpujoin_go_probe_next(uint32_t* stop, handle probe, gpujoin_state* state,
                                     handle* out, gpujoin_error* error) {
  gpujoin_result* made = NULL;
  stop_flag = stop;
  gpujoin_status const status = gpujoin_probe_next((gpujoin_probe*)probe, state, &made, error);
  stop_flag = NULL;
  if (has_panicked(stop)) {
    gpujoin_result_destroy(made);
    made = NULL;
  }
  *out = (handle)made;
  return status;
}

gpujoin_status gpujoin_go_probe_finish(uint32_t* stop, handle probe, gpujoin_error* error) {
  stop_flag = stop;
  gpujoin_status const status = gpujoin_probe_finish((gpujoin_probe*)probe, error);
  stop_flag = NULL;
  return status;
}

void gpujoin_go_probe_destroy(handle probe) { gpujoin_probe_destroy((gpujoin_probe*)probe); }

void gpujoin_go_release_schema(struct ArrowSchema* schema) {
  if (schema->release != NULL) schema->release(schema);
}

void gpujoin_go_release_array(struct ArrowArray* array) {
  if (array->release != NULL) array->release(array);
}

static void mark_released(struct ArrowSchema* schema) { schema->release = NULL; }

void gpujoin_go_release_nothing(struct ArrowSchema* schema) { schema->release = mark_released; }
