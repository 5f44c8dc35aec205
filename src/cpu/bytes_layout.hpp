// bytes_layout.hpp: from a column of bytes to what reads values of its layout, so that no row asks
// which it is; and nothing is read that is not the column's.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/keys/load_bytes.hpp"

namespace gpujoin::cpu {

// Of a row that is not NULL. A producer's offsets may point out of its bytes: that is a value of no
// bytes.
template <kernels::BytesLayout kLayout>
kernels::ByteSpan span_at(const kernels::BytesColumn& column, uint64_t row) {
  using kernels::BytesLayout;
  if constexpr (kLayout == BytesLayout::kViews) {
    return kernels::bytes_of_view(column, row);
  } else if constexpr (kLayout == BytesLayout::kFixed) {
    auto const width = static_cast<uint64_t>(column.width);
    return {column.bytes + row * width, width};
  } else {
    using Offset = std::conditional_t<kLayout == BytesLayout::kOffsets32, int32_t, int64_t>;
    kernels::ByteSpan const span = kernels::bytes_between<Offset>(column, row);
    bool const is_within = span.data >= column.first && span.data <= column.end &&
                           span.count <= static_cast<uint64_t>(column.end - span.data);
    return is_within ? span : kernels::ByteSpan{column.end, 0};
  }
}

template <kernels::BytesLayout kLayout>
struct LoadableAt {
  static constexpr kernels::BytesLayout kOf = kLayout;
  kernels::BytesColumn column;
  // Of a row that is not NULL.
  kernels::LoadableBytes operator()(uint64_t row) const {
    kernels::BytesColumn known = column;
    known.layout = kLayout;
    return kernels::loadable(known, span_at<kLayout>(known, row));
  }
};

// what(value_at), which it answers with.
template <typename What>
auto with_layout(const kernels::BytesColumn& column, const What& what) {
  switch (column.layout) {
    case kernels::BytesLayout::kOffsets32:
      return what(LoadableAt<kernels::BytesLayout::kOffsets32>{column});
    case kernels::BytesLayout::kOffsets64:
      return what(LoadableAt<kernels::BytesLayout::kOffsets64>{column});
    case kernels::BytesLayout::kViews:
      return what(LoadableAt<kernels::BytesLayout::kViews>{column});
    default:
      return what(LoadableAt<kernels::BytesLayout::kFixed>{column});
  }
}

}  // namespace gpujoin::cpu
