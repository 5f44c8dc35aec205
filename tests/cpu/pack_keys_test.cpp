// pack_keys_test.cpp: codes of several key columns on the CPU are equal exactly where the keys are,
// and joins of keys that pack answer as those of keys that are hashed.
#include "src/cpu/pack_keys.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "src/execute/packed_keys.hpp"
#include "tests/cpu/join_tables.hpp"

namespace gpujoin::test {
namespace {

using cpu::KeySource;
using kernels::KeyOp;

// Values of one side's column, and which are NULL.
struct Values {
  int32_t width = 4;
  std::vector<uint64_t> values;
  std::vector<uint8_t> bits;  // none: no NULLs
  int64_t offset = 0;
  std::vector<uint8_t> bytes;

  KeySource source() {
    bytes.assign(values.size() * static_cast<size_t>(width), 0);
    for (size_t i = 0; i < values.size(); ++i) {
      std::memcpy(&bytes[i * static_cast<size_t>(width)], &values[i], static_cast<size_t>(width));
    }
    KeySource source;
    source.step.source = bytes.data();
    source.step.width = width;
    source.step.op = KeyOp::kUnsigned;
    source.width = width;
    if (!bits.empty()) source.validity = {bits.data(), offset};
    return source;
  }
  bool is_valid(size_t row) const {
    return bits.empty() || kernels::is_valid({bits.data(), offset}, row);
  }
};

Values drawn(size_t rows, int32_t width, uint64_t low, uint64_t count, uint64_t seed,
             bool nullable) {
  std::mt19937_64 random(seed);
  Values made;
  made.width = width;
  for (size_t row = 0; row < rows; ++row) made.values.push_back(low + random() % count);
  if (!nullable) return made;
  made.offset = static_cast<int64_t>(seed % 23);
  made.bits.resize((rows + static_cast<size_t>(made.offset) + 7) / 8);
  for (uint8_t& byte : made.bits) byte = static_cast<uint8_t>(random() | random());
  // What lies beneath a NULL is in no range.
  for (size_t row = 0; row < rows; ++row) {
    if (!made.is_valid(row)) made.values[row] = random();
  }
  return made;
}

// (values of a row), or nothing where one is NULL.
std::optional<std::vector<uint64_t>> key_of(const std::vector<Values>& columns, size_t row) {
  std::vector<uint64_t> key;
  for (Values const& column : columns) {
    if (!column.is_valid(row)) return std::nullopt;
    uint64_t const mask = column.width == 4 ? 0xffffffffU : ~uint64_t{0};
    key.push_back(column.values[row] & mask);
  }
  return key;
}

uint64_t code_at(const columns::ColumnView& codes, size_t row) {
  return codes.width == 4 ? static_cast<const uint32_t*>(codes.data)[row]
                          : static_cast<const uint64_t*>(codes.data)[row];
}

struct Shape {
  int32_t width;
  uint64_t low;
  uint64_t count;
};

// The codes' width; 0: the columns were not packed.
int32_t expect_packed(const std::vector<Shape>& shapes, size_t left_rows, size_t right_rows,
                      bool nullable) {
  OwnQueue queue = cpu_queue();
  std::array<std::vector<Values>, 2> sides;
  for (size_t side = 0; side < 2; ++side) {
    for (size_t c = 0; c < shapes.size(); ++c) {
      sides[side].push_back(drawn(side == 0 ? left_rows : right_rows, shapes[c].width,
                                  shapes[c].low, shapes[c].count, 10 * side + c, nullable));
    }
  }
  execute::Held held;
  std::array<execute::PackedSide, 2> packed;
  for (size_t side = 0; side < 2; ++side) {
    packed[side] = {{}, side == 0 ? left_rows : right_rows, &held};
    for (Values& column : sides[side]) packed[side].columns.push_back(column.source());
  }
  auto const codes = execute::pack_keys(*queue, packed[0], packed[1]);
  if (!codes) return 0;
  // Codes of the side of fewer rows are one of each key; those of the other are none of them where
  // their key is not there.
  std::map<uint64_t, std::vector<uint64_t>> keys;
  std::map<std::vector<uint64_t>, uint64_t> code_of;
  size_t const less = left_rows <= right_rows ? 0 : 1;
  for (size_t const side : {less, 1 - less}) {
    columns::ColumnView const& view = side == 0 ? codes->first : codes->second;
    EXPECT_EQ(view.width, codes->first.width);
    for (size_t row = 0; row < packed[side].rows; ++row) {
      auto const key = key_of(sides[side], row);
      bool const valid = view.validity == nullptr ||
                         kernels::is_valid({view.validity, view.validity_bit_offset}, row);
      EXPECT_EQ(valid, key.has_value()) << row;
      if (!key) continue;
      uint64_t const code = code_at(view, row);
      if (side == less) {
        EXPECT_EQ(keys.try_emplace(code, *key).first->second, *key);
        EXPECT_EQ(code_of.try_emplace(*key, code).first->second, code);
      } else if (auto const there = code_of.find(*key); there != code_of.end()) {
        EXPECT_EQ(there->second, code);
      } else {
        EXPECT_FALSE(keys.contains(code));
      }
      if (testing::Test::HasFailure()) return -1;
    }
  }
  return codes->first.width;
}

TEST(PackKeys, GivesOneCodeToEqualKeys) {
  constexpr uint64_t kMinusFive = ~uint64_t{4};
  for (bool const nullable : {false, true}) {
    SCOPED_TRACE(nullable);
    // Of more rows than a task has, and rows that are no multiple of a word's.
    EXPECT_EQ(expect_packed({{4, 0, 100}, {4, kMinusFive, 300}}, 70'001, 65'537, nullable), 4);
    EXPECT_EQ(expect_packed({{4, 0, 1 << 20}, {4, 7, 1 << 20}}, 6000, 77, nullable), 8);
    EXPECT_EQ(
        expect_packed({{8, kMinusFive, 11}, {4, 1, 9}, {8, 1ULL << 40, 99}}, 9000, 9001, nullable),
        4);
    EXPECT_EQ(expect_packed({{8, 1ULL << 63, 1ULL << 40}, {4, 0, 1 << 30}}, 9000, 9000, nullable),
              0);
    // Most values of the larger side lie out of the ranges of the other.
    EXPECT_EQ(expect_packed({{4, 0, 1 << 24}, {4, 0, 100}}, 3, 70'001, nullable), 4);
    EXPECT_EQ(expect_packed({{8, 5, 1 << 24}, {8, 0, 1 << 24}}, 70'001, 30, nullable), 8);
    // One value alone takes no bits.
    EXPECT_EQ(expect_packed({{8, 42, 1}, {8, 0, ~uint64_t{0}}}, 5000, 5000, nullable), 8);
  }
}

TEST(PackKeys, LeavesWhatIsNoGain) {
  EXPECT_EQ(expect_packed({{4, 0, 100}, {4, 0, 100}}, 1000, 1000, false), 0);
  EXPECT_EQ(expect_packed({{8, 0, 100}}, 9000, 9000, false), 0);
  EXPECT_EQ(expect_packed({{8, 0, 1ULL << 33}}, 1 << 20, 9, false), 0);
  EXPECT_EQ(expect_packed({{8, 1ULL << 60, 1ULL << 31}}, 1 << 20, 9, false), 4);
  EXPECT_EQ(expect_packed({{4, 0, 9}, {4, 0, 9}}, 9000, 0, false), 0);
}

// Ranges are of all rows: one that no draw has seen counts. On the side of more rows it takes no
// bits, and has a code of its own.
TEST(PackKeys, SeesValuesThatAreRare) {
  OwnQueue queue = cpu_queue();
  Values near = drawn(100'000, 8, 0, 1000, 3, false);
  Values far = near;
  far.values[77'777] = 1ULL << 62;
  // Few, so that all keys there may be are there: without a bit of its own the code would be one's.
  Values other = drawn(100'000, 4, 0, 3, 4, false);
  execute::Held held;
  execute::PackedSide const left{{near.source(), other.source()}, 100'000, &held};
  execute::PackedSide const right{{far.source(), other.source()}, 100'000, &held};
  EXPECT_TRUE(execute::pack_keys(*queue, left, left).has_value());
  EXPECT_FALSE(execute::pack_keys(*queue, right, left).has_value());
  auto const codes = execute::pack_keys(*queue, left, right);
  ASSERT_TRUE(codes.has_value());
  std::set<uint64_t> of_left;
  for (size_t row = 0; row < 100'000; ++row) of_left.insert(code_at(codes->first, row));
  for (size_t row = 0; row < 100'000; ++row) {
    EXPECT_EQ(of_left.contains(code_at(codes->second, row)), row != 77'777) << row;
  }
}

// Rows in the order of their keys stay so, though some lie out of the other side's range.
TEST(PackKeys, KeepsTheOrderOfOneColumn) {
  OwnQueue queue = cpu_queue();
  constexpr size_t kRows = 10'000;
  Values ascending = drawn(kRows, 8, 0, 1, 3, false);
  for (size_t row = 0; row < kRows; ++row) ascending.values[row] = row * 7;
  Values same = drawn(kRows, 8, 5, 1, 4, false);
  Values some = drawn(10, 8, 7000, 100, 5, false);
  execute::Held held;
  execute::PackedSide const left{{ascending.source(), same.source()}, kRows, &held};
  execute::PackedSide const right{{some.source(), same.source()}, 10, &held};
  auto const codes = execute::pack_keys(*queue, left, right);
  ASSERT_TRUE(codes.has_value());
  for (size_t row = 1; row < kRows; ++row) {
    EXPECT_LT(code_at(codes->first, row - 1), code_at(codes->first, row)) << row;
  }
}

TEST(PackKeys, LeavesKeysThatThereIsNoRoomFor) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  options.memory_limit_bytes = 1 << 16;
  OwnQueue queue(options);
  Values near = drawn(100'000, 4, 0, 1000, 3, false);
  execute::Held held;
  execute::PackedSide const side{{near.source(), near.source()}, 100'000, &held};
  EXPECT_FALSE(execute::pack_keys(*queue, side, side).has_value());
}

}  // namespace
}  // namespace gpujoin::test
