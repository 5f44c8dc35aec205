// add_rows.cuh: output rows of a join added to the states of their groups, by row numbers
//
// Source   ours; group-join as Moerkotte & Neumann have it (VLDB 2011), where groups are rows of
//          one side and states an array
// In       state.rows[rows], the column's row of each output row, or null: the same one, of a
//          column that the match wrote; groups[rows], or null
// Out      state.values: sums of several words take a carry from word to word, each added
//          atomically: whichever comes first, the total is the same
// Needs    state.values as first_byte_of says, or rows added before
// Launch   kAddBlocksPerSm blocks of kStreamThreads for each multiprocessor, or less; dependent
// Moves    4 bytes an output row and 4 of its group, a random sector of the column (of one that the
//          match wrote its width alone) and one of the state, read and written; of one group none
#pragma once

#include <cstdint>

#include "kernels/aggregate/states.hpp"
#include "kernels/dependent_launch.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

constexpr unsigned kAddBlocksPerSm = 8;

// What a row, or rows of one group together, add to a state.
template <int kWords>
struct Addend {
  uint64_t words[kWords];
};

template <int kWords>
__device__ __forceinline__ void add_to(Addend<kWords>& sum, const Addend<kWords>& value) {
  uint64_t carry = 0;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    uint64_t const with_carry = value.words[i] + carry;
    carry = carry != 0 && with_carry == 0 ? 1 : 0;
    sum.words[i] += with_carry;
    carry |= static_cast<uint64_t>(sum.words[i] < with_carry);
  }
}

__device__ __forceinline__ unsigned long long* as_atomic(uint64_t* word) {
  return reinterpret_cast<unsigned long long*>(word);
}

template <int kWords>
__device__ __forceinline__ void add_words(uint64_t* sum, const Addend<kWords>& value) {
  uint64_t carry = 0;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    uint64_t const with_carry = value.words[i] + carry;
    carry = carry != 0 && with_carry == 0 ? 1 : 0;
    if (with_carry == 0) continue;
    uint64_t const before = atomicAdd(as_atomic(&sum[i]), with_carry);
    carry |= static_cast<uint64_t>(before + with_carry < before);
  }
}

__device__ __forceinline__ uint64_t better_row(const GroupState& state, uint64_t before,
                                               uint64_t row) {
  if (before == kNoGroupRow) return row;
  if (row == kNoGroupRow || state.kind == StateKind::kAnyRow) return before;
  int const order = compare_rows(state.ordered, row, before);
  return (state.kind == StateKind::kLeastRow ? order < 0 : order > 0) ? row : before;
}

// How a state takes what is added: into a thread's own, and into the group's in memory.
template <StateKind kKind, int kWords>
struct StateOps {
  using Of = Addend<kWords>;

