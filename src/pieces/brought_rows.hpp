// brought_rows.hpp: rows where an executor reads them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::pieces {

// A relation whose columns lie in that memory, as the copies that it keeps or as they are. Waits
// for none of them: base::finish does.
std::shared_ptr<const columns::Relation> brought(
    base::Queue& queue, const std::shared_ptr<const columns::Relation>& rows, base::Memory memory);

// Waits for them.
std::shared_ptr<const columns::Relation> in_host(
    base::Queue& queue, const std::shared_ptr<const columns::Relation>& rows);

// What the caller calls a row, where the last column says it. Waits for the stream.
int64_t number_of_row(base::Queue& queue, const columns::Relation& rows, int64_t row);

// Of its columns those that are named; keeps the relation. expected: as registered.
std::shared_ptr<const columns::Relation> only_columns(
    const std::shared_ptr<const columns::Relation>& rows, const std::vector<int32_t>& columns);

}  // namespace gpujoin::pieces
