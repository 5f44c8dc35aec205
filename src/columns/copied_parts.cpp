#include "src/columns/copied_parts.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/columns/page.hpp"
#include "src/columns/validity_bits.hpp"

namespace gpujoin::columns {

namespace {

using base::Memory;

// One copy's ends.
struct Way {
  base::Queue& queue;
  Memory from;
  Memory to;  // kPinned or kDevice
};

Memory memory_to_take(Memory to) { return to == Memory::kDevice ? to : Memory::kPinned; }

// Of `bytes` bytes behind `lead` unused ones.
Storage copied(const Way& way, const void* source, uint64_t lead, uint64_t bytes) {
  if (bytes == 0) return nullptr;
  constexpr const char* kWhat = "what an exported column names";
  base::Buffer buffer;
  if (way.to == Memory::kDevice) {
    buffer = way.queue.device_pool->allocate(way.to, lead + bytes, kWhat);
  } else {
    buffer = way.queue.device_pool->try_allocate(way.to, lead + bytes);
    if (!buffer) buffer = way.queue.host_pool->allocate(Memory::kHost, lead + bytes, kWhat);
  }
  auto* const target = static_cast<std::byte*>(buffer.data());
  base::copy(way.queue, target + lead, buffer.memory(), source, way.from, bytes);
  return make_storage(std::move(buffer));
}

Storage copied_bits(const Way& way, const void* source, int64_t first_bit, int64_t rows) {
  auto const* const bytes = static_cast<const std::byte*>(source);
  return copied(way, bytes + first_bit / 8, 0, bitmap_bytes(first_bit % 8 + rows));
}

// The values of a dictionary. They begin where their validity does in its first byte, so that no
// bit is shifted; what lies before is skipped by the array's offset.
ExportedColumn copied_values(const Way& way, const ColumnView& values, int64_t rows) {
  ExportedColumn made;
  made.layout = values.layout;
  made.width = values.width;
  made.null_count = values.layout == Layout::kNulls ? rows : values.validity == nullptr ? 0 : -1;
  made.parts = values.parts;
  if (rows == 0 || values.layout == Layout::kNulls) return made;
  bool const is_bits = values.layout == Layout::kBits;
  if (is_bits) {
    made.offset = values.parts->first_bit % 8;
  } else if (values.validity != nullptr) {
    made.offset = values.validity_bit_offset % 8;
  }
  auto const lead = static_cast<uint64_t>(made.offset);
  auto const count = static_cast<uint64_t>(rows);
  if (values.validity != nullptr) {
    made.validity = copied_bits(way, values.validity, values.validity_bit_offset, rows);
  }
  if (is_bits) {
    made.data = copied_bits(way, values.data, values.parts->first_bit, rows);
  } else if (values.layout == Layout::kText) {
    TextOffsets const text(way.queue, way.from, values.parts->offsets, values.parts->offset_width);
    auto const width = static_cast<uint64_t>(text.width());
    made.offset_width = text.width();
    made.offsets = copied(way, values.parts->offsets, lead * width, (count + 1) * width);
    made.data = copied(way, values.data, 0, text.at(rows));
  } else {
    auto const width = static_cast<uint64_t>(values.width);
    made.data = copied(way, values.data, lead * width, base::checked_bytes(count, width));
  }
  if (names_others(made)) made.parts = copied_parts(way.queue, made, way.to);
  return made;
}

// A dictionary as an array of its own, and what its schema lies in.
struct CopiedDictionary {
  std::shared_ptr<const void> given;
  ArrowArray array{};
  CopiedDictionary() = default;
  CopiedDictionary(const CopiedDictionary&) = delete;
  CopiedDictionary& operator=(const CopiedDictionary&) = delete;
  ~CopiedDictionary() {
    if (array.release != nullptr) array.release(&array);
  }
};

}  // namespace

std::shared_ptr<const ColumnParts> copied_parts(base::Queue& queue, const ExportedColumn& column,
                                                Memory to) {
  ColumnParts const& given = *column.parts;
  Way const way{queue, given.memory, memory_to_take(to)};
  auto made = std::make_shared<ColumnParts>(given);
  made->memory = to;
  if (column.layout == Layout::kViews) {
    auto buffers = std::make_shared<std::vector<Storage>>();
    for (size_t i = 0; i < given.buffers.size(); ++i) {
      buffers->push_back(
          copied(way, given.buffers[i], 0, static_cast<uint64_t>(given.buffer_bytes[i])));
      made->buffers[i] = buffers->back().get();
    }
    made->owner = std::move(buffers);
    return made;
  }
  ColumnView const& values = *given.values;
  if (values.layout == Layout::kOther || values.layout == Layout::kRuns) {
    base::fail(GPUJOIN_ERROR_UNSUPPORTED,
               "column \"%s\": its dictionary has the Arrow format \"%s\" and lies in the other "
               "memory",
               column.name.c_str(), values.arrow_format.c_str());
  }
  auto dictionary = std::make_shared<CopiedDictionary>();
  dictionary->given = given.owner;
  make_column_array(copied_values(way, values, given.value_rows), given.value_rows,
                    dictionary->array);
  made->dictionary_array = &dictionary->array;
  made->owner = std::move(dictionary);
  return made;
}

}  // namespace gpujoin::columns