  __device__ static Of nothing() {
    Of none;
#pragma unroll
    for (uint64_t& word : none.words) word = first_byte_of(kKind) == 0 ? 0 : ~uint64_t{0};
    return none;
  }
  __device__ static Of of_row(const GroupState& state, uint64_t row) {
    Of value = nothing();
    if constexpr (kKind == StateKind::kRows) {
      value.words[0] = 1;
    } else if constexpr (keeps_row(kKind)) {
      value.words[0] = row;
    } else {
      auto const width = static_cast<uint64_t>(state.numbers.width);
      const uint8_t* const from = state.numbers.values + row * width;
      if constexpr (kKind == StateKind::kSum && kWords > 2) {
        memcpy(value.words, from, width);
        uint64_t const sign =
            static_cast<int64_t>(value.words[width / 8 - 1]) < 0 ? ~uint64_t{0} : 0;
        for (int i = static_cast<int>(width / 8); i < kWords; ++i) value.words[i] = sign;
      } else {
        uint64_t const word = loaded_word(from, state.numbers);
        value.words[0] = word;
        if constexpr (kKind == StateKind::kSum) {
          bool const is_negative =
              state.numbers.form == NumberForm::kSigned && static_cast<int64_t>(word) < 0;
          value.words[1] = is_negative ? ~uint64_t{0} : 0;
        } else if constexpr (kKind == StateKind::kFloatSum) {
          value.words[0] = bits_of_double(double_of(word, state.numbers.width));
        } else {
          value.words[0] = ordinal_of(word, state.numbers.width, state.numbers.form);
        }
      }
    }
    return value;
  }
  __device__ static void combine(const GroupState& state, Of& own, const Of& other) {
    if constexpr (kKind == StateKind::kRows || kKind == StateKind::kSum) {
      add_to(own, other);
    } else if constexpr (kKind == StateKind::kFloatSum) {
      own.words[0] = bits_of_double(double_of_bits(own.words[0]) + double_of_bits(other.words[0]));
    } else if constexpr (kKind == StateKind::kLeast) {
      own.words[0] = own.words[0] < other.words[0] ? own.words[0] : other.words[0];
    } else if constexpr (kKind == StateKind::kGreatest) {
      own.words[0] = own.words[0] > other.words[0] ? own.words[0] : other.words[0];
    } else {
      own.words[0] = better_row(state, own.words[0], other.words[0]);
    }
  }
  __device__ static void put(const GroupState& state, uint64_t group, const Of& value) {
    uint64_t* const to = state.values + group * static_cast<uint64_t>(state.words);
    if constexpr (kKind == StateKind::kRows || kKind == StateKind::kSum) {
      // A sum of fewer words than these has their sign in the others.
      if constexpr (kWords > 2) {
        if (state.words == 3) {
          return add_words(to, Addend<3>{value.words[0], value.words[1], value.words[2]});
        }
      }
      add_words(to, value);
    } else if constexpr (kKind == StateKind::kFloatSum) {
      atomicAdd(reinterpret_cast<double*>(to), double_of_bits(value.words[0]));
    } else if constexpr (kKind == StateKind::kLeast) {
      if (value.words[0] < __ldcg(to)) atomicMin(as_atomic(to), value.words[0]);
    } else if constexpr (kKind == StateKind::kGreatest) {
      if (value.words[0] > __ldcg(to)) atomicMax(as_atomic(to), value.words[0]);
    } else {
      uint64_t before = __ldcg(to);
      for (uint64_t after = better_row(state, before, value.words[0]); after != before;
           after = better_row(state, before, value.words[0])) {
        uint64_t const found = atomicCAS(as_atomic(to), before, after);
        if (found == before) break;
        before = found;
      }
    }
  }

 private:
  // Columns are aligned to their width.
  __device__ static uint64_t loaded_word(const uint8_t* from, const Numbers& numbers) {
    bool const is_signed = numbers.form == NumberForm::kSigned;
    switch (numbers.width) {
      case 1:
        return is_signed ? static_cast<uint64_t>(int64_t{static_cast<int8_t>(*from)}) : *from;
      case 2: {
        auto const value = *reinterpret_cast<const uint16_t*>(from);
        return is_signed ? static_cast<uint64_t>(int64_t{static_cast<int16_t>(value)}) : value;
      }
      case 4: {
        auto const value = *reinterpret_cast<const uint32_t*>(from);
        return is_signed ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)}) : value;
      }
      default:
        return *reinterpret_cast<const uint64_t*>(from);
    }
  }
};

template <int kWords>
__device__ __forceinline__ Addend<kWords> shuffled_down(const Addend<kWords>& value, int lanes) {
  Addend<kWords> other;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    other.words[i] = __shfl_down_sync(0xffffffffU, value.words[i], lanes);
  }
  return other;
}

template <StateKind kKind, int kWords, bool kGrouped>
__global__ void __launch_bounds__(kStreamThreads)
    add_rows_kernel(const __grid_constant__ GroupState state, const uint32_t* __restrict__ groups,
                    uint64_t rows) {
  await_last_kernel();
  using Ops = StateOps<kKind, kWords>;
  auto own = Ops::nothing();
  uint64_t const stride = uint64_t{gridDim.x} * kStreamThreads;
  for (uint64_t at = uint64_t{blockIdx.x} * kStreamThreads + threadIdx.x; at < rows; at += stride) {
    uint64_t row = at;
    if (state.rows != nullptr) {
      uint32_t const number = __ldcs(&state.rows[at]);
      if (number == kNoAddedRow) continue;
      row = number;
    }
    if (!is_valid(state.validity, row)) continue;
    auto const value = Ops::of_row(state, row);
    if constexpr (kGrouped) {
      Ops::put(state, __ldcs(&groups[at]), value);
    } else {
      Ops::combine(state, own, value);
    }
  }
  if constexpr (!kGrouped) {
    for (int lanes = 16; lanes != 0; lanes /= 2) {
      Ops::combine(state, own, shuffled_down(own, lanes));
    }
    if (threadIdx.x % 32 == 0) Ops::put(state, 0, own);
  }
}

}  // namespace gpujoin::kernels
