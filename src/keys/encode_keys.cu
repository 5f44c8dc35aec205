#include "src/keys/encode_keys.hpp"

#include "kernels/keys/decode_key.cuh"
#include "kernels/keys/encode_keys.cuh"
#include "src/base/launch.hpp"

namespace gpujoin::keys {

namespace {

template <typename Code, bool kHashed>
void launch_encode(base::Queue& queue, const kernels::EncodedColumns& from, uint32_t rows,
                   bool mixed, void* codes) {
  base::launch_dependent(queue, kernels::encode_keys_kernel<Code, kHashed>,
                         base::grid_of(rows, kernels::kEncodeTile<kHashed>),
                         kernels::kStreamThreads, 0, "encoding keys", from, rows, mixed,
                         static_cast<Code*>(codes));
}

}  // namespace

void encode(base::Queue& queue, const kernels::EncodedColumns& from, uint32_t rows, bool mixed,
            void* codes) {
  if (rows == 0) return;
  auto const launch = from.hashed            ? launch_encode<uint64_t, true>
                      : from.code_width == 4 ? launch_encode<uint32_t, false>
                                             : launch_encode<uint64_t, false>;
  launch(queue, from, rows, mixed, codes);
}

void decode(base::Queue& queue, const KeyEncoding& encoding, size_t c, const void* codes,
            const uint32_t* positions, uint64_t count, bool mixed, void* target) {
  if (c >= encoding.fields.size()) {
    base::fail(GPUJOIN_ERROR_INTERNAL, "key column %zu of a code of %zu", c,
               encoding.fields.size());
  }
  if (count == 0) return;
  kernels::EncodedColumn const column = encoded_column(encoding.fields[c]);
  base::with_key_type(encoding.width, [&](auto code) {
    base::with_key_type(column.width, [&](auto value) {
      using Code = decltype(code);
      using Value = decltype(value);
      base::launch_dependent(queue, kernels::decode_key_kernel<Code, Value>,
                             base::grid_of(count, kernels::kStreamTile), kernels::kStreamThreads, 0,
                             "decoding keys", static_cast<const Code*>(codes), positions, count,
                             mixed, column, static_cast<Value*>(target));
    });
  });
}

}  // namespace gpujoin::keys
