#include "src/pieces/collected_result.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::pieces {

namespace {

using base::Memory;
using columns::JoinResult;
using columns::Layout;
using columns::ResultColumn;
using columns::Storage;

uint64_t bits_bytes(int64_t rows) { return columns::bitmap_words_bytes(rows); }

uint64_t data_bytes(const ResultColumn& column, int64_t rows) {
  if (column.data == nullptr) return 0;
  if (column.layout == Layout::kBits) return bits_bytes(rows);
  if (column.layout == Layout::kText) return column.text_bytes;
  return base::checked_bytes(static_cast<uint64_t>(rows), static_cast<uint64_t>(column.width));
}

Storage in_host_memory(base::Queue& queue, const Storage& on_device, uint64_t bytes) {
  if (on_device == nullptr || bytes == 0) return nullptr;
  base::Buffer copy = queue.host_pool->allocate(Memory::kHost, bytes, "rows of a piece");
  base::copy(queue, copy.data(), Memory::kHost, on_device.get(), Memory::kDevice, bytes);
  return columns::make_storage(std::move(copy));
}

void bring(base::Queue& queue, JoinResult* result) {
  int64_t const rows = result->rows;
  for (ResultColumn& column : result->columns) {
    column.data = in_host_memory(queue, column.data, data_bytes(column, rows));
    column.validity = in_host_memory(queue, column.validity, bits_bytes(rows));
    auto const offsets =
        (static_cast<uint64_t>(rows) + 1) * static_cast<uint64_t>(column.offset_width);
    column.offsets = in_host_memory(queue, column.offsets, offsets);
  }
  uint64_t const numbers = static_cast<uint64_t>(rows) * sizeof(uint32_t);
  if (result->has_left_rows())
    result->left_rows = in_host_memory(queue, result->left_rows, numbers);
  if (result->has_right_rows()) {
    result->right_rows = in_host_memory(queue, result->right_rows, numbers);
  }
  base::finish(queue);
  result->memory = Memory::kHost;
}

template <typename T>
const T* bytes_of(const Storage& storage) {
  return static_cast<const T*>(storage.get());
}

// Column `number` of all parts, which let go of theirs. Parts are copied by all threads; one column
// after the other, since each is there twice meanwhile.
class ColumnOfParts {
 public:
  ColumnOfParts(base::Queue& queue, std::vector<std::unique_ptr<JoinResult>>& parts, size_t number,
                int64_t rows)
      : queue_(queue), workers_(queue), parts_(parts), number_(number), rows_(rows) {}

  ResultColumn append() {
    ResultColumn made = parts_.front()->columns[number_];
    made.data = made.validity = made.offsets = nullptr;
    made.null_count = 0;
    made.room = 0;
    made.text_bytes = 0;
    bool any_null = false;
    bool any_data = false;
    for (auto const& part : parts_) {
      ResultColumn const& column = part->columns[number_];
      made.null_count += column.null_count;
      made.text_bytes += column.text_bytes;
      any_null = any_null || column.validity != nullptr;
      any_data = any_data || column.data != nullptr;
    }
    if (any_null) made.validity = append_bits(&ResultColumn::validity, true);
    if (made.layout == Layout::kText) {
      append_text(&made);
    } else if (made.layout == Layout::kBits && any_data) {
      made.data = append_bits(&ResultColumn::data, false);
    } else if (any_data) {
      append_values(&made);
    }
    for (auto const& part : parts_) part->columns[number_] = ResultColumn();
    return made;
  }

 private:
  base::Buffer allocate(uint64_t bytes) const {
    return queue_.host_pool->allocate(Memory::kHost, bytes, "rows of all pieces");
  }

  Storage append_bits(Storage ResultColumn::*of, bool where_none) const {
    base::Buffer bits = allocate(bits_bytes(rows_));
    std::memset(bits.data(), 0, bits.bytes());
    int64_t at = 0;
    for (auto const& part : parts_) {
      Storage const& from = part->columns[number_].*of;
      if (from != nullptr) {
        columns::append_bits(bits.as<uint8_t>(), at, bytes_of<uint8_t>(from), part->rows);
      } else {
        columns::append_same_bits(bits.as<uint8_t>(), at, where_none, part->rows);
      }
      at += part->rows;
    }
    return columns::make_storage(std::move(bits));
  }

  // What the parts before one have.
  struct Before {
    uint64_t rows = 0;
    uint64_t text = 0;
  };

  // body(part, its column, before it) for each part.
  template <typename Body>
  void for_each_part(const Body& body) {
    std::vector<Before> before(1);
    for (auto const& part : parts_) {
      before.push_back({before.back().rows + static_cast<uint64_t>(part->rows),
                        before.back().text + part->columns[number_].text_bytes});
    }
    workers_.for_each("collect", static_cast<int64_t>(parts_.size()), [&](int64_t i, int32_t) {
      auto const part = static_cast<size_t>(i);
      body(*parts_[part], parts_[part]->columns[number_], before[part]);
    });
  }

  void append_values(ResultColumn* made) {
    auto const width = static_cast<uint64_t>(made->width);
    base::Buffer data = allocate(base::checked_bytes(static_cast<uint64_t>(rows_), width));
    for_each_part([&](const JoinResult& part, const ResultColumn& column, const Before& before) {
      auto* const to = data.as<std::byte>() + before.rows * width;
      uint64_t const bytes = static_cast<uint64_t>(part.rows) * width;
      if (column.data == nullptr) {
        std::memset(to, 0, bytes);
      } else {
        std::memcpy(to, column.data.get(), bytes);
      }
    });
    made->data = columns::make_storage(std::move(data));
  }

