// encode_keys.hpp: key columns become codes on the device, and codes key columns.
#pragma once

#include <cstdint>

#include "src/keys/encoding.hpp"

namespace gpujoin::keys {

// codes[rows], of the rows that `from` names. Queued on the stream.
void encode(base::Queue& queue, const kernels::EncodedColumns& from, uint32_t rows, bool mixed,
            void* codes);

// Values of key column c, from codes that may be mixed: target[i] is that of codes[positions[i]],
// or without positions of codes[i]. Then target may be `codes`, where a value is as wide as a code.
// expected: a packed encoding. Queued on the stream.
void decode(base::Queue& queue, const KeyEncoding& encoding, size_t c, const void* codes,
            const uint32_t* positions, uint64_t count, bool mixed, void* target);

}  // namespace gpujoin::keys
