// estimate.cpp: gpujoin_estimate_join of gpujoin.h section 8.
#include "src/execute/estimate.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "bindings/c/arguments.hpp"
#include "bindings/c/guard.hpp"
#include "bindings/c/handles.hpp"
#include "bindings/c/join_spec.hpp"
#include "src/columns/register_columns.hpp"

namespace gpujoin::shim {

namespace {

using base::fail;
using columns::ColumnView;
using columns::Layout;

constexpr double kUsualBytes = 16;
constexpr double kMostBytes = 1e9;

// A column without data.
ColumnView view_of(const gpujoin_expected_column& column, base::Memory memory,
                   const std::string& name) {
  static const uint8_t kSome = 0xff;
  ColumnView view;
  view.type = column.type;
  view.layout = columns::layout_of(column.type);
  view.width = columns::width_of(column.type);
  view.memory = memory;
  view.name = name;
  if (view.layout == Layout::kOther || view.layout == Layout::kRuns) {
    fail(GPUJOIN_ERROR_TYPE, "%s.type: %d is not a GPUJOIN_TYPE_* of a column's values",
         name.c_str(), column.type);
  }
  view.arrow_format = columns::arrow_format_of(column.type);
  check_range(column.is_nullable, 0, 1, (name + ".is_nullable").c_str());
  if (column.is_nullable != 0) view.validity = &kSome;
  auto parts = std::make_shared<columns::ColumnParts>();
  if (view.layout == Layout::kText) {
    parts->offset_width = columns::is_large_text(column.type) ? 8 : 4;
  } else if (column.type == GPUJOIN_TYPE_FIXED_BINARY) {
    check_range(column.value_width, 1, INT32_MAX, (name + ".value_width").c_str());
    view.width = column.value_width;
  } else if (view.layout == Layout::kIndices) {
    view.width = column.value_width == 0 ? 4 : column.value_width;
    check_range(view.width, 1, 8, (name + ".value_width").c_str());
    // What values a dictionary has does not matter: keys of all are codes.
    auto values = std::make_shared<ColumnView>();
    values->type = GPUJOIN_TYPE_UTF8;
    values->layout = Layout::kText;
    values->arrow_format = columns::arrow_format_of(values->type);
    values->parts = std::make_shared<columns::ColumnParts>();
    parts->values = std::move(values);
  }
  view.parts = std::move(parts);
  return view;
}

base::Memory memory_of(const base::Context& context, gpujoin_memory memory,
                       const std::string& name) {
  check_range(memory, GPUJOIN_MEMORY_AUTOMATIC, GPUJOIN_MEMORY_PINNED, (name + ".memory").c_str());
  if (memory != GPUJOIN_MEMORY_DEVICE) {
    return memory == GPUJOIN_MEMORY_PINNED ? base::Memory::kPinned : base::Memory::kHost;
  }
  if (!context.is_cuda()) {
    fail(GPUJOIN_ERROR_UNSUPPORTED, "%s.memory: device memory with a context of the CPU",
         name.c_str());
  }
  return base::Memory::kDevice;
}

execute::ExpectedSide side_of(const base::Context& context, const gpujoin_expected_side& given,
                              const std::string& name) {
  columns::check_row_count(given.rows, (name + ".rows").c_str());
  check_range(given.has_matched_rows, 0, 1, (name + ".has_matched_rows").c_str());
  check_reserved(given.reserved, (name + ".reserved").c_str());
  check_range(given.distinct_keys, 0, given.rows, (name + ".distinct_keys").c_str());
  base::Memory const memory = memory_of(context, given.memory, name);
  execute::ExpectedSide side;
  side.relation = std::make_shared<columns::Relation>();
  side.relation->rows = given.rows;
  side.distinct_keys = given.distinct_keys;
  if (given.has_matched_rows != 0) {
    check_range(given.matched_rows, 0, given.rows, (name + ".matched_rows").c_str());
    side.matched_rows = given.matched_rows;
  }
  std::string const list = name + ".columns";
  for (gpujoin_expected_column const& column : read_array(
           given.columns, given.column_count, list.c_str(), (name + ".column_count").c_str())) {
    std::string const element = list + "[" + std::to_string(side.text_bytes.size()) + "]";
    // NaN is no such number.
    if (!(column.value_bytes >= 0 && column.value_bytes <= kMostBytes)) {
      fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.value_bytes is %g, allowed are 0 to %g",
           element.c_str(), column.value_bytes, kMostBytes);
    }
    side.relation->columns.push_back(view_of(column, memory, element));
    side.text_bytes.push_back(column.value_bytes == 0 ? kUsualBytes : column.value_bytes);
  }
  return side;
}

// The specification is checked as that of a join is, and its arguments have other names.
columns::JoinSpec spec_of(const gpujoin_expected_join& join, const gpujoin_expected_side& left,
                          const gpujoin_expected_side& right, const execute::ExpectedJoin& of) {
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  spec.kind = join.kind;
  spec.key_count = join.key_count;
  spec.output = join.output;
  spec.order = join.order;
  spec.left_keys = left.keys;
  spec.right_keys = right.keys;
  spec.left_columns = left.output_columns;
  spec.right_columns = right.output_columns;
  spec.left_column_count = left.output_column_count;
  spec.right_column_count = right.output_column_count;
  try {
    return checked_spec(&spec, *of.left.relation, *of.right.relation);
  } catch (const base::Error& error) {
    std::string text = error.what();
    constexpr std::pair<const char*, const char*> kNames[] = {
        {"spec.left_keys", "join.left.keys"},
        {"spec.right_keys", "join.right.keys"},
        {"spec.left_column", "join.left.output_column"},
        {"spec.right_column", "join.right.output_column"},
        {"spec.", "join."}};
    for (auto const& [from, to] : kNames) {
      for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1)) {
        text.replace(at, std::strlen(from), to);
      }
    }
    throw base::Error(error.status(), text);
  }
}

