// ranged_rows.hpp: the rows of a side of a range join that can match at all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "src/base/memory.hpp"
#include "src/columns/range_problem.hpp"
#include "src/columns/row_marks.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

struct RowList {
  base::Buffer numbers;  // [count] uint32, ascending; empty: 0 to count - 1
  uint64_t count = 0;

  const uint32_t* list() const { return numbers.as<uint32_t>(); }
  uint32_t row(uint64_t i) const { return numbers ? list()[i] : static_cast<uint32_t>(i); }
};

// Those without a NULL in any of the columns.
RowList rows_without_null(base::Queue& queue, Workers& workers,
                          const std::vector<kernels::ValidityBits>& columns, uint64_t rows);
// The others.
RowList rows_with_null(base::Queue& queue, Workers& workers,
                       const std::vector<kernels::ValidityBits>& columns, uint64_t rows);

// Of one side of the problem.
std::vector<kernels::ValidityBits> validity_of_side(const columns::RangeProblem& problem,
                                                    bool ranged);

// Numbers of the rows whose bits are 1.
RowList rows_that(base::Queue& queue, Workers& workers, const uint64_t* words, uint64_t rows);

// Marks the rows of the list for which has_match(i) of their place in it.
template <typename HasMatch>
void mark_rows_that(base::Queue& queue, Workers& workers, const RowList& list,
                    columns::RowMarks& marks, const HasMatch& has_match) {
  constexpr uint64_t kTaskRows = uint64_t{1} << 16;
  uint64_t const words = (list.count + 63) / 64;
  base::Buffer const bits =
      queue.host_pool->allocate_rows<uint64_t>(base::Memory::kHost, words, "bits of matched rows");
  workers.for_each_range("match", list.count, kTaskRows, [&](uint64_t first, uint64_t end) {
    for (uint64_t word = first; word < end; word += 64) {
      uint64_t matched = 0;
      for (uint64_t i = word; i < std::min(end, word + 64); ++i) {
        matched |= (has_match(i) ? uint64_t{1} : 0) << (i - word);
      }
      bits.as<uint64_t>()[word / 64] = matched;
    }
  });
  RowList matched = rows_that(queue, workers, bits.as<uint64_t>(), list.count);
  base::Buffer numbers =
      queue.host_pool->allocate_rows<uint32_t>(base::Memory::kHost, matched.count, "matched rows");
  auto* const rows = numbers.as<uint32_t>();
  workers.for_each_range("match", matched.count, kTaskRows, [&](uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) rows[i] = list.row(matched.row(i));
  });
  marks.mark(rows, matched.count);
}

}  // namespace gpujoin::cpu
