#include "src/execute/ordered_keys.hpp"

#include <utility>

#include "src/base/memory.hpp"
#include "src/base/status.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/keys/derived_key.hpp"
#include "src/keys/ordered_key.hpp"
#include "src/plan/memory_of_device.hpp"

namespace gpujoin::execute {

namespace {

using columns::ColumnView;
using columns::Layout;
using columns::Storage;
using kernels::OrderedForm;
using kernels::OrderedKey;

constexpr int32_t kCodeWidth = 8;

// One side's values, where they are made codes of.
struct Side {
  ColumnView column;
  const ColumnView* values = nullptr;
  OrderedKey key;
  uint64_t value_rows = 0;
  int64_t rows = 0;

  bool has_values() const { return values->layout != Layout::kNulls && value_rows != 0; }
};

Side bring(base::Queue& queue, ColumnWork& work, const OrderedSide& given, const OrderedKey& key,
           Held* held) {
  Side side;
  side.rows = given.relation.rows;
  side.column = bring_column(queue, work, given.column, side.rows, held);
  side.key = key;
  return side;
}

// Behind bring(): the view must not move any more.
void look(Side& side) {
  side.values = &keys::values_of(side.column);
  // Of no rows nothing was brought, and a dictionary may name values all the same.
  side.value_rows =
      side.rows == 0 ? 0 : static_cast<uint64_t>(value_rows_of(side.column, side.rows));
  side.key.source = side.values->data;
  side.key.valid = validity_of(*side.values);
  if (side.key.form == OrderedForm::kBit && side.has_values()) {
    side.key.first_bit = side.values->parts->first_bit;
  }
}

Storage codes_of(ColumnWork& work, const Side& side) {
  Storage codes = work.allocate(base::checked_bytes(side.value_rows, kCodeWidth),
                                "codes in the order of values");
  if (side.has_values()) {
    work.order(side.key, side.value_rows, static_cast<uint64_t*>(const_cast<void*>(codes.get())));
  }
  return codes;
}

// Zeros, all of them NULL.
ColumnView nulls(ColumnWork& work, int64_t rows, Held* held) {
  kernels::DerivedKey zero;
  zero.op = kernels::KeyOp::kZero;
  auto const count = static_cast<uint64_t>(rows);
  Storage data = work.allocate(base::checked_bytes(count, kCodeWidth), "codes of a NULL column");
  work.derive(zero, kCodeWidth, count, 1, const_cast<void*>(data.get()));
  ColumnView view = made_view(data.get(), kCodeWidth, work.memory());
  uint64_t const words = columns::bitmap_words_bytes(rows) / 4;
  Storage bits = work.allocate(words * 4, "validity of a NULL column");
  work.derive(zero, 4, words, 1, const_cast<void*>(bits.get()));
  view.validity = static_cast<const uint8_t*>(bits.get());
  held->push_back(std::move(data));
  held->push_back(std::move(bits));
  return view;
}

// The codes of the rows, by those of their values.
ColumnView finish(ColumnWork& work, const Side& side, Storage codes, Held* held) {
  if (side.values->layout == Layout::kNulls) return nulls(work, side.rows, held);
  auto const* const data = static_cast<const uint8_t*>(codes.get());
  if (side.values == &side.column) {
    ColumnView view = made_view(data, kCodeWidth, work.memory());
    view.validity = side.column.validity;
    view.validity_bit_offset = side.column.validity_bit_offset;
    held->push_back(std::move(codes));
    return view;
  }
  columns::GatherSource source;
  source.values.width = kCodeWidth;
  source.values.bytes = source.values.first = data;
  source.values.end = data + kCodeWidth * side.value_rows;
  source.validity = side.key.valid;
  Storage const positions = positions_in(work, side.column, side.rows);
  held->push_back(std::move(codes));
  return keep_gathered(work, *held, source, positions, side.rows, kCodeWidth);
}

}  // namespace

bool have_order(const ColumnView& left, const ColumnView& right) {
  return keys::order_by(left, right).has_value();
}

OrderedKeys order_keys(base::Queue& queue, plan::Device device, const OrderedSide& left,
                       const OrderedSide& right) {
  auto const ordering = keys::order_by(left.column, right.column);
  if (!ordering) base::fail(GPUJOIN_ERROR_TYPE, "columns whose values have no order");
  Works works(queue);
  base::Memory const memory = plan::memory_of(device);
  works.of(memory, left.relation.ready_event);
  ColumnWork& work = works.of(memory, right.relation.ready_event);
  OrderedKeys made;
  Side of_left = bring(queue, work, left, ordering->left, &made.held);
  Side of_right = bring(queue, work, right, ordering->right, &made.held);
  look(of_left);
  look(of_right);
  if (ordering->left.form == OrderedForm::kFloat) {
    made.distance = CodeDistance::kFloats;
    made.greatest = kernels::kInfinityCode;
  }
  if (ordering->left.form == OrderedForm::kLong) {
    keys::Extremes between;
    for (Side const* side : {&of_left, &of_right}) {
      if (side->has_values()) between.add(work.extremes(side->key, side->value_rows));
    }
    if (between.any && !between.fits()) {
      keys::Ranks ranks =
          work.rank(of_left.key, of_left.value_rows, of_right.key, of_right.value_rows);
      made.distance = CodeDistance::kRanks;
      made.values = columns::make_storage(std::move(ranks.values));
      made.left = finish(work, of_left, columns::make_storage(std::move(ranks.left)), &made.held);
      made.right =
          finish(work, of_right, columns::make_storage(std::move(ranks.right)), &made.held);
      return made;
    }
    of_left.key.least = of_right.key.least = between.least;
  }
  made.left = finish(work, of_left, codes_of(work, of_left), &made.held);
  made.right = finish(work, of_right, codes_of(work, of_right), &made.held);
  return made;
}

std::optional<uint64_t> ordered_as_they_are(plan::Device device, const ColumnView& left,
                                            const ColumnView& right) {
  auto const lies_there = [&](const ColumnView& column) {
    return (column.memory == base::Memory::kDevice) == (device == plan::Device::kCuda) &&
           column.layout == Layout::kValues && column.width == kCodeWidth;
  };
  if (!lies_there(left) || !lies_there(right)) return std::nullopt;
  auto const ordering = keys::order_by(left, right);
  if (!ordering) return std::nullopt;
  if (ordering->left.form == OrderedForm::kSigned) return kernels::kSignBit;
  if (ordering->left.form == OrderedForm::kUnsigned) return 0;
  return std::nullopt;
}

}  // namespace gpujoin::execute
