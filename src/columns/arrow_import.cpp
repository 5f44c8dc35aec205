#include "src/columns/arrow_import.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "src/base/status.hpp"
#include "src/columns/arrow_columns.hpp"
#include "src/columns/register_columns.hpp"
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
  ArrowColumns const arrow(memory, owner);
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
    relation->columns.push_back(
        arrow.view_of({*child_schema, *child_array, "schema" + child, "array" + child},
                      array.offset, array.length));
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
