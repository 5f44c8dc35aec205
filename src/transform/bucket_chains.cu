// bucket_chains.cu: host side of the partition into chains of buckets.
#include <algorithm>
#include <bit>

#include "kernels/transform/bucket_chains.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/transform/partitioning.hpp"

namespace gpujoin::transform {

namespace {

using base::check;
using base::Memory;
using base::stream_of;

constexpr uint64_t kMostPlaces = uint64_t{1} << 32;  // a place is a position, of 4 bytes
constexpr uint64_t kMostBuckets = (1U << 24U) - 1;   // a name in the table of open buckets
constexpr int32_t kMostDigitsOfThread = 8;
static_assert(kMostDigitsOfThread * kernels::kBucketThreads >= 1 << kernels::kBucketPassMostBits);

// A quarter of an average partition.
int32_t bucket_bits_for(uint64_t rows, int32_t partition_bits, int32_t most) {
  uint64_t const quarter = std::max<uint64_t>(rows >> (partition_bits + 2), 1);
  return std::clamp<int32_t>(std::bit_width(quarter) - 1, kernels::kBucketLeastBits, most);
}

// A pool with every bucket that the rows can need: each partition leaves one unfilled at most.
class Pool {
 public:
  Pool(base::Queue& queue, uint64_t rows, int32_t partition_bits, int32_t most_bucket_bits)
      : queue_(queue), partitions_(1U << partition_bits) {
    view_.bucket_bits = bucket_bits_for(rows, partition_bits, most_bucket_bits);
    buckets_ = (rows >> view_.bucket_bits) + std::min<uint64_t>(rows, partitions_);
    if (places() >= kMostPlaces || buckets_ > kMostBuckets) {
      base::fail(GPUJOIN_ERROR_TOO_MANY_ROWS,
                 "%llu rows in %u partitions need more places in buckets than 4 bytes can number: "
                 "name another transform than bucket_chains, or fewer radix_bits",
                 static_cast<unsigned long long>(rows), partitions_);
    }
    // The table is half empty or more.
    view_.open_bits = std::bit_width(2 * buckets_);
    base::Pool& pool = *queue.device_pool;
    fills_ = pool.allocate_rows<uint32_t>(Memory::kDevice, uint64_t{partitions_} + 1,
                                          "rows of partitions");
    headers_ =
        pool.allocate_rows<kernels::BucketHeader>(Memory::kDevice, buckets_, "bucket headers");
    open_ = pool.allocate_rows<unsigned long long>(Memory::kDevice, uint64_t{1} << view_.open_bits,
                                                   "open buckets");
    view_.fills = fills_.as<uint32_t>();
    view_.taken = view_.fills + partitions_;
    view_.headers = headers_.as<kernels::BucketHeader>();
    view_.open = open_.as<unsigned long long>();
    check(cudaMemsetAsync(fills_.data(), 0x00, fills_.bytes(), stream_of(queue)),
          "emptying partitions");
    check(cudaMemsetAsync(open_.data(), 0xff, open_.bytes(), stream_of(queue)),
          "clearing the table of open buckets");
  }

  const kernels::BucketPool& view() const { return view_; }
  uint64_t buckets() const { return buckets_; }
  uint64_t places() const { return buckets_ << view_.bucket_bits; }

  // Offsets of partitions in rows and in buckets, and the buckets in the order of partitions.
  void list(Transformed* chains) const {
    base::Pool& pool = *queue_.device_pool;
    uint64_t const bounds = uint64_t{partitions_} + 1;
    chains->offsets = pool.allocate_rows<uint32_t>(Memory::kDevice, bounds, "partition offsets");
    chains->bucket_offsets =
        pool.allocate_rows<uint32_t>(Memory::kDevice, bounds, "bucket offsets");
    chains->buckets = pool.allocate_rows<uint32_t>(Memory::kDevice, buckets_, "lists of buckets");
    chains->bucket_bits = view_.bucket_bits;
    kernels::sum_partitions_kernel<<<1, kernels::kPartitionSumThreads, 0, stream_of(queue_)>>>(
        view_, partitions_, chains->offsets.as<uint32_t>(), chains->bucket_offsets.as<uint32_t>());
    check(cudaGetLastError(), "summing partitions up");
    kernels::list_buckets_kernel<<<base::grid_of(buckets_, kernels::kStreamThreads),
                                   kernels::kStreamThreads, 0, stream_of(queue_)>>>(
        view_, chains->bucket_offsets.as<uint32_t>(), chains->buckets.as<uint32_t>());
    check(cudaGetLastError(), "listing buckets");
  }

