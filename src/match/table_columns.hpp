// table_columns.hpp: a table of the whole build side, whose probe rows write the output columns.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/bytes_column.hpp"
#include "kernels/transform/key_range.hpp"
#include "src/base/queue.hpp"
#include "src/match/chunked_columns.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::match {

// One side: keys as they are, and in their order the columns that outputs name. A build side has no
// NULLs here, but that small_table.hpp takes them.
struct TableSide {
  const void* keys = nullptr;  // [rows]
  uint32_t rows = 0;
  kernels::ValidityBits present = {};        // rows without a bit have NULL keys
  const kernels::KeyRange* range = nullptr;  // of the keys, where it is known
  const void* tile_ranges = nullptr;         // likewise of their tiles: see transform::key_range()
};

// A build column that goes to the output. source null: the row's number.
struct TableColumn {
  const void* source = nullptr;  // [rows] in the order of the keys
  int32_t width = 0;
};

struct ProbedRows : WrittenRows {
  double milliseconds = 0;  // of a launch that tells its own time; 0: events do
};

// Build rows of one key: only one, or the join is in vain; any stands for all; the same, and a key
// may have a large part of all rows.
enum class RowsOfKey { kOnlyOne, kAny, kAnyOfMany };

// Which probe rows come out: those that have a match, or the others.
enum class ProbeRows { kMatched, kUnmatched };

// Made once, then const: any number of probe sides are joined with it, also at the same time, each
// on a stream that comes after the one it was made on. The build side's memory stays.
class ColumnTable {
 public:
  virtual ~ColumnTable() = default;

  // Writes every column of the join. Outputs of the build side are those that the table was made
  // for, in their order; a source of the probe side may be null: the row's number is written.
  // Nullopt, and nothing is written: build keys repeat. Of keys told as repeated one may only look
  // like a free slot. Waits for the stream, or where asks_in_one_launch for the launch's answer,
  // which says how long it took. Throws OUT_OF_MEMORY or MEMORY_LIMIT. wanted: kUnmatched of tables
  // that were made for any row, and of no column of the build side.
  virtual std::optional<ProbedRows> probe(base::Queue& queue, int64_t expected_rows,
                                          const TableSide& probe,
                                          std::vector<CarriedOutput> outputs,
                                          ProbeRows wanted = ProbeRows::kMatched) const = 0;
  // Of so few probe rows, or none.
  virtual bool asks_in_one_launch(uint64_t probe_rows) const = 0;

  // Which rows have a match, of a table that was made for any row: bits in whole words, those
  // beyond the rows 0. Of probe rows, and of the table's build rows that some probe row finds.
  // Queued on the stream.
  virtual base::Buffer mark_probe(base::Queue& queue, const TableSide& probe) const = 0;
  virtual base::Buffer mark_build(base::Queue& queue, const TableSide& probe,
                                  const TableSide& build) const = 0;

  // As probe(), of joins whose probe rows have one match each and stay where they are: row i of
  // every column is of probe row i. The outputs are of the build side. Nullopt also when a probe
  // row has no match.
  virtual std::optional<WrittenRows> look_up(base::Queue& queue, const TableSide& probe,
                                             std::vector<CarriedOutput> outputs) const = 0;
};

// The table that plan.match names, queued on the stream. Null: the build keys are too far apart for
// direct_table, or more than a hashed table has slots for. Of any row no build column is put out.
std::unique_ptr<const ColumnTable> make_table(base::Queue& queue, const plan::JoinPlan& plan,
                                              int32_t key_width, const TableSide& build,
                                              const std::vector<TableColumn>& columns,
                                              RowsOfKey key_rows = RowsOfKey::kOnlyOne);

// Whether there are so few rows that small_table.hpp joins them in one launch, or none on a side.
bool joins_in_one_launch(uint64_t build_rows, uint64_t probe_rows);

}  // namespace gpujoin::match
