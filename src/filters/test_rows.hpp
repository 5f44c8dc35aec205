// test_rows.hpp: which rows of a batch a filter lets pass.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/filters/filter.hpp"

namespace gpujoin::filters {

struct TestedRows {
  base::Buffer bits;  // words of 8 bytes, those behind the last row 0; none of no rows
  base::Memory memory = base::Memory::kHost;
  int64_t passing = 0;
};

// Throws TYPE, which names `argument`, where a column does not compare with the filter's key;
// UNSUPPORTED for one of a nested type. columns: as many as the filter has keys.
void check_columns(const Filter& filter, const columns::Relation& relation,
                   std::span<const int32_t> columns, const char* argument);

// Of a relation that may be selected, a bit for each row picked. On the calling thread, but what
// lies in device memory. Throws MEMORY_LIMIT, OUT_OF_MEMORY, CANCELLED, CUDA. expected: columns
// that were checked.
TestedRows test_rows(base::Queue& queue, const Filter& filter,
                     const std::shared_ptr<const columns::Relation>& relation,
                     const std::vector<int32_t>& columns);

// Of rows `first` to `first + count` of `rows`: ceil(count / 64) words. expected: columns in host
// memory, of kValues, kWide, kBits, kText or kNulls.
void test_in_host(const Filter& filter, std::span<const columns::ColumnView> columns, int64_t rows,
                  int64_t first, int64_t count, uint64_t* passes);

// Whether a column's values are hashed as they lie: as integers of 4 or 8 bytes.
bool lies_as_hashed(const columns::ColumnView& column);

// Whether the device tests a lone column of its memory by itself.
bool is_tested_on_device(const Filter& filter, const columns::ColumnView& column);
#if GPUJOIN_WITH_CUDA
// In test_rows.cu. expected: is_tested_on_device().
TestedRows test_on_device(base::Queue& queue, const Filter& filter,
                          const columns::ColumnView& column, int64_t rows);
#endif

}  // namespace gpujoin::filters
