// pages_test.cpp: fetching results whole and in pages, into buffers of every kind.
#include <algorithm>
#include <cstring>
#include <memory>

#include "tests/abi/device_memory.hpp"
#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;
constexpr int32_t kTooSmall = GPUJOIN_ERROR_BUFFER_TOO_SMALL;

// A result of 300 rows: left key, a nullable 2-byte payload (every third is NULL), and the pairs.
class Pages : public DeviceTest {
 protected:
  static constexpr int64_t kRows = 300;

  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    std::vector<int32_t> keys;
    std::vector<std::optional<int16_t>> payloads;
    for (int32_t i = 0; i < kRows; ++i) {
      keys.push_back(i);
      payloads.push_back(i % 3 == 0 ? std::nullopt : std::optional(static_cast<int16_t>(i)));
    }
    table.emplace_back("key", GPUJOIN_TYPE_INT32, keys);
    table.emplace_back("payload", GPUJOIN_TYPE_INT16, payloads);
    context = make_context(device());
    relation = make_relation(context, table);
    Spec spec;
    spec.left_columns = {0, 1};
    spec.output = GPUJOIN_OUTPUT_COLUMNS | GPUJOIN_OUTPUT_PAIRS;
    result = join(context, relation, relation, spec);
    ASSERT_EQ(rows_of(result), kRows);
    keys_of_result = column_of<int32_t>(result, 0);
  }
  Answer fetch(gpujoin_page* page, gpujoin_fetch* fetches, int32_t count) {
    return call(gpujoin_result_fetch, result.get(), page, fetches, count);
  }
  bool is_null(int64_t row) const {
    return keys_of_result[static_cast<size_t>(row)].value() % 3 == 0;
  }
  // Checks one page of the payload against the keys of the same rows.
  void expect_page(int64_t first_row, int64_t rows, const int16_t* values, const uint8_t* validity,
                   int64_t null_count) {
    int64_t nulls = 0;
    for (int64_t i = 0; i < rows; ++i) {
      bool const valid = (validity[i / 8] >> (i % 8) & 1) != 0;
      ASSERT_EQ(valid, !is_null(first_row + i)) << "row " << first_row + i;
      if (valid) {
        ASSERT_EQ(values[i], keys_of_result[static_cast<size_t>(first_row + i)].value());
      } else {
        ++nulls;
      }
    }
    EXPECT_EQ(null_count, nulls);
    if (rows % 8 != 0) {
      EXPECT_EQ(validity[rows / 8] >> (rows % 8), 0) << "bits after the page";
    }
  }

  Table table;
  Context context;
  Relation relation;
  Result result;
  std::vector<std::optional<int32_t>> keys_of_result;
};
ON_EVERY_DEVICE(Pages);

}  // namespace

TEST_P(Pages, CoverTheResultByRows) {
  for (int64_t const most : {1, 3, 7, 8, 9, 31, 32, 33, 299, 300, 301}) {
    SCOPED_TRACE(most);
    std::vector<int16_t> values(kRows);
    std::vector<uint8_t> validity((kRows + 7) / 8);
    gpujoin_fetch request =
        fetch_of(GPUJOIN_FETCH_COLUMN, 1, values.data(), values.size() * sizeof(int16_t));
    request.validity = validity.data();
    request.validity_bytes = validity.size();
    gpujoin_page page = GPUJOIN_PAGE_INIT;
    page.max_rows = most;
    for (int64_t row = 0; row < kRows; row += most) {
      ASSERT_OK(fetch(&page, &request, 1));
      ASSERT_EQ(page.rows, std::min(most, kRows - row));
      ASSERT_EQ(page.first_row, row + page.rows);
      expect_page(row, page.rows, values.data(), validity.data(), request.null_count);
    }
    ASSERT_OK(fetch(&page, &request, 1));
    EXPECT_EQ(page.rows, 0);
    EXPECT_EQ(page.first_row, kRows);
  }
}

