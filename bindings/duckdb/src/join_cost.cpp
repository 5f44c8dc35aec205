// join_cost.cpp: whether a join is worth taking.
#include "bindings/duckdb/src/join_cost.hpp"

namespace gpujoin_duckdb {

namespace {

struct ExpectedSide {
  std::vector<gpujoin_expected_column> columns;
  gpujoin_expected_side side;

  ExpectedSide(const SideLayout& layout, int64_t rows) : side(GPUJOIN_EXPECTED_SIDE_INIT) {
    for (auto const& type : layout.types) {
      gpujoin_expected_column column = GPUJOIN_EXPECTED_COLUMN_INIT;
      column.type = type.type;
      columns.push_back(column);
    }
    side.memory = GPUJOIN_MEMORY_HOST;
    side.rows = rows;
    side.columns = columns.data();
    side.column_count = static_cast<int32_t>(columns.size());
    side.keys = layout.keys.data();
    side.output_columns = layout.outputs.data();
    side.output_column_count = static_cast<int32_t>(layout.outputs.size());
  }
  ExpectedSide(const ExpectedSide&) = delete;
  ExpectedSide& operator=(const ExpectedSide&) = delete;

  // Of a row, as the batches bring it.
  double width() const {
    double bytes = 0;
    for (auto const& column : columns) bytes += column.type >= GPUJOIN_TYPE_UTF8 ? 24 : 8;
    return bytes;
  }
};

// What DuckDB's own hash join takes for a row that it builds with and for one that probes, on one
// thread: while its table is in the cache, on the edge of it, and behind it. Fitted to what
// bench.py measures, by the machine that the library's built-in rates of the CPU are those of.
struct TableRates {
  double most_bytes;
  double build_nanoseconds;
  double probe_nanoseconds;
};
constexpr TableRates duckdb_rates[] = {{16 << 20, 25, 13}, {64 << 20, 39, 22}, {1e30, 80, 130}};
// Of a row of the table, besides its values: hash and pointer.
constexpr double table_row_bytes = 16;
// What it takes to hand rows over and to take them back.
constexpr double nanoseconds_per_byte = 0.5;

double duckdb_nanoseconds(double build_rows, double build_width, double probe_rows) {
  double const bytes = build_rows * (build_width + table_row_bytes);
  auto const* rates = duckdb_rates;
  while (bytes > rates->most_bytes) ++rates;
  return build_rows * rates->build_nanoseconds + probe_rows * rates->probe_nanoseconds;
}

}  // namespace

Cost cost_of(gpujoin_context* context, const JoinLayout& layout, int64_t left_rows,
             int64_t right_rows, int64_t output_rows, size_t threads) {
  ExpectedSide const left(layout.left, left_rows);
  ExpectedSide const right(layout.right, right_rows);
  gpujoin_expected_join join = GPUJOIN_EXPECTED_JOIN_INIT;
  join.kind = layout.kind;
  join.left = &left.side;
  join.right = &right.side;
  join.key_count = static_cast<int32_t>(layout.left.keys.size());
  join.output = GPUJOIN_OUTPUT_COLUMNS;
  gpujoin_estimate estimate = GPUJOIN_ESTIMATE_INIT;
  gpujoin_error error;
  check(gpujoin_estimate_join(context, &join, &estimate, &error), error);

  double const handed_over = static_cast<double>(left_rows) * left.width() +
                             static_cast<double>(right_rows) * right.width() +
                             static_cast<double>(output_rows) * (left.width() + right.width());
  bool const is_cuda = estimate.device == GPUJOIN_DEVICE_CUDA;
  Cost cost;
  cost.expectation.executor = is_cuda ? "CUDA" : "CPU";
  cost.expectation.plan = is_cuda ? estimate.cuda_plan : estimate.cpu_plan;
  cost.expectation.milliseconds =
      (is_cuda ? estimate.cuda_milliseconds + estimate.cuda_fetch_milliseconds
               : estimate.cpu_milliseconds) +
      handed_over * nanoseconds_per_byte / 1e6 / static_cast<double>(threads);
  cost.duckdb_milliseconds = duckdb_nanoseconds(static_cast<double>(right_rows), right.width(),
                                                static_cast<double>(left_rows)) /
                             1e6 / static_cast<double>(threads);
  return cost;
}

}  // namespace gpujoin_duckdb
