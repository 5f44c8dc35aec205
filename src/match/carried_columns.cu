// carried_columns.cu: host side of the join that writes output columns: room, launch, and holes squeezed out.
#include "src/match/carried_columns.hpp"

#include <algorithm>

#include "kernels/match/carried_columns.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/status.hpp"
#include "src/match/unit_sums.cuh"
#include "src/output/squeeze_pages.hpp"

namespace gpujoin::match {

namespace {

using base::check;
using base::Memory;
using base::stream_of;

kernels::PartitionView view_of(const CarriedSide& side) {
  kernels::PartitionView view{};
  view.offsets = side.offsets;
  return view;
}

// Memory of all output columns, for the same number of rows.
class Room {
 public:
  Room(base::Context& context, const std::vector<CarriedOutput>& outputs)
      : context_(context), outputs_(outputs) {}

  // False when memory does not allow it; then there is none.
  bool try_make(uint64_t rows) {
    columns_.clear();
    rows_ = 0;
    for (CarriedOutput const& output : outputs_) {
      base::Buffer column = context_.device_pool->try_allocate(
          Memory::kDevice, base::checked_bytes(rows, static_cast<uint64_t>(output.width)));
      if (!column) {
        columns_.clear();
        return false;
      }
      columns_.push_back(std::move(column));
    }
    rows_ = rows;
    return true;
  }

  [[noreturn]] void fail(uint64_t rows) const {
    base::Pool const& pool = *context_.device_pool;
    base::fail(pool.limit_bytes() != 0 ? GPUJOIN_ERROR_MEMORY_LIMIT : GPUJOIN_ERROR_OUT_OF_MEMORY,
               "no room for %llu rows of %zu output columns: %llu bytes are in use",
               static_cast<unsigned long long>(rows), outputs_.size(),
               static_cast<unsigned long long>(pool.in_use_bytes()));
  }

  uint64_t rows() const { return rows_; }
  void* column(size_t i) const { return columns_[i].data(); }
  void hand_over() {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      *outputs_[i].target = columns::make_storage(std::move(columns_[i]));
    }
  }