TEST_P(Pages, CoverTheResultByBytes) {
  // 4 + 2 bytes a row and a bit: 100 rows are 613 bytes, 104 are 637, 105 are 644.
  std::vector<int32_t> keys(kRows);
  std::vector<int16_t> values(kRows);
  std::vector<uint8_t> validity((kRows + 7) / 8);
  gpujoin_fetch requests[] = {fetch_of(GPUJOIN_FETCH_COLUMN, 0, keys.data(), kRows * 4),
                              fetch_of(GPUJOIN_FETCH_COLUMN, 1, values.data(), kRows * 2)};
  requests[1].validity = validity.data();
  requests[1].validity_bytes = validity.size();
  struct {
    uint64_t bytes;
    int64_t rows;
  } const limits[] = {{613, 100}, {612, 99}, {637, 104}, {643, 104}, {644, 105}, {1, 1}, {7, 1}};
  for (auto const& [bytes, rows] : limits) {
    SCOPED_TRACE(bytes);
    gpujoin_page page = GPUJOIN_PAGE_INIT;
    page.max_bytes = bytes;
    int64_t next = 0;
    while (next < kRows) {
      ASSERT_OK(fetch(&page, requests, 2));
      ASSERT_EQ(page.rows, std::min(rows, kRows - next));
      expect_page(next, page.rows, values.data(), validity.data(), requests[1].null_count);
      ASSERT_EQ(keys[0], keys_of_result[static_cast<size_t>(next)]);
      next = page.first_row;
    }
  }
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  page.max_bytes = 613;
  page.max_rows = 10;
  ASSERT_OK(fetch(&page, requests, 2));
  EXPECT_EQ(page.rows, 10) << "the smaller limit counts";
}

TEST_P(Pages, ACallWithoutRequestsMovesTheCursor) {
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  page.max_rows = 120;
  for (int64_t const rows : {120, 120, 60, 0}) {
    ASSERT_OK(fetch(&page, nullptr, 0));
    EXPECT_EQ(page.rows, rows);
  }
}

TEST_P(Pages, CursorsOutsideTheResultAreRefused) {
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  for (int64_t const first_row : {int64_t{-1}, kRows + 1, INT64_MAX}) {
    page.first_row = first_row;
    EXPECT_NAMES(fetch(&page, nullptr, 0), kInvalid, "first_row");
    EXPECT_EQ(page.first_row, first_row);
  }
  page.first_row = 0;
  page.max_rows = -1;
  EXPECT_NAMES(fetch(&page, nullptr, 0), kInvalid, "max_rows");
}

TEST_P(Pages, ASmallBufferLeavesAllBuffersAlone) {
  std::vector<int32_t> keys(kRows, 77);
  std::vector<int16_t> values(kRows, 77);
  std::vector<uint8_t> validity((kRows + 7) / 8, 77);
  auto const keys_before = keys;
  auto const values_before = values;
  gpujoin_fetch requests[] = {fetch_of(GPUJOIN_FETCH_COLUMN, 0, keys.data(), kRows * 4),
                              fetch_of(GPUJOIN_FETCH_COLUMN, 1, values.data(), kRows * 2)};
  requests[1].validity = validity.data();
  requests[1].validity_bytes = validity.size();
  gpujoin_page page = GPUJOIN_PAGE_INIT;

  requests[1].data_bytes -= 1;
  EXPECT_NAMES(fetch(&page, requests, 2), kTooSmall, "fetches[1].data_bytes");
  requests[1].data_bytes += 1;
  requests[1].validity_bytes -= 1;
  EXPECT_NAMES(fetch(&page, requests, 2), kTooSmall, "fetches[1].validity_bytes");
  requests[1].validity_bytes += 1;
  requests[1].data = nullptr;
  EXPECT_NAMES(fetch(&page, requests, 2), kInvalid, "fetches[1].data");
  requests[1].data = values.data();
  EXPECT_EQ(page.first_row, 0);
  EXPECT_EQ(keys, keys_before);
  EXPECT_EQ(values, values_before);
  EXPECT_EQ(validity, std::vector<uint8_t>(validity.size(), 77));
  EXPECT_OK(fetch(&page, requests, 2));
}

TEST_P(Pages, BytesAfterTheRowsStayTheCallers) {
  std::vector<int16_t> values(16, 77);
  std::vector<uint8_t> validity(4, 77);
  gpujoin_fetch request = fetch_of(GPUJOIN_FETCH_COLUMN, 1, values.data(), 32);
  request.validity = validity.data();
  request.validity_bytes = validity.size();
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  page.first_row = 5;
  page.max_rows = 9;
  ASSERT_OK(fetch(&page, &request, 1));
  expect_page(5, 9, values.data(), validity.data(), request.null_count);
  for (size_t i = 9; i < 16; ++i) EXPECT_EQ(values[i], 77);
  for (size_t i = 2; i < 4; ++i) EXPECT_EQ(validity[i], 77);
}

TEST_P(Pages, WithNullsNeedRoomForValidity) {
  std::vector<int16_t> values(kRows);
  gpujoin_fetch request = fetch_of(GPUJOIN_FETCH_COLUMN, 1, values.data(), kRows * 2);
  EXPECT_NAMES(fetch(nullptr, &request, 1), kInvalid, "fetches[0].validity");
  // A page of one row that is not NULL needs none.
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  while (is_null(page.first_row)) ++page.first_row;
  page.max_rows = 1;
  EXPECT_OK(fetch(&page, &request, 1));
  EXPECT_EQ(request.null_count, 0);
}

