// gather_cuda_test.cpp: output columns from pairs, of every width, with NULLs from bits and from
// bytes.
#include <algorithm>
#include <numeric>

#include "src/materialize/materialize.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using Gather = GpuTest;
using columns::ResultColumn;
using materialize::NullCounts;
using materialize::Request;

constexpr size_t kSourceRows = 3000;
constexpr int32_t kWidths[] = {1, 2, 4, 8, 16};

std::vector<uint32_t> random_rows(size_t pairs, size_t source_rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> rows(pairs);
  for (uint32_t& row : rows) row = static_cast<uint32_t>(random() % source_rows);
  return rows;
}

std::vector<uint32_t> identity_rows(size_t pairs) {
  std::vector<uint32_t> rows(pairs);
  std::iota(rows.begin(), rows.end(), 0U);
  return rows;
}

Request request_of(const columns::DeviceColumn& column, ResultColumn* target) {
  Request request;
  request.source.data = column.data;
  request.source.width = column.width;
  request.source.validity_bits = column.validity;
  request.source.validity_bit_offset = column.validity_bit_offset;
  request.target = target;
  return request;
}

std::vector<unsigned char> values_of(base::Queue& queue, const ResultColumn& column, size_t bytes) {
  return download<unsigned char>(queue, column.data.get(), bytes);
}

// One byte a row, from the bits; beyond the last row the bits of the last word must be zero.
std::vector<unsigned char> valid_of(base::Queue& queue, const ResultColumn& column, size_t pairs) {
  std::vector<uint32_t> const words =
      download<uint32_t>(queue, column.validity.get(), (pairs + 31) / 32);
  std::vector<unsigned char> valid(pairs);
  for (size_t pair = 0; pair < words.size() * 32; ++pair) {
    unsigned const bit = words[pair / 32] >> (pair % 32) & 1;
    if (pair < pairs) {
      valid[pair] = static_cast<unsigned char>(bit);
    } else {
      EXPECT_EQ(bit, 0U) << "bit " << pair << " of " << pairs;
    }
  }
  return valid;
}

std::vector<unsigned char> expected_valid(const HostColumn& column,
                                          const std::vector<uint32_t>& rows) {
  std::vector<unsigned char> valid;
  for (uint32_t row : rows) valid.push_back(column.valid[row]);
  return valid;
}

TEST_F(Gather, TakesTheNamedRowsOfEveryWidth) {
  for (size_t pairs : edge_sizes()) {
    std::vector<uint32_t> const rows = random_rows(pairs, kSourceRows, pairs);
    base::Buffer const device_rows = upload(queue(), rows);
    for (int32_t width : kWidths) {
      SCOPED_TRACE(std::to_string(pairs) + " pairs of " + std::to_string(width) + " bytes");
      HostColumn const host = random_column(kSourceRows, width, pairs + 1);
      columns::DeviceColumn const column = place(queue(), host);
      ResultColumn target;
      NullCounts null_counts(queue(), 0);
      materialize::gather(queue(), device_rows.as<uint32_t>(), pairs, {request_of(column, &target)},
                          null_counts);
      null_counts.finish();
      EXPECT_EQ(target.validity, nullptr);
      EXPECT_EQ(target.null_count, 0);
      if (pairs == 0) {
        EXPECT_EQ(target.data, nullptr);
        continue;
      }
      std::vector<unsigned char> const expected = bytes_of_rows(host, rows);
      ASSERT_EQ(values_of(queue(), target, expected.size()), expected);
    }
  }
}

TEST_F(Gather, WithoutRowNumbersCopiesTheColumn) {
  for (size_t pairs : {size_t{1}, size_t{33}, size_t{1025}, kSourceRows}) {
    for (int32_t width : kWidths) {
      HostColumn host = random_column(kSourceRows, width, pairs);
      set_valid(&host, random_valid(kSourceRows, 0.5, pairs), 4);
      columns::DeviceColumn const column = place(queue(), host);
      ResultColumn target;
      NullCounts null_counts(queue(), 1);
      materialize::gather(queue(), nullptr, pairs, {request_of(column, &target)}, null_counts);
      null_counts.finish();
      std::vector<uint32_t> const rows = identity_rows(pairs);
      std::vector<unsigned char> const expected = bytes_of_rows(host, rows);
      EXPECT_EQ(values_of(queue(), target, expected.size()), expected);
      std::vector<unsigned char> const valid = expected_valid(host, rows);
      EXPECT_EQ(target.null_count, std::count(valid.begin(), valid.end(), 0));
      if (target.null_count != 0) {
        EXPECT_EQ(valid_of(queue(), target, pairs), valid);
      }
    }
  }
}

