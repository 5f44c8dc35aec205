// bytes_layout.hpp: from a column of bytes to what reads values of its layout, so that no row asks
// which it is.
#pragma once

#include "kernels/keys/load_bytes.hpp"

namespace gpujoin::cpu {

template <kernels::BytesLayout kLayout>
struct LoadableAt {
  kernels::BytesColumn column;
  explicit LoadableAt(const kernels::BytesColumn& of) : column(of) { column.layout = kLayout; }
  // Of a row that is not NULL.
  kernels::LoadableBytes operator()(uint64_t row) const {
    kernels::BytesColumn known = column;
    known.layout = kLayout;
    return kernels::loadable_at(known, row);
  }
};

// what(value_at), which it answers with.
template <typename What>
auto with_layout(const kernels::BytesColumn& column, const What& what) {
  switch (column.layout) {
    case kernels::BytesLayout::kOffsets32:
      return what(LoadableAt<kernels::BytesLayout::kOffsets32>(column));
    case kernels::BytesLayout::kOffsets64:
      return what(LoadableAt<kernels::BytesLayout::kOffsets64>(column));
    case kernels::BytesLayout::kViews:
      return what(LoadableAt<kernels::BytesLayout::kViews>(column));
    default:
      return what(LoadableAt<kernels::BytesLayout::kFixed>(column));
  }
}

}  // namespace gpujoin::cpu
