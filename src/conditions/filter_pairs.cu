#include "src/conditions/filter_pairs.hpp"

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <cub/device/device_select.cuh>

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/conditions/compare_pairs.cuh"
#include "kernels/conditions/interpret_pairs.cuh"
#include "src/base/copy.hpp"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::conditions {

using base::check;
using base::Memory;
using base::stream_of;
using kernels::PairsAnswer;
using kernels::PairsState;
using kernels::ValueForm;

// Of the ways the first that is possible: a conjunction, a small program, one that lies in memory.
struct DeviceCondition::Launch {
  bool is_conjunction = false;
  bool is_small = false;
  bool is_wide = false;
  kernels::PairComparisons conjunction;
  kernels::SmallProgram small;
  kernels::Program program;
  std::vector<base::Buffer> buffers;
};

namespace {

template <typename T>
const T* uploaded(base::Queue& queue, const std::vector<T>& values, const char* what,
                  std::vector<base::Buffer>* buffers) {
  if (values.empty()) return nullptr;
  base::Buffer made = queue.device_pool->allocate_rows<T>(Memory::kDevice, values.size(), what);
  base::copy(queue, made.data(), Memory::kDevice, values.data(), Memory::kHost,
             values.size() * sizeof(T));
  auto const* const lies = made.as<const T>();
  buffers->push_back(std::move(made));
  return lies;
}

bool is_compared(ValueForm form) {
  return form == ValueForm::kInt32 || form == ValueForm::kInt64 || form == ValueForm::kUint32 ||
         form == ValueForm::kUint64 || form == ValueForm::kFloat32 || form == ValueForm::kFloat64;
}

bool is_for_kernel(const std::vector<kernels::SimpleComparison>& conjunction) {
  return !conjunction.empty() && conjunction.size() <= kernels::kMostComparisons &&
         std::all_of(conjunction.begin(), conjunction.end(),
                     [](const kernels::SimpleComparison& one) { return is_compared(one.form); });
}

kernels::PairComparisons with_columns(const std::vector<kernels::SimpleComparison>& conjunction,
                                      const std::vector<kernels::ConditionColumn>& columns) {
  kernels::PairComparisons made;
  for (kernels::SimpleComparison const& one : conjunction) {
    kernels::PairComparison& comparison = made.all[made.count++];
    comparison.how = one;
    kernels::ConditionColumn const& first = columns[one.first];
    comparison.first = first.data;
    comparison.first_validity = first.validity;
    comparison.first_of_left = first.of_left;
    if (one.has_constant) continue;
    kernels::ConditionColumn const& second = columns[one.second];
    comparison.second = second.data;
    comparison.second_validity = second.validity;
    comparison.second_of_left = second.of_left;
  }
  return made;
}

struct IsKept {
  const uint32_t* words;
  __device__ bool operator()(uint64_t pair) const {
    return (words[pair / 32] >> (pair % 32) & 1) != 0;
  }
};

// Each block has read its pairs before any behind it knows where its own go, so that they go where
// earlier ones lay.
void keep_in_place(base::Queue& queue, const uint32_t* kept, uint32_t* left, uint32_t* right,
                   uint64_t pairs) {
  auto const data = thrust::make_zip_iterator(left, right);
  auto const flags =
      thrust::make_transform_iterator(thrust::make_counting_iterator(uint64_t{0}), IsKept{kept});
  auto* const count = queue.device->counters.as<unsigned long long>();
  size_t bytes = 0;
  auto const select = [&](void* storage) {
    return cub::DeviceSelect::Flagged(storage, bytes, data, flags, count,
                                      static_cast<int64_t>(pairs), stream_of(queue));
  };
  check(select(nullptr), "sizing the selection of pairs");
  base::Buffer const storage =
      queue.device_pool->allocate(Memory::kDevice, bytes, "selection storage");
  check(select(storage.data()), "selecting pairs");
}

}  // namespace