TEST_F(Gather, SixteenByteValuesNeedAlignmentToEightOnly) {
  HostColumn const host = random_column(kSourceRows, 16, 3);
  columns::DeviceColumn const column = place(queue(), host, 8);
  std::vector<uint32_t> const rows = random_rows(2000, kSourceRows, 4);
  base::Buffer const device_rows = upload(queue(), rows);
  ResultColumn target;
  NullCounts null_counts(queue(), 0);
  materialize::gather(queue(), device_rows.as<uint32_t>(), rows.size(),
                      {request_of(column, &target)}, null_counts);
  std::vector<unsigned char> const expected = bytes_of_rows(host, rows);
  EXPECT_EQ(values_of(queue(), target, expected.size()), expected);
}

TEST_F(Gather, CarriesValidityFromBitsOfEveryOffset) {
  for (size_t pairs : edge_sizes()) {
    if (pairs == 0) continue;
    for (int64_t offset : {0, 1, 7, 8, 31, 77}) {
      SCOPED_TRACE(std::to_string(pairs) + " pairs, bits from " + std::to_string(offset));
      HostColumn host = random_column(kSourceRows, 4, pairs);
      set_valid(&host, random_valid(kSourceRows, 0.3, pairs), offset);
      columns::DeviceColumn const column = place(queue(), host);
      std::vector<uint32_t> const rows = random_rows(pairs, kSourceRows, pairs + 2);
      base::Buffer const device_rows = upload(queue(), rows);
      ResultColumn target;
      NullCounts null_counts(queue(), 1);
      materialize::gather(queue(), device_rows.as<uint32_t>(), pairs, {request_of(column, &target)},
                          null_counts);
      null_counts.finish();
      std::vector<unsigned char> const valid = expected_valid(host, rows);
      ASSERT_EQ(target.null_count, std::count(valid.begin(), valid.end(), 0));
      if (target.null_count == 0) {
        EXPECT_EQ(target.validity, nullptr);
      } else {
        ASSERT_EQ(valid_of(queue(), target, pairs), valid);
      }
      std::vector<unsigned char> const expected = bytes_of_rows(host, rows);
      EXPECT_EQ(values_of(queue(), target, expected.size()), expected);
    }
  }
}

TEST_F(Gather, CarriesValidityFromBytes) {
  for (size_t pairs : edge_sizes()) {
    if (pairs == 0) continue;
    SCOPED_TRACE(pairs);
    HostColumn host = random_column(kSourceRows, 2, pairs);
    host.valid = random_valid(kSourceRows, 0.6, pairs);
    columns::DeviceColumn const column = place(queue(), host);
    base::Buffer const bytes = upload(queue(), host.valid);
    std::vector<uint32_t> const rows = random_rows(pairs, kSourceRows, pairs + 2);
    base::Buffer const device_rows = upload(queue(), rows);
    ResultColumn target;
    NullCounts null_counts(queue(), 1);
    Request request = request_of(column, &target);
    request.source.validity_bytes = bytes.as<uint8_t>();
    materialize::gather(queue(), device_rows.as<uint32_t>(), pairs, {request}, null_counts);
    null_counts.finish();
    std::vector<unsigned char> const valid = expected_valid(host, rows);
    ASSERT_EQ(target.null_count, std::count(valid.begin(), valid.end(), 0));
    if (target.null_count != 0) {
      ASSERT_EQ(valid_of(queue(), target, pairs), valid);
    }
  }
}

