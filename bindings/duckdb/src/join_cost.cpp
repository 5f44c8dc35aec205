// join_cost.cpp: whether a join is worth taking.
#include "bindings/duckdb/src/join_cost.hpp"

#include <algorithm>
#include <duckdb/planner/operator/logical_comparison_join.hpp>
#include <duckdb/storage/statistics/numeric_stats.hpp>
#include <limits>

#include "bindings/duckdb/src/duckdb_versions.hpp"

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

// What DuckDB's own hash join takes for a row that it builds with, for one that probes (of which a
// filter on the scan leaves out most that have no match), and for one that comes out; on one
// thread, rounded down, by how large its table is. By the machine that the library's built-in rates
// of the CPU are those of; bench.py measures it.
struct TableRates {
  double most_bytes;
  double build_nanoseconds;
  double probe_nanoseconds;
  double output_nanoseconds;
};
constexpr TableRates hashed_rates[] = {
    {12 << 20, 20, 3, 20}, {64 << 20, 50, 6, 60}, {1e30, 80, 8, 110}};
// Of perfect hash joins, whose tables have no more than some million rows.
constexpr TableRates perfect_rates = {1e30, 25, 3, 6};
constexpr double most_of_perfect = 1 << 20;  // from the lowest key to the highest
// A row's second match and each one after it, which lie beside the first.
constexpr double repeated_nanoseconds = 10;
// Of a row of the table, besides its values: hash and pointer.
constexpr double table_row_bytes = 16;
// What it takes to hand rows over and to take them back: of a thread, and of as many as there are,
// since they share the host's memory (16 threads beside an H200 moved 21 to 23 GB/s).
constexpr double nanoseconds_per_byte = 0.5;
constexpr double least_nanoseconds_per_byte = 0.045;
// The rates above are of two cores. Of a server's sixteen, beside an H200, DuckDB's joins took half
// to three quarters of them.
constexpr double least_gain_of_few_threads = 1.25;
constexpr double least_gain_of_servers = 1.75;
constexpr size_t most_of_few_threads = 8;

TableRates const& rates_of(bool is_perfect, double table_bytes) {
  if (is_perfect) return perfect_rates;
  auto const* rates = hashed_rates;
  while (table_bytes > rates->most_bytes) ++rates;
  return *rates;
}

// From the lowest key to the highest of the build side, as far as statistics tell; else infinite.
double span_of_keys(const duckdb::LogicalComparisonJoin& join, const JoinLayout& layout) {
  double const unknown = std::numeric_limits<double>::infinity();
  if (layout.right.keys.size() != 1) return unknown;
  duckdb::BaseStatistics const* const keys = right_key_statistics(join);
  if (keys == nullptr || !keys->GetType().IsIntegral()) return unknown;
  if (!duckdb::NumericStats::HasMinMax(*keys)) return unknown;
  return duckdb::NumericStats::Max(*keys).GetValue<double>() -
         duckdb::NumericStats::Min(*keys).GetValue<double>();
}

// Whether DuckDB's own join will look keys up by their distance from the lowest one, and hash none
// ("perfect hash join").
bool is_perfect_hash_join(const duckdb::LogicalComparisonJoin& join, double span) {
  return join.join_type == duckdb::JoinType::INNER && join.conditions.size() == 1 &&
         span <= most_of_perfect;
}

}  // namespace

Cost cost_of(gpujoin_context* context, const duckdb::LogicalComparisonJoin& join_of_duckdb,
             const JoinLayout& layout, int64_t left_rows, int64_t right_rows, size_t threads) {
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

  auto const build_rows = static_cast<double>(right_rows);
  auto const probe_rows = static_cast<double>(left_rows);
  auto const output_rows = static_cast<double>(join_of_duckdb.estimated_cardinality);
  double const handed_over = probe_rows * left.width() + build_rows * right.width() +
                             output_rows * (left.width() + right.width());
  bool const is_cuda = estimate.device == GPUJOIN_DEVICE_CUDA;
  Cost cost;
  cost.expectation.executor = is_cuda ? "CUDA" : "CPU";
  cost.expectation.plan = is_cuda ? estimate.cuda_plan : estimate.cpu_plan;
  cost.expectation.milliseconds =
      (is_cuda ? estimate.cuda_milliseconds + estimate.cuda_fetch_milliseconds
               : estimate.cpu_milliseconds) +
      handed_over / 1e6 *
          std::max(nanoseconds_per_byte / static_cast<double>(threads), least_nanoseconds_per_byte);
  bool const is_server = is_cuda || threads > most_of_few_threads;
  cost.least_gain = is_server ? least_gain_of_servers : least_gain_of_few_threads;
  // Lookups of few keys that many rows have meet few places of the table.
  double const span = span_of_keys(join_of_duckdb, layout);
  double const table_bytes = std::min(build_rows, span + 1) * (right.width() + table_row_bytes);
  TableRates const& rates = rates_of(is_perfect_hash_join(join_of_duckdb, span), table_bytes);
  double const first_matches = std::min(output_rows, probe_rows);
  double const duckdb_nanoseconds = build_rows * rates.build_nanoseconds +
                                    probe_rows * rates.probe_nanoseconds +
                                    first_matches * rates.output_nanoseconds +
                                    (output_rows - first_matches) * repeated_nanoseconds;
  cost.duckdb_milliseconds = duckdb_nanoseconds / 1e6 / static_cast<double>(threads);
  return cost;
}

}  // namespace gpujoin_duckdb
