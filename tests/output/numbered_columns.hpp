// numbered_columns.hpp: columns of every width with holes, of which each place knows its number,
// and what they are when the holes are filled.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/output/squeeze_pages.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {

constexpr uint32_t kHole = 0xffffffffU;

class NumberedColumns {
 public:
  // numbers: of each place its own number, or kHole. rows: places that are none.
  NumberedColumns(base::Queue& queue, std::vector<uint32_t> numbers, uint64_t rows)
      : queue_(queue), numbers_(std::move(numbers)), rows_(rows) {
    device_numbers_ = upload(queue, numbers_);
    columns_.push_back({device_numbers_.data(), 4});
    for (int32_t width : {1, 2, 4, 8, 16}) {
      hosts_.push_back(random_column(numbers_.size(), width, rows + static_cast<uint64_t>(width)));
      buffers_.push_back(upload(queue, hosts_.back().data));
      columns_.push_back({buffers_.back().data(), width});
    }
  }

  const std::vector<kernels::SqueezedColumn>& columns() const { return columns_; }

  void expect_untouched() const {
    EXPECT_TRUE(download<uint32_t>(queue_, device_numbers_.data(), numbers_.size()) == numbers_);
  }

  // Every row once among the first places, and in the same order in every column.
  void expect_filled() const {
    std::vector<uint32_t> const found = download<uint32_t>(queue_, device_numbers_.data(), rows_);
    std::vector<uint32_t> expected;
    std::copy_if(numbers_.begin(), numbers_.end(), std::back_inserter(expected),
                 [](uint32_t number) { return number != kHole; });
    std::vector<uint32_t> sorted = found;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_TRUE(sorted == expected) << "not every row once";
    // What lay below the end stays where it is: only as many rows move as there are holes below it.
    for (uint64_t place = 0; place < rows_; ++place) {
      if (numbers_[place] != kHole) {
        ASSERT_EQ(found[place], place);
      }
    }
    for (size_t i = 0; i < hosts_.size(); ++i) {
      std::vector<unsigned char> const bytes = download<unsigned char>(
          queue_, buffers_[i].data(), rows_ * static_cast<size_t>(hosts_[i].width));
      ASSERT_TRUE(bytes == bytes_of_rows(hosts_[i], found))
          << "a column of width " << hosts_[i].width;
    }
  }

 private:
  base::Queue& queue_;
  std::vector<uint32_t> numbers_;
  uint64_t rows_;
  base::Buffer device_numbers_;
  std::vector<HostColumn> hosts_;
  std::vector<base::Buffer> buffers_;
  std::vector<kernels::SqueezedColumn> columns_;
};

}  // namespace gpujoin::tests
