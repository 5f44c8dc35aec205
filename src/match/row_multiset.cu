// row_multiset.cu: host side of the join by a multiset of hash and row number.
#include "kernels/match/row_multiset.cuh"

#include <algorithm>

#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/status.hpp"
#include "src/base/traffic.hpp"
#include "src/columns/column.hpp"
#include "src/keys/column_hash.hpp"
#include "src/match/match.hpp"
#include "src/papers/papers.hpp"

namespace gpujoin::match {

namespace {

using base::check;
using base::stream_of;
using kernels::kMultisetThreads;

static_assert(sizeof(kernels::LongSequence) == 16, "as traffic::row_multiset_bytes has it");

// The slots, and behind them the directory: all ones.
base::Buffer clear_table(base::Queue& queue, uint32_t rows) {
  base::Buffer memory = queue.device_pool->allocate(
      base::Memory::kDevice, base::traffic::row_multiset_bytes(rows), "the row multiset");
  check(cudaMemsetAsync(memory.data(), 0xff, memory.bytes(), stream_of(queue)),
        "clearing the row multiset");
  return memory;
}

kernels::RowMultiset table_in(const base::Buffer& memory, uint32_t rows) {
  uint64_t const slots = base::traffic::row_multiset_slots(rows);
  kernels::RowMultiset table{};
  table.slots = memory.as<unsigned long long>();
  table.window_mask = slots / kernels::kMultisetTile - 1;
  table.long_sequences = reinterpret_cast<kernels::LongSequence*>(table.slots + slots);
  table.long_mask = base::traffic::row_multiset_long_sequences(rows) - 1;
  return table;
}

constexpr uint32_t kWarps = kMultisetThreads / 32;

template <typename Keys>
uint32_t grid_for(base::Queue& queue, const kernels::ProbeMultiset<Keys>& matches) {
  auto const resident = static_cast<uint64_t>(queue.context.facts.sm_count) *
                        kernels::multiset_blocks_per_sm(Keys::kVerified);
  return static_cast<uint32_t>(std::min((matches.units() + kWarps - 1) / kWarps, resident));
}

kernels::KeyedRows<kernels::WordKey> word_rows(const KeyRows& side) {
  return {{static_cast<const uint32_t*>(side.keys.front().data)}, side.row_numbers, side.rows};
}

kernels::KeyedRows<kernels::KeyColumns> column_rows(base::Queue& queue, const KeyRows& side) {
  kernels::KeyedRows<kernels::KeyColumns> rows{};
  for (columns::DeviceColumn const& key : side.keys) {
    rows.keys.data[rows.keys.count] = key.data;
    rows.keys.widths[rows.keys.count] = key.width;
    ++rows.keys.count;
  }
  rows.keys.factors = keys::column_hash(queue.context);
  rows.row_numbers = side.row_numbers;
  rows.rows = side.rows;
  return rows;
}

template <typename Keys>
void retrieve(base::Queue& queue, plan::Output output, const kernels::ProbeMultiset<Keys>& matches,
              output::GrowingPairs& pairs) {
  bool const counted = output == plan::Output::kTwoPasses;
  uint32_t const grid = grid_for(queue, matches);
  if (counted) {
    uint64_t const total = papers::count_matches(queue, matches, grid);
    pairs.make_room(total);
    if (total == 0) return;
  }
  kernels::RetrieveRows<Keys> args{};
  args.matches = matches;
  args.resume = pairs.resume_points(grid * kWarps);
  do {
    queue.check_cancelled();
    args.sink = pairs.sink();
    kernels::retrieve_row_multiset_kernel<Keys>
        <<<grid, kMultisetThreads, 0, stream_of(queue)>>>(args);
    check(cudaGetLastError(), "retrieving matches");
  } while (!counted && !pairs.collect(matches.units()));
}

// Calls a function with both sides' keys as the kernels take them.
template <typename Function>
void with_keys(base::Queue& queue, const KeyRows& build, const KeyRows& probe, Function function) {
  if (build.keys.size() == 1 && build.keys.front().width == 4) {
    function(word_rows(build), word_rows(probe));
  } else {
    function(column_rows(queue, build), column_rows(queue, probe));
  }
}

}  // namespace

struct RowMultiset::Memory {
  KeyRows build;
  base::Buffer table;
};

RowMultiset::RowMultiset(base::Queue& queue, const KeyRows& build)
    : memory_(new Memory{build, {}}) {
  if (build.keys.empty() || build.keys.size() > columns::kMostKeys) {
    base::fail(GPUJOIN_ERROR_INTERNAL, "a row multiset over %zu key columns", build.keys.size());
  }
  if (build.rows == 0) return;
  memory_->table = clear_table(queue, build.rows);
  with_keys(queue, build, build, [&](auto rows, auto) {
    kernels::build_row_multiset_kernel<<<base::grid_of(build.rows, kernels::kStreamTile),
                                         kernels::kStreamThreads, 0, stream_of(queue)>>>(
        table_in(memory_->table, build.rows), rows);
  });
  check(cudaGetLastError(), "building the row multiset");
}

RowMultiset::~RowMultiset() = default;

void RowMultiset::probe(base::Queue& queue, plan::Output output, const KeyRows& probe,
                        output::GrowingPairs& pairs) const {
  KeyRows const& build = memory_->build;
  if (probe.keys.size() != build.keys.size()) {
    base::fail(GPUJOIN_ERROR_INTERNAL, "%zu key columns against %zu", probe.keys.size(),
               build.keys.size());
  }
  if (build.rows == 0 || probe.rows == 0) return;
  with_keys(queue, build, probe, [&](auto build_rows, auto probe_rows) {
    using Keys = decltype(build_rows.keys);
    kernels::ProbeMultiset<Keys> const matches{table_in(memory_->table, build.rows),
                                               build_rows.keys, probe_rows};
    retrieve(queue, output, matches, pairs);
  });
}

}  // namespace gpujoin::match
