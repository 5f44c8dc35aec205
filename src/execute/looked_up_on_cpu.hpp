// looked_up_on_cpu.hpp: a join of a sequence whose fact rows all match one row of a dimension with
// dense keys, on the CPU: the fact rows stay where they are.
#pragma once

#include <optional>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"

namespace gpujoin::execute {

struct LookedUp {
  columns::Storage rows;  // of the dimension, where asked for
  std::vector<columns::ResultColumn> columns;
};

// For each row of the fact relation, which is a key without NULLs, the dimension's columns and its
// row's number. None: keys of the dimension are not dense or not unique, what is read of it does
// not stay in a cache, or a fact row has no match. key: of the dimension. Appends stages.
std::optional<LookedUp> look_up_on_cpu(base::Queue& queue, const columns::Relation& fact,
                                       const columns::Relation& dimension, int32_t key,
                                       const std::vector<int32_t>& columns, bool row_numbers,
                                       std::vector<columns::StageStatistics>& stages);

}  // namespace gpujoin::execute
