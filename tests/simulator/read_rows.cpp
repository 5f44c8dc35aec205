#include "tests/simulator/joined_rows.hpp"
#include "tests/simulator/library_call.hpp"

namespace gpujoin_test {

namespace {

bool bit_of(const std::vector<uint8_t>& bits, size_t row) {
  return (bits[row / 8] >> (row % 8) & 1) != 0;
}

// What a result has, fetched; throws std::string.
class Fetched {
 public:
  explicit Fetched(gpujoin_result* result) : result_(result) {
    check(ask(gpujoin_result_get_rows, result, &rows_));
  }
  size_t rows() const { return static_cast<size_t>(rows_); }

  std::vector<int64_t> indices(int32_t what) {
    std::vector<int64_t> values(rows());
    gpujoin_fetch fetch = of(what, 0);
    fetch.data = values.data();
    fetch.data_bytes = values.size() * sizeof(int64_t);
    get(&fetch);
    return values;
  }

  std::vector<int64_t> numbers(int32_t column) {
    std::vector<int64_t> values(rows());
    valid_.assign(rows() / 8 + 1, 0);
    gpujoin_fetch fetch = of(GPUJOIN_FETCH_COLUMN, column);
    fetch.data = values.data();
    fetch.data_bytes = values.size() * sizeof(int64_t);
    get(&fetch);
    for (size_t row = 0; row < rows(); ++row) {
      if (!bit_of(valid_, row)) values[row] = GPUJOIN_NO_ROW_INT64;
    }
    return values;
  }

  std::vector<Mark> marks(int32_t column) {
    std::vector<uint8_t> bits(rows() / 8 + 1);
    valid_.assign(rows() / 8 + 1, 0);
    gpujoin_fetch fetch = of(GPUJOIN_FETCH_COLUMN, column);
    fetch.data = bits.data();
    fetch.data_bytes = bits.size();
    get(&fetch);
    std::vector<Mark> marks;
    for (size_t row = 0; row < rows(); ++row) {
      Mark const known = bit_of(bits, row) ? Mark::kTrue : Mark::kFalse;
      marks.push_back(bit_of(valid_, row) ? known : Mark::kNull);
    }
    return marks;
  }

  // The texts that follow from the numbers, or not.
  void check_text(int32_t column, const std::vector<int64_t>& numbers) {
    std::vector<int32_t> offsets(rows() + 1);
    valid_.assign(rows() / 8 + 1, 0);
    gpujoin_fetch fetch = of(GPUJOIN_FETCH_COLUMN, column);
    fetch.offsets = offsets.data();
    fetch.offsets_bytes = offsets.size() * sizeof(int32_t);
    get(&fetch);
    std::string bytes(fetch.text_bytes + 1, '\0');
    fetch.data = bytes.data();
    fetch.data_bytes = bytes.size();
    get(&fetch);
    for (size_t row = 0; row < rows(); ++row) {
      bool const expected = numbers[row] >= 0 && SideTable::has_text(numbers[row]);
      if (bit_of(valid_, row) != expected) {
        throw "validity of the text of row " + std::to_string(numbers[row]);
      }
      auto const first = static_cast<size_t>(offsets[row]);
      auto const length = static_cast<size_t>(offsets[row + 1]) - first;
      if (!expected) continue;
      if (bytes.compare(first, length, SideTable::text_of(numbers[row])) != 0) {
        throw "text of row " + std::to_string(numbers[row]);
      }
    }
  }

 private:
  // One that found no memory can be called again.
  void get(gpujoin_fetch* fetch) {
    Answer answer = ask(gpujoin_result_fetch, result_, nullptr, fetch, 1);
    if (answer.status == GPUJOIN_ERROR_OUT_OF_MEMORY || answer.status == GPUJOIN_ERROR_CUDA) {
      answer = call(gpujoin_result_fetch, result_, nullptr, fetch, 1);
    }
    check(answer);
  }
  gpujoin_fetch of(int32_t what, int32_t column) {
    gpujoin_fetch fetch = GPUJOIN_FETCH_INIT;
    fetch.what = what;
    fetch.column = column;
    fetch.memory = GPUJOIN_MEMORY_HOST;
    if (what != GPUJOIN_FETCH_COLUMN) return fetch;
    fetch.validity = valid_.data();
    fetch.validity_bytes = valid_.size();
    return fetch;
  }
  static void check(const Answer& answer) {
    if (answer.status != GPUJOIN_OK) throw "fetch: " + answer.message();
  }

  gpujoin_result* result_;
  int64_t rows_ = 0;
  std::vector<uint8_t> valid_;
};

void read(Fetched& fetched, gpujoin_join_kind kind, bool has_numbers,
          std::vector<JoinedRow>* rows) {
  std::vector<JoinedRow> made(fetched.rows());
  int32_t column = 0;
  for (bool const left : {true, false}) {
    if (!puts_out(kind, left)) continue;
    auto const numbers = fetched.numbers(column);
    fetched.check_text(column + 1, numbers);
    column += 2;
    for (size_t row = 0; row < made.size(); ++row) {
      (left ? made[row].left : made[row].right) = numbers[row];
    }
    if (!has_numbers) continue;
    auto const what = left ? GPUJOIN_FETCH_LEFT_INDEX : GPUJOIN_FETCH_RIGHT_INDEX;
    if (fetched.indices(what) != numbers) {
      throw std::string(left ? "left" : "right") + " row numbers are not those of the rows";
    }
  }
  if (is_mark(kind)) {
    auto const marks = fetched.marks(column);
    for (size_t row = 0; row < made.size(); ++row) made[row].mark = marks[row];
  }
  rows->insert(rows->end(), made.begin(), made.end());
}

}  // namespace

std::string read_rows(gpujoin_result* result, gpujoin_join_kind kind, bool has_numbers,
                      std::vector<JoinedRow>* rows) {
  try {
    Fetched fetched(result);
    read(fetched, kind, has_numbers, rows);
    return {};
  } catch (const std::string& wrong) {
    return wrong;
  }
}

}  // namespace gpujoin_test
