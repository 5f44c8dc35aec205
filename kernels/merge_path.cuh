// merge_path.cuh: where the path of a merge crosses a diagonal, which the sort and the joins by
// merging share
//
// Paper    Green, McColl, Bader 2012; Rui & Tu 2017, section 3.3.1 and figure 5
#pragma once

namespace gpujoin::kernels {

// Keys of `first` among the first `diagonal` keys of the merge, in which of equal keys those of
// `first` come before those of `second`. Keys: a pointer, or what can be indexed as one. Count
// holds first_rows + second_rows.
template <typename Keys, typename Count>
__device__ Count merge_path(Keys first, Count first_rows, Keys second, Count second_rows,
                            Count diagonal) {
  Count low = diagonal > second_rows ? diagonal - second_rows : 0;
  Count high = diagonal < first_rows ? diagonal : first_rows;
  while (low < high) {
    Count const middle = low + (high - low) / 2;
    if (second[diagonal - 1 - middle] < first[middle]) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace gpujoin::kernels
