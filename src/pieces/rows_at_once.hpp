// rows_at_once.hpp: how many rows of the probe side have a result of bounded size, as the results
// before tell.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace gpujoin::pieces {

// Of one operation; any thread.
class RowsAtOnce {
 public:
  // Fewer rows than least_rows are worth no step of their own.
  RowsAtOnce(uint64_t most_bytes, int64_t least_rows)
      : most_bytes_(most_bytes), least_rows_(least_rows) {}

  bool are_too_many(int64_t rows) const { return rows > rows_.load(std::memory_order_relaxed); }

  // Learns from a result; false: it is too large, and fewer rows would have had a smaller one. That
  // is one step in vain where keys have many more matches than those before; where they have fewer,
  // twice as many rows come at once each time.
  bool are_few_enough(int64_t rows, uint64_t bytes) {
    double const share =
        static_cast<double>(most_bytes_) / static_cast<double>(std::max<uint64_t>(bytes, 1));
    double const fits =
        std::max(share * static_cast<double>(rows), static_cast<double>(least_rows_));
    int64_t const before = rows_.load(std::memory_order_relaxed);
    int64_t const twice = before > INT64_MAX / 2 ? INT64_MAX : 2 * before;
    rows_.store(fits < static_cast<double>(twice) ? static_cast<int64_t>(fits) : twice,
                std::memory_order_relaxed);
    return bytes <= most_bytes_ || rows <= least_rows_;
  }

 private:
  uint64_t most_bytes_;
  int64_t least_rows_;
  std::atomic<int64_t> rows_{INT64_MAX};
};

}  // namespace gpujoin::pieces
