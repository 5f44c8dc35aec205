#include "src/execute/order_rows.hpp"

#include <bit>
#include <utility>

#include "src/base/traffic.hpp"
#include "src/base/without_cuda.hpp"
#include "src/cpu/order_pairs.hpp"
#include "src/cpu/workers.hpp"
#include "src/execute/kinds.hpp"
#include "src/execute/stage_clock.hpp"
#include "src/plan/memory_of_device.hpp"

namespace gpujoin::execute {

namespace {

using columns::JoinKind;
using columns::RowOrder;
using columns::Storage;

// Passes of the CPU: one to parts, those of a part's bits, in its cache, and a look at each end.
constexpr double kCpuPasses = 3;

bool order_pairs_on_cpu(base::Queue& queue, Storage& first, int64_t first_rows, Storage& second,
                        int64_t count) {
  cpu::Workers workers(queue);
  auto ordered = cpu::order_pairs(
      queue, workers, static_cast<const uint32_t*>(first.get()), static_cast<uint32_t>(first_rows),
      static_cast<const uint32_t*>(second.get()), static_cast<uint64_t>(count));
  if (!ordered) return false;
  first = columns::make_storage(std::move(ordered->first));
  second = columns::make_storage(std::move(ordered->second));
  return true;
}

int32_t bits_of(int64_t rows) {
  return static_cast<int32_t>(std::bit_width(static_cast<uint64_t>(rows)));
}

}  // namespace

#if !GPUJOIN_WITH_CUDA
bool order_pairs_on_gpu(base::Queue&, Storage&, int64_t, Storage&, int64_t, int64_t) {
  base::fail_without_cuda();
}
#endif

bool orders_pairs(const columns::JoinSpec& spec) {
  // Rows of nothing are in any order.
  bool const shows = spec.pairs || !spec.left_columns.empty() || !spec.right_columns.empty();
  return shows && spec.order != RowOrder::kNone && spec.kind != JoinKind::kCross &&
         !comes_alone(spec.kind) && spec.aggregates.empty();
}

std::optional<bool> ordering_side(const PlannedJoin& join) {
  columns::JoinSpec const& spec = join.wanted();
  if (!orders_pairs(spec)) return std::nullopt;
  if (spec.order == RowOrder::kProbe) return join.choice.plan().build_side != plan::Side::kLeft;
  return spec.order == RowOrder::kLeft;
}

plan::StageCost order_cost(const PlannedJoin& join, const base::DeviceFacts& facts,
                           uint64_t pairs) {
  bool const by_left = ordering_side(join).value_or(true);
  bool const on_cpu = join.choice.plan().device == plan::Device::kCpu;
  // The context's rates are the GPU's where it has one.
  double const rate = on_cpu && facts.is_cuda
                          ? base::cpu_facts(facts.cpu_threads).radix_pass_rows_per_second
                          : facts.radix_pass_rows_per_second;
  int32_t const all_bits = bits_of(join.left->rows) + bits_of(join.right->rows);
  int32_t const bits = on_cpu ? bits_of((by_left ? join.left : join.right)->rows) : all_bits;
  double const passes =
      on_cpu ? kCpuPasses : static_cast<double>(base::traffic::radix_passes(bits)) + 1;
  plan::StageCost cost;
  cost.stage = "order";
  cost.technique = by_left ? "left rows" : "right rows";
  cost.bytes = base::traffic::order_pairs(pairs, bits).bytes();
  cost.seconds = static_cast<double>(pairs) * passes / rate;
  return cost;
}

void order_rows(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result) {
  bool const by_left = *ordering_side(join);
  Storage& first = by_left ? result.left_rows : result.right_rows;
  Storage& second = by_left ? result.right_rows : result.left_rows;
  int64_t const first_rows = (by_left ? join.left : join.right)->rows;
  int64_t const second_rows = (by_left ? join.right : join.left)->rows;
  if (result.rows < 2) return;
  bool const on_device = result.memory == base::Memory::kDevice;
  plan::StageCost const cost =
      order_cost(join, join.context->facts, static_cast<uint64_t>(result.rows));
  bool is_sorted = false;
  run_as_stage(queue, plan::device_of(result.memory), cost, result.statistics.stages, [&] {
    is_sorted = on_device
                    ? order_pairs_on_gpu(queue, first, first_rows, second, second_rows, result.rows)
                    : order_pairs_on_cpu(queue, first, first_rows, second, result.rows);
  });
  if (!is_sorted) {
    columns::StageStatistics& stage = result.statistics.stages.back();
    stage.technique += ", as they are";
    stage.predicted_bytes = static_cast<uint64_t>(result.rows) * base::traffic::kPairBytes;
    return;
  }
  result.row_numbers_room = 0;
  if (result.left_rows_missing != 0 || result.right_rows_missing != 0) find_validity_later(result);
}

}  // namespace gpujoin::execute
