// join_operation.cpp: one execution of a join: the library's build and operation.
#include "bindings/duckdb/src/join_operation.hpp"

#include <algorithm>

namespace gpujoin_duckdb {

JoinOperation::JoinOperation(Context context, const JoinLayout& layout)
    : context_(std::move(context)), layout_(layout) {
  Relation const like = empty_relation(context_.get(), layout.right);
  auto const& keys = layout.right.keys;
  gpujoin_build* made = nullptr;
  gpujoin_error error;
  check(gpujoin_build_create(context_.get(), like.get(), keys.data(),
                             static_cast<int32_t>(keys.size()), layout.key_flags.data(), nullptr,
                             &made, &error),
        error);
  build_.reset(made);
}

void JoinOperation::append(const gpujoin_relation* batch) {
  gpujoin_error error;
  check(gpujoin_build_append(build_.get(), batch, 0, &error), error);
}

gpujoin_build_info JoinOperation::finish_build() {
  gpujoin_error error;
  check(gpujoin_build_finish(build_.get(), &error), error);
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  spec.kind = layout_.kind;
  spec.key_count = static_cast<int32_t>(layout_.left.keys.size());
  spec.output = GPUJOIN_OUTPUT_COLUMNS;
  spec.left_keys = layout_.left.keys.data();
  spec.right_keys = layout_.right.keys.data();
  spec.key_flags = layout_.key_flags.data();
  spec.left_columns = layout_.left.outputs.data();
  spec.left_column_count = static_cast<int32_t>(layout_.left.outputs.size());
  spec.right_columns = layout_.right.outputs.data();
  spec.right_column_count = static_cast<int32_t>(layout_.right.outputs.size());
  gpujoin_condition condition = GPUJOIN_CONDITION_INIT;
  condition.node_count = static_cast<int32_t>(layout_.residual.size());
  condition.nodes = layout_.residual.data();
  if (!layout_.residual.empty()) spec.residual = &condition;
  Relation const like = empty_relation(context_.get(), layout_.left);
  gpujoin_operation* made = nullptr;
  check(gpujoin_operation_create(build_.get(), like.get(), &spec, nullptr, &made, &error), error);
  {
    std::lock_guard<std::mutex> const lock(mutex_);
    operation_.reset(made);
    if (is_cancelled_) gpujoin_operation_cancel(made, nullptr);
  }

  gpujoin_build_info info = GPUJOIN_BUILD_INFO_INIT;
  check(gpujoin_build_get_info(build_.get(), &info, &error), error);
  return info;
}

std::string JoinOperation::explain() const {
  gpujoin_error error;
  size_t length = 0;
  auto const status = gpujoin_operation_explain(operation_.get(), nullptr, &length, &error);
  if (status != GPUJOIN_ERROR_BUFFER_TOO_SMALL) check(status, error);
  std::string text(length, '\0');
  check(gpujoin_operation_explain(operation_.get(), text.data(), &length, &error), error);
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

Probe JoinOperation::new_probe() const {
  gpujoin_probe* made = nullptr;
  gpujoin_error error;
  check(gpujoin_probe_create(operation_.get(), &made, &error), error);
  return Probe(made);
}

void JoinOperation::close() {
  gpujoin_error error;
  check(gpujoin_operation_close(operation_.get(), &error), error);
}

Result JoinOperation::next() {
  gpujoin_state state = GPUJOIN_STATE_NOT_READY;
  gpujoin_result* made = nullptr;
  gpujoin_error error;
  check(gpujoin_operation_next(operation_.get(), &state, &made, &error), error);
  return Result(made);
}

void JoinOperation::cancel() {
  std::lock_guard<std::mutex> const lock(mutex_);
  is_cancelled_ = true;
  gpujoin_build_cancel(build_.get(), nullptr);
  if (operation_) gpujoin_operation_cancel(operation_.get(), nullptr);
}

void JoinOperation::add_to(JoinMeasure& measure) const {
  gpujoin_build_info info = GPUJOIN_BUILD_INFO_INIT;
  gpujoin_progress progress = GPUJOIN_PROGRESS_INIT;
  gpujoin_error error;
  check(gpujoin_build_get_info(build_.get(), &info, &error), error);
  check(gpujoin_operation_get_progress(operation_.get(), &progress, &error), error);
  std::lock_guard<std::mutex> const lock(measure.mutex);
  measure.build_rows = info.rows;
  measure.spilled_bytes = progress.spilled_bytes;
}

void add_to(JoinMeasure& measure, const gpujoin_result* result) {
  gpujoin_statistics statistics = GPUJOIN_STATISTICS_INIT;
  gpujoin_error error;
  check(gpujoin_result_get_statistics(result, &statistics, &error), error);
  std::lock_guard<std::mutex> const lock(measure.mutex);
  measure.executor = statistics.device == GPUJOIN_DEVICE_CUDA ? "CUDA" : "CPU";
  measure.plan = statistics.plan;
  measure.milliseconds += statistics.milliseconds;
}

}  // namespace gpujoin_duckdb
