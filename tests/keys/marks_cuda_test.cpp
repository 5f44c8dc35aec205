// marks_cuda_test.cpp: rows that were named are marked, once, and no others.
#include "src/keys/marks.hpp"

#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using RowMarks = GpuTest;

void expect_marks(base::Queue& queue, uint32_t rows,
                  const std::vector<std::vector<uint32_t>>& named) {
  keys::RowMarks marks(queue, rows);
  std::vector<bool> expected(rows, false);
  for (std::vector<uint32_t> const& numbers : named) {
    base::Buffer const on_device = upload(queue, numbers);
    marks.mark(on_device.as<uint32_t>(), numbers.size());
    for (uint32_t const row : numbers) expected[row] = true;
  }
  std::vector<uint32_t> marked;
  std::vector<uint32_t> unmarked;
  for (uint32_t row = 0; row < rows; ++row) (expected[row] ? marked : unmarked).push_back(row);
  EXPECT_EQ(marks.count(), marked.size());
  auto const expect_rows = [&](const keys::RowMarks::Rows& found,
                               const std::vector<uint32_t>& wanted) {
    ASSERT_EQ(found.count, wanted.size());
    EXPECT_TRUE(download<uint32_t>(queue, found.numbers.data(), found.count) == wanted);
  };
  expect_rows(marks.marked(), marked);
  expect_rows(marks.unmarked(), unmarked);
}

TEST_F(RowMarks, AreThoseOfTheRowsThatWereNamed) {
  for (size_t const size : edge_sizes()) {
    auto const rows = static_cast<uint32_t>(size);
    SCOPED_TRACE(rows);
    expect_marks(queue(), rows, {});
    if (rows == 0) continue;
    std::vector<uint32_t> all(rows);
    std::iota(all.begin(), all.end(), 0U);
    expect_marks(queue(), rows, {all});
    expect_marks(queue(), rows, {{rows - 1}, {0}});
    // At random, often the same, in two launches.
    std::mt19937_64 random(rows);
    std::vector<uint32_t> some(size / 3 + 1);
    for (uint32_t& row : some) row = static_cast<uint32_t>(random() % rows);
    std::vector<uint32_t> more = some;
    more.insert(more.end(), 3000, rows / 2);
    for (uint32_t& row : more) row = row / 2;
    expect_marks(queue(), rows, {some, more});
    if (HasFailure()) return;
  }
}

TEST_F(RowMarks, AreThoseOfFlags) {
  for (size_t const size : edge_sizes()) {
    auto const rows = static_cast<uint32_t>(size);
    SCOPED_TRACE(rows);
    std::mt19937_64 random(size);
    std::vector<uint32_t> numbers(size);
    std::iota(numbers.begin(), numbers.end(), 0U);
    std::shuffle(numbers.begin(), numbers.end(), random);
    base::Buffer const order = upload(queue(), numbers);
    for (uint64_t const one_of : {1, 2, 50, 1 << 30}) {
      std::vector<uint8_t> flags(size);
      for (uint8_t& flag : flags) flag = random() % one_of == 0 ? 1 : 0;
      base::Buffer const on_device = upload(queue(), flags);
      for (bool const in_order : {true, false}) {
        keys::RowMarks marks(queue(), rows);
        marks.mark_flagged(in_order ? nullptr : order.as<uint32_t>(), on_device.as<uint8_t>(),
                           size);
        std::vector<uint32_t> expected;
        for (uint32_t i = 0; i < rows; ++i) {
          if (flags[i] != 0) expected.push_back(in_order ? i : numbers[i]);
        }
        std::sort(expected.begin(), expected.end());
        auto const found = marks.marked();
        ASSERT_EQ(found.count, expected.size());
        ASSERT_TRUE(download<uint32_t>(queue(), found.numbers.data(), found.count) == expected);
      }
    }
  }
}

TEST_F(RowMarks, OfOneRowThatIsNamedOverAndOver) {
  expect_marks(queue(), 100000, {std::vector<uint32_t>(1 << 20, 77777)});
}

// Blocks mark in shared memory where each row comes several times, up to as many rows as fit there.
TEST_F(RowMarks, OfManyNumbersOfFewRows) {
  for (uint32_t const rows : {1U, 31U, 33U, 70001U, 1500000U, 2000000U}) {
    SCOPED_TRACE(rows);
    std::mt19937_64 random(rows);
    std::vector<uint32_t> numbers(uint64_t{1} << 22);
    for (uint32_t& row : numbers) row = static_cast<uint32_t>(random() % rows / 3 * 3);
    expect_marks(queue(), rows, {{rows - 1}, numbers, {0}});
  }
}

TEST_F(RowMarks, OfNeighboursInAnyOrder) {
  std::vector<uint32_t> descending(70000);
  for (uint32_t i = 0; i < descending.size(); ++i) descending[i] = 99999 - i;
  expect_marks(queue(), 100000, {descending});
  std::vector<uint32_t> twice;
  for (uint32_t i = 0; i < 50000; ++i) twice.insert(twice.end(), 2, 2 * i);
  expect_marks(queue(), 100000, {twice});
}

}  // namespace
}  // namespace gpujoin::tests
