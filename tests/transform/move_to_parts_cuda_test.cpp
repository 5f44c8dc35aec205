// move_to_parts_cuda_test.cpp: rows on their way to parts, columns of 1 and 2 bytes packed, NULL
// keys left out, beside what the host makes of them.
#include "src/transform/move_to_parts.hpp"

#include <algorithm>
#include <map>

#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using MovedRows = GpuTest;
using transform::PartColumn;
using Row = std::vector<uint32_t>;  // part, address, words

// Of a side: widths of columns by themselves, then of the columns of each word, and whether a row's
// number comes behind them.
struct Widths {
  std::vector<int32_t> plain;
  std::vector<std::vector<int32_t>> words;
  bool numbers;
};

struct Way {
  int32_t key_width;
  size_t shift;            // rows that columns begin beyond an aligned address
  double nulls = 0;        // share of the keys
  size_t bits_behind = 0;  // where the first one's bit is
  uint32_t places = 5000;
  uint32_t parts = 101;
  bool in_order = false;
};

// Validity of so many rows, a bit each behind some others.
std::vector<uint8_t> bits_of(const std::vector<unsigned char>& valid, size_t behind) {
  std::vector<uint8_t> bits((behind + valid.size() + 7) / 8, 0x55);
  for (size_t row = 0; row < valid.size(); ++row) {
    size_t const at = behind + row;
    auto const bit = static_cast<uint8_t>(1U << at % 8);
    bits[at / 8] = static_cast<uint8_t>(valid[row] != 0 ? bits[at / 8] | bit : bits[at / 8] & ~bit);
  }
  return bits;
}

// A column on the device and the host.
struct Column {
  HostColumn host;
  base::Buffer memory;
  const unsigned char* data;
  size_t width;

  Column(base::Queue& queue, HostColumn column, size_t shift)
      : host(std::move(column)), width(static_cast<size_t>(host.width)) {
    std::vector<unsigned char> bytes(shift * width, 0xee);
    bytes.insert(bytes.end(), host.data.begin(), host.data.end());
    memory = upload(queue, bytes);
    data = memory.as<unsigned char>() + shift * width;
  }
  uint64_t value(size_t row) const {
    uint64_t value = 0;
    std::memcpy(&value, &host.data[row * width], width);
    return value;
  }
};

class Side {
 public:
  Side(base::Queue& queue, const Widths& widths, size_t rows, size_t shift)
      : widths_(widths), rows_(rows) {
    auto const column = [&](int32_t width) {
      columns_.emplace_back(queue, random_column(rows, width, rows + columns_.size()), shift);
      return PartColumn{columns_.back().data, width};
    };
    for (int32_t const width : widths.plain) parts.push_back(column(width));
    for (std::vector<int32_t> const& word : widths.words) {
      PartColumn packed = {nullptr, 4};
      for (int32_t const width : word) packed.parts.push_back(column(width));
      parts.push_back(std::move(packed));
    }
    if (widths.numbers) parts.push_back({nullptr, 4});
  }

  // What a row's words are, and which of their bits say something.
  Row words_of(size_t row) const {
    Row words;
    size_t column = 0;
    for (int32_t const width : widths_.plain) {
      uint64_t const value = columns_[column++].value(row);
      for (int32_t i = 0; i < width; i += 4) words.push_back(static_cast<uint32_t>(value >> 8 * i));
    }
    for (std::vector<int32_t> const& word : widths_.words) {
      uint64_t value = 0;
      int32_t byte = 0;
      for (int32_t const width : word) {
        value |= columns_[column++].value(row) << 8 * byte;
        byte += width;
      }
      words.push_back(static_cast<uint32_t>(value));
    }
    if (widths_.numbers) words.push_back(static_cast<uint32_t>(row));
    return words;
  }
  Row masks() const {
    Row masks;
    for (int32_t const width : widths_.plain) masks.resize(masks.size() + width / 4, UINT32_MAX);
    for (std::vector<int32_t> const& word : widths_.words) {
      int32_t const bytes = std::accumulate(word.begin(), word.end(), 0);
      masks.push_back(static_cast<uint32_t>((uint64_t{1} << 8 * bytes) - 1));
    }
    if (widths_.numbers) masks.push_back(UINT32_MAX);
    return masks;
  }
  size_t rows() const { return rows_; }

  std::vector<PartColumn> parts;