 private:
  base::Queue& queue_;
  uint32_t partitions_;
  uint64_t buckets_ = 0;
  kernels::BucketPool view_{};
  base::Buffer fills_;  // and how many buckets are taken
  base::Buffer headers_;
  base::Buffer open_;
};

template <typename Key, int kDigits>
void launch_append(base::Queue& queue, unsigned tiles, const kernels::BucketPass<Key>& pass) {
  auto const kernel = kernels::append_to_buckets_kernel<Key, kDigits>;
  constexpr size_t kShared = sizeof(kernels::BucketStage<Key, kDigits>);
  base::allow_shared(queue, kernel, "asking for shared memory of the bucket partitioning");
  kernel<<<tiles, kernels::kBucketThreads, kShared, stream_of(queue)>>>(pass);
  check(cudaGetLastError(), "appending rows to buckets");
}

template <typename Key>
void append(base::Queue& queue, unsigned tiles, const kernels::BucketPass<Key>& pass) {
  queue.check_cancelled();
  int32_t const digits_of_thread = (1 << pass.bits) / kernels::kBucketThreads;
  if (digits_of_thread <= 1) {
    launch_append<Key, 1>(queue, tiles, pass);
  } else if (digits_of_thread <= 4) {
    launch_append<Key, 4>(queue, tiles, pass);
  } else {
    launch_append<Key, kMostDigitsOfThread>(queue, tiles, pass);
  }
}

template <typename Key>
Transformed run(base::Queue& queue, const PreparedKeys& keys, const PreparedColumn& column,
                const Order& order) {
  base::Pool& memory = *queue.device_pool;
  bool const two = order.passes == 2;
  PassBits const upper = first_pass(order);
  PassBits const lower = second_pass(order);
  // The second pass takes a bucket of the first as its tile.
  Pool const first(queue, keys.rows, upper.bits,
                   two ? kernels::kBucketTileBits : kernels::kBucketMostBits);
  Transformed chains;
  chains.keys = memory.allocate_rows<Key>(Memory::kDevice, first.places(), "transformed keys");
  chains.values =
      memory.allocate_rows<uint32_t>(Memory::kDevice, first.places(), "a transformed column");
  kernels::BucketPass<Key> pass{};
  pass.keys = static_cast<const Key*>(keys.keys);
  pass.values = static_cast<const uint32_t*>(column.data);
  pass.rows = keys.rows;
  pass.shift = upper.shift;
  pass.bits = upper.bits;
  pass.pool = first.view();
  pass.keys_out = chains.keys.as<Key>();
  pass.values_out = chains.values.as<uint32_t>();
  append(queue, base::grid_of(keys.rows, kernels::kBucketTile), pass);
  first.list(&chains);
  if (!two) return chains;

  Pool const second(queue, keys.rows, upper.bits + lower.bits, kernels::kBucketMostBits);
  Transformed result;
  result.keys = memory.allocate_rows<Key>(Memory::kDevice, second.places(), "transformed keys");
  result.values =
      memory.allocate_rows<uint32_t>(Memory::kDevice, second.places(), "a transformed column");
  pass.keys = chains.keys.as<Key>();
  pass.values = chains.values.as<uint32_t>();
  pass.source = {first.view().headers, chains.buckets.as<uint32_t>(), first.view().fills,
                 first.view().taken, first.view().bucket_bits};
  pass.shift = lower.shift;
  pass.bits = lower.bits;
  pass.pool = second.view();
  pass.keys_out = result.keys.as<Key>();
  pass.values_out = result.values.as<uint32_t>();
  append(queue, base::grid_of(first.buckets(), 1), pass);
  second.list(&result);
  return result;
}

}  // namespace

Transformed bucket_chains(base::Queue& queue, const PreparedKeys& keys,
                          const PreparedColumn& column, const Order& order) {
  if (column.width != sizeof(uint32_t)) {
    base::fail(GPUJOIN_ERROR_INTERNAL, "transform=bucket_chains moves row numbers only");
  }
  if (keys.rows == 0) return {};
  return base::with_key_type(
      keys.key_width, [&](auto zero) { return run<decltype(zero)>(queue, keys, column, order); });
}

}  // namespace gpujoin::transform
