// shim.h: gpujoin.h as this package calls it.
//
// Handles are numbers here. Calls that compute take a flag, which belongs to the caller: a value
// other than 0 in it ends that call, between two of its steps, with GPUJOIN_ERROR_CANCELLED. It
// reaches the progress callback of the context through a variable of the thread, as the library
// calls back on the thread that called it.
#ifndef GPUJOIN_GO_SHIM_H
#define GPUJOIN_GO_SHIM_H

#include <gpujoin.h>

#define STOP_CANCELLED 1
#define STOP_PANICKED 2  // a callback of the caller's did; progress.go keeps what it panicked with

typedef uintptr_t handle;

// callbacks: the number by which progress.go knows the functions of a context.
void gpujoin_go_set_callbacks(gpujoin_context_options* options, uintptr_t callbacks,
                              int has_progress, int has_log);

// decider: the number by which decider.go knows the function.
void gpujoin_go_set_decide(gpujoin_operation_options* options, uintptr_t decider);

gpujoin_status gpujoin_go_context_create(const gpujoin_context_options* options, handle* out,
                                         gpujoin_error* error);
gpujoin_status gpujoin_go_context_get_info(handle context, gpujoin_context_info* info,
                                           gpujoin_error* error);
gpujoin_status gpujoin_go_context_cancel(handle context, gpujoin_error* error);
gpujoin_status gpujoin_go_context_calibrate(uint32_t* stop, handle context, const char* path,
                                            gpujoin_error* error);
gpujoin_status gpujoin_go_context_trim(handle context, gpujoin_error* error);
void gpujoin_go_context_destroy(handle context);

gpujoin_status gpujoin_go_relation_import(handle context, struct ArrowSchema* schema,
                                          struct ArrowArray* array, handle* out,
                                          gpujoin_error* error);
gpujoin_status gpujoin_go_relation_import_device(handle context, struct ArrowSchema* schema,
                                                 struct ArrowDeviceArray* array, handle* out,
                                                 gpujoin_error* error);
gpujoin_status gpujoin_go_relation_select(uint32_t* stop, handle relation,
                                          const gpujoin_selection* selection, handle* out,
                                          gpujoin_error* error);
gpujoin_status gpujoin_go_relation_get_size(handle relation, int64_t* rows, gpujoin_error* error);
void gpujoin_go_relation_destroy(handle relation);

gpujoin_status gpujoin_go_join(uint32_t* stop, handle context, handle left, handle right,
                               const gpujoin_join_spec* spec, const gpujoin_plan_options* options,
                               handle* out, gpujoin_error* error);
gpujoin_status gpujoin_go_join_sequence(uint32_t* stop, handle context, handle fact,
                                        const gpujoin_sequence_spec* spec,
                                        const gpujoin_plan_options* options, handle* out,
                                        gpujoin_error* error);
gpujoin_status gpujoin_go_estimate_join(handle context, const gpujoin_expected_join* join,
                                        gpujoin_estimate* estimate, gpujoin_error* error);

gpujoin_status gpujoin_go_result_get_rows(handle result, int64_t* rows, gpujoin_error* error);
gpujoin_status gpujoin_go_result_fetch(handle result, gpujoin_page* page, gpujoin_fetch* fetches,
                                       int32_t fetch_count, gpujoin_error* error);
gpujoin_status gpujoin_go_result_export(handle result, gpujoin_page* page,
                                        struct ArrowSchema* schema, struct ArrowArray* array,
                                        gpujoin_error* error);
gpujoin_status gpujoin_go_result_export_device(handle result, gpujoin_page* page,
                                               struct ArrowSchema* schema,
                                               struct ArrowDeviceArray* array,
                                               gpujoin_error* error);
gpujoin_status gpujoin_go_result_decide(uint32_t* stop, handle candidates, handle answers,
                                        handle* out, gpujoin_error* error);
gpujoin_status gpujoin_go_result_get_statistics(handle result, gpujoin_statistics* statistics,
                                                gpujoin_error* error);
gpujoin_status gpujoin_go_result_get_stage(handle result, int32_t stage,
                                           gpujoin_stage_statistics* statistics,
                                           gpujoin_error* error);
