// row_marks.hpp: marks of rows where a result lies, and rows of relations by row number there.
#pragma once

#include <memory>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/columns/row_marks.hpp"

namespace gpujoin::execute {

// None is marked. memory: device memory for marks of the GPU, else host memory.
std::unique_ptr<columns::RowMarks> make_row_marks(base::Queue& queue, base::Memory memory,
                                                  int64_t rows);
// Those of rows whose bit is 1, in whole words of 4 bytes; bits beyond the rows are 0.
std::unique_ptr<columns::RowMarks> row_marks_of(base::Queue& queue, base::Memory memory,
                                                base::Buffer bits, int64_t rows);
std::unique_ptr<columns::RowMarks> row_marks_on_gpu(base::Queue& queue, uint32_t rows);
std::unique_ptr<columns::RowMarks> row_marks_on_gpu(base::Queue& queue, base::Buffer bits,
                                                    uint32_t rows);

// Row numbers that a host list has, where marks and results of that memory read them.
base::Buffer row_numbers_in(base::Queue& queue, base::Memory memory,
                            const std::vector<uint32_t>& numbers);

}  // namespace gpujoin::execute
