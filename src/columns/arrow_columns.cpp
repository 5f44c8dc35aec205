#include "src/columns/arrow_columns.hpp"

#include <cstring>
#include <utility>

#include "src/base/status.hpp"
#include "src/columns/register_columns.hpp"
#include "src/columns/types.hpp"

namespace gpujoin::columns {

using base::fail;

void check_extent(const ArrowArray& array, const std::string& argument) {
  if (array.length < 0 || array.offset < 0 || array.length > kMostPosition ||
      array.offset > kMostPosition) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s: length %lld, offset %lld", argument.c_str(),
         static_cast<long long>(array.length), static_cast<long long>(array.offset));
  }
  if (array.null_count < -1 || array.null_count > array.length) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.null_count is %lld and its length %lld",
         argument.c_str(), static_cast<long long>(array.null_count),
         static_cast<long long>(array.length));
  }
}

void check_buffers(const ArrowArray& array, int64_t expected, const char* format,
                   const std::string& argument) {
  if (array.n_buffers != expected) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s has %lld buffers, format \"%s\" has %lld",
         argument.c_str(), static_cast<long long>(array.n_buffers), format,
         static_cast<long long>(expected));
  }
  if (array.buffers == nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.buffers is NULL", argument.c_str());
  }
}

void check_children(const ArrowSchema& schema, const ArrowArray& array, const char* schema_name,
                    const char* array_name) {
  if (schema.n_children != array.n_children || schema.n_children < 0 ||
      schema.n_children > INT32_MAX) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s has %lld children and %s has %lld", schema_name,
         static_cast<long long>(schema.n_children), array_name,
         static_cast<long long>(array.n_children));
  }
  if ((schema.dictionary == nullptr) != (array.dictionary == nullptr)) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "one of %s and %s has a dictionary, the other one has not",
         schema_name, array_name);
  }
  if (schema.n_children == 0) return;
  if (schema.children == nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.children is NULL", schema_name);
  }
  if (array.children == nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.children is NULL", array_name);
  }
}

namespace {

void check_node(const ArrowNode& node) {
  if (node.schema.release == nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s was released", node.schema_name.c_str());
  }
  if (node.array.release == nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s was released", node.name.c_str());
  }
  if (node.schema.format == nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.format is NULL", node.schema_name.c_str());
  }
  check_children(node.schema, node.array, node.schema_name.c_str(), node.name.c_str());
  check_extent(node.array, node.name);
}

void check_shape(const ArrowNode& node, int64_t buffers, int64_t children) {
  if (node.array.n_children != children) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s has %lld children, format \"%s\" has %lld",
         node.name.c_str(), static_cast<long long>(node.array.n_children), node.schema.format,
         static_cast<long long>(children));
  }
  if (buffers == 0 && node.array.n_buffers == 0) return;
  check_buffers(node.array, buffers, node.schema.format, node.name);
}

const std::byte* buffer(const ArrowNode& node, int64_t number, const char* what) {
  const void* const found = node.array.buffers[number];
  if (found == nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s has no %s buffer", node.name.c_str(), what);
  }
  return static_cast<const std::byte*>(found);
}

void take_validity(const ArrowNode& node, int64_t offset, ColumnView& view) {
  if (node.array.null_count == 0) return;
  view.validity = static_cast<const uint8_t*>(node.array.buffers[0]);
  if (view.validity == nullptr && node.array.null_count > 0) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s has %lld NULLs and no validity buffer",
         node.name.c_str(), static_cast<long long>(node.array.null_count));
  }
  if (view.validity != nullptr) view.validity_bit_offset = offset;
}

}  // namespace

ColumnView ArrowColumns::view_of(const ArrowNode& node, int64_t first_row, int64_t rows) const {
  check_node(node);
  if (node.array.length < first_row + rows) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s has %lld rows and the struct needs %lld",
         node.name.c_str(), static_cast<long long>(node.array.length),
         static_cast<long long>(first_row + rows));
  }
  ArrowType const type = type_of_arrow_format(node.schema.format);
  ColumnView view;
  view.type = type.type;
  view.width = type.width;
  view.layout = type.layout;
  view.memory = memory_;
  if (node.schema.name != nullptr) view.name = node.schema.name;
  view.arrow_format = node.schema.format;
  int64_t const offset = node.array.offset + first_row;
  if (node.schema.dictionary != nullptr) {
    take_dictionary(node, offset, rows, view);
    return view;
  }
  switch (view.layout) {
    case Layout::kOther:
      return view;
    case Layout::kRuns:
      take_runs(node, offset, rows, view);
      return view;
    case Layout::kNulls:
      check_shape(node, 0, 0);
      return view;
    case Layout::kViews:
      take_views(node, offset, rows, view);
      break;
    case Layout::kText:
      take_text(node, offset, rows, view);
      break;
    default:
      take_values(node, offset, rows, type.scale, view);
  }
  if (rows != 0) take_validity(node, offset, view);
  return view;
}

std::shared_ptr<ColumnParts> ArrowColumns::make_parts() const {
  auto parts = std::make_shared<ColumnParts>();
  parts->memory = memory_;
  parts->owner = owner_;
  return parts;
}

