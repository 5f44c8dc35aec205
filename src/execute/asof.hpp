// asof.hpp: ASOF joins: of each left row the one right row that is next to it in an ordered column,
// among those with equal keys. Both sides are brought in order, where they are not, and merged; the
// pairs are then as those of any join.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/match/asof_rule.hpp"
#include "src/base/queue.hpp"
#include "src/columns/result.hpp"
#include "src/execute/execute.hpp"

namespace gpujoin::execute {

// On the executor of the plan. expected: kinds of which is_of_asof says so.
void asof(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result);

// Kinds that an ASOF join has a meaning for: a left row has one match at most.
bool is_of_asof(columns::JoinKind kind);

// Why the ordered columns cannot be those of such a join, or null: "have no order" and the like.
const char* why_not_ordered(const columns::ColumnView& left, const columns::ColumnView& right,
                            const columns::Asof& asof);

// Whether their values, or those of either beside a NULL column, are floats.
bool are_floats(const columns::ColumnView& left, const columns::ColumnView& right);

// What both sides' rows are ordered by, where the executor reads it.
struct AsofInput {
  const columns::Relation* relation = nullptr;
  columns::ColumnView places;               // 8 bytes
  std::optional<columns::ColumnView> keys;  // of 4 or 8 bytes: groups; none: one of all rows
  // Columns in which a NULL takes a row out of the join.
  std::vector<columns::ColumnView> nullable;
};
struct AsofMatches {
  columns::Storage left;  // row numbers
  columns::Storage right;
  bool left_ascends = true;
  bool right_ascends = true;
  int64_t count = 0;
  std::string order;   // how the sides came to be in order
  uint64_t bytes = 0;  // that this moved
};
// turned: bits to turn in each place.
AsofMatches asof_on_cpu(base::Queue& queue, const AsofInput& left, const AsofInput& right,
                        uint64_t turned, const kernels::AsofRule& rule);
// In asof_cuda.cpp.
AsofMatches asof_on_gpu(base::Queue& queue, const AsofInput& left, const AsofInput& right,
                        uint64_t turned, const kernels::AsofRule& rule);

}  // namespace gpujoin::execute
