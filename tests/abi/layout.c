/* layout.c: the public structs as this ABI lays them out on x86-64. A number that has to be changed
 * here is a broken ABI; a struct that grows at its end adds lines and changes its size. */
#include <stdio.h>

#include "gpujoin.h"

static int failures = 0;

static void expect(const char* what, size_t found, size_t agreed) {
  if (found == agreed) return;
  ++failures;
  printf("%s is %zu, the ABI says %zu\n", what, found, agreed);
}

#define SIZE(type, agreed) expect("sizeof " #type, sizeof(type), agreed)
#define OFFSET(type, field, agreed) expect(#type "." #field, offsetof(type, field), agreed)

/* Each initializer sets struct_size and nothing else. */
static void expect_zero_after_size(const char* what, const void* initialized, size_t size) {
  const unsigned char* bytes = (const unsigned char*)initialized;
  size_t i;
  expect(what, *(const uint32_t*)initialized, size);
  for (i = sizeof(uint32_t); i < size; ++i) {
    if (bytes[i] != 0) expect(what, bytes[i], 0);
  }
}

#define INITIALIZER(type, init)                          \
  do {                                                   \
    type value = init;                                   \
    expect_zero_after_size(#init, &value, sizeof value); \
  } while (0)

int main(void) {
#if defined(__x86_64__)
  SIZE(gpujoin_error, 576);
  OFFSET(gpujoin_error, message, 0);
  OFFSET(gpujoin_error, status, 512);
  OFFSET(gpujoin_error, cuda_code, 516);
  OFFSET(gpujoin_error, is_sticky, 520);
  OFFSET(gpujoin_error, reserved, 524);
  SIZE(gpujoin_allocator, 32);
  OFFSET(gpujoin_allocator, struct_size, 0);
  OFFSET(gpujoin_allocator, reserved, 4);
  OFFSET(gpujoin_allocator, allocate, 8);
  OFFSET(gpujoin_allocator, deallocate, 16);
  OFFSET(gpujoin_allocator, user, 24);
  SIZE(gpujoin_context_options, 80);
  OFFSET(gpujoin_context_options, struct_size, 0);
  OFFSET(gpujoin_context_options, device, 4);
  OFFSET(gpujoin_context_options, cuda_device_id, 8);
  OFFSET(gpujoin_context_options, cpu_threads, 12);
  OFFSET(gpujoin_context_options, memory_limit_bytes, 16);
  OFFSET(gpujoin_context_options, cuda_stream, 24);
  OFFSET(gpujoin_context_options, allocator, 32);
  OFFSET(gpujoin_context_options, log, 40);
  OFFSET(gpujoin_context_options, log_user, 48);
  OFFSET(gpujoin_context_options, progress, 56);
  OFFSET(gpujoin_context_options, progress_user, 64);
  OFFSET(gpujoin_context_options, calibration_path, 72);
  SIZE(gpujoin_context_info, 424);
  OFFSET(gpujoin_context_info, struct_size, 0);
  OFFSET(gpujoin_context_info, device, 4);
  OFFSET(gpujoin_context_info, device_name, 8);
  OFFSET(gpujoin_context_info, reason, 136);
  OFFSET(gpujoin_context_info, cuda_device_id, 392);
  OFFSET(gpujoin_context_info, cpu_threads, 396);
  OFFSET(gpujoin_context_info, memory_limit_bytes, 400);
  OFFSET(gpujoin_context_info, memory_used_bytes, 408);
  OFFSET(gpujoin_context_info, memory_peak_bytes, 416);
  SIZE(gpujoin_column, 80);
  OFFSET(gpujoin_column, struct_size, 0);
  OFFSET(gpujoin_column, type, 4);
  OFFSET(gpujoin_column, data, 8);
  OFFSET(gpujoin_column, validity, 16);
  OFFSET(gpujoin_column, validity_bit_offset, 24);
  OFFSET(gpujoin_column, memory, 32);
  OFFSET(gpujoin_column, cuda_device_id, 36);
  OFFSET(gpujoin_column, name, 40);
  OFFSET(gpujoin_column, offsets, 48);
  OFFSET(gpujoin_column, first_bit, 56);
  OFFSET(gpujoin_column, value_width, 64);
  OFFSET(gpujoin_column, decimal_precision, 68);
  OFFSET(gpujoin_column, decimal_scale, 72);
  OFFSET(gpujoin_column, reserved, 76);
  SIZE(gpujoin_node, 32);
  OFFSET(gpujoin_node, struct_size, 0);
  OFFSET(gpujoin_node, operation, 4);
  OFFSET(gpujoin_node, argument_count, 8);
  OFFSET(gpujoin_node, side, 12);
  OFFSET(gpujoin_node, column, 16);
  OFFSET(gpujoin_node, values, 24);
  SIZE(gpujoin_condition, 16);
  OFFSET(gpujoin_condition, struct_size, 0);
  OFFSET(gpujoin_condition, node_count, 4);
  OFFSET(gpujoin_condition, nodes, 8);
  SIZE(gpujoin_selection, 48);
  OFFSET(gpujoin_selection, struct_size, 0);
  OFFSET(gpujoin_selection, form, 4);
  OFFSET(gpujoin_selection, data, 8);
  OFFSET(gpujoin_selection, first_bit, 16);
  OFFSET(gpujoin_selection, count, 24);
  OFFSET(gpujoin_selection, type, 32);
  OFFSET(gpujoin_selection, memory, 36);
  OFFSET(gpujoin_selection, cuda_device_id, 40);
  OFFSET(gpujoin_selection, reserved, 44);
  SIZE(gpujoin_asof, 40);
  OFFSET(gpujoin_asof, struct_size, 0);
  OFFSET(gpujoin_asof, direction, 4);
  OFFSET(gpujoin_asof, left_column, 8);
  OFFSET(gpujoin_asof, right_column, 12);
  OFFSET(gpujoin_asof, flags, 16);
  OFFSET(gpujoin_asof, tolerance, 24);
  OFFSET(gpujoin_asof, tolerance_float, 32);
  SIZE(gpujoin_aggregate, 24);
  OFFSET(gpujoin_aggregate, struct_size, 0);
  OFFSET(gpujoin_aggregate, function, 4);
  OFFSET(gpujoin_aggregate, side, 8);
  OFFSET(gpujoin_aggregate, column, 12);
  OFFSET(gpujoin_aggregate, name, 16);
  SIZE(gpujoin_join_spec, 128);
  OFFSET(gpujoin_join_spec, struct_size, 0);
  OFFSET(gpujoin_join_spec, kind, 4);
  OFFSET(gpujoin_join_spec, key_count, 8);
  OFFSET(gpujoin_join_spec, output, 12);
  OFFSET(gpujoin_join_spec, left_keys, 16);
  OFFSET(gpujoin_join_spec, right_keys, 24);
  OFFSET(gpujoin_join_spec, left_columns, 32);
  OFFSET(gpujoin_join_spec, right_columns, 40);
  OFFSET(gpujoin_join_spec, left_column_count, 48);
  OFFSET(gpujoin_join_spec, right_column_count, 52);
  OFFSET(gpujoin_join_spec, key_flags, 56);
  OFFSET(gpujoin_join_spec, residual, 64);
  OFFSET(gpujoin_join_spec, asof, 72);
  OFFSET(gpujoin_join_spec, aggregates, 80);
  OFFSET(gpujoin_join_spec, aggregate_count, 88);
  OFFSET(gpujoin_join_spec, group_side, 92);
  OFFSET(gpujoin_join_spec, order, 96);
  OFFSET(gpujoin_join_spec, promises, 100);
  OFFSET(gpujoin_join_spec, promised_rows, 104);
  OFFSET(gpujoin_join_spec, row_limit, 112);
  OFFSET(gpujoin_join_spec, byte_limit, 120);
  SIZE(gpujoin_plan_options, 64);
  OFFSET(gpujoin_plan_options, struct_size, 0);
  OFFSET(gpujoin_plan_options, device, 4);
  OFFSET(gpujoin_plan_options, algorithm, 8);
  OFFSET(gpujoin_plan_options, transform, 12);
  OFFSET(gpujoin_plan_options, match, 16);
  OFFSET(gpujoin_plan_options, gather, 20);
  OFFSET(gpujoin_plan_options, build_side, 24);
  OFFSET(gpujoin_plan_options, radix_bits, 28);
  OFFSET(gpujoin_plan_options, transfer, 32);
  OFFSET(gpujoin_plan_options, skew, 36);
  OFFSET(gpujoin_plan_options, output, 40);
  OFFSET(gpujoin_plan_options, passes, 44);
  OFFSET(gpujoin_plan_options, page_pairs, 48);
  OFFSET(gpujoin_plan_options, filter, 52);
  OFFSET(gpujoin_plan_options, probe_chunk_rows, 56);
  SIZE(gpujoin_sequence_step, 56);
  OFFSET(gpujoin_sequence_step, struct_size, 0);
  OFFSET(gpujoin_sequence_step, key_count, 4);
  OFFSET(gpujoin_sequence_step, dimension, 8);
  OFFSET(gpujoin_sequence_step, fact_keys, 16);
  OFFSET(gpujoin_sequence_step, dimension_keys, 24);
  OFFSET(gpujoin_sequence_step, dimension_columns, 32);
  OFFSET(gpujoin_sequence_step, dimension_column_count, 40);
  OFFSET(gpujoin_sequence_step, kind, 44);
  OFFSET(gpujoin_sequence_step, key_flags, 48);
  OFFSET(gpujoin_sequence_step, reserved, 52);
  SIZE(gpujoin_sequence_spec, 40);
  OFFSET(gpujoin_sequence_spec, struct_size, 0);
  OFFSET(gpujoin_sequence_spec, step_count, 4);
  OFFSET(gpujoin_sequence_spec, steps, 8);
  OFFSET(gpujoin_sequence_spec, fact_columns, 16);
  OFFSET(gpujoin_sequence_spec, fact_column_count, 24);
  OFFSET(gpujoin_sequence_spec, output, 28);
  OFFSET(gpujoin_sequence_spec, materialize, 32);
  OFFSET(gpujoin_sequence_spec, reserved, 36);
  SIZE(gpujoin_page, 40);
  OFFSET(gpujoin_page, struct_size, 0);
  OFFSET(gpujoin_page, reserved, 4);
  OFFSET(gpujoin_page, first_row, 8);
  OFFSET(gpujoin_page, max_rows, 16);
  OFFSET(gpujoin_page, max_bytes, 24);
  OFFSET(gpujoin_page, rows, 32);
  SIZE(gpujoin_fetch, 88);
  OFFSET(gpujoin_fetch, struct_size, 0);
  OFFSET(gpujoin_fetch, what, 4);
  OFFSET(gpujoin_fetch, column, 8);
  OFFSET(gpujoin_fetch, type, 12);
  OFFSET(gpujoin_fetch, data, 16);
  OFFSET(gpujoin_fetch, data_bytes, 24);
  OFFSET(gpujoin_fetch, validity, 32);
  OFFSET(gpujoin_fetch, validity_bytes, 40);
  OFFSET(gpujoin_fetch, memory, 48);
  OFFSET(gpujoin_fetch, reserved, 52);
  OFFSET(gpujoin_fetch, null_count, 56);
  OFFSET(gpujoin_fetch, offsets, 64);
  OFFSET(gpujoin_fetch, offsets_bytes, 72);
  OFFSET(gpujoin_fetch, text_bytes, 80);
  SIZE(gpujoin_statistics, 512);
  OFFSET(gpujoin_statistics, struct_size, 0);
  OFFSET(gpujoin_statistics, device, 4);
  OFFSET(gpujoin_statistics, plan, 8);
  OFFSET(gpujoin_statistics, reason, 200);
  OFFSET(gpujoin_statistics, left_rows, 456);
  OFFSET(gpujoin_statistics, right_rows, 464);
  OFFSET(gpujoin_statistics, output_rows, 472);
  OFFSET(gpujoin_statistics, milliseconds, 480);
  OFFSET(gpujoin_statistics, predicted_bytes, 488);
  OFFSET(gpujoin_statistics, peak_memory_bytes, 496);
  OFFSET(gpujoin_statistics, stage_count, 504);
  OFFSET(gpujoin_statistics, output_resumes, 508);
  SIZE(gpujoin_stage_statistics, 120);
  OFFSET(gpujoin_stage_statistics, struct_size, 0);
  OFFSET(gpujoin_stage_statistics, reserved, 4);
  OFFSET(gpujoin_stage_statistics, stage, 8);
  OFFSET(gpujoin_stage_statistics, technique, 40);
  OFFSET(gpujoin_stage_statistics, milliseconds, 104);
  OFFSET(gpujoin_stage_statistics, predicted_bytes, 112);

  SIZE(gpujoin_expected_column, 24);
  OFFSET(gpujoin_expected_column, type, 4);
  OFFSET(gpujoin_expected_column, is_nullable, 8);
  OFFSET(gpujoin_expected_column, value_width, 12);
  OFFSET(gpujoin_expected_column, value_bytes, 16);
  SIZE(gpujoin_expected_side, 72);
  OFFSET(gpujoin_expected_side, memory, 4);
  OFFSET(gpujoin_expected_side, rows, 8);
  OFFSET(gpujoin_expected_side, columns, 16);
  OFFSET(gpujoin_expected_side, keys, 24);
  OFFSET(gpujoin_expected_side, output_columns, 32);
  OFFSET(gpujoin_expected_side, column_count, 40);
  OFFSET(gpujoin_expected_side, output_column_count, 44);
  OFFSET(gpujoin_expected_side, distinct_keys, 48);
  OFFSET(gpujoin_expected_side, matched_rows, 56);
  OFFSET(gpujoin_expected_side, has_matched_rows, 64);
  OFFSET(gpujoin_expected_side, reserved, 68);
  SIZE(gpujoin_expected_join, 48);
  OFFSET(gpujoin_expected_join, kind, 4);
  OFFSET(gpujoin_expected_join, left, 8);
  OFFSET(gpujoin_expected_join, right, 16);
  OFFSET(gpujoin_expected_join, key_count, 24);
  OFFSET(gpujoin_expected_join, output, 28);
  OFFSET(gpujoin_expected_join, order, 32);
  OFFSET(gpujoin_expected_join, has_pairs, 36);
  OFFSET(gpujoin_expected_join, pairs, 40);
  SIZE(gpujoin_estimate, 464);
  OFFSET(gpujoin_estimate, device, 4);
  OFFSET(gpujoin_estimate, output_rows, 8);
  OFFSET(gpujoin_estimate, output_bytes, 16);
  OFFSET(gpujoin_estimate, cpu_milliseconds, 24);
  OFFSET(gpujoin_estimate, cuda_milliseconds, 32);
  OFFSET(gpujoin_estimate, cuda_fetch_milliseconds, 40);
  OFFSET(gpujoin_estimate, cpu_bytes, 48);
  OFFSET(gpujoin_estimate, cuda_bytes, 56);
  OFFSET(gpujoin_estimate, cpu_memory_bytes, 64);
  OFFSET(gpujoin_estimate, cuda_memory_bytes, 72);
  OFFSET(gpujoin_estimate, cpu_plan, 80);
  OFFSET(gpujoin_estimate, cuda_plan, 272);

  SIZE(struct ArrowSchema, 72);
  SIZE(struct ArrowArray, 80);
  SIZE(struct ArrowDeviceArray, 128);
  OFFSET(struct ArrowDeviceArray, device_id, 80);
  OFFSET(struct ArrowDeviceArray, device_type, 88);
  OFFSET(struct ArrowDeviceArray, sync_event, 96);
  OFFSET(struct ArrowDeviceArray, reserved, 104);
#else
  printf("skipped: the numbers are those of x86-64\n");
#endif

  INITIALIZER(gpujoin_allocator, GPUJOIN_ALLOCATOR_INIT);
  INITIALIZER(gpujoin_context_options, GPUJOIN_CONTEXT_OPTIONS_INIT);
  INITIALIZER(gpujoin_context_info, GPUJOIN_CONTEXT_INFO_INIT);
  INITIALIZER(gpujoin_column, GPUJOIN_COLUMN_INIT);
  INITIALIZER(gpujoin_node, GPUJOIN_NODE_INIT);
  INITIALIZER(gpujoin_condition, GPUJOIN_CONDITION_INIT);
  INITIALIZER(gpujoin_selection, GPUJOIN_SELECTION_INIT);
  INITIALIZER(gpujoin_asof, GPUJOIN_ASOF_INIT);
  INITIALIZER(gpujoin_aggregate, GPUJOIN_AGGREGATE_INIT);
  INITIALIZER(gpujoin_join_spec, GPUJOIN_JOIN_SPEC_INIT);
  INITIALIZER(gpujoin_plan_options, GPUJOIN_PLAN_OPTIONS_INIT);
  INITIALIZER(gpujoin_sequence_step, GPUJOIN_SEQUENCE_STEP_INIT);
  INITIALIZER(gpujoin_sequence_spec, GPUJOIN_SEQUENCE_SPEC_INIT);
  INITIALIZER(gpujoin_page, GPUJOIN_PAGE_INIT);
  INITIALIZER(gpujoin_fetch, GPUJOIN_FETCH_INIT);
  INITIALIZER(gpujoin_statistics, GPUJOIN_STATISTICS_INIT);
  INITIALIZER(gpujoin_stage_statistics, GPUJOIN_STAGE_STATISTICS_INIT);
  INITIALIZER(gpujoin_expected_column, GPUJOIN_EXPECTED_COLUMN_INIT);
  INITIALIZER(gpujoin_expected_side, GPUJOIN_EXPECTED_SIDE_INIT);
  INITIALIZER(gpujoin_expected_join, GPUJOIN_EXPECTED_JOIN_INIT);
  INITIALIZER(gpujoin_estimate, GPUJOIN_ESTIMATE_INIT);
  return failures == 0 ? 0 : 1;
}