 private:
  Widths widths_;
  size_t rows_;
  std::vector<Column> columns_;
};

// Every row whose key has a place is in its part once, with its address and its words.
void expect_rows(base::Queue& queue, const Widths& widths, size_t rows, const Way& way) {
  constexpr uint64_t kLow = 17;
  kernels::PlaceParts const parts = kernels::place_parts(way.places, way.parts);
  std::vector<uint64_t> keys = random_keys(rows, way.places + 50, 1, rows);
  if (way.in_order) {
    for (size_t row = 0; row < rows; ++row) keys[row] = row % way.places;
  }
  for (uint64_t& key : keys) key += kLow;
  Column const key(queue, key_column(keys, way.key_width), way.shift);
  Side const side(queue, widths, rows, way.shift);
  std::vector<unsigned char> const valid = random_valid(rows, way.nulls, rows);
  base::Buffer const bits = upload(queue, bits_of(valid, way.bits_behind));
  kernels::ValidityBits present;
  if (way.nulls != 0) present = {bits.as<uint8_t>(), static_cast<int64_t>(way.bits_behind)};
  auto const moved = transform::move_to_parts(
      queue, {key.data, way.key_width, static_cast<uint32_t>(rows), side.parts, present},
      {kLow, 0, way.places, false}, parts, 1U << 16);
  ASSERT_TRUE(moved.has_value());
  std::vector<Row> expected;
  for (size_t row = 0; row < rows; ++row) {
    uint64_t const place = keys[row] - kLow;
    if (place >= way.places || valid[row] == 0) continue;
    Row& made = expected.emplace_back();
    made = {static_cast<uint32_t>(place % parts.count), static_cast<uint32_t>(place / parts.count)};
    Row const words = side.words_of(row);
    made.insert(made.end(), words.begin(), words.end());
  }
  Row const masks = side.masks();
  ASSERT_EQ(static_cast<size_t>(moved->words), masks.size());
  auto const offsets = download<uint32_t>(queue, moved->offsets.data(), parts.count + 1);
  ASSERT_EQ(offsets.back(), expected.size());
  auto const words =
      download<uint32_t>(queue, moved->rows.data(), expected.size() * (1 + masks.size()));
  std::vector<Row> found;
  for (uint32_t part = 0; part < parts.count; ++part) {
    for (uint32_t row = offsets[part]; row < offsets[part + 1]; ++row) {
      const uint32_t* const from = &words[row * (1 + masks.size())];
      Row& read = found.emplace_back(Row{part, from[0]});
      for (size_t w = 0; w < masks.size(); ++w) read.push_back(from[1 + w] & masks[w]);
    }
  }
  std::sort(expected.begin(), expected.end());
  std::sort(found.begin(), found.end());
  ASSERT_TRUE(found == expected);
}

std::vector<Widths> all_widths() {
  return {{{}, {{1}}, false},
          {{}, {{2}}, false},
          {{}, {{1, 1}}, false},
          {{}, {{2, 1}}, false},
          {{}, {{1, 1, 1}}, false},
          {{}, {{2, 2}}, false},
          {{}, {{2, 1, 1}}, false},
          {{}, {{1, 1, 1, 1}}, false},
          {{}, {{1, 1, 1}}, true},
          {{}, {{2}}, true},
          {{4}, {{1, 1}}, false},
          {{4}, {{2, 2}}, false},
          {{}, {{2, 2}, {1}}, false},
          {{}, {{2, 2}, {2, 1, 1}}, false},
          {{}, {{1, 1, 1, 1}, {1, 1, 1, 1}}, false}};
}

TEST_F(MovedRows, HaveTheWordsOfTheirColumns) {
  for (Widths const& widths : all_widths()) {
    for (int32_t const key_width : {4, 8}) {
      for (size_t const rows : {size_t{4}, size_t{9999}, size_t{1200002}}) {
        ASSERT_NO_FATAL_FAILURE(expect_rows(queue(), widths, rows, {key_width, 0}));
      }
    }
  }
}

TEST_F(MovedRows, OfAnyNumber) {
  for (size_t const rows : {1, 2, 3, 5, 6, 7, 8, 4095, 4096, 4097, 4098, 4099, 540673}) {
    SCOPED_TRACE(rows);
    for (Widths const& widths : {Widths{{}, {{1, 1, 1}}, false}, Widths{{}, {{2, 1}}, true},
                                 Widths{{4}, {{2, 1, 1}}, false}}) {
      ASSERT_NO_FATAL_FAILURE(expect_rows(queue(), widths, rows, {4, 0}));
      ASSERT_NO_FATAL_FAILURE(expect_rows(queue(), widths, rows, {8, 0}));
    }
  }
}

