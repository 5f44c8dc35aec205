// key_hash.hpp: a hash of rows' keys by their values, the same for keys that compare equal whatever
// the types of either side's columns are: INT32 5, UINT8 5 and DECIMAL 5.00 hash alike, for one
// side is hashed before the other one's types are known.
//
// Who does not know the seed cannot choose keys that share hashes; with another seed the hashes say
// nothing of these, so rows that share a hash's bits can be told apart by another one's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kernels/keys/value_hash.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::pieces {

// Of rows `first` to `first + count`, whose keys are columns `keys`, compared by `key_flags`
// (empty: 0). has_null: 1 of a row with a NULL in a key without NULL_EQUAL, which equals no other,
// and 0 of the others. Any thread; allocates nothing.
//
// expected: columns in host memory, of kValues, kWide, kBits, kText or kNulls.
void hash_keys(const columns::Relation& rows, std::span<const int32_t> keys,
               std::span<const int32_t> key_flags, int64_t first, int64_t count, uint64_t seed,
               uint64_t* hashes, uint8_t* has_null);

// How the device hashes key number i, of such columns; their data and validity are the caller's to
// name. None: it cannot.
std::optional<kernels::HashedColumn> hashed_column(const columns::ColumnView& key, int32_t flags,
                                                   uint64_t seed, size_t i);

}  // namespace gpujoin::pieces
