// gathered_rows_test.cpp: rows of batches of every layout, gathered, held against their bytes.
#include "src/pieces/gathered_rows.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.hpp"
#include "tests/base/test_source.hpp"
#include "tests/pieces/batch_columns.hpp"

namespace gpujoin::pieces {
namespace {

using namespace tests;  // NOLINT: the columns

struct Batch {
  columns::Relation relation;
  std::vector<BatchColumn> columns;
};

Batch make_batch(const std::vector<Maker>& makers, const Drawn& drawn) {
  Batch batch;
  batch.relation.rows = static_cast<int64_t>(drawn.rows);
  for (size_t i = 0; i < makers.size(); ++i) {
    Drawn of_column = drawn;
    of_column.seed = drawn.seed * 1000 + i;
    batch.columns.push_back(makers[i](of_column));
    batch.relation.columns.push_back(batch.columns.back().view);
  }
  return batch;
}

// What is expected of gathered rows.
struct Reference {
  std::vector<Values> columns;
  std::vector<int64_t> numbers;

  void append(const Batch& batch, const std::vector<uint32_t>& rows, int64_t first_number) {
    columns.resize(batch.columns.size());
    for (uint32_t const row : rows) {
      for (size_t i = 0; i < columns.size(); ++i) {
        columns[i].push_back(batch.columns[i].values[row]);
      }
      numbers.push_back(first_number + row);
    }
  }
};

void expect_rows(const columns::Relation& found, const Reference& expected) {
  ASSERT_EQ(found.rows, static_cast<int64_t>(expected.numbers.size()));
  ASSERT_EQ(found.columns.size(), expected.columns.size() + 1);
  for (size_t i = 0; i < expected.columns.size(); ++i) {
    columns::ColumnView const& column = found.columns[i];
    Values const& wanted = expected.columns[i];
    ASSERT_EQ(values_of(column, found.rows), wanted)
        << "column " << i << ' ' << column.arrow_format;
    bool const has_nulls = std::find(wanted.begin(), wanted.end(), std::nullopt) != wanted.end();
    EXPECT_EQ(column.validity != nullptr, has_nulls && column.layout != columns::Layout::kNulls);
  }
  columns::ColumnView const& numbers = found.columns.back();
  EXPECT_EQ(numbers.type, GPUJOIN_TYPE_INT64);
  if (found.rows == 0) return;
  EXPECT_EQ(std::memcmp(numbers.data, expected.numbers.data(), expected.numbers.size() * 8), 0);
}

std::vector<uint32_t> numbers_from(int64_t first, int64_t count) {
  std::vector<uint32_t> rows;
  for (int64_t i = 0; i < count; ++i) rows.push_back(static_cast<uint32_t>(first + i));
  return rows;
}

// Of batches that differ in all that may differ; every other one has no NULL.
Drawn drawn(size_t i, size_t rows) {
  Drawn drawn;
  drawn.rows = rows;
  drawn.nulls = i % 4 == 1 ? 0.3 : i % 4 == 3 ? 0.01 : 0;
  drawn.has_bits = i % 3 == 0;
  drawn.bit_offset = static_cast<int64_t>(i % 10);
  drawn.lead = static_cast<int64_t>(i % 5) * 7;
  drawn.seed = i + 1;
  return drawn;
}

const std::vector<size_t> kSizes = {1,  7, 63, 64, 65,  130, 1000, 1024, 1, 2048,
                                    31, 9, 3,  5,  777, 2,   333,  17,   8, 1500};

class Gathered : public ::testing::Test {
 protected:
  Gathered() { batch_ = make_batch(every_maker(), drawn(1, 100)); }
  void TearDown() override {
    EXPECT_EQ(pool_->in_use_bytes(), 0U);
    EXPECT_EQ(pool_->account().guard_violations(), 0U);
    pool_.reset();
    EXPECT_EQ(ledger_.live_bytes, 0U);
  }
  std::shared_ptr<const RowSchema> schema() { return make_row_schema(batch_.relation, true); }
  GatheredRows rows() { return GatheredRows(schema(), {pool_}); }
  // Of the same columns as batch_.
  Batch another(size_t i, size_t rows) { return make_batch(every_maker(), drawn(i, rows)); }

