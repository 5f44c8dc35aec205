// table_columns.hpp: a table of the whole build side, whose probe rows write the output columns.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
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

// Why nothing was written. Of keys told as repeated one may only look like a free slot. Of more
// than 2^31 build rows scattered keys are left.
enum class NoTable { kKeysRepeat, kKeysScattered };
using TableResult = std::variant<TableRows, NoTable>;

// What becomes of build keys that are too far apart for plan.match=direct_table.
enum class ScatteredKeys { kHashed, kLeft };

// Writes every column of the join, or nothing when build keys repeat, or are scattered and left. A
// join of one launch hashes them always. Waits for the stream, or for the one launch, which then
// tells its time: milliseconds, which may be null, += it. Throws OUT_OF_MEMORY or MEMORY_LIMIT.
TableResult table_columns(base::Context& context, const plan::JoinPlan& plan, int32_t key_width,
                          const TableSide& build, const TableSide& probe,
                          const std::vector<CarriedOutput>& outputs,
                          ScatteredKeys scattered = ScatteredKeys::kHashed,
                          double* milliseconds = nullptr);

// The same of joins whose probe rows have one match each and stay where they are: row i of every
// column is of probe row i. The outputs are of the build side. Nullopt, and nothing is written,
// when a probe row has no match, or build keys repeat. Scattered keys are hashed.
std::optional<TableRows> look_up_columns(base::Context& context, const plan::JoinPlan& plan,
                                         int32_t key_width, const TableSide& build,
                                         const TableSide& probe,
                                         const std::vector<CarriedOutput>& outputs);

}  // namespace gpujoin::match
