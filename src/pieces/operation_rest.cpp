// operation_rest.cpp: what is left of an operation when all rows of the probe side have come.
#include <algorithm>
#include <utility>

#include "src/base/queue.hpp"
#include "src/base/status.hpp"
#include "src/execute/no_room.hpp"
#include "src/execute/promises.hpp"
#include "src/pieces/operation.hpp"

namespace gpujoin::pieces {

// Partitions of a side, each by itself.
void Operation::add_unique_checks(bool left, const std::shared_ptr<const RowStore>& store) {
  PromisedSide side = promised_side(join_, left);
  side.keys = store->shape().keys;
  side.in_order = false;
  for (size_t p = 0; p < store->null_part(); ++p) {
    RowBlocks const rows = blocks_of(store, p);
    if (rows.count == 0) continue;
    ++progress.pieces;
    auto check = [this, side, rows](base::Queue& queue) -> std::unique_ptr<columns::JoinResult> {
      check_unique(queue, side, rows, budget_.part_bytes);
      return nullptr;
    };
    rest_.add(std::move(check), std::min(rows.bytes, budget_.part_bytes));
  }
}

// Rows of the probe side are let go of when they are joined.
void Operation::add_grid(Partition build, Partition probe,
                         std::shared_ptr<const UnknownRows> others) {
  auto grid =
      std::make_shared<GridJoin>(join_, budget_, std::move(build), probe, std::move(others));
  uint64_t const bytes = grid->bytes_at_once();
  ++progress.pieces;
  auto next = [this, grid = std::move(grid), probe](base::Queue& queue) {
    auto result = grid->next(queue);
    if (result == nullptr && probe.store == kept_) kept_->drop(probe.part);
    return result;
  };
  rest_.add(std::move(next), bytes);
}

// Rows of a side by their marks.
void Operation::add_put_out(bool left, const Piece& piece) {
  auto steps = std::make_shared<PieceJoin>(join_, left, piece);
  ++progress.pieces;
  rest_.add([steps = std::move(steps)](base::Queue& queue) { return steps->next(queue); }, 0);
}

// What is left when all rows of the probe side have come.
void Operation::begin_rest(base::Queue& queue) {
  if (promises_ != nullptr && promises_->keys() != nullptr) {
    promises_->keys()->finish(queue.end);
    add_unique_checks(!join_.build_left, promises_->keys());
  }
  if (is_streamed()) {
    for (Piece const& part : parts_) {
      if (part.marks != nullptr) add_put_out(join_.build_left, part);
    }
    return;
  }
  kept_->finish(queue.end);
  if (staying_ == nullptr) progress.bytes_in = kept_->appended_bytes();
  if (staying_ != nullptr && staying_->piece().rows != nullptr) begin_staying_rest();
  rest_.add_phase([this](base::Queue& own) { begin_partitions(own); });
}

// Rows that there was no room for as they came, and what the kind puts out of rows that stayed.
void Operation::begin_staying_rest() {
  auto staying = std::make_shared<UnknownRows>();
  staying->build.push_back(staying_->piece());
  auto const none = std::make_shared<RowStore>(build_->store().shape());
  for (size_t p = 0; p < kept_->null_part(); ++p) {
    if (staying_->stayed(p) && kept_->rows(p) != 0) add_grid({none, 0}, {kept_, p}, staying);
  }
  rest_.add_phase([this](base::Queue&) { end_staying(); });
}

void Operation::end_staying() {
  Piece const piece = staying_->piece();
  staying_->let_go();
  piece.kept->let_go();
  if (piece.marks != nullptr) add_put_out(join_.build_left, piece);
}

void Operation::begin_partitions(base::Queue& queue) {
  auto const build = std::shared_ptr<const RowStore>(build_, &build_->store());
  make_room_on_device(queue, *build);
  if (!build->is_partitioned()) return add_grid({build, 0}, {kept_, 0}, nullptr);
  if (execute::is_unique_promised(promised_, join_.build_left)) {
    add_unique_checks(join_.build_left, build);
  }
  size_t const nulls = build->null_part();
  bool const unknown = may_be_unknown(join_.spec, true) || may_be_unknown(join_.spec, false);
  if (!unknown) {
    // Rows with a NULL in a key match nothing.
    auto const none = std::make_shared<RowStore>(build->shape());
    auto const none_kept = std::make_shared<RowStore>(kept_->shape());
    add_grid({build, nulls}, {none_kept, 0}, nullptr);
    add_grid({none, 0}, {kept_, nulls}, nullptr);
  } else {
    unknown_ = unknown_rows(queue, *build);
    rest_.add_phase([this](base::Queue&) { begin_unknown_rows(); });
  }
  for (size_t p = 0; p < nulls; ++p) {
    bool const is_joined = staying_ != nullptr && staying_->stayed(p);
    if (!is_joined) add_grid({build, p}, {kept_, p}, unknown_);
  }
}

// Blocks that stayed on a device stay there while partitions fit beside them.
void Operation::make_room_on_device(base::Queue& queue, const RowStore& build) {
  uint64_t const resident = build.resident_bytes() + kept_->resident_bytes();
  if (resident == 0) return;
  uint64_t largest = 0;
  for (size_t p = 0; p < build.part_count(); ++p) largest = std::max(largest, build.bytes(p));
  Budget const less = beside(budget_, resident);
  if (less.part_bytes < largest && leave_device(queue, build)) return;
  budget_ = less;
  rest_.set_limits(less.rest_bytes, less.result_bytes);
}

// False: page-locked memory has no room for them.
bool Operation::leave_device(base::Queue& queue, const RowStore& build) {
  try {
    build.leave_device(queue);
    kept_->leave_device(queue);
    return true;
  } catch (const base::Error& error) {
    if (!execute::is_no_room(error)) throw;
    return false;
  }
}

std::shared_ptr<const UnknownRows> Operation::unknown_rows(base::Queue& queue,
                                                           const RowStore& build) const {
  auto rows = std::make_shared<UnknownRows>();
  auto const read = [&](const RowStore& store, bool left, std::vector<Piece>* pieces) {
    for (auto const& group : store.groups(store.null_part(), 0)) {
      pieces->push_back(
          piece_of(queue, join_, left, store.read_all(queue, store.null_part(), group)));
    }
  };
  read(build, join_.build_left, &rows->build);
  read(*kept_, !join_.build_left, &rows->probe);
  return rows;
}

// When all partitions have met: rows whose comparison with any of them may be unknown.
void Operation::begin_unknown_rows() {
  for (Piece const& piece : unknown_->probe) {
    if (piece.marks != nullptr) add_put_out(!join_.build_left, piece);
  }
  for (Piece const& piece : unknown_->build) {
    if (piece.marks != nullptr) add_put_out(join_.build_left, piece);
  }
}

}  // namespace gpujoin::pieces
