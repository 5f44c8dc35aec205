#include "src/keys/verify_pairs.hpp"

#include <thrust/iterator/zip_iterator.h>
#include <thrust/tuple.h>
#include <cub/device/device_select.cuh>

#include <algorithm>

#include "kernels/keys/verify_columns.cuh"
#include "kernels/keys/verify_pairs.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::keys {

namespace {

using base::check;
using base::Memory;
using base::stream_of;

kernels::VerifiedColumns verified_columns(std::span<const columns::DeviceColumn> build,
                                          std::span<const columns::DeviceColumn> probe) {
  if (build.size() != probe.size() || build.size() > kernels::kMostKeyColumns) {
    base::fail(GPUJOIN_ERROR_INTERNAL, "pairs verified in %zu and %zu key columns", build.size(),
               probe.size());
  }
  kernels::VerifiedColumns keys{};
  keys.count = static_cast<int32_t>(build.size());
  for (size_t c = 0; c < build.size(); ++c) {
    keys.columns[c] = {build[c].data, probe[c].data, build[c].width};
  }
  return keys;
}

// kernel: its last parameters are the rows, the state and the answer.
template <typename... Parameters, typename... Args>
uint64_t count_unequal(base::Queue& queue, void (*kernel)(Parameters...), uint64_t rows,
                       Args... args) {
  base::ZeroedCounts zeroed(queue, sizeof(kernels::UnequalState));
  auto* const answer = reinterpret_cast<kernels::UnequalAnswer*>(base::start_answer(queue));
  auto const resident =
      static_cast<uint64_t>(queue.context.facts.sm_count * kernels::kVerifyBlocksPerSm);
  uint64_t const tiles = (rows + kernels::kStreamTile - 1) / kernels::kStreamTile;
  base::launch_dependent(queue, kernel, static_cast<uint32_t>(std::min(tiles, resident)),
                         kernels::kStreamThreads, 0, "verifying keys", args..., rows,
                         zeroed.as<kernels::UnequalState>(), answer);
  zeroed.all_launched();
  base::await_answer(queue);
  return answer->content;
}

// Of a build and a probe row.
struct AreEqual {
  kernels::VerifiedColumns keys;
  __device__ bool operator()(const thrust::tuple<uint32_t, uint32_t>& pair) const {
    uint32_t const build[1] = {thrust::get<0>(pair)};
    uint32_t const probe[1] = {thrust::get<1>(pair)};
    return kernels::equal_pairs(keys, build, probe, 1) != 0;
  }
};

// Room for the pairs that are kept of some, before they go where they belong.
class KeptPairs {
 public:
  KeptPairs(base::Queue& queue, const AreEqual& are_equal, uint32_t pairs)
      : queue_(queue), are_equal_(are_equal) {
    base::Pool& pool = *queue.device_pool;
    build_ = pool.allocate_rows<uint32_t>(Memory::kDevice, pairs, "verified build rows");
    probe_ = pool.allocate_rows<uint32_t>(Memory::kDevice, pairs, "verified probe rows");
    check(select(nullptr, nullptr, nullptr, pairs), "sizing the selection of equal pairs");
    storage_ = pool.allocate(Memory::kDevice, storage_bytes_, "selection storage");
  }

  // How many of the pairs are equal, which are in build() and probe() then.
  uint32_t take(const uint32_t* build, const uint32_t* probe, uint32_t pairs) {
    check(select(storage_.data(), build, probe, pairs), "selecting equal pairs");
    return base::read_back(queue_, queue_.device->counters.as<const uint32_t>());
  }
  const void* build() const { return build_.data(); }
  const void* probe() const { return probe_.data(); }

 private:
  cudaError_t select(void* storage, const uint32_t* build, const uint32_t* probe, uint32_t pairs) {
    auto const out = thrust::make_zip_iterator(build_.as<uint32_t>(), probe_.as<uint32_t>());
    return cub::DeviceSelect::If(storage, storage_bytes_, thrust::make_zip_iterator(build, probe),
                                 out, queue_.device->counters.as<uint32_t>(),
                                 static_cast<int64_t>(pairs), are_equal_, stream_of(queue_));
  }

  base::Queue& queue_;
  AreEqual are_equal_;
  base::Buffer build_;
  base::Buffer probe_;
  base::Buffer storage_;
  size_t storage_bytes_ = 0;
};

void copy_rows(base::Queue& queue, uint32_t* target, const void* rows, uint32_t count) {
  check(cudaMemcpyAsync(target, rows, uint64_t{count} * sizeof(uint32_t), cudaMemcpyDeviceToDevice,
                        stream_of(queue)),
        "keeping equal pairs");
}

}  // namespace

uint64_t verify_pairs(base::Queue& queue, std::span<const columns::DeviceColumn> build_keys,
                      std::span<const columns::DeviceColumn> probe_keys, uint32_t* build,
                      uint32_t* probe, uint64_t pairs, uint64_t at_once) {
  kernels::VerifiedColumns const keys = verified_columns(build_keys, probe_keys);
  if (pairs == 0 ||
      count_unequal(queue, kernels::count_unequal_kernel, pairs, keys, build, probe) == 0)
    return pairs;
  at_once = std::min(at_once, pairs);
  KeptPairs kept_pairs(queue, {keys}, static_cast<uint32_t>(at_once));
  uint64_t kept = 0;
  for (uint64_t begin = 0; begin < pairs; begin += at_once) {
    queue.check_cancelled();
    auto const taken = static_cast<uint32_t>(std::min(at_once, pairs - begin));
    uint32_t const equal = kept_pairs.take(build + begin, probe + begin, taken);
    if (kept != begin || equal != taken) {
      copy_rows(queue, build + kept, kept_pairs.build(), equal);
      copy_rows(queue, probe + kept, kept_pairs.probe(), equal);
    }
    kept += equal;
  }
  return kept;
}

uint64_t count_unequal(base::Queue& queue, std::span<const columns::DeviceColumn> build_keys,
                       std::span<const columns::DeviceColumn> probe_keys, uint64_t rows) {
  kernels::VerifiedColumns const keys = verified_columns(build_keys, probe_keys);
  return rows == 0 ? 0 : count_unequal(queue, kernels::verify_columns_kernel, rows, keys);
}

}  // namespace gpujoin::keys
