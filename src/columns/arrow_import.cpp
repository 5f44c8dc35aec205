#include "src/columns/arrow_import.hpp"

#include <string>
#include <string_view>

#include "src/base/status.hpp"
#include "src/columns/register_columns.hpp"
#include "src/columns/types.hpp"
#include "src/columns/validity_bits.hpp"

namespace gpujoin::columns {

namespace {

using base::fail;
using base::Memory;

// What a relation holds of a moved-in batch. Empty until everything that can throw is over.
struct OwnedArrow {
  ArrowSchema schema{};
  ArrowArray array{};

  OwnedArrow() = default;
  OwnedArrow(const OwnedArrow&) = delete;
  OwnedArrow& operator=(const OwnedArrow&) = delete;
  ~OwnedArrow() {
    if (array.release != nullptr) array.release(&array);
    if (schema.release != nullptr) schema.release(&schema);
  }
  void take(ArrowSchema& from_schema, ArrowArray& from_array) noexcept {
    schema = from_schema;
    array = from_array;
    from_schema.release = nullptr;
    from_array.release = nullptr;
  }
};

// Row positions in a producer's buffers, and how many of them are NULL: -1 is not counted.
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

// Schema and array describe one tree; what is below the children of a struct is not read.
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

// A row that is NULL as a whole has no place in a relation.
void check_no_null_structs(const ArrowArray& array, Memory memory) {
  bool const has_bits = array.buffers[0] != nullptr;
  int64_t nulls = array.null_count;
  if (nulls < 0 && !has_bits) nulls = 0;
  if (nulls < 0 && memory != Memory::kDevice) {
    nulls = count_nulls(static_cast<const uint8_t*>(array.buffers[0]), array.offset, array.length);
  }
  if (nulls < 0) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
         "array: the struct has validity bits in device memory and an unknown null_count");
  }
  if (nulls > 0) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "array: %lld rows of the struct itself are NULL",
         static_cast<long long>(nulls));
  }
}

// One child, from row `first_row` of the struct on.
ColumnView view_of(const ArrowSchema& schema, const ArrowArray& array, int64_t first_row,
                   int64_t rows, Memory memory, const std::string& schema_name,
                   const std::string& argument) {
  if (schema.release == nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s was released", schema_name.c_str());
  }
  if (array.release == nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s was released", argument.c_str());
  }
  if (schema.format == nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.format is NULL", schema_name.c_str());
  }
  check_children(schema, array, schema_name.c_str(), argument.c_str());
  check_extent(array, argument);
  if (array.length < first_row + rows) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s has %lld rows and the struct needs %lld",
         argument.c_str(), static_cast<long long>(array.length),
         static_cast<long long>(first_row + rows));
  }
  ColumnView view;
  view.memory = memory;
  if (schema.name != nullptr) view.name = schema.name;
  view.arrow_format = schema.format;
  if (schema.dictionary != nullptr) {
    view.arrow_format += " (dictionary)";  // the format alone is the indices' type
    return view;
  }
  view.type = type_of_arrow_format(schema.format);
  view.width = width_of(view.type);
  if (view.type == 0) return view;
  if (array.n_children != 0) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s has %lld children, format \"%s\" has none",
         argument.c_str(), static_cast<long long>(array.n_children), schema.format);
  }
  check_buffers(array, 2, schema.format, argument);
  if (rows == 0) return view;  // nobody reads its pointers, and producers may leave them NULL

  int64_t const offset = array.offset + first_row;
  const auto* data = static_cast<const std::byte*>(array.buffers[1]);
  if (data == nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s has no data buffer", argument.c_str());
  }
  check_alignment(data, view.width, argument.c_str());
  view.data = data + offset * view.width;
  if (array.null_count == 0) return view;
  view.validity = static_cast<const uint8_t*>(array.buffers[0]);
  if (view.validity == nullptr && array.null_count > 0) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s has %lld NULLs and no validity buffer",
         argument.c_str(), static_cast<long long>(array.null_count));
  }
  if (view.validity != nullptr) view.validity_bit_offset = offset;
  return view;
}

