#include "src/execute/selected.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "src/base/pick_traffic.hpp"
#include "src/base/status.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/execute/fetch_rows.hpp"
#include "src/execute/row_picker.hpp"
#include "src/execute/sequence_layout.hpp"
#include "src/execute/stage_clock.hpp"
#include "src/execute/travellers.hpp"
#include "src/plan/memory_of_device.hpp"

namespace gpujoin::execute {

namespace {

namespace traffic = base::traffic;
using base::Memory;
using columns::ColumnView;
using columns::Layout;
using columns::Relation;
using columns::ResultColumn;
using columns::RowBits;
using columns::Selection;
using columns::Storage;

constexpr const char* kStage = "select";
// Rows are masked where no more than one part of so many is left out.
constexpr int64_t kMaskedPartsOfGpu = 8;
constexpr int64_t kMaskedPartsOfCpu = 8;

plan::StageCost stage_of(const char* technique) {
  plan::StageCost cost;
  cost.stage = kStage;
  cost.technique = technique;
  return cost;
}

// Values that are picked straight from a bitmap.
bool is_plain(const ColumnView& column) {
  return columns::is_moved_as_values(column.layout) && column.validity == nullptr;
}

// Copies of the columns of one relation.
class Copies {
 public:
  Copies(base::Queue& queue, plan::Device device, const std::shared_ptr<const Relation>& selected)
      : queue_(queue),
        device_(device),
        selected_(selected),
        root_(columns::as_registered(selected)),
        kept_(std::make_shared<Kept>()) {}

  std::shared_ptr<const Relation> make(const SideOfJoin& side, QueuedStages& stages) {
    auto origin = std::make_shared<columns::Origin>();
    origin->relation = root_;
    origin->count = selected_->rows;
    origin->is_copied.assign(root_->columns.size(), false);
    auto made = std::make_shared<Relation>();
    made->context = root_->context;
    made->rows = selected_->rows;
    made->columns = root_->columns;
    std::array<std::vector<int32_t>, 2> wanted;  // in host memory, in device memory
    for (int32_t const column : distinct(side.columns)) {
      auto const number = static_cast<size_t>(column);
      origin->is_copied[number] = true;
      ColumnView const& view = root_->columns[number];
      // Of one without values there is nothing to copy.
      if (view.layout == Layout::kNulls || view.layout == Layout::kOther) continue;
      wanted[is_device(view.memory) ? 1 : 0].push_back(column);
    }
    bool const cuda = device_ == plan::Device::kCuda;
    for (Memory const memory : {Memory::kHost, Memory::kDevice}) {
      auto const& columns = wanted[is_device(memory) ? 1 : 0];
      bool const with_numbers = side.numbers && is_device(memory) == cuda;
      if (made->rows == 0 || (columns.empty() && !with_numbers)) continue;
      RowPicker picker(queue_, memory, *selected_);
      if (root_->ready_event != nullptr) picker.work().await(root_->ready_event);
      copy(picker, columns, with_numbers, *made, stages);
      if (!with_numbers) continue;
      origin->numbers = picker.numbers();
      origin->memory = memory;
      origin->number_column = static_cast<int32_t>(made->columns.size());
      made->columns.push_back(view_of(row_numbers_of(origin->numbers), memory));
    }
    made->origin = std::move(origin);
    kept_->selected = selected_;
    made->owner = kept_;
    return made;
  }

 private:
  struct Kept {
    std::shared_ptr<const Relation> selected;
    std::vector<ResultColumn> columns;
  };

  void copy(RowPicker& picker, const std::vector<int32_t>& columns, bool with_numbers,
            Relation& made, QueuedStages& stages) {
    Memory const memory = picker.work().memory();
    plan::Device const device = plan::device_of(memory);
    std::vector<int32_t> plain;
    std::vector<int32_t> others;
    for (int32_t const column : columns) {
      bool const now = picker.is_one_bitmap() && is_plain(view(column));
      (now ? plain : others).push_back(column);
    }
    if (picker.is_one_bitmap()) {
      pick(picker, device, plain, with_numbers || !others.empty(), made, stages);
    } else {
      plan::StageCost cost = stage_of("row numbers");
      cost.bytes = traffic::pick_by_numbers(static_cast<uint64_t>(made.rows)).bytes();
      stages.run(device, cost, [&] { picker.numbers(); });
    }
    if (others.empty()) return;
    FetchedRelation fetched(queue_, root_, device);
    auto gathered = fetched.fetch(kStage, others, picker.numbers(), made.rows,
                                  traffic::Locality::kClustered, stages);
    for (size_t i = 0; i < others.size(); ++i)
      keep(others[i], std::move(gathered[i]), memory, made);
  }

