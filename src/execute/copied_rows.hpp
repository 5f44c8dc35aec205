// copied_rows.hpp: rows of a batch become rows of our own on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/execute/seen_keys.hpp"

namespace gpujoin::execute {

struct CopiedRows {
  std::shared_ptr<const columns::Relation> rows;  // null: there is no room
  std::optional<SeenKeys> seen;                   // of their keys, where they were looked at
};

// That a copy of a batch of values and text takes there. Of text on the device it waits for the
// stream.
uint64_t bytes_of_copy(base::Queue& queue, const columns::Relation& batch);

// Of a batch with rows, of values and text. key: column whose values are looked at on the way,
// where the device has all columns, as values without NULLs. Waits for the copies. Throws what CUDA
// does, NO_DEVICE in a build without it.
CopiedRows copied_on_device(base::Queue& queue, const columns::Relation& batch,
                            std::optional<int32_t> key);

// Rows of relations of the device, one behind the other; the one that there is, as it is. Waits for
// the copies. Null: there are too many bytes for a column of UTF8, or the device has no room for
// copies, or a column lies otherwise than as values or text. Throws what CUDA does. expected: no
// more rows than a relation has.
std::shared_ptr<const columns::Relation> united_on_device(
    base::Queue& queue, std::span<const std::shared_ptr<const columns::Relation>> parts);

}  // namespace gpujoin::execute
