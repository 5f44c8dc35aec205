// join_tables.hpp: tables for the tests of the CPU executor, and the join they are checked against.
#pragma once

#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/execute/execute.hpp"
#include "tests/own_queue.hpp"

namespace gpujoin::test {

using tests::OwnQueue;

// A column with its memory. NULLs start at a bit offset, as in sliced Arrow arrays.
struct TestColumn {
  int32_t width = 4;
  std::vector<uint64_t> words;  // aligned storage of the values
  std::vector<uint8_t> validity;
  int64_t bit_offset = 0;

  static TestColumn of_keys(int32_t width, const std::vector<uint64_t>& keys) {
    TestColumn column;
    column.width = width;
    column.words.assign((keys.size() * static_cast<size_t>(width) + 7) / 8 + 1, 0);
    for (size_t i = 0; i < keys.size(); ++i) {
      std::memcpy(column.bytes() + i * static_cast<size_t>(width), &keys[i],
                  static_cast<size_t>(width));
    }
    return column;
  }
  static TestColumn of_random(int32_t width, size_t rows, uint64_t seed) {
    TestColumn column;
    column.width = width;
    column.words.resize((rows * static_cast<size_t>(width) + 7) / 8 + 1);
    std::mt19937_64 random(seed);
    for (uint64_t& word : column.words) word = random();
    return column;
  }
  // Every `each`-th row, on average, becomes NULL.
  TestColumn& with_nulls(size_t rows, uint64_t each, int64_t offset, uint64_t seed) {
    bit_offset = offset;
    validity.assign((rows + static_cast<size_t>(offset)) / 8 + 1, 0);
    std::mt19937_64 random(seed);
    for (size_t i = 0; i < rows; ++i) {
      size_t const bit = i + static_cast<size_t>(offset);
      if (random() % each != 0) validity[bit / 8] |= static_cast<uint8_t>(1U << (bit % 8));
    }
    return *this;
  }

  char* bytes() { return reinterpret_cast<char*>(words.data()); }
  bool is_null(size_t row) const {
    size_t const bit = row + static_cast<size_t>(bit_offset);
    return !validity.empty() && (validity[bit / 8] >> (bit % 8) & 1) == 0;
  }
  std::string value(size_t row) const {
    if (is_null(row)) return "NULL";
    auto const* first = reinterpret_cast<const char*>(words.data());
    return std::string(first + row * static_cast<size_t>(width), static_cast<size_t>(width));
  }
  uint64_t key(size_t row) const {
    uint64_t key = 0;
    std::string const bytes = value(row);
    std::memcpy(&key, bytes.data(), bytes.size());
    return key;
  }
};

struct TestTable {
  size_t rows = 0;
  std::vector<TestColumn> columns;