  void pick(RowPicker& picker, plan::Device device, const std::vector<int32_t>& columns,
            bool with_numbers, Relation& made, QueuedStages& stages) {
    auto const count = static_cast<uint64_t>(made.rows);
    auto const all = static_cast<uint64_t>(root_->rows);
    plan::StageCost cost = stage_of("bitmap");
    cost.bytes = traffic::pick_by_bits(all).bytes();
    if (with_numbers) cost.bytes += traffic::write_row_ids(count).bytes();
    std::vector<columns::PickedColumn> picked;
    ColumnWork& work = picker.work();
    for (int32_t const column : columns) {
      ResultColumn target = columns::column_like(view(column));
      auto const width = static_cast<uint64_t>(target.width);
      target.data = work.allocate(base::checked_bytes(count, width), "a column of picked rows");
      picked.push_back({view(column).data, const_cast<void*>(target.data.get()), target.width});
      keep(column, std::move(target), work.memory(), made);
      cost.bytes += traffic::pick_column(all, count, width).bytes();
    }
    stages.run(device, cost, [&] {
      Storage numbers;
      if (with_numbers) {
        numbers = work.allocate(base::checked_bytes(count, 4), "numbers of picked rows");
      }
      work.pick_rows(picker.bits(), count, picked,
                     static_cast<uint32_t*>(const_cast<void*>(numbers.get())));
      picker.take_numbers(std::move(numbers));
    });
  }

  const ColumnView& view(int32_t column) const {
    return root_->columns[static_cast<size_t>(column)];
  }
  void keep(int32_t column, ResultColumn copy, Memory memory, Relation& made) {
    made.columns[static_cast<size_t>(column)] = view_of(copy, memory);
    kept_->columns.push_back(std::move(copy));
  }

