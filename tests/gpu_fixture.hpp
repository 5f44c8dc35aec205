// gpu_fixture.hpp: what the tests of the GPU stages have in common: a context that skips where
// there is no CUDA device, columns that travel to the device and back, sizes at the edges of warps
// and tiles.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "src/base/copy.hpp"
#include "src/base/device.hpp"
#include "src/base/status.hpp"
#include "src/columns/device_column.hpp"
#include "tests/join/random_relation.hpp"
#include "tests/own_queue.hpp"

namespace gpujoin::tests {

// Nothing, the edges of a warp, of a streaming tile (1024), of a merge tile (2048), and several
// blocks.
inline const std::vector<size_t>& edge_sizes() {
  static const std::vector<size_t> sizes = {0,    1,    31,   32,   33,   1023, 1024,
                                            1025, 2047, 2048, 2049, 9999, 40000};
  return sizes;
}

inline gpujoin_context_options cuda_options() {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CUDA;
  return options;
}

inline OwnQueue limited_queue(uint64_t bytes) {
  gpujoin_context_options options = cuda_options();
  options.memory_limit_bytes = bytes;
  return OwnQueue(options);
}

template <typename Function>
gpujoin_status status_of(Function function) {
  try {
    function();
    return GPUJOIN_OK;
  } catch (const base::Error& error) {
    return error.status();
  }
}

// Rows before each of 2^radix_bits partitions, counted on the host; the keys stand for mixed keys.
inline std::vector<uint32_t> offsets_of(const std::vector<uint64_t>& keys, int32_t radix_bits) {
  uint64_t const mask = (uint64_t{1} << radix_bits) - 1;
  std::vector<uint32_t> offsets((size_t{1} << radix_bits) + 1, 0);
  for (uint64_t key : keys) ++offsets[(key & mask) + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  return offsets;
}

// Each test has a context of its own, so that what a pool holds is what the test did.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      queue_ = OwnQueue(cuda_options());
    } catch (const base::Error& error) {
      if (error.status() != GPUJOIN_ERROR_NO_DEVICE) throw;
      GTEST_SKIP() << error.what();
    }
    in_use_at_start_ = pool().in_use_bytes();
  }

  void TearDown() override {
    if (queue_ == nullptr) return;
    base::finish(*queue_);
    EXPECT_EQ(pool().in_use_bytes(), in_use_at_start_)
        << "the test or the stage leaks device memory";
    EXPECT_EQ(pool().account().guard_violations(), 0U) << "a kernel wrote beyond a buffer";
  }

  base::Queue& queue() { return *queue_; }
  base::Pool& pool() { return *queue_->device_pool; }

 private:
  OwnQueue queue_;
  uint64_t in_use_at_start_ = 0;
};

template <typename T>
base::Buffer upload(base::Queue& queue, const std::vector<T>& values) {
  base::Buffer buffer =
      queue.device_pool->allocate_rows<T>(base::Memory::kDevice, values.size(), "values of a test");
  base::copy(queue, buffer.data(), base::Memory::kDevice, values.data(), base::Memory::kHost,
             values.size() * sizeof(T));
  base::finish(queue);
  return buffer;
}

template <typename T>
std::vector<T> download(base::Queue& queue, const void* source, size_t rows) {
  std::vector<T> values(rows);
  base::copy(queue, values.data(), base::Memory::kHost, source, base::Memory::kDevice,
             rows * sizeof(T));
  base::finish(queue);
  return values;
}

// Keys of 4 or 8 bytes, as a column; the upper half of wider keys is cut off.
inline HostColumn key_column(const std::vector<uint64_t>& keys, int32_t width) {
  HostColumn column;
  column.type = width == 4 ? GPUJOIN_TYPE_UINT32 : GPUJOIN_TYPE_UINT64;
  column.width = width;
  column.data.resize(keys.size() * static_cast<size_t>(width));
  for (size_t row = 0; row < keys.size(); ++row) {
    std::memcpy(&column.data[row * static_cast<size_t>(width)], &keys[row],
                static_cast<size_t>(width));
  }
  return column;
}

inline HostColumn random_column(size_t rows, int32_t width, uint64_t seed) {
  std::mt19937_64 random(seed);
  HostColumn column;
  column.width = width;
  column.data.resize(rows * static_cast<size_t>(width));
  for (unsigned char& byte : column.data) byte = static_cast<unsigned char>(random());
  return column;
}

inline std::vector<uint64_t> random_keys(size_t rows, uint64_t distinct, uint64_t stride,
                                         uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> keys(rows);
  for (uint64_t& key : keys) key = random() % distinct * stride;
  return keys;
}

// One byte a row: 1 = valid.
inline std::vector<unsigned char> random_valid(size_t rows, double nulls, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::bernoulli_distribution is_null(nulls);
  std::vector<unsigned char> valid(rows);
  for (unsigned char& row : valid) row = is_null(random) ? 0 : 1;
  return valid;
}

// The bits start at bit_offset; the bits before and after are random.
inline void set_valid(HostColumn* column, std::vector<unsigned char> valid, int64_t bit_offset) {
  std::mt19937_64 random(static_cast<uint64_t>(bit_offset) + 7);
  column->bit_offset = bit_offset;
  column->bits.resize((static_cast<size_t>(bit_offset) + valid.size() + 7) / 8);
  for (uint8_t& byte : column->bits) byte = static_cast<uint8_t>(random());
  for (size_t row = 0; row < valid.size(); ++row) {
    size_t const bit = static_cast<size_t>(bit_offset) + row;
    auto const mask = static_cast<uint8_t>(1U << (bit % 8));
    uint8_t& byte = column->bits[bit / 8];
    byte = static_cast<uint8_t>(valid[row] != 0 ? byte | mask : byte & ~mask);
  }
  column->valid = std::move(valid);
}

// The column in device memory, `shift` bytes beyond an aligned address; owned by what is returned.
inline columns::DeviceColumn place(base::Queue& queue, const HostColumn& host, size_t shift = 0) {
  columns::DeviceColumn column;
  column.width = host.width;
  std::vector<unsigned char> shifted(shift);
  shifted.insert(shifted.end(), host.data.begin(), host.data.end());
  column.data_copy = upload(queue, shifted);
  column.data = column.data_copy.as<unsigned char>() + (shifted.empty() ? 0 : shift);
  if (!host.bits.empty()) {
    column.validity_copy = upload(queue, host.bits);
    column.validity = column.validity_copy.as<uint8_t>();
    column.validity_bit_offset = host.bit_offset;
  }
  return column;
}

// The bytes of the rows named, one after the other.
inline std::vector<unsigned char> bytes_of_rows(const HostColumn& column,
                                                const std::vector<uint32_t>& rows) {
  auto const width = static_cast<size_t>(column.width);
  std::vector<unsigned char> bytes;
  bytes.reserve(rows.size() * width);
  for (uint32_t row : rows) {
    auto const first = column.data.begin() + static_cast<std::ptrdiff_t>(row * width);
    bytes.insert(bytes.end(), first, first + column.width);
  }
  return bytes;
}

}  // namespace gpujoin::tests
