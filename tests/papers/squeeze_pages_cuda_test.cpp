// squeeze_pages_cuda_test.cpp: columns of every width whose pages are partly filled become
// contiguous, all in the same way.
#include "src/papers/squeeze_pages.hpp"

#include <algorithm>

#include "tests/output/numbered_columns.hpp"

namespace gpujoin::tests {
namespace {

using SqueezePages = GpuTest;

// Pages one behind the other, each with so many rows.
struct Pages {
  uint32_t page_rows;
  std::vector<uint32_t> filled;

  uint64_t places() const { return uint64_t{page_rows} * filled.size(); }
  uint64_t rows() const { return std::accumulate(filled.begin(), filled.end(), uint64_t{0}); }
  // In no order, as blocks note them.
  std::vector<unsigned long long> tails() const {
    std::vector<unsigned long long> tails;
    for (size_t page = 0; page < filled.size(); ++page) {
      if (filled[page] != page_rows) tails.push_back(page * page_rows + filled[page]);
    }
    std::shuffle(tails.begin(), tails.end(), std::mt19937_64(tails.size()));
    return tails;
  }
  // Of each place its own number, or kHole.
  std::vector<uint32_t> numbers() const {
    std::vector<uint32_t> numbers(places(), kHole);
    for (size_t page = 0; page < filled.size(); ++page) {
      auto const first = static_cast<uint32_t>(page * page_rows);
      for (uint32_t i = 0; i < filled[page]; ++i) numbers[first + i] = first + i;
    }
    return numbers;
  }
};

Pages random_pages(uint32_t page_rows, size_t count, double partly, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::bernoulli_distribution is_partly(partly);
  Pages pages{page_rows, {}};
  for (size_t page = 0; page < count; ++page) {
    auto const some = static_cast<uint32_t>(1 + random() % (page_rows - 1));
    pages.filled.push_back(is_partly(random) ? some : page_rows);
  }
  if (pages.tails().empty()) pages.filled.front() = 1;
  return pages;
}

void expect_squeezed(base::Queue& queue, const Pages& pages) {
  uint64_t const rows = pages.rows();
  std::vector<unsigned long long> const tails = pages.tails();
  SCOPED_TRACE(::testing::Message()
               << pages.filled.size() << " pages of " << pages.page_rows << ", " << tails.size()
               << " partly filled, " << rows << " rows");
  base::Buffer const device_tails = upload(queue, tails);
  NumberedColumns const columns(queue, pages.numbers(), rows);
  papers::squeeze_pages(
      queue,
      {device_tails.as<unsigned long long>(), tails.size(), pages.places() - rows, pages.page_rows},
      rows, columns.columns());
  columns.expect_filled();
}

TEST_F(SqueezePages, OfEveryWidthHoldEveryRowOnceAndInTheSameOrder) {
  for (uint32_t page_rows : {2U, 3U, 64U, 1000U, 8192U}) {
    for (size_t count : {size_t{1}, size_t{2}, size_t{7}, size_t{33}, size_t{300}}) {
      if (page_rows * count > 1000000) continue;
      for (double partly : {0.05, 0.5, 1.0}) {
        expect_squeezed(queue(), random_pages(page_rows, count, partly, page_rows + count));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(SqueezePages, AtTheEnds) {
  constexpr uint32_t kRows = 256;
  for (Pages const& pages :
       {Pages{kRows, {1}}, Pages{kRows, {kRows - 1}}, Pages{kRows, {1, kRows, kRows}},
        Pages{kRows, {kRows, kRows, 1}}, Pages{kRows, {kRows, kRows - 1, kRows}},
        Pages{kRows, {1, 1, 1, 1, 1}}, Pages{kRows, std::vector<uint32_t>(500, kRows - 1)},
        Pages{kRows, std::vector<uint32_t>(500, 1)}}) {
    expect_squeezed(queue(), pages);
    if (HasFatalFailure()) return;
  }
}

TEST_F(SqueezePages, OfMoreColumnsThanThereCanBeAreRefused) {
  base::Buffer const column = upload(queue(), std::vector<uint32_t>(64));
  base::Buffer const tails = upload(queue(), std::vector<unsigned long long>{1});
  std::vector<kernels::SqueezedColumn> columns(kernels::kCarriedColumns, {column.data(), 4});
  papers::PageTails const pages{tails.as<unsigned long long>(), 1, 63, 64};
  EXPECT_EQ(status_of([&] { papers::squeeze_pages(queue(), pages, 1, columns); }), GPUJOIN_OK);
  columns.push_back({column.data(), 4});
  EXPECT_EQ(status_of([&] { papers::squeeze_pages(queue(), pages, 1, columns); }),
            GPUJOIN_ERROR_INTERNAL);
}

}  // namespace
}  // namespace gpujoin::tests
