// gather.cu: host side of the gather: exact buffers, at most kGatherColumns columns a launch.
#include <algorithm>

#include "kernels/materialize/gather_columns.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/materialize/materialize.hpp"

namespace gpujoin::materialize {

using base::check;
using base::Memory;
using base::stream_of;

NullCounts::NullCounts(base::Queue& queue, size_t columns) : queue_(queue) {
  counters_ = queue.device_pool->allocate_rows<unsigned long long>(Memory::kDevice, columns,
                                                                   "null counters");
  if (columns == 0) return;
  check(cudaMemsetAsync(counters_.data(), 0, counters_.bytes(), stream_of(queue)),
        "starting the null counters");
}

unsigned long long* NullCounts::next(columns::ResultColumn* target) {
  targets_.push_back(target);
  return counters_.as<unsigned long long>() + (targets_.size() - 1);
}

void NullCounts::finish() {
  constexpr size_t kAtOnce = base::kReadbackBytes / sizeof(unsigned long long);
  for (size_t first = 0; first < targets_.size(); first += kAtOnce) {
    size_t const count = std::min(kAtOnce, targets_.size() - first);
    auto const* nulls = static_cast<const unsigned long long*>(base::read_back(
        queue_, counters_.as<unsigned long long>() + first, count * sizeof(unsigned long long)));
    for (size_t i = 0; i < count; ++i) {
      columns::ResultColumn& target = *targets_[first + i];
      target.null_count = static_cast<int64_t>(nulls[i]);
      if (target.null_count == 0) target.validity = nullptr;
    }
  }
}

void gather(base::Queue& queue, const uint32_t* rows, uint64_t pairs,
            const std::vector<Request>& requests, NullCounts& null_counts) {
  if (pairs == 0) return;
  base::Pool& pool = *queue.device_pool;
  kernels::GatherColumns args{};
  args.rows = rows;
  args.pairs = pairs;
  auto const launch = [&] {
    if (args.column_count == 0) return;
    kernels::gather_columns_kernel<<<base::grid_of(pairs, kernels::kStreamTile),
                                     kernels::kStreamThreads, 0, stream_of(queue)>>>(args);
    check(cudaGetLastError(), "gathering output columns");
    args.column_count = 0;
  };
  for (Request const& request : requests) {
    Source const& source = request.source;
    columns::ResultColumn& target = *request.target;
    base::Buffer data = pool.allocate(
        Memory::kDevice, base::checked_bytes(pairs, static_cast<uint64_t>(source.width)),
        "an output column");
    kernels::GatherColumn& column = args.columns[args.column_count++];
    column = {};
    column.source = source.data;
    column.target = data.data();
    column.width = source.width;
    column.unmix = source.unmix ? 1 : 0;
    target.data = columns::make_storage(std::move(data));
    if (source.validity_bits != nullptr || source.validity_bytes != nullptr) {
      base::Buffer validity = pool.allocate_rows<uint32_t>(Memory::kDevice, (pairs + 31) / 32,
                                                           "validity of an output column");
      column.validity_bits = source.validity_bits;
      column.validity_bit_offset = source.validity_bit_offset;
      column.validity_bytes = source.validity_bytes;
      column.target_validity = validity.as<uint32_t>();
      column.null_count = null_counts.next(&target);
      target.validity = columns::make_storage(std::move(validity));
    }
    if (args.column_count == kernels::kGatherColumns) launch();
  }
  launch();
}

}  // namespace gpujoin::materialize
