// late_columns.hpp: output columns of layouts that joins do not move: text, bits, values of other
// widths, runs. They are fetched by row number when the output rows are known; so are all columns
// of joins whose pairs are put in order first, and those that late_payloads.hpp takes out.
//
// Source   gather from untransformed relations (GFUR of Wu et al. 2024, section 3.1)
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/columns/column.hpp"
#include "src/columns/gathered.hpp"
#include "src/columns/result.hpp"
#include "src/execute/execute.hpp"

namespace gpujoin::execute {

// Whether a column can be an output column.
bool is_put_out(const columns::ColumnView& column);

// The values of a column of runs, or the column itself.
const columns::ColumnView& values_behind_runs(const columns::ColumnView& column);

// Gives a column_like its values.
void take(columns::Gathered gathered, columns::ResultColumn* column);

// A column by row number, where `memory` lies; GPUJOIN_NO_ROW: NULL. Of any layout but kOther.
columns::ResultColumn fetch_late(base::Queue& queue, base::Memory memory,
                                 const columns::Relation& relation, int32_t column,
                                 const columns::Storage& rows, int64_t count,
                                 std::vector<columns::StageStatistics>& stages);

// Bits of the row numbers that are not GPUJOIN_NO_ROW; null where all are not.
struct RowPresence {
  columns::Storage validity;
  int64_t missing = 0;
};
RowPresence presence_of(base::Queue& queue, base::Memory memory, const columns::Storage& rows,
                        int64_t count);

// Bytes that a column of text has in such rows, without fetching them.
uint64_t text_bytes_of(base::Queue& queue, base::Memory memory, const columns::Relation& relation,
                       int32_t column, const columns::Storage& rows, int64_t count);

// Completes the result of spec_without_late to what was asked for. expected: join.late.
void put_out_late(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result);

}  // namespace gpujoin::execute
