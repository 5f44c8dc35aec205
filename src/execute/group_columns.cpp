#include "src/execute/group_columns.hpp"

#include <utility>

#include "src/execute/aggregate_types.hpp"
#include "src/execute/late_columns.hpp"
#include "src/execute/travellers.hpp"
#include "src/keys/derived_key.hpp"

namespace gpujoin::execute {

namespace {

using columns::ColumnView;
using columns::Layout;
using columns::Storage;

// The values of the rows, one after the other. Dictionaries may be NULL where their indices are
// not.
ColumnView with_values(base::Queue& queue, ColumnWork& work, const ColumnView& column, int64_t rows,
                       Held* held) {
  ColumnView made = keys::values_of(column);
  auto const count = static_cast<uint64_t>(rows);
  if (rows == 0 || made.layout == Layout::kNulls) return made;
  Storage const positions = positions_in(work, column, rows);
  auto const* const numbers = static_cast<const uint32_t*>(positions.get());
  columns::Gathered gathered;
  if (made.layout == Layout::kBits) {
    columns::BitsSource source;
    source.bits = static_cast<const uint8_t*>(made.data);
    source.offset = made.parts->first_bit;
    source.validity = validity_of(made);
    gathered = work.gather(source, numbers, count);
  } else {
    int64_t value_rows = column.parts->value_rows;
    for (const ColumnView* at = column.parts->values.get(); names_values(*at);
         at = at->parts->values.get()) {
      value_rows = at->parts->value_rows;
    }
    ColumnView of = made;
    // Views are moved as they are.
    if (of.layout == Layout::kViews) of.layout = Layout::kValues;
    columns::GatherSource source;
    source.values = bytes_of(queue, work, of, value_rows, held);
    source.validity = validity_of(made);
    gathered = work.gather(source, numbers, count);
  }
  columns::ResultColumn written = columns::column_like(made);
  take(std::move(gathered), &written);
  held->insert(held->end(), {written.data, written.offsets, written.validity});
  return view_of(written, work.memory());
}

}  // namespace

GroupColumns::GroupColumns(base::Queue& queue, base::Memory memory)
    : queue_(queue), work_(make_column_work(queue, memory)) {}

ColumnView GroupColumns::readable(const columns::Relation& relation, int32_t column) {
  for (Read const& read : read_) {
    if (read.relation == &relation && read.column == column) return read.view;
  }
  ColumnView const& given = relation.columns[static_cast<size_t>(column)];
  if (relation.ready_event != nullptr) work_->await(relation.ready_event);
  ColumnView view = bring_column(queue_, *work_, given, relation.rows, &held_);
  if (names_values(view)) view = with_values(queue_, *work_, view, relation.rows, &held_);
  read_.push_back({&relation, column, view});
  return view;
}

kernels::GroupState GroupColumns::state_of(kernels::StateKind kind,
                                           const columns::Relation& relation, int32_t column) {
  kernels::GroupState state;
  state.kind = kind;
  ColumnView const view = readable(relation, column);
  state.is_null = view.layout == Layout::kNulls;
  state.validity = validity_of(view);
  if (kind == kernels::StateKind::kLeastRow || kind == kernels::StateKind::kGreatestRow) {
    state.ordered.form = rows_form_of(view);
    state.ordered.numbers = numbers_of(view).form;
    if (view.layout == Layout::kBits) {
      state.ordered.values.bytes = static_cast<const uint8_t*>(view.data);
      state.ordered.first_bit = view.parts->first_bit;
    } else if (!state.is_null) {
      state.ordered.values = bytes_of(queue_, *work_, view, relation.rows, &held_);
    }
  } else if (!kernels::keeps_row(kind) && kind != kernels::StateKind::kRows) {
    state.numbers = numbers_of(view);
    if (kind == kernels::StateKind::kSum) state.words = kernels::sum_words_of(state.numbers);
  }
  return state;
}

}  // namespace gpujoin::execute