TEST_F(Gather, DropsTheValidityOfAColumnWithoutNulls) {
  HostColumn full = random_column(kSourceRows, 4, 1);
  set_valid(&full, std::vector<unsigned char>(kSourceRows, 1), 3);
  HostColumn one_null = random_column(kSourceRows, 4, 2);
  std::vector<unsigned char> valid(kSourceRows, 1);
  valid[1999] = 0;
  set_valid(&one_null, valid, 3);
  HostColumn all_null = random_column(kSourceRows, 4, 3);
  set_valid(&all_null, std::vector<unsigned char>(kSourceRows, 0), 3);
  columns::DeviceColumn const full_column = place(queue(), full);
  columns::DeviceColumn const one_column = place(queue(), one_null);
  columns::DeviceColumn const all_column = place(queue(), all_null);
  std::vector<ResultColumn> targets(3);
  NullCounts null_counts(queue(), 3);
  materialize::gather(queue(), nullptr, kSourceRows,
                      {request_of(full_column, &targets[0]), request_of(one_column, &targets[1]),
                       request_of(all_column, &targets[2])},
                      null_counts);
  null_counts.finish();
  EXPECT_EQ(targets[0].null_count, 0);
  EXPECT_EQ(targets[0].validity, nullptr);
  EXPECT_EQ(targets[1].null_count, 1);
  EXPECT_EQ(valid_of(queue(), targets[1], kSourceRows), valid);
  EXPECT_EQ(targets[2].null_count, static_cast<int64_t>(kSourceRows));
  EXPECT_EQ(valid_of(queue(), targets[2], kSourceRows), std::vector<unsigned char>(kSourceRows, 0));
}

TEST_F(Gather, TakesMoreColumnsThanOneLaunchHolds) {
  constexpr size_t kPairs = 2049;
  std::vector<uint32_t> const rows = random_rows(kPairs, kSourceRows, 1);
  base::Buffer const device_rows = upload(queue(), rows);
  for (size_t count : {size_t{0}, size_t{7}, size_t{8}, size_t{9}, size_t{16}, size_t{17}}) {
    SCOPED_TRACE(std::to_string(count) + " columns");
    std::vector<HostColumn> hosts;
    std::vector<columns::DeviceColumn> placed;
    for (size_t i = 0; i < count; ++i) {
      hosts.push_back(random_column(kSourceRows, kWidths[i % 5], i));
      // Every third may be NULL, so that the counters do not follow the columns one to one.
      if (i % 3 == 1) {
        set_valid(&hosts[i], random_valid(kSourceRows, 0.1 * static_cast<double>(i % 7 + 1), i),
                  static_cast<int64_t>(i));
      }
      placed.push_back(place(queue(), hosts[i]));
    }
    std::vector<ResultColumn> targets(count);
    std::vector<Request> requests;
    for (size_t i = 0; i < count; ++i) requests.push_back(request_of(placed[i], &targets[i]));
    NullCounts null_counts(queue(), count);
    materialize::gather(queue(), device_rows.as<uint32_t>(), kPairs, requests, null_counts);
    null_counts.finish();
    for (size_t i = 0; i < count; ++i) {
      SCOPED_TRACE("column " + std::to_string(i));
      std::vector<unsigned char> const expected = bytes_of_rows(hosts[i], rows);
      EXPECT_EQ(values_of(queue(), targets[i], expected.size()), expected);
      if (hosts[i].valid.empty()) {
        EXPECT_EQ(targets[i].validity, nullptr);
        continue;
      }
      std::vector<unsigned char> const valid = expected_valid(hosts[i], rows);
      EXPECT_EQ(targets[i].null_count, std::count(valid.begin(), valid.end(), 0));
      ASSERT_NE(targets[i].validity, nullptr);
      EXPECT_EQ(valid_of(queue(), targets[i], kPairs), valid);
    }
  }
}

TEST_F(Gather, CountsNullsOverSeveralCalls) {
  HostColumn host = random_column(kSourceRows, 8, 1);
  set_valid(&host, random_valid(kSourceRows, 0.5, 2), 1);
  columns::DeviceColumn const column = place(queue(), host);
  std::vector<ResultColumn> targets(3);
  NullCounts null_counts(queue(), 3);
  size_t const pairs[] = {10, 1000, 2999};
  for (size_t i = 0; i < 3; ++i) {
    materialize::gather(queue(), nullptr, pairs[i], {request_of(column, &targets[i])}, null_counts);
  }
  null_counts.finish();
  for (size_t i = 0; i < 3; ++i) {
    auto const end = host.valid.begin() + static_cast<std::ptrdiff_t>(pairs[i]);
    EXPECT_EQ(targets[i].null_count, std::count(host.valid.begin(), end, 0));
  }
}

}  // namespace
}  // namespace gpujoin::tests
