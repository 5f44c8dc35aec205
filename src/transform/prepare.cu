// prepare.cu: host side of key preparation: NULL keys out, keys mixed, columns brought to prepared
// order.
#include <thrust/iterator/counting_iterator.h>
#include <cub/device/device_select.cuh>

#include <algorithm>

#include "kernels/transform/expand_validity.cuh"
#include "kernels/transform/partition_offsets.cuh"
#include "kernels/transform/prepare_rows.cuh"
#include "kernels/transform/put_stand_in.cuh"
#include "kernels/transform/valid_bits.cuh"
#include "kernels/transform/varying_bits.cuh"
#include "kernels/value_type.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/keys/encode_keys.hpp"
#include "src/keys/valid_rows.hpp"
#include "src/transform/transform.hpp"

namespace gpujoin::transform {

namespace {

using base::check;
using base::grid_of;
using base::Memory;
using base::stream_of;
using base::with_key_type;

// Rows of which no key is NULL, ascending, through CUB's select; nothing when those are all.
void select_valid_rows(base::Queue& queue, std::span<const columns::DeviceColumn> keys,
                       PreparedKeys* prepared) {
  uint32_t const rows = prepared->rows;
  kernels::ValidRows const are_valid = keys::valid_rows(keys);
  if (rows == 0 || are_valid.count == 0) return;
  prepared->source_rows_copy = queue.device_pool->allocate_rows<uint32_t>(
      Memory::kDevice, rows, "row numbers of valid keys");
  auto* selected = prepared->source_rows_copy.as<uint32_t>();
  auto* count = queue.device->counters.as<uint32_t>();
  thrust::counting_iterator<uint32_t> const all_rows(0);
  size_t bytes = 0;
  check(cub::DeviceSelect::If(nullptr, bytes, all_rows, selected, count, rows, are_valid,
                              stream_of(queue)),
        "sizing the selection of valid keys");
  base::Buffer const storage =
      queue.device_pool->allocate(Memory::kDevice, bytes, "selection storage");
  check(cub::DeviceSelect::If(storage.data(), bytes, all_rows, selected, count, rows, are_valid,
                              stream_of(queue)),
        "selecting valid keys");
  prepared->rows = base::read_back(queue, static_cast<const uint32_t*>(count));
  prepared->source_rows = selected;
  // Every key valid: the selection would only cost the other stages.
  if (prepared->rows == rows) {
    prepared->source_rows = nullptr;
    prepared->source_rows_copy = {};
  }
}

template <typename Value, bool Mixed>
void launch_prepare(base::Queue& queue, const void* column, const uint32_t* source_rows,
                    uint32_t rows, void* prepared, uint32_t* row_ids) {
  if (rows == 0) return;
  kernels::prepare_rows_kernel<Value, Mixed>
      <<<grid_of(rows, kernels::kStreamTile), kernels::kStreamThreads, 0, stream_of(queue)>>>(
          static_cast<const Value*>(column), source_rows, rows, static_cast<Value*>(prepared),
          row_ids);
  check(cudaGetLastError(), "preparing a column");
}

// Codes for whoever reads the keys next.
void encode_when_read(base::Queue& queue, std::span<const columns::DeviceColumn> keys,
                      const keys::KeyEncoding& encoding, PreparedKeys* prepared) {
  prepared->key_width = encoding.width;
  prepared->pending = keys::encoded_columns(encoding, keys);
  prepared->pending->row_numbers = prepared->source_rows;
  if (!encoding.assumed) return;
  prepared->keys_outside =
      queue.device_pool->allocate_rows<uint32_t>(Memory::kDevice, 1, "whether keys lie outside");
  prepared->pending->outside = prepared->keys_outside.as<uint32_t>();
  check(cudaMemsetAsync(prepared->keys_outside.data(), 0, sizeof(uint32_t), stream_of(queue)),
        "starting the flag of keys outside");
}

}  // namespace

PreparedKeys prepare_keys(base::Queue& queue, const columns::DeviceColumn& key, int64_t rows,
                          bool mixed) {
  PreparedKeys prepared;
  prepared.rows = static_cast<uint32_t>(rows);
  prepared.key_width = key.width;
  prepared.mixed = mixed;
  prepared.keys = key.data;
  select_valid_rows(queue, {&key, 1}, &prepared);
  if (mixed || prepared.source_rows != nullptr) {
    prepared.keys_copy = queue.device_pool->allocate(
        Memory::kDevice, base::checked_bytes(prepared.rows, static_cast<uint64_t>(key.width)),
        "prepared keys");
    with_key_type(key.width, [&](auto zero) {
      using Key = decltype(zero);
      auto const launch = mixed ? launch_prepare<Key, true> : launch_prepare<Key, false>;
      launch(queue, key.data, prepared.source_rows, prepared.rows, prepared.keys_copy.data(),
             nullptr);
    });
    prepared.keys = prepared.keys_copy.data();
  }
  return prepared;
}

PreparedKeys encode_later(base::Queue& queue, std::span<const columns::DeviceColumn> keys,
                          int64_t rows, const keys::KeyEncoding& encoding) {
  if (encoding.is_plain()) return prepare_keys(queue, keys.front(), rows, false);
  PreparedKeys prepared = prepare_key_rows(queue, keys, rows);
  encode_when_read(queue, keys, encoding, &prepared);
  return prepared;
}

base::Buffer bits_of_rows(base::Queue& queue, const kernels::ValidRows& are_valid, uint32_t rows) {
  base::Buffer words = queue.device_pool->allocate_rows<uint32_t>(
      Memory::kDevice, (uint64_t{rows} + 31) / 32, "rows without a NULL key");
  if (rows == 0) return words;
  kernels::valid_bits_kernel<<<grid_of(rows, kernels::kStreamTile), kernels::kStreamThreads, 0,
                               stream_of(queue)>>>(are_valid, rows, words.as<uint32_t>());
  check(cudaGetLastError(), "finding rows without a NULL key");
  return words;
}

PreparedKeys prepare_in_place(base::Queue& queue, std::span<const columns::DeviceColumn> keys,
                              int64_t rows, const keys::KeyEncoding* encoding) {
  PreparedKeys prepared;
  prepared.rows = static_cast<uint32_t>(rows);
  if (encoding == nullptr || encoding->is_plain()) {
    prepared.key_width = keys.front().width;
    prepared.keys = keys.front().data;
  } else {
    encode_when_read(queue, keys, *encoding, &prepared);
  }
  kernels::ValidRows const are_valid = keys::valid_rows(keys);
  if (are_valid.count == 1) prepared.present = {are_valid.bits[0], are_valid.offsets[0]};
  if (are_valid.count <= 1 || rows == 0) return prepared;
  prepared.present_copy = bits_of_rows(queue, are_valid, prepared.rows);
  prepared.present = {prepared.present_copy.as<uint8_t>(), 0};
  return prepared;
}

PreparedKeys encode_keys(base::Queue& queue, std::span<const columns::DeviceColumn> keys,
                         int64_t rows, const keys::KeyEncoding& encoding, bool mixed) {
  if (encoding.is_plain()) return prepare_keys(queue, keys.front(), rows, mixed);
  PreparedKeys prepared = encode_later(queue, keys, rows, encoding);
  prepared.mixed = mixed;
  prepared.keys_copy = queue.device_pool->allocate(
      Memory::kDevice, base::checked_bytes(prepared.rows, static_cast<uint64_t>(encoding.width)),
      "encoded keys");
  prepared.keys = prepared.keys_copy.data();
  keys::encode(queue, *prepared.pending, prepared.rows, mixed, prepared.keys_copy.data());
  prepared.pending.reset();
  return prepared;
}

bool lie_outside(base::Queue& queue, const PreparedKeys& left, const PreparedKeys& right) {
  auto* const flags = queue.device->readback.as<uint32_t>();
  uint32_t count = 0;
  for (PreparedKeys const* side : {&left, &right}) {
    if (!side->keys_outside) continue;
    check(cudaMemcpyAsync(&flags[count++], side->keys_outside.data(), sizeof(uint32_t),
                          cudaMemcpyDeviceToHost, stream_of(queue)),
          "asking whether keys lie outside");
  }
  if (count == 0) return false;
  check(cudaStreamSynchronize(stream_of(queue)), "waiting for the queue's stream");
  return std::any_of(flags, flags + count, [](uint32_t flag) { return flag != 0; });
}

PreparedKeys prepare_key_rows(base::Queue& queue, std::span<const columns::DeviceColumn> keys,
                              int64_t rows) {
  PreparedKeys prepared;
  prepared.rows = static_cast<uint32_t>(rows);
  select_valid_rows(queue, keys, &prepared);
  return prepared;
}

KeyBits varying_bits(base::Queue& queue, const PreparedKeys& left, const PreparedKeys& right) {
  auto* bits = queue.device->counters.as<unsigned long long>();
  check(cudaMemsetAsync(&bits[0], 0x00, 8, stream_of(queue)), "starting the bits' union");
  check(cudaMemsetAsync(&bits[1], 0xff, 8, stream_of(queue)), "starting the bits' intersection");
  for (PreparedKeys const* side : {&left, &right}) {
    if (side->rows == 0) continue;
    unsigned const grid = grid_of(queue, side->rows, kernels::kStreamTile, 8);
    with_key_type(side->key_width, [&](auto zero) {
      using Key = decltype(zero);
      kernels::varying_bits_kernel<Key><<<grid, kernels::kStreamThreads, 0, stream_of(queue)>>>(
          static_cast<const Key*>(side->keys), side->rows, bits);
    });
    check(cudaGetLastError(), "finding the varying key bits");
  }
  auto const* found =
      static_cast<const unsigned long long*>(base::read_back(queue, bits, 2 * sizeof(*bits)));
  unsigned long long const varying = found[0] & ~found[1];
  // All keys equal: one bit still makes a valid sort.
  if (varying == 0) return {0, 1};
  return {__builtin_ctzll(varying), 64 - __builtin_clzll(varying)};
}

PreparedColumn prepare_values(base::Queue& queue, const PreparedKeys& keys,
                              const columns::DeviceColumn& column) {
  PreparedColumn prepared;
  prepared.width = column.width;
  prepared.data = column.data;
  if (keys.source_rows == nullptr || keys.rows == 0) return prepared;
  for (PreparedKeys::Along const& along : keys.along) {
    bool const is_it = along.data == column.data && along.width == column.width;
    if (!is_it || column.validity != nullptr || !along.kept) continue;
    prepared.data = along.kept.data();
    return prepared;
  }
  prepared.copy = queue.device_pool->allocate(
      Memory::kDevice, base::checked_bytes(keys.rows, static_cast<uint64_t>(column.width)),
      "prepared payload");
  prepared.data = prepared.copy.data();
  kernels::with_value_type(column.width, [&](auto zero) {
    launch_prepare<decltype(zero), false>(queue, column.data, keys.source_rows, keys.rows,
                                          prepared.copy.data(), nullptr);
  });
  return prepared;
}

PreparedColumn prepare_nullable(base::Queue& queue, const PreparedKeys& keys,
                                const columns::DeviceColumn& column, uint64_t stand_in,
                                uint32_t* seen) {
  PreparedColumn prepared = prepare_values(queue, keys, column);
  kernels::ValidityBits const validity = {column.validity, column.validity_bit_offset};
  if (keys.source_rows == nullptr) {
    prepared.validity = validity;
    prepared.stand_in = stand_in;
    prepared.seen = seen;
    return prepared;
  }
  if (keys.rows == 0) return prepared;
  kernels::with_stand_in_type(column.width, [&](auto zero) {
    using Value = decltype(zero);
    kernels::put_stand_in_kernel<Value><<<grid_of(keys.rows, kernels::kStreamTile),
                                          kernels::kStreamThreads, 0, stream_of(queue)>>>(
        validity, keys.source_rows, keys.rows, stand_in, prepared.copy.as<Value>(), seen);
  });
  check(cudaGetLastError(), "putting a value in the place of NULLs");
  return prepared;
}

PreparedColumn prepare_validity(base::Queue& queue, const PreparedKeys& keys,
                                const columns::DeviceColumn& column) {
  PreparedColumn prepared;
  prepared.width = 1;
  prepared.copy =
      queue.device_pool->allocate(Memory::kDevice, keys.rows, "validity of a payload column");
  prepared.data = prepared.copy.data();
  if (keys.rows == 0) return prepared;
  kernels::expand_validity_kernel<<<grid_of(keys.rows, kernels::kStreamTile),
                                    kernels::kStreamThreads, 0, stream_of(queue)>>>(
      column.validity, column.validity_bit_offset, keys.source_rows, keys.rows,
      prepared.copy.as<uint8_t>());
  check(cudaGetLastError(), "expanding a validity bitmap");
  return prepared;
}

PreparedColumn prepare_row_ids(base::Queue& queue, const PreparedKeys& keys) {
  PreparedColumn prepared;
  prepared.width = sizeof(uint32_t);
  prepared.data = keys.source_rows;
  if (keys.source_rows != nullptr) return prepared;
  prepared.copy =
      queue.device_pool->allocate_rows<uint32_t>(Memory::kDevice, keys.rows, "row numbers");
  prepared.data = prepared.copy.data();
  launch_prepare<uint32_t, false>(queue, nullptr, nullptr, keys.rows, nullptr,
                                  prepared.copy.as<uint32_t>());
  return prepared;
}

base::Buffer partition_offsets(base::Queue& queue, const void* transformed_keys, int32_t key_width,
                               uint32_t rows, int32_t radix_bits) {
  uint32_t const partitions = 1U << radix_bits;
  base::Buffer offsets = queue.device_pool->allocate_rows<uint32_t>(
      Memory::kDevice, uint64_t{partitions} + 1, "partition offsets");
  unsigned const grid = grid_of(uint64_t{partitions} + 1, kernels::kStreamThreads);
  with_key_type(key_width, [&](auto zero) {
    using Key = decltype(zero);
    kernels::partition_offsets_kernel<Key><<<grid, kernels::kStreamThreads, 0, stream_of(queue)>>>(
        static_cast<const Key*>(transformed_keys), rows, partitions, offsets.as<uint32_t>());
  });
  check(cudaGetLastError(), "finding the partitions' offsets");
  return offsets;
}

}  // namespace gpujoin::transform