void gpujoin_go_result_destroy(handle result);

gpujoin_status gpujoin_go_plan_create(uint32_t* stop, handle context, handle left, handle right,
                                      const gpujoin_join_spec* spec,
                                      const gpujoin_plan_options* options, handle* out,
                                      gpujoin_error* error);
gpujoin_status gpujoin_go_plan_explain(handle plan, char* buffer, size_t* length,
                                       gpujoin_error* error);
gpujoin_status gpujoin_go_plan_execute(uint32_t* stop, handle plan, handle* out,
                                       gpujoin_error* error);
gpujoin_status gpujoin_go_plan_count(uint32_t* stop, handle plan, int64_t* rows, uint64_t* bytes,
                                     gpujoin_error* error);
gpujoin_status gpujoin_go_plan_cancel(handle plan, gpujoin_error* error);
void gpujoin_go_plan_destroy(handle plan);

gpujoin_status gpujoin_go_build_create(handle context, handle like, const int32_t* keys,
                                       int32_t key_count, const int32_t* key_flags,
                                       const gpujoin_build_options* options, handle* out,
                                       gpujoin_error* error);
gpujoin_status gpujoin_go_build_append(uint32_t* stop, handle build, handle batch,
                                       int64_t first_row, gpujoin_error* error);
gpujoin_status gpujoin_go_build_finish(uint32_t* stop, handle build, gpujoin_error* error);
gpujoin_status gpujoin_go_build_get_info(handle build, gpujoin_build_info* info,
                                         gpujoin_error* error);
gpujoin_status gpujoin_go_build_get_filter(uint32_t* stop, handle build, int32_t key,
                                           const gpujoin_key_filter_options* options, handle* out,
                                           gpujoin_error* error);
gpujoin_status gpujoin_go_build_cancel(handle build, gpujoin_error* error);
void gpujoin_go_build_destroy(handle build);

gpujoin_status gpujoin_go_key_filter_get_info(handle filter, gpujoin_key_filter_info* info,
                                              gpujoin_error* error);
gpujoin_status gpujoin_go_key_filter_test(uint32_t* stop, handle filter, handle relation,
                                          const int32_t* columns, int32_t column_count, void* bits,
                                          int64_t* passing, gpujoin_error* error);
void gpujoin_go_key_filter_destroy(handle filter);

gpujoin_status gpujoin_go_operation_create(handle build, handle probe_like,
                                           const gpujoin_join_spec* spec,
                                           const gpujoin_operation_options* options, handle* out,
                                           gpujoin_error* error);
gpujoin_status gpujoin_go_operation_explain(handle operation, char* buffer, size_t* length,
                                            gpujoin_error* error);
gpujoin_status gpujoin_go_operation_close(handle operation, gpujoin_error* error);
gpujoin_status gpujoin_go_operation_next(uint32_t* stop, handle operation, gpujoin_state* state,
                                         handle* out, gpujoin_error* error);
gpujoin_status gpujoin_go_operation_cancel(handle operation, gpujoin_error* error);
gpujoin_status gpujoin_go_operation_get_progress(handle operation, gpujoin_progress* progress,
                                                 gpujoin_error* error);
void gpujoin_go_operation_destroy(handle operation);

gpujoin_status gpujoin_go_probe_create(handle operation, handle* out, gpujoin_error* error);
gpujoin_status gpujoin_go_probe_append(uint32_t* stop, handle probe, handle batch,
                                       int64_t first_row, gpujoin_error* error);
gpujoin_status gpujoin_go_probe_flush(uint32_t* stop, handle probe, gpujoin_error* error);
gpujoin_status gpujoin_go_probe_next(uint32_t* stop, handle probe, gpujoin_state* state,
                                     handle* out, gpujoin_error* error);
gpujoin_status gpujoin_go_probe_finish(uint32_t* stop, handle probe, gpujoin_error* error);
void gpujoin_go_probe_destroy(handle probe);

void gpujoin_go_release_schema(struct ArrowSchema* schema);
void gpujoin_go_release_array(struct ArrowArray* array);
// Of a copy: its release only marks it as released.
void gpujoin_go_release_nothing(struct ArrowSchema* schema);

#endif
