#include "src/pieces/probe_promises.hpp"

#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "src/columns/selection.hpp"
#include "src/execute/promises.hpp"
#include "src/execute/row_picker.hpp"
#include "src/pieces/brought_rows.hpp"
#include "src/pieces/build.hpp"
#include "src/pieces/gathered_rows.hpp"

namespace gpujoin::pieces {

namespace {

using columns::Relation;

// Of what a store keeps in memory: there are two of rows that are joined.
constexpr uint64_t kShareOfStore = 4;

std::vector<int32_t> first_columns(size_t count) {
  std::vector<int32_t> columns(count);
  std::iota(columns.begin(), columns.end(), 0);
  return columns;
}

std::shared_ptr<RowStore> store_of_keys(const StoreShape& like, const Relation& none,
                                        const PromisedSide& side) {
  StoreShape shape = like;
  shape.schema = make_row_schema(none, side.has_numbers);
  shape.keys = first_columns(side.keys.size());
  shape.memory_bytes /= kShareOfStore;
  shape.moving_bytes = shape.resident_bytes = 0;
  auto store = std::make_shared<RowStore>(std::move(shape));
  store->begin_partitions();
  return store;
}

}  // namespace

ProbePromises::ProbePromises(const JoinOfPieces& join, const columns::Bounds& promised,
                             const StoreShape& like)
    : context_(join.context),
      side_(promised_side(join, !join.build_left)),
      is_sorted_(execute::is_sorted_promised(promised, side_.left)) {
  if (!execute::is_unique_promised(promised, side_.left)) return;
  auto const none = only_columns(side_.left ? join.left_none : join.right_none, side_.keys);
  keys_ = store_of_keys(like, *none, side_);
}

void ProbePromises::check(const std::shared_ptr<const Relation>& batch, int64_t first_row,
                          const base::CallEnd& end) {
  if (keys_ != nullptr) {
    append_columns(*context_, batch, side_.keys, first_row, keys_.get(), end);
  }
  if (is_sorted_) check_sorted(batch, first_row, end);
}

void ProbePromises::check_sorted(const std::shared_ptr<const Relation>& batch, int64_t first_row,
                                 const base::CallEnd& end) const {
  base::LeasedQueue const queue(*context_, end);
  auto keys = only_columns(columns::as_registered(batch), side_.keys);
  PromisedSide side = side_;
  side.keys = first_columns(side.keys.size());
  side.on_gpu = lies_on_device(*keys);
  side.has_numbers = false;
  if (batch->selection != nullptr) {
    // In the order in which they are picked, with their numbers.
    GatheredRows rows(make_row_schema(*keys, true),
                      {std::make_shared<base::Pool>(context_->host_account), base::Memory::kHost});
    execute::RowPicker picker(*queue, base::Memory::kHost, *batch);
    auto const* const numbers = static_cast<const uint32_t*>(picker.numbers().get());
    rows.append_rows(*in_host(*queue, keys), {numbers, static_cast<size_t>(batch->rows)},
                     first_row);
    keys = rows.take(context_);
    side.on_gpu = false;
    side.has_numbers = true;
  }
  pieces::check_sorted(*queue, side, keys, first_row);
}

}  // namespace gpujoin::pieces
