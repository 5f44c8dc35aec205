// sources.cpp: a condition's columns as its instructions read them; what it says where it fails.
#include "src/base/status.hpp"
#include "src/conditions/bound_condition.hpp"
#include "src/conditions/value_type.hpp"
#include "src/keys/column_positions.hpp"

namespace gpujoin::conditions {

namespace {

using columns::ColumnView;
using columns::Layout;
using kernels::BytesLayout;

kernels::Hop hop_of(const ColumnView& column) {
  kernels::Hop hop;
  hop.is_runs = column.layout == Layout::kRuns;
  if (hop.is_runs) {
    hop.runs = keys::runs_of(column);
  } else {
    hop.indices = keys::indices_of(column);
  }
  return hop;
}

kernels::BytesColumn bytes_in(const ColumnView& values) {
  kernels::BytesColumn bytes;
  auto const* const data = static_cast<const uint8_t*>(values.data);
  if (values.layout == Layout::kText) {
    bytes.layout =
        values.parts->offset_width == 8 ? BytesLayout::kOffsets64 : BytesLayout::kOffsets32;
    bytes.bytes = data;
    bytes.places = values.parts->offsets;
  } else if (values.layout == Layout::kViews) {
    bytes.layout = BytesLayout::kViews;
    bytes.places = data;
  } else {
    bytes.width = values.width;
    bytes.bytes = data;
  }
  return bytes;
}

}  // namespace

void add_source(const ColumnView& column, bool of_left, Sources* sources) {
  kernels::ConditionColumn made;
  made.of_left = of_left;
  made.first_hop = static_cast<uint32_t>(sources->hops.size());
  const ColumnView* values = &column;
  while (names_values(*values)) {
    sources->hops.push_back(hop_of(*values));
    ++made.hop_count;
    values = values->parts->values.get();
  }
  made.form = form_of(*values);
  made.data = values->data;
  made.validity = {values->validity, values->validity_bit_offset};
  if (made.form == kernels::ValueForm::kBit) made.first_bit = values->parts->first_bit;
  if (made.form == kernels::ValueForm::kBytes) made.bytes = bytes_in(*values);
  if (values->layout == Layout::kViews) {
    sources->views.push_back({sources->columns.size(), values->parts->buffers});
    made.bytes.buffers = reinterpret_cast<const uint8_t* const*>(values->parts->buffers.data());
  }
  sources->columns.push_back(made);
}

void BoundCondition::fail_for(base::Queue* queue, kernels::ValueState state, uint32_t left_row,
                              uint32_t right_row) const {
  if (state < kernels::kNoValue) {
    base::fail(GPUJOIN_ERROR_INTERNAL, "a condition with a value has none");
  }
  auto const node = static_cast<size_t>(state - kernels::kNoValue) / 2;
  bool const by_zero = (state - kernels::kNoValue) % 2 != 0;
  std::string const what = by_zero ? "a division by zero" : "an overflow of " + node_types[node];
  auto const row = [&](const char* side, uint32_t number) {
    if (number == kernels::kMissingRow) return "no " + std::string(side) + " row";
    bool const of_left = side[0] == 'l';
    if (registered_row != nullptr) number = registered_row(queue, of_left, number);
    return std::string(side) + " row " + std::to_string(number);
  };
  base::fail(GPUJOIN_ERROR_EVALUATION, "%s.nodes[%zu]: %s in %s and %s", argument.c_str(), node,
             what.c_str(), row("left", left_row).c_str(), row("right", right_row).c_str());
}

}  // namespace gpujoin::conditions
