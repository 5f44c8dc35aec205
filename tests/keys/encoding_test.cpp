// encoding_test.cpp: several key columns as one code: equal codes exactly where keys are equal.
#include "src/keys/encoding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>

#include "src/columns/column.hpp"
#include "tests/keys/coded_rows.hpp"

namespace gpujoin::tests {
namespace {

// Each row has a code of its own, which is the row again, within the bits that the encoding names.
void expect_packs(const KeyEncoding& encoding, const std::vector<Row>& rows, const Widths& widths) {
  ASSERT_TRUE(encoding.exact);
  ASSERT_FALSE(encoding.is_plain());
  Codes const codes(encoding, widths);
  EXPECT_LE(encoding.bits(), 8 * encoding.width);
  EXPECT_GE(encoding.bits(), 1);
  std::map<uint64_t, Row> row_of_code;
  for (Row const& row : rows) {
    bool is_outside = false;
    uint64_t const code = codes.of(row, &is_outside);
    EXPECT_FALSE(is_outside);
    EXPECT_EQ(code & ~low_bits(encoding.bits()), 0U);
    EXPECT_EQ(codes.back(code), row);
    auto const [at, is_new] = row_of_code.emplace(code, row);
    EXPECT_TRUE(is_new || at->second == row);
  }
}

KeyEncoding packed(const std::vector<Row>& rows, const Widths& widths) {
  std::optional<KeyEncoding> const encoding = keys::pack(widths, ranges_of(rows, widths));
  EXPECT_TRUE(encoding.has_value());
  EXPECT_FALSE(encoding->assumed);
  return *encoding;
}

TEST(Encoding, OneColumnThatIsAsWideAsItsCodeIsLeftAsItIs) {
  KeyEncoding const four = packed({{1}, {5}}, {4});
  EXPECT_TRUE(four.is_plain());
  EXPECT_EQ(four.width, 4);
  KeyEncoding const eight = packed({{0}, {uint64_t{1} << 32}}, {8});
  EXPECT_TRUE(eight.is_plain());
  EXPECT_EQ(eight.width, 8);
  EXPECT_EQ(eight.bits(), 64);
  EXPECT_TRUE(
      packed({{0}, {kMinusOne}, {uint64_t{1} << 63}, {~(uint64_t{1} << 63)}}, {8}).is_plain());
}

TEST(Encoding, EightBytesOfASmallRangeBecomeFour) {
  uint64_t const far = 0x123456789abcdef0;
  for (std::vector<Row> const& rows : {std::vector<Row>{{far}, {far + 0xffffffff}, {far + 77}},
                                       std::vector<Row>{{kMinusOne}, {0}, {0 - uint64_t{9}}, {12}},
                                       std::vector<Row>{{uint64_t{1} << 63}, {uint64_t{5} << 60}},
                                       std::vector<Row>{{~(uint64_t{1} << 63)}}}) {
    KeyEncoding const encoding = packed(rows, {8});
    bool const narrow = ranges_of(rows, {8})[0].high - ranges_of(rows, {8})[0].low < 0x100000000;
    EXPECT_EQ(encoding.width, narrow ? 4 : 8);
    if (narrow) expect_packs(encoding, rows, {8});
  }
}

TEST(Encoding, SignedValuesAroundZeroTakeFewBits) {
  std::vector<Row> const rows = {{kMinusOne, 0xffffffff}, {0, 0}, {3, 2}, {0 - uint64_t{4}, 1}};
  KeyEncoding const encoding = packed(rows, {8, 4});
  EXPECT_EQ(encoding.width, 4);
  EXPECT_EQ(encoding.bits(), 3 + 2);
  expect_packs(encoding, rows, {8, 4});
}

TEST(Encoding, EqualKeysStillHaveABit) {
  std::vector<Row> const rows = {{7, 9}, {7, 9}};
  KeyEncoding const encoding = packed(rows, {4, 8});
  EXPECT_EQ(encoding.width, 4);
  EXPECT_EQ(encoding.bits(), 1);
  expect_packs(encoding, rows, {4, 8});
  EXPECT_EQ(packed({{kMinusOne}}, {8}).bits(), 1);
}

TEST(Encoding, SidesWithoutAValueTakeNoPlace) {
  KeyEncoding const none = *keys::pack(Widths{4, 8}, std::vector<ColumnRange>(2));
  EXPECT_EQ(none.width, 4);
  EXPECT_EQ(none.bits(), 1);
  // A side without rows leaves the other's range as it is.
  ColumnRange const some = {5, 9};
  EXPECT_EQ(keys::united({}, some), some);
  EXPECT_EQ(keys::united(some, {}), some);
  EXPECT_EQ(keys::united({}, {}), ColumnRange{});
}

TEST(Encoding, FieldsFillACodeToItsLastBit) {
  auto const ranges = [](std::vector<int32_t> const& bits) {
    std::vector<ColumnRange> found;
    for (int32_t const count : bits) found.push_back({0, low_bits(count)});
    return found;
  };
  auto const width_of = [&](const Widths& widths, std::vector<int32_t> const& bits) {
    auto const encoding = keys::pack(widths, ranges(bits));
    return encoding ? encoding->width : 0;
  };
  EXPECT_EQ(width_of({4, 4}, {16, 16}), 4);
  EXPECT_EQ(width_of({4, 4}, {17, 16}), 8);
  EXPECT_EQ(width_of({8, 8}, {32, 32}), 8);
  EXPECT_EQ(width_of({8, 8}, {33, 32}), 0);
  EXPECT_EQ(width_of({8, 8}, {64, 0}), 8);
  EXPECT_EQ(width_of({8, 8}, {0, 64}), 8);
  EXPECT_EQ(width_of({8, 8}, {64, 1}), 0);
  EXPECT_EQ(width_of({8, 8}, {64, 64}), 0);
  EXPECT_EQ(width_of({8, 8, 8, 8, 8}, {64, 64, 64, 64, 64}), 0);
  EXPECT_EQ(width_of({4, 4, 8}, {32, 32, 0}), 8);
}

TEST(Encoding, PacksTheEdgesOfEachField) {
  std::vector<uint64_t> const edges = {
      0, 1, kMinusOne, uint64_t{1} << 63, ~(uint64_t{1} << 63), (uint64_t{1} << 63) + 1};
  std::vector<Row> rows;
  for (uint64_t const edge : edges) {
    rows.push_back({edge, 3});
    rows.push_back({edge, 3});
  }
  expect_packs(packed(rows, {8, 4}), rows, {8, 4});
  for (Row& row : rows) std::swap(row[0], row[1]);
  expect_packs(packed(rows, {4, 8}), rows, {4, 8});
}

TEST(Encoding, PacksColumnsOfAnyWidthsAndRanges) {
  std::mt19937_64 random(3);
  int packs = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    size_t const columns = 2 + random() % (columns::kMostKeys - 1);
    Widths widths;
    std::vector<int32_t> bits;
    Row base;
    for (size_t c = 0; c < columns; ++c) {
      widths.push_back(random() % 2 == 0 ? 4 : 8);
      // Many columns fit where each has few bits.
      uint64_t const most = std::min<uint64_t>(widths[c] == 4 ? 33 : 40, 160 / columns);
      bits.push_back(static_cast<int32_t>(random() % most));
      base.push_back(random());
    }
    std::vector<Row> rows;
    for (int i = 0; i < 40; ++i) rows.push_back(random_row(widths, bits, base, random));
    std::vector<ColumnRange> const ranges = ranges_of(rows, widths);
    int32_t needed = 0;
    for (ColumnRange const& range : ranges) {
      needed += static_cast<int32_t>(std::bit_width(range.high - range.low));
    }
    std::optional<KeyEncoding> const encoding = keys::pack(widths, ranges);
    ASSERT_EQ(encoding.has_value(), needed <= 64);
    if (!encoding) continue;
    ++packs;
    EXPECT_EQ(encoding->width, needed <= 32 ? 4 : 8);
    expect_packs(*encoding, rows, widths);
    if (HasFailure()) return;
  }
  EXPECT_GT(packs, 500);
}

TEST(Encoding, WidthsOfEightBytesTogetherPackUnseen) {
  KeyEncoding const two = *keys::pack_unseen(Widths{4, 4});
  EXPECT_EQ(two.width, 8);
  EXPECT_FALSE(two.assumed);
  std::mt19937_64 random(4);
  std::vector<Row> rows = {{0, 0}, {0xffffffff, 0}, {0, 0xffffffff}, {0x80000000, 0x7fffffff}};
  for (int i = 0; i < 100; ++i) rows.push_back({random() & 0xffffffff, random() & 0xffffffff});
  expect_packs(two, rows, {4, 4});
  EXPECT_TRUE(keys::pack_unseen(Widths{8})->is_plain());
  EXPECT_TRUE(keys::pack_unseen(Widths{4})->is_plain());
  EXPECT_FALSE(keys::pack_unseen(Widths{4, 8}));
  EXPECT_FALSE(keys::pack_unseen(Widths{4, 4, 4}));
}

TEST(Encoding, DrawnRangesAreWidenedToAllBitsAndCentred) {
  // 10 bits of each: 12 more are shared out.
  uint64_t const sign = uint64_t{1} << 63;
  ColumnRange const drawn = {sign + 5000000, sign + 5000000 + low_bits(10)};
  KeyEncoding const encoding =
      *keys::pack_drawn(Widths{8, 8}, std::vector<ColumnRange>{drawn, drawn});
  EXPECT_EQ(encoding.width, 4);
  EXPECT_TRUE(encoding.assumed);
  EXPECT_EQ(encoding.bits(), 32);
  // Of the field that has the code's sign the lower half, so that codes are neighbours as signed
  // numbers.
  for (size_t c = 0; c < 2; ++c) {
    keys::KeyField const& field = encoding.fields[c];
    EXPECT_EQ(field.bits, 16);
    uint64_t const below = drawn.low - field.low;
    uint64_t const above = field.low + low_bits(c == 0 ? 16 : 15) - drawn.high;
    EXPECT_LE(below > above ? below - above : above - below, 1U);
  }
  expect_packs(encoding, {{5000000, 5001023}, {5000000 - 32000, 5001023 + 32000}}, {8, 8});
  Codes const codes(encoding, {8, 8});
  for (Row const& row : std::vector<Row>{{5000000 - 33000, 5000000},
                                         {5000000, 5001023 + 49000},
                                         {5000000, 5001023 - 17000},
                                         {0, 5000000},
                                         {5000000, kMinusOne},
                                         {sign, sign},
                                         {5000000 + (uint64_t{1} << 32), 5000000}}) {
    bool is_outside = false;
    codes.of(row, &is_outside);
    EXPECT_TRUE(is_outside) << row[0] << ", " << row[1];
  }
}

// Places of keys are counted from the lowest code as a signed number.
TEST(Encoding, DrawnCodesHaveOneSignWhereTheyFit) {
  uint64_t const sign = uint64_t{1} << 63;
  for (int32_t const bits : {0, 10, 27, 30}) {
    for (uint64_t const low : {uint64_t{0}, sign - 512, sign, sign + 77, ~low_bits(bits)}) {
      ColumnRange const drawn = {low, low + low_bits(bits)};
      KeyEncoding const encoding = *keys::pack_drawn(Widths{8}, std::vector<ColumnRange>{drawn});
      Codes const codes(encoding, {8});
      bool is_outside = false;
      uint64_t const first = codes.of({drawn.low ^ sign}, &is_outside);
      uint64_t const last = codes.of({drawn.high ^ sign}, &is_outside);
      EXPECT_FALSE(is_outside);
      EXPECT_EQ(first >> 31, last >> 31) << bits << " bits from " << low;
    }
  }
}

TEST(Encoding, DrawnFieldsHaveABitMoreOrAreWhole) {
  auto const drawn = [](const Widths& widths, std::vector<int32_t> const& bits) {
    std::vector<ColumnRange> ranges;
    for (int32_t const count : bits) ranges.push_back({0, low_bits(count)});
    return keys::pack_drawn(widths, ranges);
  };
  // 31 bits of one column become 32 in 4 bytes; 32 bits cannot be trusted there.
  EXPECT_EQ(drawn({8}, {31})->width, 4);
  EXPECT_TRUE(drawn({8}, {31})->assumed);
  EXPECT_TRUE(drawn({8}, {32})->is_plain());
  EXPECT_FALSE(drawn({8}, {32})->assumed);
  EXPECT_EQ(drawn({8}, {32})->width, 8);
  EXPECT_TRUE(drawn({4}, {3})->is_plain());
  EXPECT_EQ(drawn({4, 4}, {15, 15})->width, 4);
  EXPECT_EQ(drawn({4, 4}, {16, 15})->width, 8);
  // Whole columns cannot be left.
  EXPECT_FALSE(drawn({4, 4}, {16, 15})->assumed);
  EXPECT_EQ(drawn({8, 8}, {31, 31})->width, 8);
  EXPECT_TRUE(drawn({8, 8}, {31, 31})->assumed);
  EXPECT_EQ(drawn({8, 8}, {31, 31})->bits(), 64);
  EXPECT_TRUE(drawn({8, 4}, {31, 32}).has_value());
  EXPECT_TRUE(drawn({8, 4}, {31, 32})->assumed);
  EXPECT_FALSE(drawn({8, 8}, {32, 32}));
  EXPECT_FALSE(drawn({8, 8}, {63, 1}));
  EXPECT_FALSE(drawn({8, 8}, {64, 0}));
  // Without a drawn value any may come.
  EXPECT_TRUE(keys::pack_drawn(Widths{8, 8}, std::vector<ColumnRange>(2))->assumed);
}

// What lies outside is told, whatever the range, and what lies inside packs.
TEST(Encoding, DrawnRangesTellWhatLiesOutside) {
  std::mt19937_64 random(5);
  int outside = 0;
  int inside = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    Widths widths;
    std::vector<int32_t> bits;
    Row base;
    size_t const columns = 1 + random() % 3;
    for (size_t c = 0; c < columns; ++c) {
      widths.push_back(random() % 2 == 0 && columns != 1 ? 4 : 8);
      bits.push_back(static_cast<int32_t>(random() % 20));
      // Now and then at an end of the type.
      base.push_back(random() % 4 == 0 ? uint64_t{1} << (8 * widths[c] - 1) : random());
    }
    std::vector<Row> drawn;
    for (int i = 0; i < 20; ++i) drawn.push_back(random_row(widths, bits, base, random));
    std::optional<KeyEncoding> const encoding = keys::pack_drawn(widths, ranges_of(drawn, widths));
    if (!encoding || encoding->is_plain()) continue;
    expect_packs(*encoding, drawn, widths);
    Codes const codes(*encoding, widths);
    std::vector<int32_t> wider = bits;
    for (int32_t& count : wider) count += 14;
    for (size_t c = 0; c < columns; ++c) wider[c] = std::min(wider[c], 8 * widths[c]);
    for (int i = 0; i < 40; ++i) {
      Row const row = random_row(widths, wider, base, random);
      bool is_outside = false;
      uint64_t const code = codes.of(row, &is_outside);
      // Whatever has a code of its own is inside.
      EXPECT_EQ(codes.back(code) == row, !is_outside);
      ++(is_outside ? outside : inside);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(outside, 1000);
  EXPECT_GT(inside, 1000);
}

TEST(Encoding, HashedCodesComeFromTheContextsSeed) {
  base::Context context;
  context.hash_seed = 12;
  context.hash_ones = 3;
  KeyEncoding const encoding = keys::hashed(context);
  EXPECT_FALSE(encoding.exact);
  EXPECT_FALSE(encoding.is_plain());
  EXPECT_EQ(encoding.width, 8);
  EXPECT_EQ(encoding.bits(), 64);
  EXPECT_EQ(encoding.hash_seed, 12U);
  std::vector<columns::DeviceColumn> columns(3);
  for (columns::DeviceColumn& column : columns) column.width = 8;
  kernels::EncodedColumns const encoded = keys::encoded_columns(encoding, columns);
  EXPECT_TRUE(encoded.hashed);
  EXPECT_EQ(encoded.count, 3);
  EXPECT_EQ(encoded.hash.ones, 3U);
}

}  // namespace
}  // namespace gpujoin::tests
