// table_columns.hpp: a table of the whole build side, whose probe rows write the output columns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/base/context.hpp"
#include "src/match/chunked_columns.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::match {

// One side: keys as they are, without NULLs, and in their order the columns that outputs name.
struct TableSide {
  const void* keys = nullptr;  // [rows]
  uint32_t rows = 0;
};

// Which table it was. A source of an output may be null: the row's number is written.
struct TableRows : CarriedRows {
  plan::Match table = plan::Match::kGlobalTable;
};

// Whether table_columns has so few rows that it launches once.
bool joins_in_one_launch(uint64_t build_rows, uint64_t probe_rows);

// Writes every column of the join, or nothing and answers nullopt when build keys repeat. Dense keys that plan.match=direct_table
// asks for and that are not there are joined by a hash table. Waits for the stream, or for the one launch, which then tells its
// time: milliseconds, which may be null, += it. Throws OUT_OF_MEMORY or MEMORY_LIMIT.
std::optional<TableRows> table_columns(base::Context& context, const plan::JoinPlan& plan,
                                       int32_t key_width, const TableSide& build,
                                       const TableSide& probe,
                                       const std::vector<CarriedOutput>& outputs,
                                       double* milliseconds = nullptr);

// The same of joins whose probe rows have one match each and stay where they are: row i of every column is of probe row i. The outputs
// are of the build side. Nullopt, and nothing is written, when a probe row has no match, or build keys repeat.
std::optional<TableRows> look_up_columns(base::Context& context, const plan::JoinPlan& plan,
                                         int32_t key_width, const TableSide& build,
                                         const TableSide& probe,
                                         const std::vector<CarriedOutput>& outputs);

}  // namespace gpujoin::match
