// tasks.hpp: what is done to every row, on the host by a loop and on the device by a kernel
//
// A task is called as task(row, sums); what it adds to sums is summed over all rows.
//
// How a join is checked. Each row l of R has a weight w(l) and each row r of S a hash b(r), both
// made of what the output shows of the row. Over the rows that a join must put out,
//     sum of w(l) * b(r)  =  sum over r of b(r) * W[key of r],   W[k] = sum of w(l) with key k,
// modulo 2^64. The right side needs no join: one array of counts and one of weights, addressed by
// the number of the key. A missing, doubled or wrongly paired row changes the left side.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <variant>

#include "bench/workload.hpp"

namespace gpujoin::bench {

struct Sums {
  uint64_t rows = 0;    // of output
  uint64_t hash = 0;    // of w * b
  uint64_t errors = 0;  // output rows that are wrong by themselves
  GPUJOIN_BENCH_BOTH void add(const Sums& other) {
    rows += other.rows;
    hash += other.hash;
    errors += other.errors;
  }
};

// Adds to a place that other threads add to.
template <class Number>
GPUJOIN_BENCH_BOTH void add_shared(Number* sum, Number value) {
#ifdef __CUDA_ARCH__
  atomicAdd(sum, value);
#else
  std::atomic_ref<Number>(*sum).fetch_add(value, std::memory_order_relaxed);
#endif
}

// Fixed-width values, the low bytes first; the second half of 16 bytes is the mixed first.
struct Values {
  void* data = nullptr;
  int bytes = 4;

  template <class Number>
  GPUJOIN_BENCH_BOTH Number& as(uint64_t at) const {
    return static_cast<Number*>(data)[at];
  }
  GPUJOIN_BENCH_BOTH void store(uint64_t row, uint64_t value) const {
    switch (bytes) {
      case 1:
        as<uint8_t>(row) = static_cast<uint8_t>(value);
        break;
      case 2:
        as<uint16_t>(row) = static_cast<uint16_t>(value);
        break;
      case 4:
        as<uint32_t>(row) = static_cast<uint32_t>(value);
        break;
      case 8:
        as<uint64_t>(row) = value;
        break;
      default:
        as<uint64_t>(2 * row) = value;
        as<uint64_t>(2 * row + 1) = mix(value);
    }
  }
  GPUJOIN_BENCH_BOTH uint64_t load(uint64_t row) const {
    switch (bytes) {
      case 1:
        return as<uint8_t>(row);
      case 2:
        return as<uint16_t>(row);
      case 4:
        return as<uint32_t>(row);
      case 8:
        return as<uint64_t>(row);
      default:
        return as<uint64_t>(2 * row);
    }
  }
  // Whether the row holds just this value.
  GPUJOIN_BENCH_BOTH bool holds(uint64_t row, uint64_t value) const {
    if (bytes == 16)
      return as<uint64_t>(2 * row) == value && as<uint64_t>(2 * row + 1) == mix(value);
    const uint64_t mask = bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * bytes)) - 1;
    return load(row) == (value & mask);
  }
};

// The columns of one side, or of it in the output.
struct Columns {
  Values key;
  uint32_t* key_bits = nullptr;  // a bit for each row whose key is not NULL; null: none is
  int more_key_count = 0;
  Values more_keys[kMaxKeys - 1];
  int payload_count = 0;
  Values payloads[kMaxPayloads];
};

GPUJOIN_BENCH_BOTH inline bool has_key(const Columns& columns, uint64_t row) {
  return columns.key_bits == nullptr || (columns.key_bits[row / 32] >> row % 32 & 1) != 0;
}
// Of bits that are 0. What lies beneath a NULL is a key like any other.
GPUJOIN_BENCH_BOTH inline void fill_key_bit(const Columns& columns, uint64_t row, bool is_null) {
  if (columns.key_bits == nullptr || is_null) return;
  add_shared(&columns.key_bits[row / 32], uint32_t{1} << row % 32);
}

