/* one_thread.c: with cpu_threads = 1 a process has one thread, before, during and after joins. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpujoin.h"

static int failed = 0;

static void check(gpujoin_status status, const gpujoin_error* error) {
  if (status == GPUJOIN_OK) return;
  fprintf(stderr, "%s: %s\n", gpujoin_status_name(status), error->message);
  exit(1);
}

static void expect_one_thread(const char* when) {
  int threads = 0;
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == NULL) return;
  for (const struct dirent* task; (task = readdir(tasks)) != NULL;) {
    threads += task->d_name[0] != '.';
  }
  closedir(tasks);
  if (threads == 1) return;
  fprintf(stderr, "%d threads %s\n", threads, when);
  failed = 1;
}

static int32_t count_steps(const char* stage, int64_t done, int64_t total, void* user) {
  (void)stage;
  (void)done;
  (void)total;
  ++*(int64_t*)user;
  expect_one_thread("between the steps of a join");
  return 0;
}

static gpujoin_relation* relation(gpujoin_context* context, const int32_t* keys, int64_t rows) {
  gpujoin_error error;
  gpujoin_relation* made = NULL;
  gpujoin_column column = GPUJOIN_COLUMN_INIT;
  column.name = "key";
  column.type = GPUJOIN_TYPE_INT32;
  column.data = keys;
  check(gpujoin_relation_create(context, rows, &column, 1, &made, &error), &error);
  return made;
}

static void take_results(gpujoin_operation* operation, gpujoin_probe* probe, int64_t* rows) {
  gpujoin_error error;
  gpujoin_state state = GPUJOIN_STATE_NOT_READY;
  while (state != GPUJOIN_STATE_FINISHED) {
    gpujoin_result* result = NULL;
    int64_t some = 0;
    check(probe != NULL ? gpujoin_probe_next(probe, &state, &result, &error)
                        : gpujoin_operation_next(operation, &state, &result, &error),
          &error);
    if (result == NULL) continue;
    check(gpujoin_result_get_rows(result, &some, &error), &error);
    *rows += some;
    gpujoin_result_destroy(result);
  }
}

int main(void) {
  enum { kRows = 1000000 };
  gpujoin_error error;
  int64_t steps = 0;
  int64_t rows = 0;
  const int32_t key = 0;
  int32_t* const keys = malloc(kRows * sizeof(int32_t));
  if (keys == NULL) return 1;
  for (int32_t i = 0; i < kRows; ++i) keys[i] = (int32_t)((int64_t)i * 7919 % kRows);

  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  options.cpu_threads = 1;
  options.host_limit_bytes = 32 << 20;
  options.spill_path = ".";
  options.progress = count_steps;
  options.progress_user = &steps;
  gpujoin_context* context = NULL;
  check(gpujoin_context_create(&options, &context, &error), &error);
  expect_one_thread("with a context");
  gpujoin_relation* const all = relation(context, keys, kRows);

  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  spec.kind = GPUJOIN_JOIN_INNER;
  spec.key_count = 1;
  spec.left_keys = spec.right_keys = spec.left_columns = &key;
  spec.left_column_count = 1;
  gpujoin_result* result = NULL;
  check(gpujoin_join(context, all, all, &spec, NULL, &result, &error), &error);
  check(gpujoin_result_get_rows(result, &rows, &error), &error);
  gpujoin_result_destroy(result);

  gpujoin_build* build = NULL;
  gpujoin_operation* operation = NULL;
  gpujoin_probe* probe = NULL;
  check(gpujoin_build_create(context, all, &key, 1, NULL, NULL, &build, &error), &error);
  check(gpujoin_build_append(build, all, 0, &error), &error);
  check(gpujoin_build_finish(build, &error), &error);
  check(gpujoin_operation_create(build, all, &spec, NULL, &operation, &error), &error);
  check(gpujoin_probe_create(operation, &probe, &error), &error);
  check(gpujoin_operation_close(operation, &error), &error);
  check(gpujoin_probe_append(probe, all, 0, &error), &error);
  check(gpujoin_probe_finish(probe, &error), &error);
  take_results(operation, probe, &rows);
  take_results(operation, NULL, &rows);
  expect_one_thread("after joins");

  gpujoin_probe_destroy(probe);
  gpujoin_operation_destroy(operation);
  gpujoin_build_destroy(build);
  gpujoin_relation_destroy(all);
  gpujoin_context_destroy(context);
  free(keys);
  if (rows != 2 * kRows || steps == 0) {
    fprintf(stderr, "%lld rows, %lld steps\n", (long long)rows, (long long)steps);
    failed = 1;
  }
  return failed;
}
