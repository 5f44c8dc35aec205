// marks.cuh: one bit a row of a side: whether it had a match
//
// In       rows[count]   numbers of rows that had one, in any order, any number of times; of
//                        mark_flagged each once, null: 0, 1, ...
//          flags[count]  of mark_flagged: a byte that is not 0 where rows[i] counts
//          kept          of mark: bit i % 32 of word i / 32 where rows[i] counts; null: all
// Out      words         bit r % 32 of word r / 32 set for each
//          lowest        of mark_rows_once: the lowest row that was marked already, or kNoRow
// Needs    words 0, or marks of rows before
// Launch   mark: ceil(count / kStreamTile) blocks of kStreamThreads; mark_in_shared: as many of
//          kSharedMarkThreads as there is room for; count: kRangeBlocksPerSm blocks for each
//          multiprocessor, or less; dependent
// Moves    mark: 4 a number (and a bit), + a random sector read, and written where a mark is new;
//          of rows that lie together one for all that a warp has of a word. mark_in_shared: 4 a
//          number (and a bit), and a bit a row for each block. mark_flagged: a byte a row, 4 and a
//          random sector where it counts. count: a bit a row
// Shared   mark_in_shared: a bit a row
//
// Rows with many matches come many times: one address takes 0.6e9 atomics a second, and a look
// first, which the cache answers, spares all but the first ones.
#pragma once

#include <cstdint>

#include "kernels/dependent_launch.cuh"
#include "kernels/host_answer.hpp"
#include "kernels/last_block.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

struct MarksState {
  unsigned long long marked;
  uint32_t finished;  // blocks
};

using MarksAnswer = HostAnswer<unsigned long long>;

// Whether a row is marked, or is not, for a selection.
struct IsMarked {
  const uint32_t* words;
  bool wanted;
  __device__ bool operator()(uint32_t row) const {
    return ((words[row / 32] >> (row % 32) & 1) != 0) == wanted;
  }
};

constexpr uint32_t kSharedMarkThreads = 1024;

// By whole warps; lanes without a row have kNoRow.
constexpr uint32_t kNoRow = ~0U;

// Numbers of a thread from `first` on, `apart` from each other; kNoRow of those that do not count.
__device__ __forceinline__ void read_numbers(const uint32_t* __restrict__ rows,
                                             const uint32_t* __restrict__ kept, uint64_t count,
                                             uint64_t first, uint32_t apart,
                                             uint32_t (&read)[kStreamItems]) {
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const at = first + item * apart;
    bool const counts = at < count && (kept == nullptr || (kept[at / 32] >> (at % 32) & 1) != 0);
    read[item] = counts ? __ldcs(&rows[at]) : kNoRow;
  }
}

__device__ __forceinline__ void mark_row(uint32_t* words, uint32_t row) {
  uint32_t const word = row / 32;
  uint32_t const bit = row == kNoRow ? 0 : 1U << (row % 32);
  unsigned const peers = __match_any_sync(0xffffffffU, word);
  uint32_t const bits = __reduce_or_sync(peers, bit);
  bool const is_first = __ffs(static_cast<int>(peers)) - 1 == static_cast<int>(threadIdx.x % 32);
  if (!is_first || bits == 0) return;
  if ((__ldcg(&words[word]) & bits) != bits) atomicOr(&words[word], bits);
}

__global__ void __launch_bounds__(kStreamThreads)
    mark_rows_kernel(const uint32_t* __restrict__ rows, const uint32_t* __restrict__ kept,
                     uint64_t count, uint32_t* words) {
  await_last_kernel();
  uint64_t const first = uint64_t{blockIdx.x} * kStreamTile + threadIdx.x;
  uint32_t read[kStreamItems];
  read_numbers(rows, kept, count, first, kStreamThreads, read);
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) mark_row(words, read[item]);
}