void copy_text(const std::string& text, char (&room)[192]) {
  size_t const bytes = std::min(text.size(), sizeof(room) - 1);
  std::memcpy(room, text.data(), bytes);
  room[bytes] = '\0';
}

gpujoin_estimate estimate_of(const execute::JoinEstimate& found, bool lies_on_device) {
  gpujoin_estimate estimate = GPUJOIN_ESTIMATE_INIT;
  estimate.device = GPUJOIN_DEVICE_CPU;
  estimate.output_rows = found.rows;
  estimate.output_bytes = found.bytes;
  estimate.cpu_milliseconds = found.cpu.seconds * 1e3;
  estimate.cpu_bytes = found.cpu.bytes;
  estimate.cpu_memory_bytes = found.cpu.memory_bytes;
  copy_text(found.cpu.plan, estimate.cpu_plan);
  if (!found.cuda) return estimate;
  if (lies_on_device || found.cuda->seconds < found.cpu.seconds) {
    estimate.device = GPUJOIN_DEVICE_CUDA;
  }
  estimate.cuda_milliseconds = found.cuda->seconds * 1e3;
  estimate.cuda_fetch_milliseconds = found.cuda->fetch_seconds * 1e3;
  estimate.cuda_bytes = found.cuda->bytes;
  estimate.cuda_memory_bytes = found.cuda->memory_bytes;
  copy_text(found.cuda->plan, estimate.cuda_plan);
  return estimate;
}

}  // namespace

}  // namespace gpujoin::shim

using namespace gpujoin::shim;

gpujoin_status gpujoin_estimate_join(gpujoin_context* context, const gpujoin_expected_join* join,
                                     gpujoin_estimate* estimate, gpujoin_error* error) {
  auto const held = object_of(context);
  return guard(held, error, [&] {
    check_found(held.get(), context, "context");
    gpujoin_expected_join const known = read_struct(join, "join");
    gpujoin_expected_side const left = read_struct(known.left, "join.left");
    gpujoin_expected_side const right = read_struct(known.right, "join.right");
    read_struct(estimate, "estimate");
    held->check_usable();
    gpujoin::execute::ExpectedJoin expected;
    expected.left = side_of(*held, left, "join.left");
    expected.right = side_of(*held, right, "join.right");
    expected.spec = spec_of(known, left, right, expected);
    check_range(known.has_pairs, 0, 1, "join.has_pairs");
    if (known.has_pairs != 0) {
      check_range(known.pairs, 0, INT64_MAX, "join.pairs");
      expected.pairs = known.pairs;
    }
    bool const lies_on_device =
        left.memory == GPUJOIN_MEMORY_DEVICE || right.memory == GPUJOIN_MEMORY_DEVICE;
    write_struct(estimate_of(gpujoin::execute::estimate(held->facts, expected), lies_on_device),
                 estimate);
  });
}
