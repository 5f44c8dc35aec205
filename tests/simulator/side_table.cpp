#include "tests/simulator/side_table.hpp"

#include <random>

#include "tests/simulator/library_call.hpp"

namespace gpujoin_test {

namespace {

void set_bit(std::vector<uint8_t>& bits, int64_t row) {
  bits[static_cast<size_t>(row / 8)] |= static_cast<uint8_t>(1 << row % 8);
}

// An identity of each key that hashes and text of several lengths tell apart.
std::string key_text_of(int64_t key) {
  return std::string(static_cast<size_t>(key % 14), 'k') + std::to_string(key);
}

}  // namespace

SideTable::SideTable(const TableDraw& draw) : draw_(draw) {
  std::mt19937_64 random(draw.seed);
  std::bernoulli_distribution is_null(draw.nulls);
  std::bernoulli_distribution is_hot(draw.hot);
  std::uniform_int_distribution<int64_t> any(0, draw.keys - 1);
  auto const bytes = static_cast<size_t>(draw.rows / 8 + 1);
  key_valid_.fill(std::vector<uint8_t>(bytes));
  text_valid_.resize(bytes);
  for (int64_t row = 0; row < draw.rows; ++row) {
    int64_t const key = draw.unique ? row : is_hot(random) ? 0 : any(random);
    bool const two = draw.shape == KeyShape::kTwo;
    std::array<int64_t, 2> both = {two ? key / 16 : key, two ? key % 16 : 0};
    if (draw.shape == KeyShape::kNone) both = {0, 0};
    if (draw.shape != KeyShape::kNone && is_null(random)) both[0] = kNullKey;
    if (two && is_null(random)) both[1] = kNullKey;
    append_key(row, both);
    int64_t const number = draw.first + row;
    numbers_.push_back(number);
    text_.append(has_text(number) ? text_of(number) : "");
    if (has_text(number)) set_bit(text_valid_, row);
  }
}

void SideTable::Text::append(const std::string& value) {
  bytes += value;
  offsets.push_back(static_cast<int32_t>(bytes.size()));
}

void SideTable::append_key(int64_t row, const std::array<int64_t, 2>& key) {
  keys_.push_back(key);
  for (size_t i = 0; i < 2; ++i) {
    if (key[i] != kNullKey) set_bit(key_valid_[i], row);
  }
  key32_.push_back(static_cast<int32_t>(key[0] * 3 - 100));
  bool const two = draw_.shape == KeyShape::kTwo;
  bool const unlike = draw_.shape == KeyShape::kUnlike;
  key64_.push_back(unlike ? key32_.back() : (two ? key[1] : key[0]) * (int64_t{1} << 33) + 5);
  if (draw_.shape == KeyShape::kText) {
    key_text_.append(key[0] == kNullKey ? "" : key_text_of(key[0]));
  }
}

int32_t SideTable::key_count() const {
  if (draw_.shape == KeyShape::kNone) return 0;
  return draw_.shape == KeyShape::kTwo ? 2 : 1;
}

std::string SideTable::text_of(int64_t number) {
  return std::string(static_cast<size_t>(number % 19), static_cast<char>('a' + number % 26));
}

Answer SideTable::batch(gpujoin_context* context, int64_t first, int64_t count,
                        Relation* out) const {
  std::vector<gpujoin_column> columns;
  auto const add = [&](gpujoin_type type, const void* data, const std::vector<uint8_t>* valid) {
    gpujoin_column column = GPUJOIN_COLUMN_INIT;
    column.type = type;
    column.data = data;
    column.memory = GPUJOIN_MEMORY_HOST;
    column.name = "c";
    if (valid != nullptr) {
      column.validity = valid->data();
      column.validity_bit_offset = first;
    }
    columns.push_back(column);
  };
  auto const add_text = [&](const Text& text, const std::vector<uint8_t>& valid) {
    add(GPUJOIN_TYPE_UTF8, text.bytes.data(), &valid);
    columns.back().offsets = text.offsets.data() + first;
  };
  bool const two = draw_.shape == KeyShape::kTwo;
  bool const unlike = draw_.shape == KeyShape::kUnlike;
  bool const has_first = draw_.shape == KeyShape::kInt32 || two || (unlike && !draw_.is_wide);
  if (has_first) add(GPUJOIN_TYPE_INT32, key32_.data() + first, &key_valid_[0]);
  if (draw_.shape == KeyShape::kInt64 || two || (unlike && draw_.is_wide)) {
    add(GPUJOIN_TYPE_INT64, key64_.data() + first, &key_valid_[has_first ? 1 : 0]);
  }
  if (draw_.shape == KeyShape::kText) add_text(key_text_, key_valid_[0]);
  add(GPUJOIN_TYPE_INT64, numbers_.data() + first, nullptr);
  add_text(text_, text_valid_);
  gpujoin_relation* made = nullptr;
  Answer const answer = ask(gpujoin_relation_create, context, count, columns.data(),
                            static_cast<int32_t>(columns.size()), &made);
  out->reset(made);
  return answer;
}

}  // namespace gpujoin_test