TEST_P(Pages, ColumnsWithoutNullsAreAllValid) {
  std::vector<int32_t> keys(kRows);
  std::vector<uint8_t> validity((kRows + 7) / 8);
  gpujoin_fetch request = fetch_of(GPUJOIN_FETCH_COLUMN, 0, keys.data(), kRows * 4);
  request.validity = validity.data();
  request.validity_bytes = validity.size();
  request.null_count = 99;
  ASSERT_OK(fetch(nullptr, &request, 1));
  EXPECT_EQ(request.null_count, 0);
  for (size_t i = 0; i + 1 < validity.size(); ++i) EXPECT_EQ(validity[i], 0xFF);
  EXPECT_EQ(validity.back(), (1u << kRows % 8) - 1);
}

TEST_P(Pages, IndicesComeAsUint32OrInt64) {
  std::vector<uint32_t> narrow(kRows);
  std::vector<int64_t> wide(kRows);
  gpujoin_fetch requests[] = {fetch_of(GPUJOIN_FETCH_LEFT_INDEX, 0, narrow.data(), kRows * 4),
                              fetch_of(GPUJOIN_FETCH_LEFT_INDEX, 0, wide.data(), kRows * 8),
                              fetch_of(GPUJOIN_FETCH_RIGHT_INDEX, 0, wide.data(), kRows * 8)};
  requests[0].type = GPUJOIN_TYPE_UINT32;
  ASSERT_OK(fetch(nullptr, requests, 2));
  for (size_t i = 0; i < kRows; ++i) {
    ASSERT_EQ(narrow[i], keys_of_result[i].value());
    ASSERT_EQ(wide[i], keys_of_result[i].value());
  }
  requests[2].type = GPUJOIN_TYPE_INT64;
  ASSERT_OK(fetch(nullptr, &requests[2], 1));
  for (size_t i = 0; i < kRows; ++i) ASSERT_EQ(wide[i], keys_of_result[i].value());
}

TEST_P(Pages, RequestsAreChecked) {
  std::vector<int64_t> room(kRows);
  auto const with = [&](auto change) {
    gpujoin_fetch request = fetch_of(GPUJOIN_FETCH_COLUMN, 0, room.data(), kRows * 8);
    change(request);
    return fetch(nullptr, &request, 1);
  };
  EXPECT_OK(with([](auto&) {}));
  EXPECT_NAMES(with([](auto& f) { f.what = 0; }), kInvalid, "fetches[0].what");
  EXPECT_NAMES(with([](auto& f) { f.what = 4; }), kInvalid, "fetches[0].what");
  EXPECT_NAMES(with([](auto& f) { f.column = -1; }), kInvalid, "fetches[0].column");
  EXPECT_NAMES(with([](auto& f) { f.column = 2; }), kInvalid, "fetches[0].column");
  EXPECT_NAMES(with([](auto& f) { f.memory = 4; }), kInvalid, "fetches[0].memory");
  EXPECT_OK(with([](auto& f) { f.type = GPUJOIN_TYPE_INT32; }));
  EXPECT_NAMES(with([](auto& f) { f.type = GPUJOIN_TYPE_INT64; }), GPUJOIN_ERROR_TYPE, "INT64");
  auto const with_index = [&](gpujoin_type type) {
    return with([&](auto& f) {
      f.what = GPUJOIN_FETCH_RIGHT_INDEX;
      f.type = type;
    });
  };
  EXPECT_NAMES(with_index(GPUJOIN_TYPE_INT32), GPUJOIN_ERROR_TYPE, "fetches[0].type");
  EXPECT_OK(with_index(0));
}

TEST_P(Pages, WithoutPairsHaveNoIndices) {
  Spec spec;
  spec.left_columns = {0};
  Result const columns_only = join(context, relation, relation, spec);
  std::vector<int64_t> room(kRows);
  gpujoin_fetch request = fetch_of(GPUJOIN_FETCH_LEFT_INDEX, 0, room.data(), kRows * 8);
  EXPECT_NAMES(call(gpujoin_result_fetch, columns_only.get(), nullptr, &request, 1), kInvalid,
               "GPUJOIN_OUTPUT_PAIRS");
}

TEST_P(Pages, OfAnEmptyResultNeedNoBuffers) {
  Table const none = counting_table(0, 1);
  Relation const empty = make_relation(context, none);
  Result const nothing = join(context, empty, relation, Spec{});
  gpujoin_fetch request = fetch_of(GPUJOIN_FETCH_LEFT_INDEX, 0, nullptr, 0);
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  page.max_bytes = 1;
  ASSERT_OK(call(gpujoin_result_fetch, nothing.get(), &page, &request, 1));
  EXPECT_EQ(page.rows, 0);
}

