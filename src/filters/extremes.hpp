// extremes.hpp: the lowest and the highest value of a key column, as values of its type.
#pragma once

#include <cstdint>
#include <string>

#include "src/columns/column.hpp"

namespace gpujoin::filters {

// Integers, decimals, times and floats in their order, truth values, text and binary values byte by
// byte. NaN is neither the lowest nor the highest; -0.0 is 0.0. Other types have none.
class Extremes {
 public:
  // Rows `first` to `first + count` of a column of `rows` rows. Always the same type. expected:
  // host memory, of kValues, kWide, kBits, kText or kNulls.
  void add(const columns::ColumnView& column, int64_t rows, int64_t first, int64_t count);
  void add(const Extremes& other);

  // Whether there was a value.
  bool has_any() const { return has_any_; }
  // Its bytes as they lie in a column; of truth values a byte.
  const std::string& lowest() const { return lowest_; }
  const std::string& highest() const { return highest_; }

 private:
  template <typename Type>
  friend struct OfType;
  using IsBelow = bool (*)(const std::string& one, const std::string& other);
  void add(IsBelow is_below, std::string lowest, std::string highest);

  bool has_any_ = false;
  IsBelow is_below_ = nullptr;
  std::string lowest_;
  std::string highest_;
};

}  // namespace gpujoin::filters
