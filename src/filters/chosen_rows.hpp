// chosen_rows.hpp: a loop over some rows of many, which no branch tells apart: where half of them
// are a thread's own, a branch for each row would be guessed wrong every other time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpujoin::filters {

// is_chosen(i) of 0 to count - 1; of those that are, near(i) of some before act(i) of the same.
template <typename IsChosen, typename Near, typename Act>
void for_chosen(int64_t count, const IsChosen& is_chosen, const Near& near, const Act& act) {
  constexpr int64_t kAtOnce = 128;
  int64_t chosen[kAtOnce];
  for (int64_t first = 0; first < count; first += kAtOnce) {
    int64_t const end = std::min(count, first + kAtOnce);
    int64_t found = 0;
    for (int64_t i = first; i < end; ++i) {
      chosen[found] = i;
      found += is_chosen(i) ? 1 : 0;
    }
    for (int64_t k = 0; k < found; ++k) near(chosen[k]);
    for (int64_t k = 0; k < found; ++k) act(chosen[k]);
  }
}

}  // namespace gpujoin::filters