// The same of many numbers of few rows, which each block marks for itself first: L2, which has one
// bit for all blocks, is asked 40e9 times a second.
__global__ void __launch_bounds__(kSharedMarkThreads)
    mark_in_shared_kernel(const uint32_t* __restrict__ rows, const uint32_t* __restrict__ kept,
                          uint64_t count, uint32_t words_count, uint32_t* words) {
  extern __shared__ uint32_t marked[];
  constexpr uint64_t kTile = kSharedMarkThreads * kStreamItems;
  for (uint32_t i = threadIdx.x; i < words_count; i += kSharedMarkThreads) marked[i] = 0;
  __syncthreads();
  await_last_kernel();
#pragma unroll 1
  for (uint64_t tile = blockIdx.x * kTile; tile < count; tile += gridDim.x * kTile) {
    uint32_t read[kStreamItems];
    read_numbers(rows, kept, count, tile + threadIdx.x, kSharedMarkThreads, read);
#pragma unroll
    for (int item = 0; item < kStreamItems; ++item) {
      if (read[item] == kNoRow) continue;
      uint32_t const bit = 1U << (read[item] % 32);
      uint32_t* const word = &marked[read[item] / 32];
      if ((*word & bit) == 0) atomicOr(word, bit);
    }
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < words_count; i += kSharedMarkThreads) {
    uint32_t const bits = marked[i];
    if ((__ldcg(&words[i]) & bits) != bits) atomicOr(&words[i], bits);
  }
}

// The same where no row comes twice, so that none is looked for first.
__global__ void __launch_bounds__(kStreamThreads)
    mark_flagged_kernel(const uint32_t* __restrict__ rows, const uint8_t* __restrict__ flags,
                        uint64_t count, uint32_t* words) {
  await_last_kernel();
  uint64_t const first = uint64_t{blockIdx.x} * kStreamTile + threadIdx.x;
  bool counts[kStreamItems];
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const at = first + item * kStreamThreads;
    counts[item] = at < count && __ldcs(&flags[at]) != 0;
  }
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const at = first + item * kStreamThreads;
    if (rows == nullptr) {
      uint32_t const bits = __ballot_sync(0xffffffffU, counts[item]);
      if (threadIdx.x % 32 == 0 && bits != 0) atomicOr(&words[at / 32], bits);
    } else if (counts[item]) {
      uint32_t const row = __ldcs(&rows[at]);
      atomicOr(&words[row / 32], 1U << (row % 32));
    }
  }
}

// The same where a row may come once: `lowest` becomes the lowest that was marked already. An
// atomic for each row, whose answer is waited for.
__global__ void __launch_bounds__(kStreamThreads)
    mark_rows_once_kernel(const uint32_t* __restrict__ rows, uint64_t count, uint32_t* words,
                          uint32_t* lowest) {
  await_last_kernel();
  uint64_t const first = uint64_t{blockIdx.x} * kStreamTile + threadIdx.x;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const at = first + item * kStreamThreads;
    if (at >= count) continue;
    uint32_t const row = __ldcs(&rows[at]);
    uint32_t const bit = 1U << (row % 32);
    if ((atomicOr(&words[row / 32], bit) & bit) != 0) atomicMin(lowest, row);
  }
}

// The last block to come tells the host, which needs no copy then.
__global__ void __launch_bounds__(kStreamThreads)
    count_marks_kernel(const uint32_t* __restrict__ words, uint32_t count, MarksState* state,
                       MarksAnswer* answer) {
  await_last_kernel();
  __shared__ uint32_t of_block;
  if (threadIdx.x == 0) of_block = 0;
  __syncthreads();
  uint32_t marked = 0;
  uint32_t const stride = gridDim.x * kStreamThreads;
#pragma unroll 4
  for (uint64_t i = blockIdx.x * uint64_t{kStreamThreads} + threadIdx.x; i < count; i += stride) {
    marked += __popc(words[i]);
  }
  marked = __reduce_add_sync(0xffffffffU, marked);
  if (threadIdx.x % 32 == 0) atomicAdd(&of_block, marked);
  __syncthreads();
  if (threadIdx.x != 0) return;
  atomicAdd(&state->marked, static_cast<unsigned long long>(of_block));
  if (!comes_last(&state->finished)) return;
  answer->content = static_cast<volatile MarksState*>(state)->marked;
  *state = {};
  give_answer(answer);
}

}  // namespace gpujoin::kernels