 private:
  base::Context& context_;
  const std::vector<CarriedOutput>& outputs_;
  std::vector<base::Buffer> columns_;
  uint64_t rows_ = 0;
};

template <typename Key>
struct Launch {
  void (*kernel)(kernels::CarriedJoin<Key>);
  uint32_t blocks;
  // Of these blocks each leaves a chunk partly empty.
  uint64_t spare_places() const { return uint64_t{blocks} * kernels::kCarriedChunk; }
};

template <typename Key, bool kWords>
Launch<Key> make_launch(const base::Context& context, bool deals, uint64_t likely_units) {
  auto const kernel = deals ? kernels::carried_columns_kernel<Key, kWords, true>
                            : kernels::carried_columns_kernel<Key, kWords, false>;
  uint32_t const resident = base::resident_blocks(
      context, kernel, kernels::kCarriedThreads, sizeof(kernels::CarriedShared<Key>),
      "asking for shared memory of the join of partitions");
  return {kernel, static_cast<uint32_t>(std::min<uint64_t>(resident, likely_units))};
}

uint64_t whole_chunks(uint64_t rows) {
  return (rows + kernels::kCarriedChunk - 1) / kernels::kCarriedChunk * kernels::kCarriedChunk;
}

template <typename Key, bool kWords>
CarriedRows join(base::Context& context, const plan::JoinPlan& plan, const CarriedSide& build,
                 const CarriedSide& probe, const std::vector<CarriedOutput>& outputs) {
  base::Pool& pool = *context.device_pool;
  uint32_t const partitions = 1U << plan.radix_bits;
  base::Buffer const unit_ends =
      sum_units(context, view_of(build), view_of(probe), partitions, kernels::CarriedUnits{});

  uint64_t const likely_units = partitions + uint64_t{probe.rows} / kernels::kCarriedProbeRows +
                                uint64_t{build.rows} / kernels::kCarriedBuildRows;
  // With as many matches a row rounds that write one of each are slower than dealing them: a lane that has none left waits for the
  // others. H200, 72M x 72M rows, 12.5 matches a row: 9 ms in rounds, 10.9 dealt; one key with 1e6 rows met by 100: 24 and 8.
  constexpr uint64_t kDealtMatches = 32;
  auto const expected = static_cast<uint64_t>(std::max<int64_t>(plan.expected_rows, 0));
  auto launch =
      make_launch<Key, kWords>(context, expected / kDealtMatches > probe.rows, likely_units);

  base::Buffer const counters =
      pool.allocate_rows<kernels::CarriedCounters>(Memory::kDevice, 1, "counters of output chunks");
  base::Buffer tails;
  // At first no more than memory may hold.
  uint64_t wanted =
      whole_chunks(std::min(expected, context.facts.memory_bytes) + launch.spare_places());
  Room room(context, outputs);
  while (!room.try_make(wanted)) {
    if (wanted <= kernels::kCarriedChunk) room.fail(wanted);
    wanted = whole_chunks(wanted / 2);
  }

  kernels::CarriedJoin<Key> args{};
  args.build_keys = static_cast<const Key*>(build.keys);
  args.probe_keys = static_cast<const Key*>(probe.keys);
  args.build_offsets = build.offsets;
  args.probe_offsets = probe.offsets;
  args.radix_bits = plan.radix_bits;
  args.partitions = partitions;
  args.unit_ends = unit_ends.as<unsigned long long>();
  args.counters = counters.as<kernels::CarriedCounters>();
  args.column_count = static_cast<int32_t>(outputs.size());
  CarriedRows done;
  kernels::CarriedCounters found{};
  for (;;) {
    context.check_cancelled();
    ++done.launches;
    tails = pool.allocate_rows<unsigned long long>(Memory::kDevice, launch.blocks,
                                                   "tails of output chunks");
    args.tails = tails.as<unsigned long long>();
    args.capacity = room.rows();
    for (size_t i = 0; i < outputs.size(); ++i) {
      args.columns[i] = {outputs[i].source, room.column(i), outputs[i].width, outputs[i].from};
    }
    check(cudaMemsetAsync(counters.data(), 0, counters.bytes(), stream_of(context)),
          "starting the counters of output chunks");
    launch.kernel<<<launch.blocks, kernels::kCarriedThreads, sizeof(kernels::CarriedShared<Key>),
                    stream_of(context)>>>(args);
    check(cudaGetLastError(), "joining partitions");
    found = base::read_back(context, static_cast<const kernels::CarriedCounters*>(
                                         counters.as<kernels::CarriedCounters>()));
    uint64_t const places = base::checked_bytes(found.chunks, kernels::kCarriedChunk);
    done.rows = places - found.holes + found.missed;
    if (places <= room.rows()) break;
    // Rows that were not expected are most likely those of a few keys.
    launch = make_launch<Key, kWords>(context, done.rows > 2 * uint64_t{probe.rows}, likely_units);
    // Chunks go to other blocks in another launch.
    uint64_t const needed = whole_chunks(done.rows) + launch.spare_places();
    if (!room.try_make(needed)) room.fail(needed);
  }

  if (found.tails != 0) {
    std::vector<kernels::SqueezedColumn> columns;
    for (size_t i = 0; i < outputs.size(); ++i) {
      columns.push_back({room.column(i), outputs[i].width});
    }
    output::squeeze_pages(context,
                          {tails.as<unsigned long long>(), found.tails, found.holes,
                           static_cast<uint32_t>(kernels::kCarriedChunk)},
                          done.rows, columns);
  }
  if (done.rows != 0) room.hand_over();
  return done;
}

}  // namespace

CarriedRows carried_columns(base::Context& context, const plan::JoinPlan& plan, int32_t key_width,
                            const CarriedSide& build, const CarriedSide& probe,
                            const std::vector<CarriedOutput>& outputs) {
  if (build.rows == 0 || probe.rows == 0) return {};
  if (outputs.size() > kernels::kCarriedColumns) {
    base::fail(GPUJOIN_ERROR_INTERNAL, "%zu columns to write at once", outputs.size());
  }
  bool const words = std::all_of(outputs.begin(), outputs.end(), [](const CarriedOutput& output) {
    return output.from == kernels::CarriedFrom::kKey || output.width == sizeof(uint32_t);
  });
  return base::with_key_type(key_width, [&](auto zero) {
    using Key = decltype(zero);
    return words ? join<Key, true>(context, plan, build, probe, outputs)
                 : join<Key, false>(context, plan, build, probe, outputs);
  });
}

}  // namespace gpujoin::match