TEST_P(Pages, WideRowNumbersOfAnyResultGoToDeviceMemory) {
  if (device() != GPUJOIN_DEVICE_CUDA) return;
  // More than a piece of a host result's row numbers, and a page that begins in the middle.
  constexpr int64_t kMany = (int64_t{1} << 21) + 77;
  constexpr int64_t kFirst = 12345;
  constexpr int64_t kPage = kMany - 2 * kFirst;
  Table const many = counting_table(kMany, kMany);
  Relation const large = make_relation(context, many);
  for (gpujoin_device const executor : {GPUJOIN_DEVICE_CUDA, GPUJOIN_DEVICE_CPU}) {
    gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
    options.device = executor;
    Result const joined = join(context, large, large, Spec(), &options);
    ASSERT_EQ(rows_of(joined), kMany);
    std::vector<int64_t> expected(kMany);
    gpujoin_fetch on_host = fetch_of(GPUJOIN_FETCH_LEFT_INDEX, 0, expected.data(), kMany * 8);
    ASSERT_OK(call(gpujoin_result_fetch, joined.get(), nullptr, &on_host, 1));
    DeviceMemory const room((kPage + 1) * 8);
    auto* const aligned = static_cast<uint8_t*>(room.get());
    gpujoin_fetch request = fetch_of(GPUJOIN_FETCH_LEFT_INDEX, 0, aligned + 4, kPage * 8);
    gpujoin_page page = GPUJOIN_PAGE_INIT;
    page.first_row = kFirst;
    page.max_rows = kPage;
    EXPECT_NAMES(call(gpujoin_result_fetch, joined.get(), &page, &request, 1), kInvalid,
                 "fetches[0].data is not aligned");
    request.data = aligned;
    ASSERT_OK(call(gpujoin_result_fetch, joined.get(), &page, &request, 1));
    EXPECT_EQ(page.rows, kPage);
    EXPECT_EQ(std::memcmp(room.contents().data(), expected.data() + kFirst, kPage * 8), 0);
  }
}

TEST_P(Pages, GoToDeviceMemory) {
  if (device() != GPUJOIN_DEVICE_CUDA) {
    gpujoin_fetch request = fetch_of(GPUJOIN_FETCH_COLUMN, 0, keys_of_result.data(), kRows * 8);
    request.memory = GPUJOIN_MEMORY_DEVICE;
    EXPECT_NAMES(fetch(nullptr, &request, 1), GPUJOIN_ERROR_UNSUPPORTED, "fetches[0].data");
    return;
  }
  constexpr int64_t kFirst = 13;
  constexpr int64_t kPage = 101;
  for (gpujoin_memory const memory : {GPUJOIN_MEMORY_AUTOMATIC, GPUJOIN_MEMORY_DEVICE}) {
    DeviceMemory const values(kPage * 2);
    DeviceMemory const validity((kPage + 31) / 32 * 4);
    DeviceMemory const narrow(kPage * 4);
    DeviceMemory const wide(kPage * 8);
    gpujoin_fetch requests[] = {fetch_of(GPUJOIN_FETCH_COLUMN, 1, values.get(), kPage * 2),
                                fetch_of(GPUJOIN_FETCH_LEFT_INDEX, 0, narrow.get(), kPage * 4),
                                fetch_of(GPUJOIN_FETCH_RIGHT_INDEX, 0, wide.get(), kPage * 8)};
    requests[0].validity = static_cast<uint8_t*>(validity.get());
    requests[1].type = GPUJOIN_TYPE_UINT32;
    for (gpujoin_fetch& request : requests) request.memory = memory;
    gpujoin_page page = GPUJOIN_PAGE_INIT;
    page.first_row = kFirst;
    page.max_rows = kPage;
    requests[0].validity_bytes = (kPage + 7) / 8;
    EXPECT_NAMES(fetch(&page, requests, 3), kTooSmall, "validity_bytes");
    requests[0].validity_bytes = (kPage + 31) / 32 * 4;
    ASSERT_OK(fetch(&page, requests, 3));
    std::vector<int16_t> host(kPage);
    std::memcpy(host.data(), values.contents().data(), kPage * 2);
    expect_page(kFirst, kPage, host.data(), validity.contents().data(), requests[0].null_count);
    for (size_t i = 0; i < kPage; ++i) {
      int64_t const expected = keys_of_result[kFirst + i].value();
      uint32_t narrow_value = 0;
      int64_t wide_value = 0;
      std::memcpy(&narrow_value, narrow.contents().data() + i * 4, 4);
      std::memcpy(&wide_value, wide.contents().data() + i * 8, 8);
      ASSERT_EQ(narrow_value, expected);
      ASSERT_EQ(wide_value, expected);
    }
  }
}
