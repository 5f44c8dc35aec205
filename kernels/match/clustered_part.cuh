// clustered_part.cuh: a part's build rows in the shared memory of a cluster of blocks
//
// Source   ours; distributed shared memory of devices from 9.0 on
// In       addresses and words of a part's build rows (move_to_parts.cuh)
// Out      the row of an address
// Needs    all threads of a cluster of a power of two of blocks; two words or more a row
// Moves    nothing beside shared memory: 8 or 16 bytes a row, of which all but one of the cluster's
//          blocks are told of another block's memory
// Shared   8 or 16 bytes a place
//
//   address a is at place a / blocks of block a % blocks
//   a place without a row has two words that no row has there, so that no atomic says that one is
//   there: of another block's memory it takes as long as a read
//   rows that were put less those that were there, of all blocks, are those that met another one at
//   their place: keys that repeat. Where a row has the words of a free place it is told so, too
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cluster.cuh"
#include "kernels/match/part_tables.cuh"

namespace gpujoin::kernels {

template <int kWordsOfRow>
struct ClusteredPart {
  static constexpr int kWords = kWordsOfRow;
  static constexpr int kBuildItems = 2;
  static_assert(kWords >= 2);
  using Row = std::conditional_t<kWords == 2, uint2, uint4>;
  static_assert(sizeof(Row) == clustered_row_bytes(kWords));
  // Rows of a thread that are looked for at a time: those that registers hold without a spill.
  __device__ static constexpr int items(int words) { return words <= 4 ? 4 : words == 5 ? 3 : 2; }

  uint32_t* lost;  // of this block's memory; of the first block's: of the cluster
  Row* own;        // [room]
  uint32_t room;
  uint32_t rank_in_cluster;
  uint32_t blocks_of_cluster;
  uint32_t address_shift;  // blocks == 1 << address_shift
  uint32_t put = 0;        // rows of this thread less those that it counted

  __device__ ClusteredPart(uint32_t* shared, uint32_t room_of_part)
      : lost(shared),
        own(reinterpret_cast<Row*>(shared + kClusteredCountBytes / sizeof(uint32_t))),
        room(room_of_part),
        rank_in_cluster(cluster_rank()),
        blocks_of_cluster(cluster_blocks()) {
    address_shift = __popc(blocks_of_cluster - 1);
    for (uint32_t i = threadIdx.x; i < room; i += kPartThreads) own[i] = free_place();
    if (threadIdx.x == 0) *lost = 0;
  }
  __device__ uint32_t rank() const { return rank_in_cluster; }
  __device__ uint32_t blocks() const { return blocks_of_cluster; }
  __device__ static void sync() { cluster_sync(); }
  // One thread: to all blocks, each at the same place of its memory.
  __device__ void tell(PartUnit* mine, const PartUnit& unit) const {
    for (uint32_t block = 0; block < blocks_of_cluster; ++block) {
      write_to_block(reinterpret_cast<uint4*>(mine), block,
                     uint4{unit.part, unit.first, unit.end, 0});
    }
  }
  __device__ bool has_room_for(uint32_t) const { return true; }
  // Before the rows of a part, when all blocks are done with those of the part before.
  __device__ __forceinline__ void start(uint32_t) {
    count_and_clear();
    sync();
  }
  __device__ __forceinline__ bool insert(uint32_t address, const uint32_t (&row)[kWords]) {
    Row packed;
    packed.x = row[0];
    packed.y = row[1];
    if constexpr (kWords > 2) packed.z = row[2];
    if constexpr (kWords > 2) packed.w = row[kWords - 1];
    write_to_block(own + (address >> address_shift), address & (blocks_of_cluster - 1), packed);
    ++put;
    return true;
  }
  // False: rows of the parts before met others at their places.
  __device__ __forceinline__ bool end_build() const {
    return rank_in_cluster != 0 || threadIdx.x != 0 || *lost == 0;
  }
  __device__ __forceinline__ bool lost_rows() {
    count_and_clear();
    sync();
    return !end_build();
  }
  template <int kItems>
  __device__ __forceinline__ void find(const uint32_t (&addresses)[kItems], bool (&found)[kItems],
                                       uint32_t (&rows)[kItems][kWords]) const {
    Row packed[kItems];
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (!found[i]) continue;
      packed[i] = read_of_block(own + (addresses[i] >> address_shift),
                                addresses[i] & (blocks_of_cluster - 1));
    }
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (!found[i]) continue;
      found[i] = !is_free(packed[i]);
      rows[i][0] = packed[i].x;
      rows[i][1] = packed[i].y;
      if constexpr (kWords > 2) rows[i][2] = packed[i].z;
      if constexpr (kWords > 3) rows[i][3] = packed[i].w;
    }
  }

 private:
  __device__ static Row free_place() {
    Row row = {};
    row.x = kFreePlace0;
    row.y = kFreePlace1;
    return row;
  }
  __device__ static bool is_free(const Row& row) {
    return row.x == kFreePlace0 && row.y == kFreePlace1;
  }
  __device__ __forceinline__ void count_and_clear() {
    for (uint32_t i = threadIdx.x; i < room; i += kPartThreads) {
      put -= static_cast<uint32_t>(!is_free(own[i]));
      own[i] = free_place();
    }
    put = __reduce_add_sync(0xffffffffU, put);
    if (threadIdx.x % 32 == 0 && put != 0) add_in_block(lost, 0, put);
    put = 0;
  }
};

}  // namespace gpujoin::kernels
