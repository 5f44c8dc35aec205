#include "src/execute/extended_relation.hpp"

#include <utility>

#include "src/base/memory.hpp"
#include "src/columns/validity_bits.hpp"

namespace gpujoin::execute {

using columns::ColumnView;
using columns::Layout;
using columns::Relation;
using kernels::KeyOp;

namespace {

keys::KeyStep filled(keys::KeyStep step, const ColumnView& values, bool is_zeroed) {
  step.source = values.data;
  step.width = values.width;
  if (step.op == KeyOp::kAsIs) step.op = KeyOp::kUnsigned;
  if (step.op == KeyOp::kBit) step.first_bit = values.parts->first_bit;
  if (is_zeroed) step.nulls = validity_of(values);
  return step;
}

}  // namespace

ExtendedRelation::ExtendedRelation(base::Queue& queue, Works& works,
                                   const std::shared_ptr<const Relation>& original, bool has_keys)
    : queue_(queue), works_(works), has_keys_(has_keys), held_(std::make_shared<Kept>()) {
  held_->original = original;
}

KeyColumn ExtendedRelation::make(int32_t number, const keys::KeyStep& step, int32_t width,
                                 Nulls nulls_are) {
  ColumnView const& of = column(number);
  if (has_keys_) return {-1, made_view(nullptr, width, of.memory), std::nullopt};
  ColumnView const& values = keys::values_of(of);
  bool const has_positions = &values != &of;
  if (values.layout == Layout::kNulls) return {-1, nulls(of.memory, width), std::nullopt};
  bool const has_nulls = nulls_are == Nulls::kZeroAlways || of.validity != nullptr;
  bool const is_zeroed = nulls_are != Nulls::kAnything && has_nulls && !has_positions;
  if (step.op == KeyOp::kAsIs && !has_positions && !is_zeroed) return {number, of, std::nullopt};
  if (!has_positions) {
    KeyColumn later{-1, made_view(nullptr, width, of.memory), filled(step, values, is_zeroed)};
    later.made.validity = of.validity;
    later.made.validity_bit_offset = of.validity_bit_offset;
    return later;
  }
  ColumnWork& work = works_.of(of.memory, original().ready_event);
  int64_t const value_rows = value_rows_of(of, original().rows);
  columns::GatherSource source;
  source.values.width = width;
  source.values.bytes = static_cast<const uint8_t*>(values.data);
  if (step.op != KeyOp::kAsIs) {
    ColumnView const small = derive(work, value_rows, filled(step, values, false), width);
    source.values.bytes = static_cast<const uint8_t*>(small.data);
  }
  source.values.first = source.values.bytes;
  source.values.end = source.values.bytes + value_rows * width;
  source.validity = validity_of(values);
  columns::Storage const positions = positions_in(work, of, original().rows);
  return {-1, keep_gathered(work, *held(), source, positions, original().rows, width),
          std::nullopt};
}

KeyColumn ExtendedRelation::null_flag(const KeyColumn& of) {
  ColumnView const& view = of.number < 0 ? of.made : column(of.number);
  if (has_keys_) return {-1, made_view(nullptr, 4, view.memory), std::nullopt};
  keys::KeyStep step;
  step.op = view.validity == nullptr ? KeyOp::kZero : KeyOp::kIsNull;
  step.nulls = validity_of(view);
  return {-1, made_view(nullptr, 4, view.memory), step};
}

const ColumnView& ExtendedRelation::made(KeyColumn& key) {
  if (key.step) {
    ColumnWork& work = works_.of(key.made.memory, original().ready_event);
    key.made.data = derive(work, original().rows, *key.step, key.made.width).data;
    key.made.memory = work.memory();
    key.step.reset();
  }
  return view_of(key);
}

cpu::KeySource ExtendedRelation::source_of(const KeyColumn& key) const {
  ColumnView const& view = view_of(key);
  cpu::KeySource source{key.step.value_or(keys::KeyStep()), view.width, validity_of(view)};
  if (!key.step) {
    source.step.source = view.data;
    source.step.width = view.width;
    source.step.op = KeyOp::kUnsigned;
  }
  return source;
}

int32_t ExtendedRelation::add(KeyColumn key) {
  if (key.number >= 0) return key.number;
  made(key);
  if (relation_ == nullptr) {
    relation_ = std::make_shared<Relation>(original());
    relation_->owner = held_;
  }
  relation_->columns.push_back(std::move(key.made));
  return static_cast<int32_t>(relation_->columns.size()) - 1;
}

ColumnView ExtendedRelation::derive(ColumnWork& work, int64_t rows, const keys::KeyStep& step,
                                    int32_t width) {
  auto const count = static_cast<uint64_t>(rows);
  columns::Storage data = work.allocate(base::checked_bytes(count, static_cast<uint64_t>(width)),
                                        "a derived key column");
  work.derive(step, width, count, 1, const_cast<void*>(data.get()));
  held()->push_back(data);
  return made_view(data.get(), width, work.memory());
}

// Zeros, all of them NULL.
ColumnView ExtendedRelation::nulls(base::Memory memory, int32_t width) {
  ColumnWork& work = works_.of(memory, original().ready_event);
  keys::KeyStep zero;
  zero.op = KeyOp::kZero;
  ColumnView view = derive(work, original().rows, zero, width);
  auto const words = columns::bitmap_words_bytes(original().rows) / 4;
  columns::Storage bits = work.allocate(words * 4, "validity of a NULL column");
  work.derive(zero, 4, words, 1, const_cast<void*>(bits.get()));
  view.validity = static_cast<const uint8_t*>(bits.get());
  held()->push_back(std::move(bits));
  return view;
}

}  // namespace gpujoin::execute