  base::Ledger ledger_;
  std::shared_ptr<base::Pool> pool_ = base::make_pool(&ledger_);
  Batch batch_;
};

TEST_F(Gathered, SlicesOfEveryLayout) {
  // Each first batch leaves the next ones to begin at another bit, with validity or without.
  for (size_t start = 0; start < kSizes.size(); ++start) {
    GatheredRows gathered = rows();
    Reference expected;
    for (size_t i = start; i < start + 6; ++i) {
      size_t const size = kSizes[i % kSizes.size()];
      Batch const batch = another(i, size);
      check_batch(*gathered.schema(), batch.relation, "batch");
      int64_t const first = static_cast<int64_t>(size / 5);
      int64_t const count = static_cast<int64_t>(size) - first - static_cast<int64_t>(size / 7);
      gathered.append(batch.relation, first, count, 1000000 * static_cast<int64_t>(i));
      expected.append(batch, numbers_from(first, count), 1000000 * static_cast<int64_t>(i));
    }
    ASSERT_NO_FATAL_FAILURE(expect_rows(*gathered.take(nullptr), expected)) << start;
    EXPECT_EQ(gathered.bytes(), 0U);
  }
}

TEST_F(Gathered, NamedRowsOfEveryLayout) {
  for (size_t start = 0; start < kSizes.size(); ++start) {
    GatheredRows gathered = rows();
    Reference expected;
    for (size_t i = start; i < start + 6; ++i) {
      size_t const size = kSizes[i % kSizes.size()];
      Batch const batch = another(i, size);
      std::vector<uint32_t> const named = drawn_rows(size + i, size, 0);
      gathered.append_rows(batch.relation, named, -5);
      expected.append(batch, named, -5);
    }
    ASSERT_NO_FATAL_FAILURE(expect_rows(*gathered.take(nullptr), expected)) << start;
  }
}

TEST_F(Gathered, RowsOfGatheredRowsKeepTheirNumbers) {
  GatheredRows first = rows();
  Batch const batch = another(3, 3000);
  std::vector<uint32_t> const named = drawn_rows(2500, 3000, 0);
  first.append_rows(batch.relation, named, 70000);
  auto const taken = first.take(nullptr);
  std::vector<uint32_t> const again = drawn_rows(4000, named.size(), 0);
  GatheredRows second = rows();
  Reference expected;
  second.append_rows(*taken, again, std::nullopt);
  second.append(*taken, 11, 1234, std::nullopt);
  for (uint32_t const row : again) expected.append(batch, {named[row]}, 70000);
  for (uint32_t const row : numbers_from(11, 1234)) expected.append(batch, {named[row]}, 70000);
  expect_rows(*second.take(nullptr), expected);
}

TEST_F(Gathered, WithoutRowNumbersThereIsNoColumnOfThem) {
  GatheredRows gathered(make_row_schema(batch_.relation, false), {pool_});
  gathered.append(batch_.relation, 0, 100, 0);
  auto const taken = gathered.take(nullptr);
  EXPECT_EQ(taken->columns.size(), batch_.columns.size());
  GatheredRows again(gathered.schema(), {pool_});
  again.append(*taken, 0, 100, std::nullopt);
  EXPECT_EQ(values_of(again.take(nullptr)->columns[4], 100), batch_.columns[4].values);
}

TEST_F(Gathered, PartsOfAFileAreTheRowsAgain) {
  for (double const nulls : {0.0, 0.2}) {
    GatheredRows gathered = rows();
    Reference expected;
    Drawn shape = drawn(2, 1003);
    shape.nulls = nulls;
    Batch const batch = make_batch(every_maker(), shape);
    gathered.append(batch.relation, 0, 1003, 0);
    expected.append(batch, numbers_from(0, 1003), 0);
    std::string file;
    for (auto const part : gathered.parts()) {
      file.append(reinterpret_cast<const char*>(part.data()), part.size());
    }
    GatheredRows::Extent const extent = gathered.extent();
    uint64_t const text_bytes = gathered.text_bytes();
    EXPECT_GT(text_bytes, 0U);
    gathered.take(nullptr);
    GatheredRows restored = rows();
    const char* at = file.data();
    for (auto const part : restored.make_room(extent)) {
      if (!part.empty()) std::memcpy(part.data(), at, part.size());
      at += part.size();
    }
    EXPECT_EQ(at, file.data() + file.size());
    EXPECT_EQ(restored.text_bytes(), text_bytes);
    EXPECT_EQ(restored.rows(), 1003);
    // More rows may come.
    Batch const more = another(5, 90);
    restored.append(more.relation, 0, 90, 9);
    expected.append(more, numbers_from(0, 90), 9);
    ASSERT_NO_FATAL_FAILURE(expect_rows(*restored.take(nullptr), expected));
  }
}

TEST_F(Gathered, PartsOfNoRowsAreEmpty) {
  GatheredRows gathered = rows();
  for (auto const part : gathered.parts()) EXPECT_TRUE(part.empty());
  for (auto const part : rows().make_room(gathered.extent())) EXPECT_TRUE(part.empty());
  Batch const none = another(0, 1);
  gathered.append(none.relation, 0, 0, 0);
  gathered.append_rows(none.relation, {}, 0);
  EXPECT_EQ(gathered.bytes(), 0U);
  EXPECT_EQ(gathered.take(nullptr)->rows, 0);
}

// A batch that fails wherever memory may end adds nothing, and the next one comes as if it had not
// been there.
TEST_F(Gathered, ABatchThatFailsAddsNothing) {
  Batch const first = another(0, 700);
  Batch const failing = another(1, 9000);
  Batch const last = another(2, 650);
  int failures = 0;
  for (int allowed = 0;; ++allowed) {
    base::Ledger ledger;
    auto const pool = base::make_pool(&ledger);
    GatheredRows gathered(schema(), {pool});
    Reference expected;
    gathered.append(first.relation, 0, 700, 0);
    expected.append(first, numbers_from(0, 700), 0);
    ledger.fail_from = ledger.allocations + allowed;
    bool failed = false;
    try {
      gathered.append(failing.relation, 3, 8990, 5);
    } catch (const base::Error& error) {
      failed = true;
      EXPECT_EQ(error.status(), GPUJOIN_ERROR_OUT_OF_MEMORY);
    }
    ledger.fail_from = -1;
    if (!failed) break;
    ++failures;
    ASSERT_EQ(gathered.rows(), 700);
    GatheredRows::Extent const extent = gathered.extent();
    for (auto const& column : extent.columns) EXPECT_EQ(column.rows, 700);
    gathered.append(last.relation, 0, 650, 800);
    expected.append(last, numbers_from(0, 650), 800);
    ASSERT_NO_FATAL_FAILURE(expect_rows(*gathered.take(nullptr), expected)) << allowed;
  }
  EXPECT_GT(failures, 50);
}

TEST_F(Gathered, TheMemoryLimitIsKept) {
  uint64_t const limit = 3 * base::kMiB;
  base::Ledger ledger;
  auto const pool = base::make_pool(&ledger, limit);
  GatheredRows gathered(schema(), {pool});
  Reference expected;
  Batch const batch = another(1, 2048);
  gpujoin_status status = GPUJOIN_OK;
  while (status == GPUJOIN_OK) {
    ASSERT_LT(gathered.rows(), 100000);
    try {
      gathered.append(batch.relation, 0, 2048, gathered.rows());
      expected.append(batch, numbers_from(0, 2048), gathered.rows() - 2048);
    } catch (const base::Error& error) {
      status = error.status();
    }
  }
  EXPECT_EQ(status, GPUJOIN_ERROR_MEMORY_LIMIT);
  EXPECT_GT(gathered.rows(), 0);
  EXPECT_LE(gathered.bytes(), limit);
  expect_rows(*gathered.take(nullptr), expected);
}

TEST_F(Gathered, BitsThatAreAllOnesMakeNoValidity) {
  GatheredRows gathered = rows();
  Drawn shape = drawn(0, 500);
  shape.has_bits = true;
  Batch const batch = make_batch(every_maker(), shape);
  gathered.append(batch.relation, 0, 500, 0);
  gathered.append_rows(batch.relation, numbers_from(3, 400), 0);
  auto const taken = gathered.take(nullptr);
  for (auto const& column : taken->columns) EXPECT_EQ(column.validity, nullptr);
}

TEST_F(Gathered, WhatProducersGetWrongIsNoValue) {
  // Indices of no value; an offset that goes back, and one out of the bytes.
  auto const dictionary = [](const Drawn& drawn) {
    BatchColumn made = make_dictionary<int32_t>("i", make_bytes("u", {4, 0}), drawn);
    made.view.data = made.hold(std::vector<int32_t>{0, 4, -1, 3});
    made.values = {made.values[0], std::nullopt, std::nullopt, made.values[3]};
    return made;
  };
  auto const text = [](const Drawn&) {
    BatchColumn made;
    made.view = view_of_format("u");
    made.view.data = made.hold(std::vector<char>{'a', 'b', 'c', 'd', 'e', 'f'});
    auto parts = std::make_shared<columns::ColumnParts>(*made.view.parts);
    parts->offsets = made.hold(std::vector<int32_t>{0, 4, 2, 9, 6});
    made.view.parts = std::move(parts);
    made.values = {"abcd", "", "", ""};
    return made;
  };
  auto const dictionary_rows = dictionary({4});
  Batch batch;
  batch.relation.rows = 4;
  batch.columns.push_back(text({4}));
  batch.relation.columns = {batch.columns[0].view, dictionary_rows.view};
  GatheredRows gathered(make_row_schema(batch.relation, false), {pool_});
  gathered.append(batch.relation, 0, 4, 0);
  gathered.append(batch.relation, 1, 2, 0);
  gathered.append_rows(batch.relation, numbers_from(0, 4), 0);
  auto const taken = gathered.take(nullptr);
  EXPECT_EQ(values_of(taken->columns[0], 10),
            (Values{"abcd", "", "", "", "", "", "abcd", "", "", ""}));
  Values const found = values_of(taken->columns[1], 10);
  std::vector<bool> there;
  for (auto const& value : found) there.push_back(value.has_value());
  EXPECT_EQ(there,
            (std::vector<bool>{true, false, false, true, false, false, true, false, false, true}));
}

TEST_F(Gathered, TextOfFourByteOffsetsHasAnEnd) {
  BatchColumn text;
  text.view = view_of_format("u");
  std::vector<char> const megabyte(1 << 20, 'x');
  text.view.data = megabyte.data();
  auto parts = std::make_shared<columns::ColumnParts>(*text.view.parts);
  std::vector<int32_t> const offsets = {0, 1 << 20};
  parts->offsets = offsets.data();
  text.view.parts = std::move(parts);
  columns::Relation batch;
  batch.rows = 1;
  batch.columns = {text.view};
  GatheredRows gathered(make_row_schema(batch, true), {pool_});
  gathered.append(batch, 0, 1, 0);
  try {
    gathered.append_rows(batch, std::vector<uint32_t>(2047, 0), 0);
    FAIL() << "2^31 bytes of text";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), GPUJOIN_ERROR_TOO_MANY_ROWS);
    EXPECT_NE(std::string(error.what()).find("\"a column\""), std::string::npos) << error.what();
  }
  EXPECT_EQ(gathered.rows(), 1);
  EXPECT_EQ(gathered.text_bytes(), uint64_t{1} << 20);
}

