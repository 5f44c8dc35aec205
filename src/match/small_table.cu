// small_table.cu: host side of the join of few rows in one launch, of all blocks or of one.
#include "src/match/small_table.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "kernels/limits.hpp"
#include "kernels/match/block_table.cuh"
#include "kernels/match/small_table.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/traffic.hpp"
#include "src/match/whole_columns.hpp"

namespace gpujoin::match {

namespace {

using base::check;
using base::stream_of;

static_assert(uint64_t{kernels::kSmallProbeRows} * kernels::kMostChainedRows <=
              kernels::SmallTableAnswer::kMostRows);

// Not by <<<>>>, whose error may be an older one of the thread: the launch would then run, and
// answer the next join.
template <typename Kernel, typename... Args>
void launch(base::Queue& queue, Kernel* kernel, unsigned blocks, int threads, uint64_t shared_bytes,
            const char* launching, Args... args) {
  void* kernel_args[] = {&args...};
  check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks),
                         dim3(static_cast<unsigned>(threads)), kernel_args, shared_bytes,
                         stream_of(queue)),
        launching);
}

template <typename Key, int kWidth>
class SmallJoin {
 public:
  SmallJoin(base::Queue& queue, const plan::JoinPlan& plan, const TableSide& build,
            const TableSide& probe, RepeatedKeys repeated,
            const std::vector<CarriedOutput>& outputs, uint32_t most_repeats_seen)
      : queue_(queue),
        outputs_(outputs),
        most_rows_(std::max(build.rows, probe.rows)),
        args_(args_of(plan, build, probe, repeated)) {
    args_.most_repeats_seen = most_repeats_seen;
    if (may_turn()) turned_ = args_of(plan, probe, build, repeated);
  }

  // As small_table.
  std::optional<SmallRows> run(uint64_t limit) {
    make_room(args_.output.probe_rows);
    bool const has_chains = args_.repeated == RepeatedKeys::kAllRows;
    kernels::SmallTableAnswer answer = fits_block() ? by_one_block() : by_all_blocks();
    if (fits_block() && answer.is_in_vain() && has_chains) {
      written_.launches = 0;  // that one stopped for no room
      answer = by_all_blocks();
    }
    if (answer.is_in_vain()) return std::nullopt;
    if (answer.is_turned()) args_ = turned_;
    written_.is_turned = answer.is_turned();
    written_.rows = answer.rows();
    if (answer.is_direct()) written_.table = plan::Match::kDirectTable;
    if (limit != 0 && written_.rows > limit) {
      base::fail(GPUJOIN_ERROR_ROW_LIMIT, "%u rows", answer.rows());
    }
    if (written_.rows > written_.room) {
      // Which the first rows did not foretell.
      if (written_.rows / 2 > args_.most_chained) return std::nullopt;
      make_room(written_.rows);
      if (!outputs_.empty()) write_chains(answer.is_direct());
    }
    if (written_.rows != 0) hand_over(std::move(columns_), outputs_);
    return written_;
  }

 private:
  using Args = kernels::SmallTableJoin<Key>;

  Args args_of(const plan::JoinPlan& plan, const TableSide& build, const TableSide& probe,
               RepeatedKeys repeated) const {
    uint64_t const slots = base::traffic::global_table_slots(build.rows);
    Args args{};
    args.build_keys = static_cast<const Key*>(build.keys);
    args.build_rows = build.rows;
    args.build_present = build.present;
    args.probe_present = probe.present;
    if (plan.match == plan::Match::kDirectTable) {
      // As many as the slots have room for.
      args.most_places = static_cast<uint32_t>(
          std::min(base::traffic::most_direct_places(build.rows), slots * sizeof(uint64_t) / 4));
    }
    args.mask = slots - 1;
    args.repeated = repeated;
    args.most_chained = most_chained(build.rows, probe.rows);
    args.most_repeats_seen = kernels::kAnyRepeats;
    args.output.probe_keys = static_cast<const Key*>(probe.keys);
    args.output.probe_rows = probe.rows;
    return args;
  }
  bool may_turn() const { return args_.most_repeats_seen != kernels::kAnyRepeats; }

  bool fits_block() const {
    constexpr uint32_t kBuildRows = kernels::kBlockTableThreads * kItems;
    return most_rows_ <= kernels::kSmallTableBlockRows && args_.build_rows <= kBuildRows;
  }

  uint64_t most_chained(uint64_t build_rows, uint64_t probe_rows) const {
    if (build_rows + probe_rows <= kernels::kSmallTableRows) return kernels::kNoLimit;
    return kernels::kMostChainedBytes / (1 + row_width(outputs_));
  }

  void make_room(uint64_t rows) {
    columns_.clear();
    columns_ = start_columns(queue_, rows, outputs_, &args_.output);
    args_.output.capacity = written_.room = rows;
    if (written_.is_turned) change_roles(&args_.output);
    if (!may_turn()) return;
    auto const own_keys = std::pair(turned_.output.probe_keys, turned_.output.probe_rows);
    turned_.output = args_.output;
    std::tie(turned_.output.probe_keys, turned_.output.probe_rows) = own_keys;
    change_roles(&turned_.output);
  }
  static void change_roles(kernels::TableJoin<Key>* output) {
    for (int32_t i = 0; i < output->column_count; ++i) {
      kernels::CarriedFrom& from = output->columns[i].from;
      if (from == kernels::CarriedFrom::kKey) continue;
      bool const of_build = from == kernels::CarriedFrom::kBuild;
      from = of_build ? kernels::CarriedFrom::kProbe : kernels::CarriedFrom::kBuild;
    }
  }

