#include <utility>

#include "src/execute/row_marks.hpp"
#include "src/keys/marks.hpp"

namespace gpujoin::execute {

std::unique_ptr<columns::RowMarks> row_marks_on_gpu(base::Queue& queue, uint32_t rows) {
  return std::make_unique<keys::RowMarks>(queue, rows);
}

std::unique_ptr<columns::RowMarks> row_marks_on_gpu(base::Queue& queue, base::Buffer bits,
                                                    uint32_t rows) {
  return std::make_unique<keys::RowMarks>(queue, std::move(bits), rows);
}

}  // namespace gpujoin::execute