std::string refusal(const std::function<void()>& what, gpujoin_status status) {
  try {
    what();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), status) << error.what();
    return error.what();
  }
  return "nothing";
}

columns::Relation relation_of(const std::vector<columns::ColumnView>& views) {
  columns::Relation relation;
  relation.columns = views;
  return relation;
}

columns::ColumnView dictionary_of(const std::string& format) {
  columns::ColumnView view = view_of_format("i");
  view.type = GPUJOIN_TYPE_DICTIONARY;
  view.layout = columns::Layout::kIndices;
  auto parts = std::make_shared<columns::ColumnParts>();
  parts->values = std::make_shared<columns::ColumnView>(view_of_format(format));
  view.parts = std::move(parts);
  return view;
}

TEST(RowSchemas, NestedValuesAreRefused) {
  for (auto const& view : {view_of_format("+l"), dictionary_of("+s")}) {
    std::string const message = refusal(
        [&] {
          make_row_schema(relation_of({view_of_format("i"), view}), false);
        },
        GPUJOIN_ERROR_UNSUPPORTED);
    EXPECT_NE(message.find("columns[1]"), std::string::npos) << message;
  }
}

TEST(RowSchemas, ColumnsBecomeWhatTheirValuesAre) {
  auto const schema = make_row_schema(
      relation_of({view_of_format("vu"), dictionary_of("vz"), dictionary_of("d:38,4"),
                   view_of_format("tsu:UTC"), view_of_format("u")}),
      true);
  std::vector<std::string> formats;
  for (auto const& column : schema->columns) formats.push_back(column.arrow_format);
  EXPECT_EQ(formats, (std::vector<std::string>{"U", "Z", "d:38,4", "tsu:UTC", "u", "l"}));
  EXPECT_EQ(schema->columns[0].type, GPUJOIN_TYPE_LARGE_UTF8);
  EXPECT_EQ(schema->columns[0].width, 0);
  EXPECT_EQ(schema->columns[2].parts->scale, 4);
  EXPECT_EQ(schema->columns[2].name, "a column");
  EXPECT_EQ(schema->columns[4].parts->offset_width, 4);
  EXPECT_EQ(schema->columns[5].name, "");
  EXPECT_EQ(schema->given.size(), 5U);
}