// Where there are no rows nobody reads the pointers, and producers may leave them NULL.
void ArrowColumns::take_values(const ArrowNode& node, int64_t offset, int64_t rows, int32_t scale,
                               ColumnView& view) const {
  check_shape(node, 2, 0);
  bool const is_bits = view.layout == Layout::kBits;
  if (is_bits || scale != 0) {
    auto parts = make_parts();
    parts->scale = scale;
    if (is_bits) parts->first_bit = offset;
    view.parts = std::move(parts);
  }
  if (rows == 0) return;
  if (view.layout == Layout::kWide && view.width == 0) return;
  const std::byte* const data = buffer(node, 1, "data");
  if (view.layout == Layout::kValues) check_alignment(data, view.width, node.name.c_str());
  view.data = is_bits ? data : data + offset * view.width;
}

void ArrowColumns::take_text(const ArrowNode& node, int64_t offset, int64_t rows,
                             ColumnView& view) const {
  check_shape(node, 3, 0);
  auto parts = make_parts();
  parts->offset_width = is_large_text(view.type) ? 8 : 4;
  if (rows != 0) {
    const std::byte* const offsets = buffer(node, 1, "offsets");
    check_alignment(offsets, parts->offset_width, node.name.c_str());
    parts->offsets = offsets + offset * parts->offset_width;
    view.data = node.array.buffers[2];
  }
  view.parts = std::move(parts);
  if (rows != 0) check_text(view, rows, node.name.c_str());
}

void ArrowColumns::take_views(const ArrowNode& node, int64_t offset, int64_t rows,
                              ColumnView& view) const {
  if (node.array.n_buffers < 3) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s has %lld buffers, format \"%s\" has 3 or more",
         node.name.c_str(), static_cast<long long>(node.array.n_buffers), node.schema.format);
  }
  check_shape(node, node.array.n_buffers, 0);
  auto parts = make_parts();
  if (rows != 0) {
    const std::byte* const views = buffer(node, 1, "views");
    check_alignment(views, 4, node.name.c_str());
    view.data = views + offset * 16;
  }
  int64_t const count = node.array.n_buffers - 3;
  if (count > 0) {
    const std::byte* const sizes = buffer(node, node.array.n_buffers - 1, "sizes");
    parts->buffers.assign(node.array.buffers + 2, node.array.buffers + 2 + count);
    // Sizes lie in host memory, wherever the buffers lie.
    parts->buffer_bytes.resize(static_cast<size_t>(count));
    std::memcpy(parts->buffer_bytes.data(), sizes, static_cast<size_t>(count) * 8);
  }
  view.parts = std::move(parts);
}

void ArrowColumns::take_dictionary(const ArrowNode& node, int64_t offset, int64_t rows,
                                   ColumnView& view) const {
  if (view.type < GPUJOIN_TYPE_INT8 || view.type > GPUJOIN_TYPE_UINT64) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
         "%s.format is \"%s\", and positions in a dictionary are integers",
         node.schema_name.c_str(), node.schema.format);
  }
  take_values(node, offset, rows, 0, view);
  if (rows != 0) take_validity(node, offset, view);
  ArrowNode const dictionary{*node.schema.dictionary, *node.array.dictionary,
                             node.schema_name + ".dictionary", node.name + ".dictionary"};
  auto parts = make_parts();
  parts->value_rows = dictionary.array.length;
  parts->values = std::make_shared<ColumnView>(view_of(dictionary, 0, parts->value_rows));
  parts->dictionary_schema = &dictionary.schema;
  parts->dictionary_array = &dictionary.array;
  parts->is_ordered = (node.schema.flags & ARROW_FLAG_DICTIONARY_ORDERED) != 0;
  view.type = GPUJOIN_TYPE_DICTIONARY;
  view.layout = Layout::kIndices;
  view.parts = std::move(parts);
}

void ArrowColumns::take_runs(const ArrowNode& node, int64_t offset, int64_t rows,
                             ColumnView& view) const {
  check_shape(node, 0, 2);
  auto const child = [&](int64_t i) {
    std::string const which = ".children[" + std::to_string(i) + "]";
    const ArrowSchema* const schema = node.schema.children[i];
    const ArrowArray* const array = node.array.children[i];
    if (schema == nullptr || array == nullptr) {
      fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s%s is NULL",
           (schema == nullptr ? node.schema_name : node.name).c_str(), which.c_str());
    }
    return ArrowNode{*schema, *array, node.schema_name + which, node.name + which};
  };
  ArrowNode const ends_node = child(0);
  ColumnView const ends = view_of(ends_node, 0, ends_node.array.length);
  ArrowNode const values = child(1);
  auto parts = make_parts();
  parts->value_rows = ends_node.array.length;
  parts->values = std::make_shared<ColumnView>(view_of(values, 0, parts->value_rows));
  parts->first_row = offset;
  bool const are_ends = ends.type == GPUJOIN_TYPE_INT16 || ends.type == GPUJOIN_TYPE_INT32 ||
                        ends.type == GPUJOIN_TYPE_INT64;
  if (!are_ends || ends.layout != Layout::kValues || ends.validity != nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s: ends of runs are INT16, INT32 or INT64, not NULL",
         ends_node.name.c_str());
  }
  if (rows > 0 && parts->value_rows == 0) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s has no run and the struct needs %lld rows",
         node.name.c_str(), static_cast<long long>(rows));
  }
  view.width = ends.width;
  view.data = ends.data;
  view.parts = std::move(parts);
}

}  // namespace gpujoin::columns
