// intern_test.cpp: codes of byte strings on the CPU are equal exactly where the values are.
#include "src/cpu/intern.hpp"

#include <gtest/gtest.h>

#include "src/base/status.hpp"
#include "tests/cpu/join_tables.hpp"
#include "tests/keys/byte_values.hpp"

namespace gpujoin::test {
namespace {

using tests::byte_column;
using tests::ByteColumn;
using tests::BytesLayout;
using tests::counted;
using tests::Values;

std::vector<uint32_t> codes_in(const base::Buffer& buffer, size_t rows) {
  auto const* const codes = buffer.as<uint32_t>();
  return rows == 0 ? std::vector<uint32_t>() : std::vector<uint32_t>(codes, codes + rows);
}

struct Codes {
  base::Buffer of_table;
  base::Buffer of_other;
  bool are_rows = false;
};

Codes intern(base::Queue& queue, cpu::Workers& workers, const keys::InternedSide& table,
             const keys::InternedSide& other) {
  keys::Interned made = cpu::intern(queue, workers, table);
  return {std::move(made.codes), cpu::codes_by(queue, workers, made.table, other), made.are_rows};
}

void expect_interned(base::Queue& queue, const ByteColumn& table, const ByteColumn& other) {
  cpu::Workers workers(queue);
  uint64_t const before = queue.host_pool->in_use_bytes();
  {
    Codes const codes = intern(queue, workers, table.side(), other.side());
    tests::expect_codes(table.values, other.values, codes_in(codes.of_table, table.values.size()),
                        codes_in(codes.of_other, other.values.size()));
  }
  EXPECT_EQ(queue.host_pool->in_use_bytes(), before);
}

void expect_all_cases(base::Queue& queue) {
  for (tests::InternCase const& of : tests::intern_cases()) {
    SCOPED_TRACE(of.name);
    expect_interned(queue, of.table, of.other);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Intern, GivesEqualCodesExactlyToEqualValues) {
  OwnQueue queue = cpu_queue();
  expect_all_cases(queue);
  queue = cpu_queue(1);
  expect_all_cases(queue);
}

// All values share their hash, or each of 16 hashes is that of many: what differs in the bytes
// differs in its code.
TEST(Intern, TellsValuesApartThatShareTheirHash) {
  for (uint64_t const ones : {~uint64_t{0}, ~uint64_t{0xf}, ~(uint64_t{0xf} << 60)}) {
    OwnQueue queue = cpu_queue();
    queue->context.hash_ones = ones;
    expect_all_cases(queue);
  }
}

// As a producer may have them who checks nothing: nothing is read there, and they are empty values.
TEST(Intern, OffsetsThatPointOutsideAreEmptyValues) {
  std::vector<uint8_t> const bytes(64, 'x');
  std::vector<int32_t> const offsets = {0,          30,  -1500000000, -1500000000, 40,
                                        2000000000, 100, 200,         64,          64};
  keys::InternedSide side;
  side.rows = offsets.size() - 1;
  side.values.layout = BytesLayout::kOffsets32;
  side.values.bytes = side.values.first = bytes.data();
  side.values.end = bytes.data() + bytes.size();
  side.values.places = offsets.data();
  ByteColumn const empty = byte_column(BytesLayout::kOffsets32, Values{"", "y"});
  OwnQueue owned = cpu_queue();
  base::Queue& queue = owned;
  cpu::Workers workers(queue);
  Codes const of_other = intern(queue, workers, empty.side(), side);
  std::vector<uint32_t> const codes = codes_in(of_other.of_other, side.rows);
  EXPECT_NE(codes[0], 0U);  // 30 bytes: none of the table's
  for (size_t row = 1; row < side.rows; ++row) EXPECT_EQ(codes[row], 0U) << row;
  Codes const of_table = intern(queue, workers, side, empty.side());
  std::vector<uint32_t> const own = codes_in(of_table.of_table, side.rows);
  EXPECT_EQ(codes_in(of_table.of_other, 2)[0], own[1]);
  for (size_t row = 2; row < side.rows; ++row) EXPECT_EQ(own[row], own[1]) << row;
}

TEST(Intern, TakesManyRowsFromSeveralThreads) {
  constexpr size_t kRows = 200000;
  OwnQueue queue = cpu_queue(8);
  for (BytesLayout const layout : tests::layouts_of_any_length()) {
    SCOPED_TRACE(static_cast<int>(layout));
    ByteColumn const distinct = byte_column(layout, counted(0, kRows), 7);
    expect_interned(queue, distinct, byte_column(layout, counted(kRows / 2, kRows)));
    ByteColumn const repeated = byte_column(layout, tests::drawn(counted(0, 50), kRows, 1, 0.1));
    expect_interned(queue, repeated, distinct);
    expect_interned(queue, distinct, repeated);
    ByteColumn const equal = byte_column(layout, Values(kRows, "the only value there is"));
    expect_interned(queue, equal, equal);
    expect_interned(queue, equal, repeated);
    if (HasFailure()) return;
  }
}

// Threads that take slots for the same values at the same time, over and over.
TEST(Intern, AgreesOnOneRowOfAValueWhoeverIsFirst) {
  OwnQueue queue = cpu_queue(8);
  ByteColumn const none = byte_column(BytesLayout::kViews, {});
  for (uint64_t round = 0; round < 5; ++round) {
    Values const few = tests::drawn(counted(0, 2000), 300000, round);
    expect_interned(queue, byte_column(BytesLayout::kOffsets32, few), none);
    if (HasFailure()) return;
  }
}

TEST(Intern, OfNoColumnAtAll) {
  OwnQueue queue = cpu_queue();
  cpu::Workers workers(queue);
  Codes const codes = intern(queue, workers, {}, {});
  EXPECT_EQ(codes.of_table.data(), nullptr);
  EXPECT_EQ(codes.of_other.data(), nullptr);
}

// Whichever buffer is refused, what was taken before it goes back.
TEST(Intern, KeepsTheMemoryLimit) {
  ByteColumn const table = byte_column(BytesLayout::kOffsets32, counted(0, 100000));
  ByteColumn const other = byte_column(BytesLayout::kOffsets32, counted(0, 50000));
  for (uint64_t const limit : {100000, 500000, 1500000}) {
    OwnQueue queue = cpu_queue(2, limit);
    cpu::Workers workers(queue);
    try {
      intern(queue, workers, table.side(), other.side());
      FAIL() << "took more than it may";
    } catch (const base::Error& error) {
      EXPECT_EQ(error.status(), GPUJOIN_ERROR_MEMORY_LIMIT);
    }
    EXPECT_EQ(queue->host_pool->in_use_bytes(), 0U);
  }
}

TEST(Intern, StopsWhenAskedTo) {
  ByteColumn const table = byte_column(BytesLayout::kOffsets32, counted(0, 100000));
  OwnQueue queue = cpu_queue(2);
  cpu::Workers workers(queue);
  uint64_t const before = queue->host_pool->in_use_bytes();
  queue->context.cancels.fetch_add(1);
  try {
    intern(queue, workers, table.side(), table.side());
    FAIL() << "went on";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), GPUJOIN_ERROR_CANCELLED);
  }
  EXPECT_EQ(queue->host_pool->in_use_bytes(), before);
}

}  // namespace
}  // namespace gpujoin::test
