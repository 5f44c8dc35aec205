#include "src/execute/row_marks.hpp"

#include <utility>

#include "src/base/copy.hpp"
#include "src/base/without_cuda.hpp"
#include "src/cpu/row_marks.hpp"

namespace gpujoin::execute {

using base::Memory;

#if !GPUJOIN_WITH_CUDA
std::unique_ptr<columns::RowMarks> row_marks_on_gpu(base::Queue&, uint32_t) {
  base::fail_without_cuda();
}
std::unique_ptr<columns::RowMarks> row_marks_on_gpu(base::Queue&, base::Buffer, uint32_t) {
  base::fail_without_cuda();
}
#endif

std::unique_ptr<columns::RowMarks> make_row_marks(base::Queue& queue, Memory memory, int64_t rows) {
  auto const count = static_cast<uint32_t>(rows);
  if (memory == Memory::kDevice) return row_marks_on_gpu(queue, count);
  return std::make_unique<cpu::RowMarks>(queue, count);
}

std::unique_ptr<columns::RowMarks> row_marks_of(base::Queue& queue, Memory memory,
                                                base::Buffer bits, int64_t rows) {
  auto const count = static_cast<uint32_t>(rows);
  if (memory == Memory::kDevice) return row_marks_on_gpu(queue, std::move(bits), count);
  return std::make_unique<cpu::RowMarks>(queue, std::move(bits), count);
}

base::Buffer row_numbers_in(base::Queue& queue, Memory memory,
                            const std::vector<uint32_t>& numbers) {
  base::Pool& pool = memory == Memory::kDevice ? *queue.device_pool : *queue.host_pool;
  base::Buffer made = pool.allocate_rows<uint32_t>(memory, numbers.size(), "row numbers");
  base::copy(queue, made.data(), memory, numbers.data(), Memory::kHost,
             numbers.size() * sizeof(uint32_t));
  // The list may be gone after this.
  base::finish(queue);
  return made;
}

}  // namespace gpujoin::execute
