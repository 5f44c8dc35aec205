#include "src/execute/key_codes.hpp"

#include <algorithm>
#include <type_traits>

#include "src/columns/result.hpp"
#include "src/keys/column_positions.hpp"
#include "src/keys/derived_key.hpp"

namespace gpujoin::execute {

namespace {

using base::Memory;
using columns::ColumnView;
using columns::Storage;

// Fewer rows than a copy to the device, two launches and a wait are worth.
constexpr int64_t kFewRows = int64_t{1} << 14;
// A key of 8 bytes leaves no room for another one beside it in a code, and both are hashed: of few
// rows in less time than codes take, which do leave room. Two threads, 2^21 rows with 8 bytes of
// text and an int32, ms by codes and by 8 bytes: 2^16 others 94 and 56, 2^18 119 and 183.
constexpr uint64_t kMostWordsBesideOthers = uint64_t{1} << 17;

Memory memory_for(plan::Device device, Memory left, int64_t left_rows, Memory right,
                  int64_t right_rows) {
  if (device == plan::Device::kCpu) return Memory::kHost;
  bool const any_there = left == Memory::kDevice || right == Memory::kDevice;
  return !any_there && left_rows + right_rows <= kFewRows ? Memory::kHost : Memory::kDevice;
}

// Of one side's values: of 4 bytes, or of 8.
struct Coded {
  Storage values;
  int32_t width = 4;
  bool are_rows = false;  // each value's code is its row's number
};
struct Codes {
  Coded left;
  Coded right;
};

Coded own_codes(keys::Interned& made) {
  return {columns::make_storage(std::move(made.codes)), 4, made.are_rows};
}

// The table is of the fewer values.
Codes intern(ColumnWork& work, const keys::InternedSide& left, const keys::InternedSide& right) {
  bool const is_left_table = left.rows <= right.rows;
  keys::Interned made = work.intern(is_left_table ? left : right);
  Coded other{columns::make_storage(work.codes_by(made.table, is_left_table ? right : left))};
  Coded table = own_codes(made);
  if (is_left_table) return {std::move(table), std::move(other)};
  return {std::move(other), std::move(table)};
}

// One side's values, where they are interned.
struct Brought {
  ColumnView column;
  const ColumnView* values = nullptr;
  int64_t value_rows = 0;
  Held copies;  // needed no longer than until the codes are made
  keys::InternedSide interned;
};

void bring(base::Queue& queue, ColumnWork& work, const CodedSide& side, Brought* brought) {
  brought->column = bring_column(queue, work, side.column, side.relation.rows, &brought->copies);
  ColumnView const& values = keys::values_of(brought->column);
  brought->values = &values;
  brought->value_rows = value_rows_of(brought->column, side.relation.rows);
  brought->interned.values = bytes_of(queue, work, values, brought->value_rows, &brought->copies);
  brought->interned.validity = validity_of(values);
  brought->interned.rows = static_cast<uint64_t>(brought->value_rows);
}

bool are_positions(ColumnWork& work, const CodedSide& side, const Brought& brought) {
  ColumnView const& column = brought.column;
  return column.layout == columns::Layout::kIndices &&
         brought.values == column.parts->values.get() && brought.values->validity == nullptr &&
         work.are_positions(keys::indices_of(column), static_cast<uint64_t>(side.relation.rows));
}

ColumnView finish(ColumnWork& work, const CodedSide& side, const Brought& brought, Coded codes) {
  if (brought.values == &brought.column) {
    ColumnView view = made_view(codes.values.get(), codes.width, work.memory());
    view.validity = brought.column.validity;
    view.validity_bit_offset = brought.column.validity_bit_offset;
    side.held->push_back(std::move(codes.values));
    if (view.validity != side.column.validity) {
      // A copy, which lies among the others.
      for (auto const& copy : brought.copies) {
        if (copy.get() == view.validity) side.held->push_back(copy);
      }
    }
    return view;
  }
  // The code of an index is the index.
  if (codes.are_rows && are_positions(work, side, brought)) {
    return made_view(brought.column.data, 4, work.memory());
  }
  columns::GatherSource source;
  source.values.width = codes.width;
  source.values.bytes = source.values.first = static_cast<const uint8_t*>(codes.values.get());
  source.values.end = source.values.bytes + codes.width * brought.value_rows;
  source.validity = brought.interned.validity;
  Storage const positions = positions_in(work, brought.column, side.relation.rows);
  return keep_gathered(work, *side.held, source, positions, side.relation.rows, codes.width);
}

// Whether both sides name the same values, as columns of one dictionary do.
bool have_one_dictionary(const Brought& left, const Brought& right) {
  if (left.values == &left.column || right.values == &right.column) return false;
  kernels::BytesColumn const& one = left.interned.values;
  kernels::BytesColumn const& other = right.interned.values;
  kernels::ValidityBits const& valid = left.interned.validity;
  kernels::ValidityBits const& others_valid = right.interned.validity;
  bool const are_same = one.layout == other.layout && one.width == other.width &&
                        one.bytes == other.bytes && one.places == other.places &&
                        valid.bits == others_valid.bits && valid.offset == others_valid.offset &&
                        left.interned.rows == right.interned.rows;
  if (!are_same || one.layout != kernels::BytesLayout::kViews) return are_same;
  return left.values->parts->buffers == right.values->parts->buffers;
}

// Integers where all values are short, codes else.
Codes code(ColumnWork& work, plan::Device device, TextKey text, const Brought& left,
           const Brought& right) {
  bool const is_on_cpu = device == plan::Device::kCpu;
  if (is_on_cpu && have_one_dictionary(left, right)) {
    keys::Interned made = work.intern(left.interned);
    Coded const both = own_codes(made);
    return {both, both};
  }
  // Two dictionaries have few values, and of codes less is gathered.
  bool const have_dictionaries = left.values != &left.column && right.values != &right.column;
  if (is_on_cpu && !have_dictionaries && left.interned.rows != 0 && right.interned.rows != 0) {
    uint64_t const fewer = std::min(left.interned.rows, right.interned.rows);
    bool const may_share = text != TextKey::kGrouped;
    bool const may_fill_words =
        may_share && (text == TextKey::kAlone || fewer <= kMostWordsBesideOthers);
    auto packed = work.pack_values(left.interned, right.interned, may_fill_words, may_share);
    if (packed.of_left != nullptr) {
      return {{std::move(packed.of_left), 8}, {std::move(packed.of_right), 8}};
    }
  }
  return intern(work, left.interned, right.interned);
}

// The same of rows.
struct BroughtRows {
  ColumnView first;
  Held rows;    // both are needed no longer than until the codes are made
  Held copies;  // but for a validity among these
  keys::InternedSide interned;
};

// Rows of 8 bytes a column, one after the other.
void bring(base::Queue& queue, ColumnWork& work, const CodedRows& side, BroughtRows* brought) {
  auto const rows = static_cast<uint64_t>(side.relation.rows);
  uint64_t const words = side.columns.size();
  Storage data = work.allocate(base::checked_bytes(rows, words * 8), "rows of a key");
  auto* const target = static_cast<uint64_t*>(const_cast<void*>(data.get()));
  for (size_t i = 0; i < side.columns.size(); ++i) {
    ColumnView const column =
        bring_column(queue, work, side.columns[i], side.relation.rows, &brought->copies);
    if (i == 0) brought->first = column;
    kernels::DerivedKey step;
    step.source = column.data;
    step.width = column.width;
    step.op = kernels::KeyOp::kUnsigned;
    work.derive(step, 8, rows, words, target + i);
  }
  keys::InternedSide& interned = brought->interned;
  interned.values.width = static_cast<int32_t>(words * 8);
  interned.values.bytes = interned.values.first = reinterpret_cast<const uint8_t*>(target);
  interned.values.end = interned.values.bytes + rows * words * 8;
  interned.validity = validity_of(brought->first);
  interned.rows = rows;
  brought->rows.push_back(std::move(data));
}

ColumnView finish(ColumnWork& work, const CodedRows& side, const BroughtRows& brought,
                  Coded codes) {
  ColumnView view = made_view(codes.values.get(), codes.width, work.memory());
  view.validity = brought.first.validity;
  view.validity_bit_offset = brought.first.validity_bit_offset;
  side.held->push_back(std::move(codes.values));
  // Among them may be a copy of the validity.
  if (view.validity != nullptr) {
    side.held->insert(side.held->end(), brought.copies.begin(), brought.copies.end());
  }
  return view;
}

// What is interned lies in them.
Held held_by(Brought& brought) { return std::move(brought.copies); }
Held held_by(BroughtRows& brought) {
  Held held = std::move(brought.copies);
  held.insert(held.end(), brought.rows.begin(), brought.rows.end());
  return held;
}

template <typename Side>
using BroughtAs = std::conditional_t<std::is_same_v<Side, CodedRows>, BroughtRows, Brought>;

}  // namespace

ColumnWork& Works::of(Memory memory, void* ready_event) {
  bool const on_device = memory == Memory::kDevice;
  std::unique_ptr<ColumnWork>& work = on_device ? on_gpu_ : on_cpu_;
  if (work == nullptr) work = make_column_work(queue_, memory);
  if (ready_event != nullptr) work->await(ready_event);
  return *work;
}

ColumnView made_view(const void* data, int32_t width, Memory memory) {
  ColumnView view;
  view.type = width == 4 ? GPUJOIN_TYPE_UINT32 : GPUJOIN_TYPE_UINT64;
  view.width = width;
  view.arrow_format = columns::arrow_format_of(view.type);
  view.data = data;
  view.memory = memory;
  return view;
}

int64_t value_rows_of(const ColumnView& column, int64_t rows) {
  const ColumnView* found = &column;
  while (names_values(*found)) {
    rows = found->parts->value_rows;
    found = found->parts->values.get();
  }
  return rows;
}

ColumnView keep_gathered(ColumnWork& work, Held& held, const columns::GatherSource& source,
                         const Storage& positions, int64_t rows, int32_t width) {
  columns::Gathered made = work.gather(source, static_cast<const uint32_t*>(positions.get()),
                                       static_cast<uint64_t>(rows));
  ColumnView view = made_view(made.data.get(), width, work.memory());
  view.validity = static_cast<const uint8_t*>(made.validity.get());
  held.push_back(std::move(made.data));
  if (made.validity != nullptr) held.push_back(std::move(made.validity));
  return view;
}

std::pair<ColumnView, ColumnView> code_keys(base::Queue& queue, Works& works, plan::Device device,
                                            TextKey text, const CodedSide& left,
                                            const CodedSide& right) {
  Memory const memory = memory_for(device, left.column.memory, left.relation.rows,
                                   right.column.memory, right.relation.rows);
  works.of(memory, left.relation.ready_event);
  ColumnWork& work = works.of(memory, right.relation.ready_event);
  Brought of_left;
  Brought of_right;
  bring(queue, work, left, &of_left);
  bring(queue, work, right, &of_right);
  Codes codes = code(work, device, text, of_left, of_right);
  return {finish(work, left, of_left, std::move(codes.left)),
          finish(work, right, of_right, std::move(codes.right))};
}

std::pair<ColumnView, ColumnView> code_rows(base::Queue& queue, Works& works, plan::Device device,
                                            const CodedRows& left, const CodedRows& right) {
  Memory const memory = memory_for(device, left.columns.front().memory, left.relation.rows,
                                   right.columns.front().memory, right.relation.rows);
  works.of(memory, left.relation.ready_event);
  ColumnWork& work = works.of(memory, right.relation.ready_event);
  BroughtRows of_left;
  BroughtRows of_right;
  bring(queue, work, left, &of_left);
  bring(queue, work, right, &of_right);
  Codes codes = intern(work, of_left.interned, of_right.interned);
  return {finish(work, left, of_left, std::move(codes.left)),
          finish(work, right, of_right, std::move(codes.right))};
}

template <typename Side>
std::shared_ptr<const KeptCodes> KeptCodes::make(base::Queue& queue, Works& works,
                                                 plan::Device device, const Side& build,
                                                 ColumnView* codes) {
  std::shared_ptr<KeptCodes> kept(new KeptCodes(device));
  ColumnWork& work = works.of(kept->memory_, build.relation.ready_event);
  BroughtAs<Side> brought;
  bring(queue, work, build, &brought);
  keys::Interned made = work.intern(brought.interned);
  *codes = finish(work, build, brought, own_codes(made));
  kept->held_ = held_by(brought);
  kept->table_ = std::move(made.table);
  return kept;
}

template <typename Side>
ColumnView KeptCodes::codes_of(base::Queue& queue, Works& works, const Side& probe) const {
  ColumnWork& work = works.of(memory_, probe.relation.ready_event);
  BroughtAs<Side> brought;
  bring(queue, work, probe, &brought);
  Storage codes = columns::make_storage(work.codes_by(table_, brought.interned));
  return finish(work, probe, brought, {std::move(codes)});
}

template std::shared_ptr<const KeptCodes> KeptCodes::make(base::Queue&, Works&, plan::Device,
                                                          const CodedSide&, ColumnView*);
template std::shared_ptr<const KeptCodes> KeptCodes::make(base::Queue&, Works&, plan::Device,
                                                          const CodedRows&, ColumnView*);
template ColumnView KeptCodes::codes_of(base::Queue&, Works&, const CodedSide&) const;
template ColumnView KeptCodes::codes_of(base::Queue&, Works&, const CodedRows&) const;

}  // namespace gpujoin::execute