// w of a row of R in column output: made of its payloads' lowest bytes.
GPUJOIN_BENCH_BOTH inline uint64_t build_weight(const Columns& build, uint64_t row) {
  uint64_t low_bytes = 0;
  for (int column = 0; column < build.payload_count; ++column) {
    low_bytes |= (build.payloads[column].load(row) & 0xff) << (8 * column);
  }
  return mix(low_bytes);
}

// b of a row of S in column output: made of its key and all of its payloads.
GPUJOIN_BENCH_BOTH inline uint64_t probe_hash(const Columns& probe, uint64_t row) {
  uint64_t hash = mix(probe.key.load(row));
  for (int column = 0; column < probe.payload_count; ++column) {
    const Values& values = probe.payloads[column];
    hash = mix(hash ^ values.load(row));
    if (values.bytes == 16) hash = mix(hash ^ values.as<uint64_t>(2 * row + 1));
  }
  return hash;
}

// w and b in pair output: made of the row numbers.
GPUJOIN_BENCH_BOTH inline uint64_t build_row_weight(uint64_t row) { return mix(row); }
GPUJOIN_BENCH_BOTH inline uint64_t probe_row_hash(uint64_t row) { return mix(~row); }

struct FillBuild {
  Workload workload;
  Columns build;
  GPUJOIN_BENCH_BOTH void operator()(uint64_t row, Sums&) const {
    const uint64_t key = workload.key_of(workload.build_index(row));
    build.key.store(row, key);
    fill_key_bit(build, row, workload.is_null(row, Workload::kBuildSeed));
    for (int i = 0; i < build.more_key_count; ++i) build.more_keys[i].store(row, more_key(key, i));
    for (int column = 0; column < build.payload_count; ++column) {
      build.payloads[column].store(row, build_payload(key, column, build_low_byte(row, column)));
    }
  }
};

struct FillProbe {
  Workload workload;
  Columns probe;
  GPUJOIN_BENCH_BOTH void operator()(uint64_t row, Sums&) const {
    const uint64_t key = workload.key_of(workload.probe_index(row));
    probe.key.store(row, key);
    fill_key_bit(probe, row, workload.is_null(row, Workload::kProbeSeed));
    for (int i = 0; i < probe.more_key_count; ++i) probe.more_keys[i].store(row, more_key(key, i));
    for (int column = 0; column < probe.payload_count; ++column) {
      probe.payloads[column].store(row, probe_payload(row, column));
    }
  }
};

// counts[index] and weights[index] of R's rows, from the data as it lies in memory.
struct CountBuild {
  Workload workload;
  Columns build;
  bool is_pairs;
  uint32_t* counts;
  uint64_t* weights;
  GPUJOIN_BENCH_BOTH void operator()(uint64_t row, Sums& sums) const {
    const uint64_t index = workload.index_of(build.key.load(row));
    sums.rows += 1;
    if (index >= 2 * workload.distinct) sums.errors += 1;  // no key of this workload
    if (index >= workload.distinct || !has_key(build, row)) return;
    add_shared(&counts[index], uint32_t{1});
    using Sum = unsigned long long;  // the 64-bit type of CUDA's atomics
    static_assert(sizeof(Sum) == sizeof(uint64_t));
    const uint64_t weight = is_pairs ? build_row_weight(row) : build_weight(build, row);
    add_shared(reinterpret_cast<Sum*>(&weights[index]), Sum{weight});
  }
};

// What the join must sum up to.
struct ExpectProbe {
  Workload workload;
  Columns probe;
  bool is_pairs;
  const uint32_t* counts;
  const uint64_t* weights;
  GPUJOIN_BENCH_BOTH void operator()(uint64_t row, Sums& sums) const {
    const uint64_t index = workload.index_of(probe.key.load(row));
    if (index >= workload.distinct) {
      sums.errors += 1;
      return;
    }
    if (!has_key(probe, row)) return;
    sums.rows += counts[index];
    sums.hash += weights[index] * (is_pairs ? probe_row_hash(row) : probe_hash(probe, row));
  }
};

