// aggregate_spec.cpp: what is to be joined, of a join with aggregates.
#include "src/execute/aggregate.hpp"

namespace gpujoin::execute {

using columns::Aggregate;
using columns::Groups;
using columns::JoinSpec;
using columns::PairSides;

namespace {

void add_columns(const JoinSpec& asked, bool left, std::vector<int32_t>* columns) {
  for (Aggregate const& aggregate : asked.aggregates) {
    if (aggregate.column >= 0 && aggregate.of_left == left) columns->push_back(aggregate.column);
  }
}

}  // namespace

JoinSpec spec_of_rows(const JoinSpec& asked) {
  JoinSpec rows = asked;
  rows.aggregates.clear();
  rows.groups = Groups::kAll;
  rows.order = columns::RowOrder::kNone;
  rows.bounds.row_limit = 0;
  rows.bounds.byte_limit = 0;
  rows.left_columns.clear();
  rows.right_columns.clear();
  rows.materialize = false;
  rows.pairs = true;
  if (rows.kind != columns::JoinKind::kInner) return rows;
  bool const of_left = asked.groups == Groups::kLeft || !columns_read(asked, true).empty();
  bool const of_right = asked.groups == Groups::kRight || !columns_read(asked, false).empty();
  // Rows that are only counted have a number all the same.
  if (of_left != of_right) rows.pair_sides = of_left ? PairSides::kLeft : PairSides::kRight;
  if (!of_left && !of_right) rows.pair_sides = PairSides::kLeft;
  return rows;
}

std::vector<int32_t> columns_read(const JoinSpec& asked, bool left) {
  std::vector<int32_t> read = left ? asked.left_columns : asked.right_columns;
  add_columns(asked, left, &read);
  return read;
}

bool is_product(const JoinSpec& asked) {
  return asked.kind == columns::JoinKind::kCross && asked.groups == Groups::kAll &&
         asked.residual == nullptr;
}

}  // namespace gpujoin::execute