  template <typename Launch>
  kernels::SmallTableAnswer ask(Launch launch_it) {
    args_.answer = base::start_answer(queue_);
    launch_it();
    kernels::SmallTableAnswer const answer = {base::await_answer(queue_)};
    ++written_.launches;
    written_.milliseconds += static_cast<double>(answer.nanoseconds()) * 1e-6;
    return answer;
  }

  kernels::SmallTableAnswer by_one_block() {
    constexpr uint64_t kAllowedAnyway = 48 * 1024;
    auto const kernel = kernels::block_table_kernel<Key, kWidth>;
    uint64_t const shared = (args_.mask + 1) * sizeof(uint64_t);
    if (shared > kAllowedAnyway) {
      base::allow_shared(queue_, kernel, "asking for the shared memory of a small join");
    }
    uint32_t const warps = base::grid_of(most_rows_, 32 * kernels::kBlockTableRowsPerThread);
    int const threads = std::min<int>(static_cast<int>(32 * warps), kernels::kBlockTableThreads);
    return ask([&] { launch(queue_, kernel, 1, threads, shared, "joining few rows", args_); });
  }

  kernels::SmallTableAnswer by_all_blocks() {
    bool const has_nulls =
        args_.build_present.bits != nullptr || args_.probe_present.bits != nullptr;
    if (may_turn()) {
      return has_nulls ? by_all_blocks(kernels::table_of_either_kernel<Key, kWidth, true>)
                       : by_all_blocks(kernels::table_of_either_kernel<Key, kWidth, false>);
    }
    return has_nulls ? by_all_blocks(kernels::small_table_kernel<Key, kWidth, true>)
                     : by_all_blocks(kernels::small_table_kernel<Key, kWidth, false>);
  }
  template <typename Kernel>
  kernels::SmallTableAnswer by_all_blocks(Kernel* kernel) {
    uint32_t const resident = base::resident_blocks(queue_, kernel, kernels::kSmallTableThreads, 0,
                                                    "asking for blocks of a small join");
    unsigned const blocks =
        std::min(base::grid_of(most_rows_, kernels::kSmallTableThreads), resident);
    // Behind the slots what has 8 bytes, then what has 4.
    constexpr uint64_t kPlaces = sizeof(kernels::SmallPlaces<Key>) / sizeof(uint64_t) + 1;
    uint64_t const most_build_rows = std::max(args_.build_rows, turned_.build_rows);
    uint64_t const slots = std::max(args_.mask, turned_.mask) + 1;
    uint64_t const chains = most_build_rows + (most_build_rows + 31) / 32;
    table_ = queue_.device_pool->allocate_rows<unsigned long long>(
        base::Memory::kDevice, slots + kPlaces + (chains + 1) / 2, "the table");
    for (Args* const args : {&args_, &turned_}) {
      args->slots = table_.as<unsigned long long>();
      args->places = reinterpret_cast<kernels::SmallPlaces<Key>*>(args->slots + slots);
      args->chains.next = reinterpret_cast<uint32_t*>(args->slots + slots + kPlaces);
      args->chains.firsts = args->chains.next + args->build_rows;
    }
    return ask_of_all([&] {
      turned_.answer = args_.answer;
      turned_.before_turning = args_.state;
      turned_.state = args_.state + 1;
      void* kernel_args[] = {&args_, &turned_};  // the second one where the sides may turn
      check(cudaLaunchCooperativeKernel(kernel, blocks, kernels::kSmallTableThreads, kernel_args, 0,
                                        stream_of(queue_)),
            "launching a small join");
    });
  }

  // Of the table that is there.
  void write_chains(bool is_direct) {
    auto const kernel = kernels::small_chains_kernel<Key, kWidth>;
    uint32_t const resident = base::resident_blocks(queue_, kernel, kernels::kSmallChainThreads, 0,
                                                    "asking for blocks of a small join");
    unsigned const blocks = std::min(
        base::grid_of(args_.output.probe_rows, kernels::kSmallChainThreads * kItems), resident);
    ask_of_all([&] {
      launch(queue_, kernel, blocks, kernels::kSmallChainThreads, 0, "writing chained rows", args_,
             is_direct);
    });
  }

  template <typename Launch>
  kernels::SmallTableAnswer ask_of_all(Launch launch_it) {
    base::ZeroedCounts zeroed(queue_, 2 * sizeof(kernels::SmallTableState));
    args_.state = zeroed.as<kernels::SmallTableState>();
    args_.before_turning = nullptr;
    return ask([&] {
      launch_it();
      zeroed.all_launched();
    });
  }

  static constexpr int kItems = kWidth == 4 ? kernels::kTableItems : kernels::kTableItemsWide;
  base::Queue& queue_;
  const std::vector<CarriedOutput>& outputs_;
  uint32_t most_rows_;
  Args args_;
  Args turned_{};  // with the sides in each other's place, where they may be
  std::vector<base::Buffer> columns_;
  base::Buffer table_;
  SmallRows written_;
};

}  // namespace

std::optional<SmallRows> small_table(base::Queue& queue, const plan::JoinPlan& plan,
                                     int32_t key_width, const TableSide& build,
                                     const TableSide& probe, RepeatedKeys repeated,
                                     const std::vector<CarriedOutput>& outputs, uint64_t most_rows,
                                     uint32_t most_repeats_seen) {
  check_count(outputs);
  if (build.rows == 0 || probe.rows == 0) return SmallRows{{}, plan.match};
  return base::with_key_type(key_width, [&](auto zero) {
    using Key = decltype(zero);
    if (common_width(outputs) == 4) {
      return SmallJoin<Key, 4>(queue, plan, build, probe, repeated, outputs, most_repeats_seen)
          .run(most_rows);
    }
    return SmallJoin<Key, 0>(queue, plan, build, probe, repeated, outputs, most_repeats_seen)
        .run(most_rows);
  });
}

}  // namespace gpujoin::match
