// transform.hpp: the transform stage: keys, and payloads where the plan says so, in the order that
// the match wants.
//
// Three index spaces: *original* rows are the caller's; *prepared* rows leave NULL keys out;
// *transformed* positions are what partitioning or sorting made of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/bytes_column.hpp"
#include "kernels/keys/encoded_columns.hpp"
#include "kernels/keys/valid_rows.hpp"
#include "kernels/match/partition_view.hpp"
#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/columns/device_column.hpp"
#include "src/keys/encoding.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::transform {

// The key bits that order the transformed side: the low bits of mixed keys for a partition, the
// varying bits for a sort.
struct KeyBits {
  int32_t begin = 0;
  int32_t end = 0;
};

// One side's keys without NULLs, mixed for a radix partition that does not mix them itself.
struct PreparedKeys {
  uint32_t rows = 0;
  int32_t key_width = 0;
  bool mixed = false;
  const void* keys = nullptr;             // [rows], prepared order
  const uint32_t* source_rows = nullptr;  // [rows] original row of each; null: the identity
  base::Buffer keys_copy;
  base::Buffer source_rows_copy;
  // Of keys that are still columns: `keys` is null. radix_unordered encodes them as it counts them,
  // each time it is called; nothing else takes them.
  std::optional<kernels::EncodedColumns> pending;
  // Of keys with NULLs whose rows are all here: a bit for each row that takes part. radix_unordered
  // and move_to_parts leave the others out as they move them, a join of few rows in one launch as
  // it reads them; nothing else takes such keys. No bits: all do.
  kernels::ValidityBits present;
  base::Buffer present_copy;
  // uint32, of an assumed encoding: not 0 once they are encoded where a value lay outside.
  base::Buffer keys_outside;
  // Columns that a filter is to move along with the keys that it keeps: once it has, prepare_values
  // finds their values here. along_room: kept rows for which there is room; of more they are left.
  struct Along {
    const void* data = nullptr;  // [original rows], without NULLs
    int32_t width = 0;           // 4 or 8
    base::Buffer kept;           // [rows] values
  };
  std::vector<Along> along;
  uint64_t along_room = 0;
};

// Drops NULL keys (waits for the stream once when the key has validity) and mixes keys when
// `mixed`.
PreparedKeys prepare_keys(base::Queue& queue, const columns::DeviceColumn& key, int64_t rows,
                          bool mixed);

// Codes of the rows of which no key is NULL, mixed when `mixed`. Of a plain encoding the one column
// as above. (Waits for the stream once when a key has validity.)
PreparedKeys encode_keys(base::Queue& queue, std::span<const columns::DeviceColumn> keys,
                         int64_t rows, const keys::KeyEncoding& encoding, bool mixed);
// The same for one call of radix_unordered, which encodes them: nothing is written yet.
PreparedKeys encode_later(base::Queue& queue, std::span<const columns::DeviceColumn> keys,
                          int64_t rows, const keys::KeyEncoding& encoding);
// A bit for each row, words from the first row on, bits behind the last one 0.
base::Buffer bits_of_rows(base::Queue& queue, const kernels::ValidRows& are_valid, uint32_t rows);
// As both, for one call of radix_unordered, for move_to_parts or for one launch of few rows, which
// leave NULL keys out by their bits: rows are all rows. encoding: null: the one column as it is.
PreparedKeys prepare_in_place(base::Queue& queue, std::span<const columns::DeviceColumn> keys,
                              int64_t rows, const keys::KeyEncoding* encoding);
// Whether a value of either side lay outside of its field: then codes do not tell keys apart, and
// what was made of them is worth nothing. Waits for the stream where an encoding was assumed.
bool lie_outside(base::Queue& queue, const PreparedKeys& left, const PreparedKeys& right);

// The rows of which no key is NULL (waits for the stream once when a key has validity). Keys stay
// in their columns: only rows and source_rows are set.
PreparedKeys prepare_key_rows(base::Queue& queue, std::span<const columns::DeviceColumn> keys,
                              int64_t rows);

// The bits in which any two keys of either side differ. Waits for the stream.
KeyBits varying_bits(base::Queue& queue, const PreparedKeys& left, const PreparedKeys& right);

// A prepared column: values in prepared order. `column` itself when no row was dropped.
struct PreparedColumn {
  const void* data = nullptr;
  int32_t width = 0;
  base::Buffer copy;
  // Of values with a stand-in: rows without a bit shall get it. radix_unordered puts it as it moves
  // the column; nothing else takes such columns.
  kernels::ValidityBits validity;
  uint64_t stand_in = 0;
  uint32_t* seen = nullptr;
  // Of words that columns of 1 and 2 bytes travel in: those columns, the first in the lowest bits.
  // radix_unordered packs them as it moves them; nothing else takes such columns.
  std::vector<PreparedColumn> parts;
};
PreparedColumn prepare_values(base::Queue& queue, const PreparedKeys& keys,
                              const columns::DeviceColumn& column);
// The same for one call of radix_unordered, with a value in the place of NULLs. seen: a word of the
// device, 0; seen_nulls tells after that call what it says.
PreparedColumn prepare_nullable(base::Queue& queue, const PreparedKeys& keys,
                                const columns::DeviceColumn& column, uint64_t stand_in,
                                uint32_t* seen);
// The column's validity as one byte a row.
PreparedColumn prepare_validity(base::Queue& queue, const PreparedKeys& keys,
                                const columns::DeviceColumn& column);
// The original row number of each prepared row.
PreparedColumn prepare_row_ids(base::Queue& queue, const PreparedKeys& keys);

// How the transformed order comes about: the technique, the key bits that it goes by, and of a
// partitioning in passes how many.
struct Order {
  plan::Transform technique = plan::Transform::kNone;
  KeyBits bits;
  int32_t passes = 1;
};

// Keys and one column in transformed order. Where plan::why_illegal allows gather=transformed, the
// same keys give the same order with any column.
struct Transformed {
  base::Buffer keys;    // [places] keys; empty when they were not wanted
  base::Buffer values;  // [places] values
  // Of bucket chains, whose places are more than rows; empty for the others.
  base::Buffer buckets;
  base::Buffer bucket_offsets;
  base::Buffer
      offsets;  // [2^bits + 1] uint32: rows before each partition; empty: to be found in the keys
  int32_t bucket_bits = 0;
};
Transformed order_by_key(base::Queue& queue, const PreparedKeys& keys, const PreparedColumn& column,
                         const Order& order);
// The original row numbers as the column that order_by_key moves. Bucket chains and the unordered
// partitioning number rows that were all kept as they read them: nothing is written, and data stays
// null.
PreparedColumn row_ids_to_order(base::Queue& queue, const PreparedKeys& keys, const Order& order);

// First position of each of 2^bits partitions, and the end: [2^bits + 1] uint32. Of keys whose
// partitions are contiguous.
base::Buffer partition_offsets(base::Queue& queue, const void* transformed_keys, int32_t key_width,
                               uint32_t rows, int32_t radix_bits);

}  // namespace gpujoin::transform