TEST_F(MovedRows, OfColumnsThatBeginAnywhere) {
  for (Widths const& widths : all_widths()) {
    for (size_t const shift : {1, 2, 3, 4}) {
      ASSERT_NO_FATAL_FAILURE(expect_rows(queue(), widths, 10001, {4, shift}));
      ASSERT_NO_FATAL_FAILURE(expect_rows(queue(), widths, 10001, {8, shift}));
    }
  }
}

TEST_F(MovedRows, LeaveOutThoseWithoutAKey) {
  for (Widths const& widths :
       {Widths{{4}, {}, false}, Widths{{4, 4}, {}, false}, Widths{{4, 8}, {}, false},
        Widths{{8, 8}, {}, false}, Widths{{}, {{1, 1, 1}}, false}, Widths{{4}, {{2, 1}}, false}}) {
    for (int32_t const key_width : {4, 8}) {
      for (size_t const rows : {1, 3, 4, 31, 4095, 4097, 70001, 1200002}) {
        SCOPED_TRACE(rows);
        for (size_t const behind : {0, 3, 32, 77}) {
          Way const way = {key_width, 0, 0.3, behind};
          ASSERT_NO_FATAL_FAILURE(expect_rows(queue(), widths, rows, way));
        }
      }
    }
  }
}

// Of as many parts as lines of 12 bytes a row leave room for, where a warp's rows may all end one.
TEST_F(MovedRows, OfLinesWhoseLastRowsThreadsKeep) {
  constexpr size_t kRows = 3200001;  // more than a line of each part of each block
  uint64_t const shared = queue().context.facts.shared_bytes_per_block;
  for (Way way : {Way{4, 0, 0, 0, 600000, 2301}, Way{8, 0, 0.2, 0, 600000, 2301}}) {
    ASSERT_FALSE(kernels::has_whole_lines(way.parts, 2, shared));
    for (Widths const& widths :
         {Widths{{4, 4}, {}, false}, Widths{{4}, {}, true}, Widths{{4}, {{2, 1}}, false}}) {
      for (bool const in_order : {false, true}) {
        way.in_order = in_order;
        ASSERT_NO_FATAL_FAILURE(expect_rows(queue(), widths, kRows, way));
      }
    }
  }
}

// A key beyond the places is refused, unless it is NULL.
TEST_F(MovedRows, AreRefusedForAKeyWithoutAPlaceAlone) {
  constexpr uint32_t kRows = 10000;
  std::vector<uint64_t> keys(kRows);
  std::iota(keys.begin(), keys.end(), uint64_t{0});
  keys[7000] = 123456;
  Column const key(queue(), key_column(keys, 4), 0);
  std::vector<unsigned char> valid(kRows, 1);
  auto const is_moved = [&](bool with_bits) {
    base::Buffer const bits = upload(queue(), bits_of(valid, 0));
    kernels::ValidityBits const present = {with_bits ? bits.as<uint8_t>() : nullptr, 0};
    return transform::move_to_parts(queue(), {key.data, 4, kRows, {}, present},
                                    {0, 0, kRows, false}, kernels::place_parts(kRows, 101),
                                    1U << 16, transform::WithoutPlace::kRefused)
        .has_value();
  };
  EXPECT_FALSE(is_moved(false));
  EXPECT_FALSE(is_moved(true));
  valid[7000] = 0;
  EXPECT_TRUE(is_moved(true));
}

TEST(PartWords, OfPackedColumnsAreTwoAtMost) {
  PartColumn const word = {nullptr, 4, {{nullptr, 1}}};
  PartColumn const four = {nullptr, 4};
  PartColumn const eight = {nullptr, 8};
  EXPECT_EQ(transform::part_words(std::vector{word}), 1);
  EXPECT_EQ(transform::part_words(std::vector{word, four}), 2);
  EXPECT_EQ(transform::part_words(std::vector{eight, word}), 0);
  EXPECT_EQ(transform::part_words(std::vector{eight, four}), 3);
}

}  // namespace
}  // namespace gpujoin::tests
