#include "src/cpu/ranged_rows.hpp"

#include <bit>
#include <vector>

#include "src/cpu/valid_rows.hpp"

namespace gpujoin::cpu {

namespace {

constexpr const char* kStage = "sort";
constexpr uint64_t kTaskWords = 1024;

RowList rows_by_validity(base::Queue& queue, Workers& workers,
                         const std::vector<kernels::ValidityBits>& columns, uint64_t rows,
                         bool are_valid) {
  bool has_nulls = false;
  for (kernels::ValidityBits const& column : columns) has_nulls |= column.bits != nullptr;
  RowList all;
  all.count = are_valid ? rows : 0;
  if (!has_nulls || rows == 0) return all;
  uint64_t const count = (rows + 63) / 64;
  base::Buffer const bits =
      queue.host_pool->allocate_rows<uint64_t>(base::Memory::kHost, count, "bits of valid rows");
  auto* const words = bits.as<uint64_t>();
  valid_in_all(workers, kStage, columns, rows, words);
  if (!are_valid) {
    for (uint64_t i = 0; i < count; ++i) words[i] = ~words[i];
  }
  return rows_that(queue, workers, words, rows);
}

}  // namespace

RowList rows_that(base::Queue& queue, Workers& workers, const uint64_t* words, uint64_t rows) {
  uint64_t const count = (rows + 63) / 64;
  auto const word_at = [&](uint64_t i) {
    bool const is_last = i + 1 == count && rows % 64 != 0;
    return is_last ? words[i] & ((uint64_t{1} << (rows % 64)) - 1) : words[i];
  };
  std::vector<uint64_t> begins(count / kTaskWords + 2, 0);
  workers.for_each_range(kStage, count, kTaskWords, [&](uint64_t first, uint64_t end) {
    uint64_t found = 0;
    for (uint64_t i = first; i < end; ++i)
      found += static_cast<uint64_t>(std::popcount(word_at(i)));
    begins[first / kTaskWords + 1] = found;
  });
  for (size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
  RowList list;
  list.count = begins.back();
  if (list.count == rows) return list;
  list.numbers =
      queue.host_pool->allocate_rows<uint32_t>(base::Memory::kHost, list.count, "numbers of rows");
  workers.for_each_range(kStage, count, kTaskWords, [&](uint64_t first, uint64_t end) {
    uint32_t* out = list.numbers.as<uint32_t>() + begins[first / kTaskWords];
    for (uint64_t i = first; i < end; ++i) {
      for (uint64_t bits = word_at(i); bits != 0; bits &= bits - 1) {
        *out++ = static_cast<uint32_t>(i * 64 + static_cast<uint64_t>(std::countr_zero(bits)));
      }
    }
  });
  return list;
}

RowList rows_without_null(base::Queue& queue, Workers& workers,
                          const std::vector<kernels::ValidityBits>& columns, uint64_t rows) {
  return rows_by_validity(queue, workers, columns, rows, true);
}

RowList rows_with_null(base::Queue& queue, Workers& workers,
                       const std::vector<kernels::ValidityBits>& columns, uint64_t rows) {
  return rows_by_validity(queue, workers, columns, rows, false);
}

std::vector<kernels::ValidityBits> validity_of_side(const columns::RangeProblem& problem,
                                                    bool ranged) {
  std::vector<kernels::ValidityBits> found;
  for (columns::Inequality const& inequality : problem.inequalities) {
    found.push_back(ranged ? inequality.ranged.validity : inequality.sorted.validity);
  }
  return found;
}

}  // namespace gpujoin::cpu
