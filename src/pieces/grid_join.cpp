#include "src/pieces/grid_join.hpp"

#include <algorithm>
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/columns/join_kind.hpp"
#include "src/cpu/workers.hpp"
#include "src/execute/no_room.hpp"

namespace gpujoin::pieces {

namespace {

// Partitions of partitions of partitions: what is then too large has too many rows of one key.
constexpr int kMostLevels = 4;
// Of the rows of a partition that are in the largest of its own.
constexpr double kOfNoUse = 0.75;

// most_bytes: of rows that are on a device at once.
std::shared_ptr<RowStore> partitioned(const Partition& from, uint64_t seed, uint64_t most_bytes,
                                      base::Queue& queue) {
  StoreShape shape = from.store->shape();
  shape.seed = seed;
  // What was partitioned before has its own share still.
  shape.memory_bytes /= 4;
  auto store = std::make_shared<RowStore>(std::move(shape));
  store->begin_partitions();
  if (store->is_partitioned_by_device()) {
    for (auto const& group : from.store->groups(from.part, most_bytes)) {
      auto const rows = from.store->bring_all(queue, from.part, group);
      // They are read by streams of the store's own, which wait for none of this queue's copies.
      base::finish(queue);
      store->append_block(rows, queue.end);
    }
    store->finish(queue.end);
    return store;
  }
  from.store->read_ahead(from.part);
  cpu::Workers workers(queue);
  size_t const count = from.store->block_count(from.part);
  for (size_t first = 0; first < count; first += RowStore::kBlocksAtOnce) {
    std::vector<std::shared_ptr<const columns::Relation>> blocks(
        std::min(RowStore::kBlocksAtOnce, count - first));
    workers.for_each("read rows", static_cast<int64_t>(blocks.size()), [&](int64_t i, int32_t) {
      auto const block = static_cast<size_t>(i);
      blocks[block] = from.store->block(from.part, first + block);
    });
    store->append_blocks(queue, blocks);
  }
  store->finish(queue.end);
  return store;
}

}  // namespace

GridJoin::GridJoin(const JoinOfPieces& join, const Budget& budget, Partition build, Partition probe,
                   std::shared_ptr<const UnknownRows> unknown, int level)
    : join_(join),
      budget_(budget),
      build_(std::move(build)),
      probe_(std::move(probe)),
      unknown_(std::move(unknown)),
      level_(level) {
  bool const come_at_once =
      build_.store->is_runs(build_.part) && probe_.store->is_runs(probe_.part);
  if (!come_at_once) budget_.part_bytes = budget_.gathered_part_bytes;
}

bool GridJoin::wants_partitions() const {
  return level_ < kMostLevels && budget_.part_bytes != 0 && !build_.store->shape().keys.empty() &&
         build_.store->bytes(build_.part) > budget_.part_bytes && build_.store->is_partitioned() &&
         build_.part != build_.store->null_part();
}

bool GridJoin::partition_again(base::Queue& queue) {
  queue.check_cancelled();
  uint64_t const seed = build_.store->shape().seed + 1;
  auto const build = partitioned(build_, seed, budget_.part_bytes, queue);
  int64_t largest = 0;
  for (size_t p = 0; p < build->part_count(); ++p) largest = std::max(largest, build->rows(p));
  auto const all = static_cast<double>(build_.store->rows(build_.part));
  if (static_cast<double>(largest) > kOfNoUse * all) return false;
  auto const probe = partitioned(probe_, seed, budget_.part_bytes, queue);
  for (size_t p = 0; p < build->part_count(); ++p) {
    parts_.push_back(std::make_unique<GridJoin>(join_, budget_, Partition{build, p},
                                                Partition{probe, p}, unknown_, level_ + 1));
  }
  if (join_.pieces != nullptr) *join_.pieces += static_cast<int64_t>(parts_.size());
  return true;
}

uint64_t GridJoin::bytes_at_once() const {
  auto const at_once = [](const Partition& side, uint64_t most) {
    uint64_t const all = side.store->bytes(side.part);
    return most == 0 ? all : std::min(all, most);
  };
  return at_once(build_, budget_.part_bytes) + at_once(probe_, most_of_a_block());
}

// Where they are joined; candidates of ASOF joins are put together in host memory.
std::shared_ptr<const columns::Relation> GridJoin::read(base::Queue& queue, const Partition& side,
                                                        RowStore::Blocks blocks) const {
  if (meets_candidates()) return side.store->read_all(queue, side.part, blocks);
  return side.store->bring_all(queue, side.part, blocks);
}

std::shared_ptr<const columns::Relation> GridJoin::read_group(base::Queue& queue, size_t group) {
  try {
    return read(queue, build_, groups_[group]);
  } catch (const base::Error& error) {
    if (!execute::is_no_room(error) || join_.spec.aggregates.empty()) throw;
    base::fail(error.status(), "spec.aggregates needs all build rows of a key at once: %s",
               error.what());
  }
}

void GridJoin::begin_group(base::Queue& queue) {
  // Rows that meet nothing are rows without a match.
  auto rows = join_.build_left ? join_.left_none : join_.right_none;
  if (group_ < groups_.size()) rows = read_group(queue, group_);
  pieces_ = {piece_of(queue, join_, join_.build_left, std::move(rows))};
  // Blocks that meet no other part look up the same table. A GPU makes another for each while the
  // link brings the next block: to keep one it would look for the table that suits the keys, and
  // its memory is short.
  if (groups_.size() == 1 && blocks_.size() > 1 && !on_gpu()) {
    pieces_.front().kept = std::make_shared<KeptPart>();
  }
  if (unknown_ != nullptr) {
    pieces_.insert(pieces_.end(), unknown_->build.begin(), unknown_->build.end());
  }
}

// Marks of a block are kept from group to group.
Piece GridJoin::block_piece(base::Queue& queue, size_t block) {
  auto rows = read(queue, probe_, blocks_[block]);
  if (groups_.size() <= 1) return {std::move(rows), nullptr, 0, nullptr};
  auto& marks = marks_[block];
  if (marks != nullptr) return {std::move(rows), marks, 0, nullptr};
  Piece piece = piece_of(queue, join_, !join_.build_left, std::move(rows));
  marks = piece.marks;
  return piece;
}

bool GridJoin::advance(base::Queue& queue) {
  if (meets_candidates()) return advance_nearest(queue);
  size_t const blocks = blocks_.size();
  size_t const unknown = unknown_ == nullptr ? 0 : unknown_->probe.size();
  while (group_ < std::max<size_t>(groups_.size(), 1)) {
    if (pieces_.empty()) begin_group(queue);
    size_t const step = block_;
    if (step < blocks) {
      Piece const block = block_piece(queue, step);
      ++block_;
      if (groups_.size() > 1) {
        current_.emplace(PieceJoin::meeting(join_, block, pieces_));
      } else {
        current_.emplace(queue, join_, block, pieces_);
      }
      return true;
    }
    if (step < blocks + unknown) {
      ++block_;
      current_.emplace(PieceJoin::meeting(join_, unknown_->probe[step - blocks], pieces_));
      return true;
    }
    Piece const own = pieces_.front();
    pieces_.clear();
    block_ = 0;
    bool const needs = own.marks != nullptr;
    ++group_;
    if (!needs) continue;
    current_.emplace(join_, join_.build_left, own);
    return true;
  }
  while (groups_.size() > 1 && put_out_ < blocks) {
    if (!needs_marks(join_.spec, !join_.build_left)) return false;
    current_.emplace(join_, !join_.build_left, block_piece(queue, put_out_));
    ++put_out_;
    return true;
  }
  return false;
}

void GridJoin::begin(base::Queue& queue) {
  if (wants_partitions() && partition_again(queue)) return;
  bool const at_once = !join_.spec.aggregates.empty();
  groups_ = build_.store->groups(build_.part, at_once ? 0 : budget_.part_bytes);
  if (at_once && groups_.size() > 1) {
    base::fail(GPUJOIN_ERROR_TOO_MANY_ROWS,
               "rows of one key of the build side are more than one relation has, and "
               "spec.aggregates needs them at once");
  }
  blocks_ = probe_.store->groups(probe_.part, most_of_a_block());
  build_.store->read_ahead(build_.part);
  probe_.store->read_ahead(probe_.part);
  marks_.resize(blocks_.size());
}

// Of the probe side. An ASOF join has up to three candidates for each of its rows.
uint64_t GridJoin::most_of_a_block() const {
  // What comes out of a block is on the link while the next one comes.
  if (!meets_candidates()) return on_gpu() ? budget_.part_bytes / 2 : budget_.part_bytes;
  if (budget_.part_bytes == 0) return 0;
  auto const width = [](const Partition& side) {
    auto const rows = static_cast<uint64_t>(std::max<int64_t>(side.store->rows(side.part), 1));
    return side.store->bytes(side.part) / rows + 1;
  };
  uint64_t const of_build = std::max(width(build_), width(probe_));
  return std::max<uint64_t>(budget_.part_bytes / 4 / of_build * width(probe_), 1);
}

Piece GridJoin::group_piece(base::Queue& queue, size_t group) {
  auto rows = read_group(queue, group);
  auto& marks = group_marks_[group];
  if (marks != nullptr) return {std::move(rows), marks, 0, nullptr};
  Piece piece = piece_of(queue, join_, join_.build_left, std::move(rows));
  marks = piece.marks;
  return piece;
}

// Rows of the build side that were nearest to one of the block.
void GridJoin::mark_groups(base::Queue& queue) {
  auto const& origins = nearest_->origins();
  for (size_t i = 0; i < origins.size() && candidates_.marks != nullptr; ++i) {
    if (!candidates_.marks->is_marked(static_cast<int64_t>(i))) continue;
    auto& marks = group_marks_[origins[i].part];
    if (marks == nullptr) group_piece(queue, origins[i].part);
    marks->mark(origins[i].row);
  }
  nearest_.reset();
  candidates_ = Piece();
}

bool GridJoin::advance_nearest(base::Queue& queue) {
  if (nearest_) mark_groups(queue);
  group_marks_.resize(groups_.size());
  if (block_ < blocks_.size()) {
    auto const rows = probe_.store->read_all(queue, probe_.part, blocks_[block_]);
    NearestRows nearest(join_, rows, build_.store->shape().schema);
    for (size_t group = 0; group < groups_.size(); ++group) {
      auto const part = read_group(queue, group);
      nearest.meet(queue, *part, static_cast<uint32_t>(group));
    }
    candidates_ = piece_of(queue, join_, join_.build_left, nearest.take());
    current_.emplace(queue, join_, Piece{rows, nullptr, 0, nullptr}, std::span(&candidates_, 1));
    nearest_.emplace(std::move(nearest));
    ++block_;
    return true;
  }
  if (group_ == groups_.size() || !needs_marks(join_.spec, join_.build_left)) return false;
  current_.emplace(join_, join_.build_left, group_piece(queue, group_));
  ++group_;
  return true;
}

std::unique_ptr<columns::JoinResult> GridJoin::next(base::Queue& queue) {
  if (!began_) {
    begin(queue);
    began_ = true;
  }
  while (!parts_.empty()) {
    if (auto result = parts_.back()->next(queue)) return result;
    parts_.pop_back();
    if (join_.pieces_done != nullptr) ++*join_.pieces_done;
    if (parts_.empty()) return nullptr;
  }
  while (current_ || advance(queue)) {
    auto result = current_->next(queue);
    // The next call has another queue, and may let go of what this one reads.
    if (on_gpu()) base::finish(queue);
    if (result != nullptr) return result;
    current_.reset();
  }
  return nullptr;
}

}  // namespace gpujoin::pieces