  base::Queue& queue_;
  plan::Device device_;
  std::shared_ptr<const Relation> selected_;
  std::shared_ptr<const Relation> root_;
  std::shared_ptr<Kept> kept_;
};

// A key column that may be NULL in rows that are not picked, so that they have no match, where rows
// without a match do not come out and nobody asks what is NULL; -1: there is none.
int32_t maskable_key(const Relation& relation, const columns::JoinSpec& spec, bool left) {
  using columns::RowsOfSide;
  RowsOfSide const own = rows_of(spec, left);
  RowsOfSide const others = rows_of(spec, !left);
  bool const asks_for_nulls = others == RowsOfSide::kMarked || others == RowsOfSide::kNotIn;
  bool const may_miss = own == RowsOfSide::kPairs || own == RowsOfSide::kMatched ||
                        (own == RowsOfSide::kNone && !asks_for_nulls);
  int32_t const sorted = left ? GPUJOIN_PROMISE_LEFT_SORTED : GPUJOIN_PROMISE_RIGHT_SORTED;
  if (!may_miss || (spec.bounds.promises & sorted) != 0) return -1;
  std::vector<int32_t> const& keys = left ? spec.left_keys : spec.right_keys;
  for (size_t i = 0; i < keys.size(); ++i) {
    Layout const layout = relation.columns[static_cast<size_t>(keys[i])].layout;
    bool const has_validity = layout != Layout::kRuns && layout != Layout::kNulls;
    bool const is_null_equal =
        !spec.key_flags.empty() && (spec.key_flags[i] & columns::kNullEqual) != 0;
    if (has_validity && !is_null_equal) return keys[i];
  }
  return -1;
}

std::shared_ptr<const Relation> masked(base::Queue& queue,
                                       const std::shared_ptr<const Relation>& selected, int32_t key,
                                       QueuedStages& stages) {
  auto const root = columns::as_registered(selected);
  auto made = std::make_shared<Relation>(*root);
  ColumnView& view = made->columns[static_cast<size_t>(key)];
  struct Kept {
    std::shared_ptr<const Relation> selected;
    Storage validity;
  };
  auto kept = std::make_shared<Kept>();
  kept->selected = selected;
  RowPicker picker(queue, is_device(view.memory) ? Memory::kDevice : Memory::kHost, *selected);
  if (root->ready_event != nullptr) picker.work().await(root->ready_event);
  plan::StageCost cost = stage_of("bitmap as NULL keys");
  cost.bytes = (view.validity == nullptr ? 2 : 3) * columns::bitmap_bytes(root->rows);
  stages.run(plan::device_of(view.memory), cost, [&] {
    RowBits const valid{view.validity, view.validity_bit_offset, static_cast<uint64_t>(root->rows)};
    kept->validity = picker.work().mask_rows(picker.bits(), valid);
  });
  view.validity = static_cast<const uint8_t*>(kept->validity.get());
  view.validity_bit_offset = 0;
  made->owner = std::move(kept);
  return made;
}

}  // namespace

bool is_masked(const Relation& relation, const SideOfJoin& side, plan::Device device) {
  if (side.masked_key < 0) return false;
  Selection const& selection = *relation.selection;
  if (!selection.is_bitmap || selection.of->selection != nullptr) return false;
  int64_t const left_out = selection.of->rows - selection.count;
  int64_t const parts = device == plan::Device::kCuda ? kMaskedPartsOfGpu : kMaskedPartsOfCpu;
  return selection.of->rows > 0 && left_out <= selection.of->rows / parts;
}

SideOfJoin side_of(const Relation& relation, const columns::JoinSpec& spec, bool left) {
  SideOfJoin side;
  if (relation.selection == nullptr) return side;
  std::vector<int32_t> const& keys = left ? spec.left_keys : spec.right_keys;
  side.columns = keys;
  if (spec.residual != nullptr) {
    std::vector<int32_t> const read = columns_read(*spec.residual, left);
    side.columns.insert(side.columns.end(), read.begin(), read.end());
  }
  if (spec.asof) side.columns.push_back(left ? spec.asof->left_column : spec.asof->right_column);
  for (columns::Aggregate const& aggregate : spec.aggregates) {
    if (aggregate.of_left == left && aggregate.column >= 0) {
      side.columns.push_back(aggregate.column);
    }
  }
  std::vector<int32_t> const copied = side.columns;
  bool any_late = false;
  for (int32_t const column : left ? spec.left_columns : spec.right_columns) {
    bool const is_late =
        !columns::is_moved_as_values(relation.columns[static_cast<size_t>(column)].layout) &&
        std::find(copied.begin(), copied.end(), column) == copied.end();
    any_late = any_late || is_late;
    if (is_late) continue;
    side.columns.push_back(column);
    if (std::find(copied.begin(), copied.end(), column) == copied.end()) {
      side.payloads.push_back(column);
    }
  }
  bool const has_messages = spec.residual != nullptr || !spec.aggregates.empty() ||
                            spec.bounds.promises != 0 ||
                            rows_of(spec, left) == columns::RowsOfSide::kSingle;
  side.numbers = spec.pairs || spec.caller_decides || any_late || has_messages;
  side.masked_key = maskable_key(relation, spec, left);
  return side;
}

std::shared_ptr<const Relation> picked(base::Queue& queue, plan::Device device,
                                       const std::shared_ptr<const Relation>& relation,
                                       const SideOfJoin& side, QueuedStages& stages,
                                       std::string* note) {
  if (relation->selection == nullptr) return relation;
  auto const root_rows = static_cast<long long>(columns::as_registered(relation)->rows);
  *note =
      base::text("%lld of %lld rows are picked", static_cast<long long>(relation->rows), root_rows);
  if (is_masked(*relation, side, device)) {
    *note += ": keys of the others are taken for NULL, and nothing is copied";
    return masked(queue, relation, side.masked_key, stages);
  }
  *note += base::text(": what is read of them is copied together (%zu columns)",
                      distinct(side.columns).size());
  if (side.late != 0) {
    *note += base::text("; few of the rows are expected to come out, of which %zu more are fetched",
                        side.late);
  }
  return Copies(queue, device, relation).make(side, stages);
}

}  // namespace gpujoin::execute
