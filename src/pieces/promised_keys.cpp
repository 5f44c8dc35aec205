#include "src/pieces/promised_keys.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/execute/no_room.hpp"
#include "src/execute/promises.hpp"
#include "src/pieces/brought_rows.hpp"
#include "src/pieces/gathered_rows.hpp"
#include "src/pieces/rows_by_partition.hpp"
#include "src/pieces/slice.hpp"

namespace gpujoin::pieces {

namespace {

using base::Memory;
using columns::Relation;

// Of a round; the memory that has no room for such a share of the keys has none for a batch.
constexpr uint32_t kMostRounds = 1 << 12;
// Rows of one key are all in one round, and may have no room: they are looked at as they come, from
// so many on.
constexpr int64_t kFirstLook = 4096;
// Of a block on a device, that come to host memory at once.
constexpr int64_t kRowsInHost = 8192;
// Whose order is looked at at once: what is made of them takes less than a block of rows.
constexpr int64_t kSortedRows = int64_t{1} << 20;

// The keys of the rows, and last what the caller calls these.
class KeysOfRound {
 public:
  KeysOfRound(base::Queue& queue, const PromisedSide& side, const RowBlocks& rows)
      : queue_(queue),
        side_(side),
        rows_(rows),
        memory_{std::make_shared<base::Pool>(queue.context.host_account), Memory::kHost} {
    keys_.resize(side.keys.size());
    std::iota(keys_.begin(), keys_.end(), 0);
  }

  // Throws TOO_MANY_ROWS for more than a relation has.
  std::optional<int64_t> first_repeat(uint32_t round, uint32_t rounds) {
    std::optional<GatheredRows> all;
    int64_t first_row = 0;
    int64_t looked_at = kFirstLook;
    for (size_t i = 0; i < rows_.count; ++i) {
      queue_.check_cancelled();
      auto const block = keys_of(rows_.read(queue_, i));
      int64_t const most = can_be_sliced(*block) ? kRowsInHost : block->rows;
      for (int64_t first = 0; first == 0 || first < block->rows; first += most) {
        auto const some = in_host(queue_, slice(block, first, std::min(most, block->rows - first)));
        if (!all) all.emplace(make_row_schema(*some, !side_.has_numbers), memory_);
        add(*some, first_row, round, rounds, &*all);
        first_row += some->rows;
        if (rounds == 1 || all->rows() < looked_at) continue;
        if (auto const row = repeat_of(*all)) return row;
        looked_at = 2 * all->rows();
      }
    }
    return all ? repeat_of(*all) : std::nullopt;
  }

 private:
  std::optional<int64_t> repeat_of(const GatheredRows& rows) {
    auto const view = std::make_shared<Relation>(rows.view(queue_.context.shared_from_this()));
    auto const row = execute::first_repeat(queue_, side_.on_gpu, view, keys_, side_.key_flags);
    if (!row) return std::nullopt;
    return static_cast<const int64_t*>(view->columns.back().data)[*row];
  }

  std::shared_ptr<const Relation> keys_of(const std::shared_ptr<const Relation>& block) const {
    std::vector<int32_t> columns = side_.keys;
    if (side_.has_numbers) columns.push_back(static_cast<int32_t>(block->columns.size()) - 1);
    return only_columns(block, columns);
  }

  void add(const Relation& block, int64_t first_row, uint32_t round, uint32_t rounds,
           GatheredRows* all) const {
    if (rounds == 1) return all->append(block, 0, block.rows, first_row);
    // Dictionaries and views are no rows whose keys can be hashed.
    GatheredRows gathered(all->schema(), memory_);
    gathered.append(block, 0, block.rows, first_row);
    Relation const view = gathered.view(block.context);
    RowsByPartition const by_hash(
        view, {keys_, side_.key_flags, rounds, queue_.context.hash_seed + rounds});
    all->append_rows(view, by_hash.of(round), std::nullopt);
  }