TEST(RowSchemas, BatchesOfOtherColumnsAreRefused) {
  auto const refused = [](const columns::ColumnView& like, const columns::ColumnView& other) {
    auto const schema = make_row_schema(relation_of({view_of_format("i"), like}), false);
    return refusal(
        [&] {
          check_batch(*schema, relation_of({view_of_format("i"), other}), "batch");
        },
        GPUJOIN_ERROR_TYPE);
  };
  std::string const message = refused(view_of_format("i"), view_of_format("u"));
  EXPECT_NE(message.find("batch.columns[1] is UTF8"), std::string::npos) << message;
  EXPECT_NE(refused(view_of_format("d:38,4"), view_of_format("d:38,3")), "nothing");
  EXPECT_NE(refused(view_of_format("tsu:UTC"), view_of_format("tsu:")), "nothing");
  EXPECT_NE(refused(view_of_format("w:3"), view_of_format("w:4")), "nothing");
  EXPECT_NE(refused(dictionary_of("u"), dictionary_of("U")), "nothing");
  EXPECT_NE(refused(dictionary_of("u"), view_of_format("u")), "nothing");
  EXPECT_NE(refused(dictionary_of("u"), dictionary_of("+s")), "nothing");
  EXPECT_EQ(refused(dictionary_of("u"), dictionary_of("u")), "nothing");
  auto const schema = make_row_schema(relation_of({view_of_format("i")}), false);
  EXPECT_NE(refusal([&] { check_batch(*schema, relation_of({}), "batch"); },
                    GPUJOIN_ERROR_INVALID_ARGUMENT)
                .find("batch has 0 columns"),
            std::string::npos);
}

}  // namespace
}  // namespace gpujoin::pieces