DeviceCondition::DeviceCondition(base::Queue& queue, std::shared_ptr<const BoundCondition> bound,
                                 std::span<const columns::ColumnView> columns,
                                 std::shared_ptr<const void> held)
    : bound_(std::move(bound)), held_(std::move(held)), launch_(std::make_unique<Launch>()) {
  Sources sources;
  for (size_t i = 0; i < columns.size(); ++i) {
    add_source(columns[i], bound_->columns[i].of_left, &sources);
  }
  Launch& launch = *launch_;
  launch.is_wide = bound_->is_wide;
  launch.is_conjunction = is_for_kernel(bound_->conjunction);
  if (launch.is_conjunction) {
    launch.conjunction = with_columns(bound_->conjunction, sources.columns);
    return;
  }
  for (Sources::Views const& views : sources.views) {
    sources.columns[views.column].bytes.buffers = reinterpret_cast<const uint8_t* const*>(
        uploaded(queue, views.buffers, "buffers of views", &launch.buffers));
  }
  launch.program.count = static_cast<uint32_t>(bound_->instructions.size());
  launch.program.answer = bound_->answer;
  launch.program.hops = uploaded(queue, sources.hops, "a condition's columns", &launch.buffers);
  launch.program.constants = reinterpret_cast<const uint8_t*>(
      uploaded(queue, bound_->constants, "a condition's constants", &launch.buffers));
  launch.is_small = bound_->instructions.size() <= kernels::kMostSmallInstructions &&
                    sources.columns.size() <= kernels::kMostSmallColumns;
  if (launch.is_small) {
    std::copy(bound_->instructions.begin(), bound_->instructions.end(), launch.small.instructions);
    std::copy(sources.columns.begin(), sources.columns.end(), launch.small.columns);
    launch.small.program = launch.program;
  } else {
    launch.program.instructions =
        uploaded(queue, bound_->instructions, "a condition's program", &launch.buffers);
    launch.program.columns =
        uploaded(queue, sources.columns, "a condition's columns", &launch.buffers);
  }
  // The lists may be gone behind this.
  base::finish(queue);
}

DeviceCondition::~DeviceCondition() = default;

const kernels::PairComparisons* DeviceCondition::comparisons() const {
  return launch_->is_conjunction ? &launch_->conjunction : nullptr;
}

// One launch, and what it answers.
struct PairsAsked {
  base::Queue& queue;
  const DeviceCondition& condition;
  const uint32_t* left;
  const uint32_t* right;
  uint64_t pairs;

  // kept: a bit a pair. Answers how many are.
  uint64_t mark(uint32_t* kept) const {
    DeviceCondition::Launch const& how = *condition.launch_;
    if (how.is_conjunction) {
      return launch(kernels::compare_pairs_kernel, kernels::kComparedTile, kept, how.conjunction);
    }
    if (how.is_small) {
      return how.is_wide ? launch(kernels::interpret_small_kernel<32>, kernels::kStreamThreads,
                                  kept, how.small)
                         : launch(kernels::interpret_small_kernel<16>, kernels::kStreamThreads,
                                  kept, how.small);
    }
    return how.is_wide
               ? launch(kernels::interpret_kernel<32>, kernels::kStreamThreads, kept, how.program)
               : launch(kernels::interpret_kernel<16>, kernels::kStreamThreads, kept, how.program);
  }

 private:
  template <typename Kernel, typename What>
  uint64_t launch(Kernel kernel, uint64_t tile, uint32_t* kept, const What& what) const {
    base::ZeroedCounts zeroed(queue, sizeof(PairsState));
    auto* const answer = reinterpret_cast<PairsAnswer*>(base::start_answer(queue));
    base::launch_dependent(queue, kernel,
                           base::grid_of(queue, pairs, tile, kernels::kConditionBlocksPerSm),
                           kernels::kStreamThreads, 0, "asking a condition about pairs", what, left,
                           right, pairs, kept, zeroed.as<PairsState>(), answer);
    zeroed.all_launched();
    base::await_answer(queue);
    kernels::PairCounts const counts = answer->content;
    if (counts.failing != 0) fail(~counts.failing);
    return counts.kept;
  }

  [[noreturn]] void fail(uint64_t failing) const {
    uint64_t const pair = failing >> 16;
    uint32_t const rows[2] = {base::read_back(queue, left + pair),
                              base::read_back(queue, right + pair)};
    condition.bound().fail_for(&queue, static_cast<kernels::ValueState>(failing & 0xffff), rows[0],
                               rows[1]);
  }
};

KeptPairs find_kept(base::Queue& queue, const DeviceCondition& condition, const uint32_t* left_rows,
                    const uint32_t* right_rows, uint64_t pairs) {
  KeptPairs kept;
  if (pairs == 0) return kept;
  queue.check_cancelled();
  kept.bits = queue.device_pool->allocate_rows<uint32_t>(Memory::kDevice, (pairs + 31) / 32,
                                                         "which pairs are kept");
  kept.count =
      PairsAsked{queue, condition, left_rows, right_rows, pairs}.mark(kept.bits.as<uint32_t>());
  return kept;
}

uint64_t filter_pairs(base::Queue& queue, const DeviceCondition& condition, uint32_t* left_rows,
                      uint32_t* right_rows, uint64_t pairs) {
  KeptPairs const kept = find_kept(queue, condition, left_rows, right_rows, pairs);
  if (kept.count == 0 || kept.count == pairs) return kept.count;
  queue.check_cancelled();
  keep_in_place(queue, kept.bits.as<uint32_t>(), left_rows, right_rows, pairs);
  return kept.count;
}

}  // namespace gpujoin::conditions