  base::Queue& queue_;
  const PromisedSide& side_;
  const RowBlocks& rows_;
  RowMemory memory_;
  std::vector<int32_t> keys_;  // of the gathered rows
};

// Where they lie.
std::optional<int64_t> first_repeat_of(base::Queue& queue, const PromisedSide& side,
                                       const std::shared_ptr<const Relation>& rows) {
  auto const row = execute::first_repeat(queue, side.on_gpu, rows, side.keys, side.key_flags);
  if (!row || !side.has_numbers) return row;
  return number_of_row(queue, *rows, *row);
}

void check_round(const PromisedSide& side, std::optional<int64_t> row) {
  if (!row) return;
  execute::fail_for_repeat(side.left, side.has_numbers || side.in_order ? *row : -1);
}

bool wants_more_rounds(const base::Error& error) {
  return execute::is_no_room(error) || error.status() == GPUJOIN_ERROR_TOO_MANY_ROWS;
}

}  // namespace

PromisedSide promised_side(const JoinOfPieces& join, bool left) {
  PromisedSide side;
  side.left = left;
  side.on_gpu = execute::is_on_gpu(*join.context, join.options);
  side.keys = left ? join.spec.left_keys : join.spec.right_keys;
  side.key_flags = join.spec.key_flags;
  side.has_numbers = left ? join.has_left_numbers : join.has_right_numbers;
  return side;
}

RowBlocks blocks_of(const std::shared_ptr<const RowStore>& store, size_t part) {
  RowBlocks rows;
  rows.count = store->block_count(part);
  rows.bytes = store->bytes(part);
  // What a device partitioned is read there: a block of it may be larger than the host's limit.
  rows.read = [store, part](base::Queue& queue, size_t block) {
    return store->bring_all(queue, part, {block, block + 1});
  };
  return rows;
}

void check_unique(base::Queue& queue, const PromisedSide& side, const RowBlocks& rows,
                  uint64_t most_bytes) {
  uint64_t const wanted = most_bytes == 0 ? 1 : rows.bytes / most_bytes + 1;
  for (auto rounds = static_cast<uint32_t>(std::min<uint64_t>(wanted, kMostRounds));; rounds *= 4) {
    try {
      if (rounds == 1 && rows.count == 1) {
        return check_round(side, first_repeat_of(queue, side, rows.read(queue, 0)));
      }
      KeysOfRound keys(queue, side, rows);
      for (uint32_t round = 0; round < rounds; ++round) {
        check_round(side, keys.first_repeat(round, rounds));
      }
      return;
    } catch (const base::Error& error) {
      if (!wants_more_rounds(error) || rounds > kMostRounds / 4) throw;
    }
    // What was queued reads memory that is let go of.
    base::finish(queue);
  }
}

void check_sorted(base::Queue& queue, const PromisedSide& side,
                  const std::shared_ptr<const Relation>& rows, int64_t first_row) {
  keys::SortedFindings lowest;
  lowest.fill(UINT64_MAX);
  // Each part begins with the last row of the one before.
  int64_t const most = can_be_sliced(*rows) ? kSortedRows : rows->rows;
  for (int64_t first = 0; first == 0 || first + 1 < rows->rows; first += most) {
    queue.check_cancelled();
    int64_t const count = std::min(most + 1, rows->rows - first);
    auto const some = count == rows->rows ? rows : slice(rows, first, count);
    auto const found = execute::find_steps(queue, side.on_gpu, *some, side.keys, side.left);
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i] == UINT64_MAX) continue;
      lowest[i] = std::min(lowest[i], found[i] + static_cast<uint64_t>(first));
    }
  }
  auto const found = keys::first_unsorted(lowest);
  if (!found) return;
  auto const row = static_cast<int64_t>(*found);
  execute::fail_for_unsorted(side.left,
                             side.has_numbers ? number_of_row(queue, *rows, row) : first_row + row);
}

}  // namespace gpujoin::pieces
