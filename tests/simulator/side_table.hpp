// side_table.hpp: rows of one side of a simulated join, which batches point into.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/abi/fixture.hpp"

namespace gpujoin_test {

// kUnlike: the sides have types of different widths.
enum class KeyShape { kNone, kInt32, kInt64, kText, kTwo, kUnlike };

// Of a key without a value.
constexpr int64_t kNullKey = -1;

struct TableDraw {
  KeyShape shape = KeyShape::kInt32;
  int64_t rows = 0;
  int64_t keys = 1;  // different ones
  double hot = 0;    // of the rows have key 0
  double nulls = 0;  // of each key column
  bool unique = false;
  bool is_wide = false;  // of kUnlike: INT64, not INT32
  int64_t first = 0;     // the number of row 0
  uint64_t seed = 0;
};

// Columns: the keys, then a row's number, then text that follows from the number, NULL in every
// seventh row.
class SideTable {
 public:
  explicit SideTable(const TableDraw& draw);
  SideTable(const SideTable&) = delete;
  SideTable& operator=(const SideTable&) = delete;

  int64_t rows() const { return draw_.rows; }
  int64_t first() const { return draw_.first; }
  int32_t key_count() const;
  int32_t number_column() const { return key_count(); }
  int32_t text_column() const { return key_count() + 1; }
  // What the reference compares, kNullKey where there is none.
  const std::array<int64_t, 2>& key(int64_t row) const { return keys_[static_cast<size_t>(row)]; }

  // The table must outlive the relation. Fails the test where the library refuses.
  Answer batch(gpujoin_context* context, int64_t first, int64_t count, Relation* out) const;

  // Whether the row of this number has text, and which.
  static bool has_text(int64_t number) { return number % 7 != 3; }
  static std::string text_of(int64_t number);

 private:
  struct Text {
    std::vector<int32_t> offsets = {0};
    std::string bytes;
    void append(const std::string& value);
  };
  void append_key(int64_t row, const std::array<int64_t, 2>& key);

  TableDraw draw_;
  std::vector<std::array<int64_t, 2>> keys_;
  std::vector<int32_t> key32_;
  std::vector<int64_t> key64_;
  Text key_text_;
  std::array<std::vector<uint8_t>, 2> key_valid_;
  std::vector<int64_t> numbers_;
  Text text_;
  std::vector<uint8_t> text_valid_;
};

}  // namespace gpujoin_test
