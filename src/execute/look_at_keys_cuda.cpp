// look_at_keys_cuda.cpp: between which values keys of several columns lie.
#include <algorithm>
#include <vector>

#include "src/base/device.hpp"
#include "src/execute/execute.hpp"
#include "src/keys/key_ranges.hpp"
#include "src/transfer/transfer.hpp"

namespace gpujoin::execute {

std::optional<keys::KeyEncoding> look_at_keys_on_gpu(base::Queue& queue, const PlannedJoin& join) {
  std::vector<int32_t> widths;
  std::vector<columns::DeviceColumn> columns[2];
  columns::Relation const* const relations[] = {join.left.get(), join.right.get()};
  std::vector<int32_t> const* const keys[] = {&join.spec.left_keys, &join.spec.right_keys};
  for (size_t side = 0; side < 2; ++side) {
    base::await(queue, relations[side]->ready_event);
    for (int32_t const key : *keys[side]) {
      columns::ColumnView const& view = relations[side]->columns[static_cast<size_t>(key)];
      // What comes over the link is not looked at beforehand.
      if (view.memory != base::Memory::kDevice) return std::nullopt;
      columns[side].push_back(transfer::in_place(view));
      if (side == 0) widths.push_back(view.width);
    }
  }
  keys::KeyRanges const found =
      keys::key_ranges(queue, {columns[0], join.left->rows}, {columns[1], join.right->rows},
                       keys::AskedRows::kDrawn);
  std::vector<keys::ColumnRange> const ranges = found.of_both();
  return found.of_all_rows ? keys::pack(widths, ranges) : keys::pack_drawn(widths, ranges);
}

}  // namespace gpujoin::execute
