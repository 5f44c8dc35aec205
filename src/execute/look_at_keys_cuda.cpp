// look_at_keys_cuda.cpp: between which values keys of several columns lie.
#include <vector>

#include "src/base/device.hpp"
#include "src/execute/execute.hpp"
#include "src/keys/key_ranges.hpp"
#include "src/transfer/transfer.hpp"

namespace gpujoin::execute {

namespace {

// Nothing: what comes over the link is not looked at beforehand.
std::optional<std::vector<columns::DeviceColumn>> keys_there(base::Queue& queue,
                                                             const columns::Relation& relation,
                                                             const std::vector<int32_t>& keys) {
  base::await(queue, relation.ready_event);
  std::vector<columns::DeviceColumn> columns;
  for (int32_t const key : keys) {
    columns::ColumnView const& view = relation.columns[static_cast<size_t>(key)];
    if (view.memory != base::Memory::kDevice) return std::nullopt;
    columns.push_back(transfer::in_place(view));
  }
  return columns;
}

std::vector<int32_t> widths_of(const columns::Relation& relation,
                               const std::vector<int32_t>& keys) {
  std::vector<int32_t> widths;
  for (int32_t const key : keys) {
    widths.push_back(relation.columns[static_cast<size_t>(key)].width);
  }
  return widths;
}

}  // namespace

std::optional<keys::KeyEncoding> look_at_keys_on_gpu(base::Queue& queue, const PlannedJoin& join) {
  auto const left = keys_there(queue, *join.left, join.spec.left_keys);
  auto const right = keys_there(queue, *join.right, join.spec.right_keys);
  if (!left || !right) return std::nullopt;
  keys::KeyRanges const found = keys::key_ranges(
      queue, {*left, join.left->rows}, {*right, join.right->rows}, keys::AskedRows::kDrawn);
  std::vector<int32_t> const widths = widths_of(*join.left, join.spec.left_keys);
  std::vector<keys::ColumnRange> const ranges = found.of_both();
  return found.of_all_rows ? keys::pack(widths, ranges) : keys::pack_drawn(widths, ranges);
}

std::optional<keys::KeyEncoding> look_at_build_keys_on_gpu(base::Queue& queue,
                                                           const PlannedJoin& join) {
  bool const left = join.request.options.build_side == GPUJOIN_SIDE_LEFT;
  columns::Relation const& relation = left ? *join.left : *join.right;
  auto const& keys = left ? join.spec.left_keys : join.spec.right_keys;
  std::vector<int32_t> const widths = widths_of(relation, keys);
  auto const columns = keys_there(queue, relation, keys);
  if (!columns) return keys::pack_unseen(widths);
  keys::KeyRanges const found =
      keys::key_ranges(queue, {*columns, relation.rows}, {*columns, 0}, keys::AskedRows::kAll);
  return keys::pack_side(widths, found.left);
}

}  // namespace gpujoin::execute
