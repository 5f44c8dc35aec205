// sampled_view.cuh: a relation's key column as the kernels that sample it see it.
#pragma once

#include "kernels/sample/sampled_column.cuh"
#include "src/columns/column.hpp"

namespace gpujoin::sample {

template <typename Key>
kernels::SampledColumn<Key> view_of(const columns::ColumnView& key, int64_t rows) {
  return {static_cast<const Key*>(key.data), key.validity, key.validity_bit_offset, rows};
}

}  // namespace gpujoin::sample