// Output columns: R's payloads, S's keys and payloads.
struct CheckColumns {
  Workload workload;
  Columns build;  // without the keys
  Columns probe;
  GPUJOIN_BENCH_BOTH void operator()(uint64_t row, Sums& sums) const {
    const uint64_t key = probe.key.load(row);
    bool is_right = workload.index_of(key) < workload.distinct;
    for (int i = 0; i < probe.more_key_count; ++i) {
      is_right &= probe.more_keys[i].holds(row, more_key(key, i));
    }
    for (int column = 0; column < build.payload_count; ++column) {
      const Values& values = build.payloads[column];
      is_right &= values.holds(row, build_payload(key, column, values.load(row)));
    }
    sums.rows += 1;
    sums.hash += build_weight(build, row) * probe_hash(probe, row);
    sums.errors += is_right ? 0 : 1;
  }
};

// Output pairs: the keys behind both row numbers must be equal.
struct CheckPairs {
  Values build_key, probe_key;
  uint64_t build_rows, probe_rows;
  const uint32_t* left;
  const uint32_t* right;
  GPUJOIN_BENCH_BOTH void operator()(uint64_t row, Sums& sums) const {
    const bool is_inside = left[row] < build_rows && right[row] < probe_rows;
    const bool is_right = is_inside && build_key.load(left[row]) == probe_key.load(right[row]);
    sums.rows += 1;
    sums.hash += build_row_weight(left[row]) * probe_row_hash(right[row]);
    sums.errors += is_right ? 0 : 1;
  }
};

// A sequence of joins: a fact table with a foreign key for each dimension, and an id, which is the
// row's number. Any row of the output can be made again from its id.
inline constexpr int kMostJoins = 8;

struct Sequence {
  uint64_t fact_rows = 0;
  uint64_t dimension_rows = 0;
  GPUJOIN_BENCH_BOTH uint64_t foreign_key(uint64_t row, int join) const {
    return scale_to(mix(row ^ mix(static_cast<uint64_t>(join) + 1)), dimension_rows);
  }
};

GPUJOIN_BENCH_BOTH inline uint64_t dimension_payload(uint64_t key, int join) {
  return mix(key + (static_cast<uint64_t>(join + 1) << 40));
}

struct FillFact {
  Sequence sequence;
  int joins;
  Values id;
  Values foreign_keys[kMostJoins];
  GPUJOIN_BENCH_BOTH void operator()(uint64_t row, Sums& sums) const {
    sums.hash += mix(row);
    id.store(row, row);
    for (int join = 0; join < joins; ++join) {
      foreign_keys[join].store(row, sequence.foreign_key(row, join));
    }
  }
};

struct FillDimension {
  Permutation order;  // of the keys
  int join;
  Values key, payload;
  GPUJOIN_BENCH_BOTH void operator()(uint64_t row, Sums&) const {
    const uint64_t value = order.at(row);
    key.store(row, value);
    payload.store(row, dimension_payload(value, join));
  }
};

// Output columns: the fact table's id and a payload of each dimension. The sum of the ids' hashes
// is FillFact's, or a row of the fact table is missing or there twice.
struct CheckSequence {
  Sequence sequence;
  int joins;
  Values id;
  Values payloads[kMostJoins];
  GPUJOIN_BENCH_BOTH void operator()(uint64_t row, Sums& sums) const {
    const uint64_t fact = id.load(row);
    bool is_right = fact < sequence.fact_rows;
    for (int join = 0; join < joins; ++join) {
      const uint64_t key = sequence.foreign_key(fact, join);
      is_right &= payloads[join].holds(row, dimension_payload(key, join));
    }
    sums.rows += 1;
    sums.hash += mix(fact);
    sums.errors += is_right ? 0 : 1;
  }
};

using Task = std::variant<FillBuild, FillProbe, CountBuild, ExpectProbe, CheckColumns, CheckPairs,
                          FillFact, FillDimension, CheckSequence>;

}  // namespace gpujoin::bench
