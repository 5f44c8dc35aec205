// carried_columns.hpp: what the join that writes columns is given, as host and device both see it.
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

enum class CarriedFrom : int32_t { kBuild, kProbe, kKey };

struct CarriedColumn {
  const void* source;  // unused of kKey
  void* target;
  int32_t width;
  CarriedFrom from;
};

struct CarriedCounters {
  unsigned long long chunks;  // given out, those beyond the capacity included
  unsigned long long tails;   // chunks that their block left partly filled
  unsigned long long holes;   // places left empty in them
  unsigned long long missed;  // rows that were counted only, for want of places
};

template <typename KeyType>
struct CarriedJoin {
  using Key = KeyType;
  const Key* build_keys;
  const Key* probe_keys;
  const uint32_t* build_offsets;  // [partitions + 1]
  const uint32_t* probe_offsets;  // [partitions + 1]
  int32_t radix_bits;
  uint32_t partitions;
  const unsigned long long* unit_ends;  // [partitions] inclusive sum of the work units of each
  CarriedCounters* counters;
  unsigned long long* tails;  // [gridDim.x] first empty place of each block's last chunk
  uint64_t
      capacity;  // places, a multiple of kCarriedChunk; chunks beyond are counted and not written
  int32_t column_count;
  CarriedColumn columns[kCarriedColumns];
};

}  // namespace gpujoin::kernels