std::shared_ptr<Relation> import_struct(const std::shared_ptr<base::Context>& context,
                                        ArrowSchema& schema, ArrowArray& array, Memory memory,
                                        void* ready_event) {
  if (schema.release == nullptr) fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "schema was released");
  if (array.release == nullptr) fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "array was released");
  if (schema.format == nullptr || std::string_view(schema.format) != "+s") {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "schema: format is \"%s\", a struct's is \"+s\"",
         schema.format == nullptr ? "" : schema.format);
  }
  check_children(schema, array, "schema", "array");
  if (schema.dictionary != nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "schema.dictionary is given, and a struct has none");
  }
  check_extent(array, "array");
  check_row_count(array.length, "array.length");
  check_buffers(array, 1, schema.format, "array");
  check_no_null_structs(array, memory);

  auto relation = std::make_shared<Relation>();
  auto owner = std::make_shared<OwnedArrow>();
  relation->context = context;
  relation->rows = array.length;
  relation->ready_event = ready_event;
  relation->columns.reserve(static_cast<size_t>(array.n_children));
  for (int64_t i = 0; i < array.n_children; ++i) {
    std::string const child = ".children[" + std::to_string(i) + "]";
    const ArrowSchema* const child_schema = schema.children[i];
    const ArrowArray* const child_array = array.children[i];
    if (child_schema == nullptr || child_array == nullptr) {
      fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s%s is NULL",
           child_schema == nullptr ? "schema" : "array", child.c_str());
    }
    relation->columns.push_back(view_of(*child_schema, *child_array, array.offset, array.length,
                                        memory, "schema" + child, "array" + child));
  }
  owner->take(schema, array);
  relation->owner = std::move(owner);
  return relation;
}

}  // namespace

std::shared_ptr<Relation> import_arrow(const std::shared_ptr<base::Context>& context,
                                       ArrowSchema& schema, ArrowArray& array) {
  return import_struct(context, schema, array, Memory::kHost, nullptr);
}

std::shared_ptr<Relation> import_arrow_device(const std::shared_ptr<base::Context>& context,
                                              ArrowSchema& schema, ArrowDeviceArray& array) {
  for (int64_t const reserved : array.reserved) {
    if (reserved != 0) {
      fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "array.reserved is reserved and not zero");
    }
  }
  if (array.device_type == ARROW_DEVICE_CPU && array.sync_event != nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
         "array.sync_event is given and array.device_type is ARROW_DEVICE_CPU");
  }
  switch (array.device_type) {
    case ARROW_DEVICE_CPU:
      return import_struct(context, schema, array.array, Memory::kHost, nullptr);
    case ARROW_DEVICE_CUDA:
    case ARROW_DEVICE_CUDA_HOST:
    case ARROW_DEVICE_CUDA_MANAGED:
      break;
    default:
      fail(GPUJOIN_ERROR_UNSUPPORTED, "array.device_type: %d is neither CPU nor CUDA",
           array.device_type);
  }
  // A CPU context has no stream that could wait for the event, and no right to device memory.
  if (!context->is_cuda() &&
      (array.device_type != ARROW_DEVICE_CUDA_HOST || array.sync_event != nullptr)) {
    fail(GPUJOIN_ERROR_UNSUPPORTED, "array.device_type: CUDA memory with a context on the CPU");
  }
  if (array.device_type == ARROW_DEVICE_CUDA && array.device_id != context->facts.cuda_device_id) {
    fail(GPUJOIN_ERROR_UNSUPPORTED, "array.device_id is %lld and the context's device is %d",
         static_cast<long long>(array.device_id), context->facts.cuda_device_id);
  }
  Memory const memory =
      array.device_type == ARROW_DEVICE_CUDA_HOST ? Memory::kPinned : Memory::kDevice;
  return import_struct(context, schema, array.array, memory, array.sync_event);
}

}  // namespace gpujoin::columns
