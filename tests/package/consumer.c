/* What a program does with an installed libgpujoin: ask its version, join two tables on the CPU.
 * usage: consumer VERSION */
#include <gpujoin.h>
#include <stdio.h>
#include <string.h>

static int fail(const char* what, const gpujoin_error* error) {
  fprintf(stderr, "%s: %s\n", what, error ? error->message : "not as expected");
  return 1;
}

int main(int argc, char** argv) {
  const int32_t left_values[] = {1, 2, 3, 4};
  const int32_t right_values[] = {4, 9, 2, 4};
  const int32_t key = 0;
  gpujoin_error error;
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  gpujoin_column column = GPUJOIN_COLUMN_INIT;
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  gpujoin_context* context = NULL;
  gpujoin_relation *left = NULL, *right = NULL;
  gpujoin_result* result = NULL;
  int64_t rows = -1;

  if (argc != 2 || strcmp(gpujoin_version_string(), argv[1]) != 0) return fail("version", NULL);

  options.device = GPUJOIN_DEVICE_CPU;
  if (gpujoin_context_create(&options, &context, &error)) return fail("context", &error);

  column.type = GPUJOIN_TYPE_INT32;
  column.memory = GPUJOIN_MEMORY_HOST;
  column.data = left_values;
  if (gpujoin_relation_create(context, 4, &column, 1, &left, &error)) return fail("left", &error);
  column.data = right_values;
  if (gpujoin_relation_create(context, 4, &column, 1, &right, &error)) return fail("right", &error);

  spec.kind = GPUJOIN_JOIN_INNER;
  spec.key_count = 1;
  spec.left_keys = &key;
  spec.right_keys = &key;
  if (gpujoin_join(context, left, right, &spec, NULL, &result, &error)) return fail("join", &error);
  if (gpujoin_result_get_rows(result, &rows, &error)) return fail("rows", &error);

  gpujoin_result_destroy(result);
  gpujoin_relation_destroy(right);
  gpujoin_relation_destroy(left);
  gpujoin_context_destroy(context);
  return rows == 3 ? 0 : fail("rows", NULL);
}