  std::shared_ptr<columns::Relation> relation(base::Queue& queue) const {
    auto relation = std::make_shared<columns::Relation>();
    relation->context = queue.context.shared_from_this();
    relation->rows = static_cast<int64_t>(rows);
    for (TestColumn const& column : columns) {
      columns::ColumnView view;
      view.type = column.width == 16  ? GPUJOIN_TYPE_BYTES16
                  : column.width == 8 ? GPUJOIN_TYPE_INT64
                  : column.width == 4 ? GPUJOIN_TYPE_INT32
                  : column.width == 2 ? GPUJOIN_TYPE_INT16
                                      : GPUJOIN_TYPE_INT8;
      view.width = column.width;
      view.data = rows == 0 ? nullptr : column.words.data();
      view.validity = column.validity.empty() ? nullptr : column.validity.data();
      view.validity_bit_offset = column.bit_offset;
      view.name = "c" + std::to_string(relation->columns.size());
      relation->columns.push_back(std::move(view));
    }
    return relation;
  }
};

// More threads than cores, so that the tests run in parallel on any machine.
inline OwnQueue cpu_queue(int32_t threads = 4, uint64_t limit = 0) {
  static tbb::global_control const allowed(tbb::global_control::max_allowed_parallelism, 8);
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  options.cpu_threads = threads;
  options.memory_limit_bytes = limit;
  return OwnQueue(options);
}

inline plan::JoinPlan cpu_plan(plan::Gather gather = plan::Gather::kTransformed,
                               plan::Side build = plan::Side::kLeft, int32_t radix_bits = 0) {
  plan::JoinPlan plan;
  plan.transform = plan::Transform::kRadixOnesweep;
  plan.match = plan::Match::kCoPartitions;
  plan.gather = gather;
  plan.build_side = build;
  plan.radix_bits = radix_bits;
  return plan;
}

// Key column 0 on both sides; every column is an output column, the key too.
inline execute::PlannedJoin planned(base::Queue& queue, const TestTable& left,
                                    const TestTable& right, const plan::JoinPlan& plan, bool pairs,
                                    bool materialize) {
  execute::PlannedJoin join;
  join.context = queue.context.shared_from_this();
  join.left = left.relation(queue);
  join.right = right.relation(queue);
  join.spec.pairs = pairs;
  join.spec.materialize = materialize;
  for (size_t i = 0; materialize && i < left.columns.size(); ++i) {
    join.spec.left_columns.push_back(static_cast<int32_t>(i));
  }
  for (size_t i = 0; materialize && i < right.columns.size(); ++i) {
    join.spec.right_columns.push_back(static_cast<int32_t>(i));
  }
  join.choice.attempts.emplace_back().plan = plan;
  return join;
}

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

inline Pairs reference_pairs(const TestTable& left, const TestTable& right) {
  std::unordered_multimap<uint64_t, uint32_t> rows_of_key;
  for (size_t row = 0; row < left.rows; ++row) {
    if (left.columns[0].is_null(row)) continue;
    rows_of_key.emplace(left.columns[0].key(row), static_cast<uint32_t>(row));
  }
  Pairs pairs;
  for (size_t row = 0; row < right.rows; ++row) {
    if (right.columns[0].is_null(row)) continue;
    auto const [first, last] = rows_of_key.equal_range(right.columns[0].key(row));
    for (auto it = first; it != last; ++it) pairs.emplace_back(it->second, row);
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

// The output row of a pair, as bytes.
inline std::string row_of_pair(const TestTable& left, const TestTable& right,
                               std::pair<uint32_t, uint32_t> pair) {
  std::string row;
  for (TestColumn const& column : left.columns) row += column.value(pair.first) + "|";
  for (TestColumn const& column : right.columns) row += column.value(pair.second) + "|";
  return row;
}

inline Pairs pairs_of(const columns::JoinResult& result) {
  auto const* left = static_cast<const uint32_t*>(result.left_rows.get());
  auto const* right = static_cast<const uint32_t*>(result.right_rows.get());
  Pairs pairs;
  for (int64_t row = 0; row < result.rows; ++row) pairs.emplace_back(left[row], right[row]);
  return pairs;
}

inline std::vector<std::string> rows_of(const columns::JoinResult& result) {
  std::vector<std::string> rows(static_cast<size_t>(result.rows));
  for (columns::ResultColumn const& column : result.columns) {
    auto const* values = static_cast<const char*>(column.data.get());
    auto const* bits = static_cast<const uint8_t*>(column.validity.get());
    auto const width = static_cast<size_t>(column.width);
    for (size_t row = 0; row < rows.size(); ++row) {
      bool const valid = bits == nullptr || (bits[row / 8] >> (row % 8) & 1) != 0;
      rows[row] += valid ? std::string(values + row * width, width) : "NULL";
      rows[row] += "|";
    }
  }
  return rows;
}

inline int64_t nulls_in(const columns::ResultColumn& column, int64_t rows) {
  auto const* bits = static_cast<const uint8_t*>(column.validity.get());
  int64_t nulls = 0;
  for (int64_t row = 0; bits != nullptr && row < rows; ++row) {
    nulls += (bits[row / 8] >> (row % 8) & 1) == 0 ? 1 : 0;
  }
  return nulls;
}

}  // namespace gpujoin::test
