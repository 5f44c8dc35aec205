// key_view.hpp: keys of a test as a column.
#pragma once

#include <cstdint>
#include <vector>

#include "src/columns/column.hpp"

namespace gpujoin::test {

// validity: null: there is no NULL.
template <typename Key>
columns::ColumnView view_of(const std::vector<Key>& keys, const std::vector<uint8_t>* validity) {
  columns::ColumnView view;
  view.data = keys.data();
  view.width = sizeof(Key);
  if (validity != nullptr) view.validity = validity->data();
  return view;
}

}  // namespace gpujoin::test
