// alone_task.hpp: what a match is to tell of a side whose rows come out without pairs.
#pragma once

#include <optional>

#include "src/columns/column.hpp"

namespace gpujoin::execute {

struct AloneTask {
  bool with_match = false;  // its rows with a match, not those without one
  bool numbers = false;     // row numbers, too
};

// Nothing: the kind wants pairs of the side alone, or the match cannot say. drops_rows: rows with
// NULL keys, which have no match, are not there to be told.
std::optional<AloneTask> alone_task(const columns::JoinSpec& spec, bool left, bool drops_rows);

}  // namespace gpujoin::execute
