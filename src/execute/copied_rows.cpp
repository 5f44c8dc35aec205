#include "src/execute/copied_rows.hpp"

#include <algorithm>

#include "src/base/memory.hpp"
#include "src/base/without_cuda.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/execute/column_work.hpp"

namespace gpujoin::execute {

uint64_t bytes_of_copy(base::Queue& queue, const columns::Relation& batch) {
  uint64_t bytes = 0;
  auto const rows = static_cast<uint64_t>(batch.rows);
  for (columns::ColumnView const& column : batch.columns) {
    bytes += base::checked_bytes(rows, static_cast<uint64_t>(column.width));
    if (column.validity != nullptr) bytes += columns::bitmap_words_bytes(batch.rows);
    if (column.layout != columns::Layout::kText) continue;
    auto const [first, last] = text_bounds(queue, column, batch.rows);
    bytes += (rows + 1) * static_cast<uint64_t>(column.parts->offset_width);
    bytes += static_cast<uint64_t>(std::max<int64_t>(last - first, 0));
  }
  return bytes;
}

#if !GPUJOIN_WITH_CUDA
CopiedRows copied_on_device(base::Queue&, const columns::Relation&, std::optional<int32_t>) {
  base::fail_without_cuda();
}
std::shared_ptr<const columns::Relation> united_on_device(
    base::Queue&, std::span<const std::shared_ptr<const columns::Relation>>) {
  base::fail_without_cuda();
}
#endif

}  // namespace gpujoin::execute
