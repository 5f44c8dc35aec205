// copied_rows.hpp: rows of a batch become rows of our own on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/execute/seen_keys.hpp"

namespace gpujoin::execute {

struct CopiedRows {
  std::shared_ptr<const columns::Relation> rows;  // null: there is no room
  std::optional<SeenKeys> seen;                   // of their keys, where they were looked at
};

// Of a batch with rows, of values without NULLs. key: column whose values are looked at on the way,
// where the device has them. Waits for the copies. Throws what CUDA does, NO_DEVICE in a build
// without it.
CopiedRows copied_on_device(base::Queue& queue, const columns::Relation& batch,
                            std::optional<int32_t> key);

}  // namespace gpujoin::execute