  void append_text(ResultColumn* made) {
    if (made->offset_width == 4 && made->text_bytes > INT32_MAX) {
      base::fail(GPUJOIN_ERROR_TOO_MANY_ROWS,
                 "column \"%s\" has %llu bytes, more than offsets of 4 bytes count",
                 made->name.c_str(), static_cast<unsigned long long>(made->text_bytes));
    }
    if (made->offset_width == 4) {
      append_text_of<int32_t>(made);
    } else {
      append_text_of<int64_t>(made);
    }
  }

  template <typename Offset>
  void append_text_of(ResultColumn* made) {
    base::Buffer offsets = allocate((static_cast<uint64_t>(rows_) + 1) * sizeof(Offset));
    base::Buffer text = allocate(std::max<uint64_t>(made->text_bytes, 1));
    *offsets.as<Offset>() = 0;
    for_each_part([&](const JoinResult& part, const ResultColumn& column, const Before& before) {
      auto const first = static_cast<Offset>(before.text);
      auto const* const from = bytes_of<Offset>(column.offsets);
      auto* to = offsets.as<Offset>() + before.rows;
      for (int64_t row = 0; row < part.rows; ++row) {
        *++to = from == nullptr ? first : static_cast<Offset>(first + from[row + 1] - from[0]);
      }
      if (column.text_bytes != 0) {
        std::memcpy(text.as<std::byte>() + before.text, column.data.get(), column.text_bytes);
      }
    });
    made->offsets = columns::make_storage(std::move(offsets));
    made->data = columns::make_storage(std::move(text));
  }

  base::Queue& queue_;
  cpu::Workers workers_;
  std::vector<std::unique_ptr<JoinResult>>& parts_;
  size_t number_;
  int64_t rows_;
};

// Row numbers of a side, as rows of the whole side.
struct Numbers {
  Storage rows;
  Storage validity;  // null: all are there
  int64_t missing = 0;
};

Numbers append_numbers(base::Queue& queue, const std::vector<std::unique_ptr<JoinResult>>& parts,
                       bool left, int64_t rows) {
  Numbers made;
  base::Buffer numbers =
      queue.host_pool->allocate_rows<uint32_t>(Memory::kHost, static_cast<uint64_t>(rows), "pairs");
  base::Buffer bits =
      queue.host_pool->allocate(Memory::kHost, bits_bytes(rows), "row numbers that are there");
  std::memset(bits.data(), 0, bits.bytes());
  auto* const to = numbers.as<uint32_t>();
  int64_t at = 0;
  for (auto const& part : parts) {
    auto const* const from = bytes_of<uint32_t>(left ? part->left_rows : part->right_rows);
    auto const first = static_cast<uint32_t>(left ? part->left_first_row : part->right_first_row);
    for (int64_t i = 0; i < part->rows; ++i, ++at) {
      uint32_t const row = from == nullptr ? GPUJOIN_NO_ROW : from[i];
      bool const is_there = row != GPUJOIN_NO_ROW;
      to[at] = is_there ? row + first : row;
      made.missing += is_there ? 0 : 1;
      bits.as<uint8_t>()[at / 8] |= static_cast<uint8_t>((is_there ? 1 : 0) << (at % 8));
    }
  }
  made.rows = columns::make_storage(std::move(numbers));
  if (made.missing != 0) made.validity = columns::make_storage(std::move(bits));
  return made;
}

}  // namespace

void CollectedResult::add(base::Queue& queue, std::unique_ptr<JoinResult> piece) {
  if (piece->memory == Memory::kDevice) bring(queue, piece.get());
  rows_ += piece->rows;
  parts_.push_back(std::move(piece));
}

std::unique_ptr<JoinResult> CollectedResult::finish(base::Queue& queue, const JoinResult& like) {
  JoinResult const& known = parts_.empty() ? like : *parts_.front();
  auto all = std::make_unique<JoinResult>();
  all->context = known.context;
  all->memory = Memory::kHost;
  all->rows = rows_;
  all->has_pairs = known.has_pairs;
  all->pair_sides = known.pair_sides;
  all->may_miss_left_rows = known.may_miss_left_rows;
  all->may_miss_right_rows = known.may_miss_right_rows;
  all->statistics = known.statistics;
  if (parts_.empty()) {
    all->columns = known.columns;
    return all;
  }
  if (known.has_left_rows()) {
    Numbers numbers = append_numbers(queue, parts_, true, rows_);
    all->left_rows = std::move(numbers.rows);
    all->left_rows_validity = std::move(numbers.validity);
    all->left_rows_missing = numbers.missing;
    for (auto const& part : parts_) part->left_rows = nullptr;
  }
  if (known.has_right_rows()) {
    Numbers numbers = append_numbers(queue, parts_, false, rows_);
    all->right_rows = std::move(numbers.rows);
    all->right_rows_validity = std::move(numbers.validity);
    all->right_rows_missing = numbers.missing;
    for (auto const& part : parts_) part->right_rows = nullptr;
  }
  for (size_t i = 0; i < parts_.front()->columns.size(); ++i) {
    all->columns.push_back(ColumnOfParts(queue, parts_, i, rows_).append());
  }
  parts_.clear();
  return all;
}

}  // namespace gpujoin::pieces
