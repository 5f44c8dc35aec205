// sequence.hpp: a fact relation joined with one dimension after the other, as one call.
//
// Paper    Wu et al. 2024, section 5.2.7: row ids of the fact relation are kept, and each next
//          foreign key is fetched by them just before its join, so that no foreign key travels
//          through a join that does not need it. Differs: what travels for a dimension is its
//          columns or its row numbers (plan::carries_columns), and fact columns are fetched at the
//          end.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpujoin.h"
#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"

namespace gpujoin::execute {

enum class Materialize : int32_t {
  kAutomatic = GPUJOIN_MATERIALIZE_AUTOMATIC,
  kAsTheyCome = GPUJOIN_MATERIALIZE_AS_THEY_COME,
  kAtTheEnd = GPUJOIN_MATERIALIZE_AT_THE_END,
};

struct SequenceStep {
  std::shared_ptr<const columns::Relation> dimension;
  columns::JoinKind kind = columns::JoinKind::kInner;  // or kLeft, kLeftSemi
  int32_t fact_key = 0;
  int32_t dimension_key = 0;
  int32_t key_flags = 0;
  std::vector<int32_t> columns;  // output columns of the dimension
};

// The validated specification, by value.
struct SequenceSpec {
  std::vector<SequenceStep> steps;  // one at least
  std::vector<int32_t> fact_columns;
  Materialize materialize = Materialize::kAutomatic;
  bool row_numbers = false;  // of the fact relation and of each dimension are put out
};

// Plans and executes each step on what the steps before it left. Throws what make_plan and execute
// do; TOO_MANY_ROWS when a step leaves 2^32 - 1 rows or more for the next. Nothing is left behind.
std::unique_ptr<columns::JoinResult> join_sequence(
    base::Queue& queue, const std::shared_ptr<const columns::Relation>& fact,
    const SequenceSpec& spec, const gpujoin_plan_options& options);

}  // namespace gpujoin::execute
