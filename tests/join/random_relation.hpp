// random_relation.hpp: small relations with every key width, payload width, NULLs and duplicates,
// on the host or on the device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "src/base/copy.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::tests {

// A column in host memory, with what the library reads and what the reference reads.
struct HostColumn {
  gpujoin_type type = 0;
  int32_t width = 0;
  std::vector<unsigned char> data;
  std::vector<unsigned char> valid;  // one byte a row; empty: no NULLs
  std::vector<uint8_t> bits;         // the same as bits, from bit_offset on
  int64_t bit_offset = 0;

  bool is_valid(size_t row) const { return valid.empty() || valid[row] != 0; }
  // The value as text that compares equal exactly when the bytes do; NULL for a NULL.
  std::string at(size_t row) const {
    if (!is_valid(row)) return "NULL";
    return {reinterpret_cast<const char*>(data.data()) + row * static_cast<size_t>(width),
            static_cast<size_t>(width)};
  }
};

struct RelationShape {
  size_t rows = 0;
  int32_t key_width = 4;
  uint64_t distinct_keys = 1;  // keys are drawn from so many values
  uint64_t key_stride = 1;     // ... which are multiples of this
  double null_keys = 0;        // share
  double null_payloads = 0;
  int64_t bit_offset = 0;    // of the validity bits, as in a sliced Arrow array
  bool unique_keys = false;  // each value at most once; there are as many values as rows, or more
};

inline void set_validity(HostColumn* column, size_t rows, double nulls, int64_t bit_offset,
                         std::mt19937_64& random) {
  if (nulls == 0) return;
  std::bernoulli_distribution is_null(nulls);
  column->bit_offset = bit_offset;
  // Bits outside the slice are the opposite of what would help a wrong offset.
  column->bits.assign((static_cast<size_t>(bit_offset) + rows + 7) / 8 + 1, 0xff);
  column->valid.resize(rows);
  for (size_t row = 0; row < rows; ++row) {
    column->valid[row] = is_null(random) ? 0 : 1;
    size_t const bit = static_cast<size_t>(bit_offset) + row;
    if (column->valid[row] == 0) {
      column->bits[bit / 8] = static_cast<uint8_t>(column->bits[bit / 8] & ~(1U << (bit % 8)));
    }
  }
}

// Column 0 is the key, columns 1 to 5 are payloads of 1, 2, 4, 8 and 16 bytes.
struct HostRelation {
  size_t rows = 0;
  std::vector<HostColumn> columns;
};

inline HostRelation random_relation(const RelationShape& shape, uint64_t seed) {
  std::mt19937_64 random(seed);
  HostRelation relation;
  relation.rows = shape.rows;
  relation.columns.resize(6);
  HostColumn& key = relation.columns[0];
  key.type = shape.key_width == 4 ? GPUJOIN_TYPE_INT32 : GPUJOIN_TYPE_INT64;
  key.width = shape.key_width;
  key.data.resize(shape.rows * static_cast<size_t>(shape.key_width));
  std::vector<uint64_t> values;
  if (shape.unique_keys) {
    values.resize(shape.distinct_keys);
    std::iota(values.begin(), values.end(), uint64_t{0});
    std::shuffle(values.begin(), values.end(), random);
  }
  for (size_t row = 0; row < shape.rows; ++row) {
    uint64_t const drawn = shape.unique_keys ? values[row] : random() % shape.distinct_keys;
    uint64_t const value = drawn * shape.key_stride;
    std::memcpy(&key.data[row * static_cast<size_t>(key.width)], &value,
                static_cast<size_t>(key.width));
  }
  set_validity(&key, shape.rows, shape.null_keys, shape.bit_offset, random);
  constexpr gpujoin_type kTypes[] = {GPUJOIN_TYPE_UINT8, GPUJOIN_TYPE_INT16, GPUJOIN_TYPE_FLOAT32,
                                     GPUJOIN_TYPE_TIMESTAMP_US, GPUJOIN_TYPE_BYTES16};
  for (size_t i = 0; i < 5; ++i) {
    HostColumn& payload = relation.columns[i + 1];
    payload.type = kTypes[i];
    payload.width = 1 << i;
    payload.data.resize(shape.rows * static_cast<size_t>(payload.width));
    for (unsigned char& byte : payload.data) byte = static_cast<unsigned char>(random());
    // Every second payload may be NULL.
    if (i % 2 == 0)
      set_validity(&payload, shape.rows, shape.null_payloads, shape.bit_offset + 3, random);
  }
  return relation;
}

// The relation as the library sees it. On a CUDA context its columns are copied to the device when
// `on_device`.
inline std::shared_ptr<columns::Relation> register_relation(base::Queue& queue,
                                                            const HostRelation& host,
                                                            bool on_device) {
  auto relation = std::make_shared<columns::Relation>();
  relation->context = queue.context.shared_from_this();
  relation->rows = static_cast<int64_t>(host.rows);
  auto buffers = std::make_shared<std::vector<base::Buffer>>();
  auto const place = [&](const void* data, size_t bytes) -> const void* {
    if (!on_device || bytes == 0) return data;
    buffers->push_back(queue.device_pool->allocate(base::Memory::kDevice, bytes, "a test column"));
    base::copy(queue, buffers->back().data(), base::Memory::kDevice, data, base::Memory::kHost,
               bytes);
    return buffers->back().data();
  };
  for (HostColumn const& column : host.columns) {
    columns::ColumnView view;
    view.type = column.type;
    view.width = column.width;
    view.data = place(column.data.data(), column.data.size());
    if (!column.valid.empty()) {
      view.validity = static_cast<const uint8_t*>(place(column.bits.data(), column.bits.size()));
      view.validity_bit_offset = column.bit_offset;
    }
    view.memory = on_device ? base::Memory::kDevice : base::Memory::kHost;
    view.name = "column";
    view.arrow_format = columns::arrow_format_of(column.type);
    relation->columns.push_back(view);
  }
  relation->owner = buffers;
  return relation;
}

}  // namespace gpujoin::tests
