#include "src/cpu/batch_values.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "src/base/prefetch.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/cpu/pack_rows.hpp"
#include "src/cpu/value_width.hpp"

namespace gpujoin::cpu {

namespace {

// Rows that all have a match come one after the other.
bool are_neighbours(const uint32_t* numbers, uint32_t rows) {
  // Tells most others by two of them.
  if (numbers[rows - 1] - numbers[0] != rows - 1) return false;
  uint32_t differences = 0;
  for (uint32_t i = 0; i < rows; ++i) differences |= (numbers[i] - i) ^ numbers[0];
  return differences == 0;
}

// Where rows come in their order and most of them come out, they do so in runs, which are copied.
constexpr uint32_t kRunRows = 64;

template <typename Value>
void fetch(const std::byte* base, const uint32_t* index, uint32_t rows, std::byte* room) {
  auto const from = [&](uint32_t i) { return base + uint64_t{index[i]} * sizeof(Value); };
  auto const is_run = [&](uint32_t first, uint32_t end) {
    return first == end || are_neighbours(index + first, end - first);
  };
  uint32_t end = std::min(kRunRows, rows);
  bool next_is_run = is_run(0, end);
  for (uint32_t first = 0, next_end; first < rows; first = end, end = next_end) {
    next_end = std::min(end + kRunRows, rows);
    bool const copies = next_is_run;
    next_is_run = is_run(end, next_end);
    if (!next_is_run && !are_near(index + end, next_end - end)) {
      for (uint32_t i = end; i < next_end; ++i) base::ask_for(from(i));
    }
    if (copies) {
      std::memcpy(room + first * sizeof(Value), from(first), (end - first) * sizeof(Value));
      continue;
    }
    for (uint32_t i = first; i < end; ++i) {
      std::memcpy(room + i * sizeof(Value), from(i), sizeof(Value));
    }
  }
}

constexpr uint32_t kWordBytes = 8;

// Whether another field of the rows lies in the same word.
bool shares_word(const RowLayout& layout, uint32_t offset, uint32_t width) {
  uint32_t const within = offset % kWordBytes;
  if (layout.row_is_entry() || within + width > kWordBytes || width == kWordBytes) return false;
  uint32_t const word = offset / kWordBytes;
  uint32_t fields = layout.null_bits_bytes != 0 && layout.null_bits_offset / kWordBytes == word;
  for (CarriedColumn const& each : layout.carried) fields += each.offset / kWordBytes == word;
  return fields > 1;
}

// A field of words that were loaded. What the loop needs is in its arguments, as in copy_fields().
template <typename Value>
void take_field(const uint64_t* __restrict words, uint32_t shift, uint32_t rows,
                Value* __restrict values) {
  for (uint32_t i = 0; i < rows; ++i) values[i] = static_cast<Value>(words[i] >> shift);
}

// Bit `bit` of each of 64 bytes at most; eight at a time: the product has a byte's bit at its top.
uint64_t bits_of_bytes(const std::byte* bytes, uint32_t rows, uint32_t bit) {
  static_assert(std::endian::native == std::endian::little);
  constexpr uint64_t kOneOfEach = 0x0101010101010101;
  constexpr uint64_t kToTop = 0x0102040810204080;
  uint64_t word = 0;
  for (uint32_t first = 0; first < rows; first += 8) {
    uint64_t eight = 0;
    if (rows - first >= 8) {
      std::memcpy(&eight, bytes + first, 8);
    } else {
      std::memcpy(&eight, bytes + first, rows - first);
    }
    word |= ((eight >> bit & kOneOfEach) * kToTop >> 56) << first;
  }
  return word;
}

}  // namespace

// Columns of a batch share the look at whether they do.
template <typename Key>
void BatchValues<Key>::find_row_numbers(const Matches& matches) {
  known_numbers_ = packed_row_numbers(*matches.side, matches.rest, matches.rows, numbers_.data());
  are_neighbours_ = are_neighbours(known_numbers_, matches.rows);
  numbers_of_ = matches.side;
}

template <typename Key>
void BatchValues<Key>::load_words(const Matches& matches, uint32_t offset) {
  if (words_of_ == matches.side && words_offset_ == offset) return;
  packed_field(*matches.side, matches.rest, matches.rows, offset, kWordBytes,
               reinterpret_cast<std::byte*>(words_.data()));
  words_of_ = matches.side;
  words_offset_ = offset;
}

// One after the other the fields of a word would each wait for the same row again.
template <typename Key>
const std::byte* BatchValues<Key>::field(const Matches& matches, uint32_t offset, uint32_t width) {
  if (!shares_word(*matches.side->layout, offset, width)) {
    return packed_field(*matches.side, matches.rest, matches.rows, offset, width, room_.data());
  }
  static_assert(std::endian::native == std::endian::little);
  load_words(matches, offset / kWordBytes * kWordBytes);
  uint32_t const shift = offset % kWordBytes * 8;
  with_width(width, [&](auto value) {
    using Value = decltype(value);
    if constexpr (sizeof(Value) < kWordBytes) {
      take_field(words_.data(), shift, matches.rows, reinterpret_cast<Value*>(room_.data()));
    }
  });
  return room_.data();
}

template <typename Key>
const std::byte* BatchValues<Key>::values(const OutputSource& source, const Key* keys,
                                          const Matches& matches) {
  switch (source.source) {
    case Source::kKey:
      return reinterpret_cast<const std::byte*>(keys);
    case Source::kRowNumber:
    case Source::kCarried:
      return field(matches, source.offset, source.width);
    case Source::kFetched:
      break;
  }
  auto const* base = static_cast<const std::byte*>(source.column->data);
  uint32_t const* numbers = row_numbers(matches);
  if (are_neighbours_) return base + uint64_t{numbers[0]} * source.width;
  with_width(source.width, [&](auto value) {
    fetch<decltype(value)>(base, numbers, matches.rows, room_.data());
  });
  return room_.data();
}

template <typename Key>
const uint64_t* BatchValues<Key>::bits(const OutputSource& source, const Matches& matches) {
  auto const each_64 = [&](const auto& word_at) {
    for (uint32_t first = 0; first < matches.rows; first += 64) {
      bits_[first / 64] = word_at(first, std::min(matches.rows - first, 64U));
    }
  };
  if (source.source == Source::kCarried) {
    auto const bit = static_cast<uint32_t>(source.null_bit);
    std::byte const* bytes = field(matches, matches.side->layout->null_bits_offset + bit / 8, 1);
    each_64(
        [=](uint32_t first, uint32_t rows) { return bits_of_bytes(bytes + first, rows, bit % 8); });
  } else {
    uint32_t const* numbers = row_numbers(matches);
    columns::ColumnView const& column = *source.column;
    if (are_neighbours_) {
      uint64_t const begin = static_cast<uint64_t>(column.validity_bit_offset) + numbers[0];
      each_64([&](uint32_t first, uint32_t rows) {
        return columns::bits_of_64_rows(column.validity, begin + first, begin + first + rows);
      });
      return bits_.data();
    }
    each_64([&](uint32_t first, uint32_t rows) {
      uint64_t word = 0;
      for (uint32_t i = 0; i < rows; ++i) {
        word |= uint64_t{is_valid(column, numbers[first + i])} << i;
      }
      return word;
    });
  }
  return bits_.data();
}

template class BatchValues<uint32_t>;
template class BatchValues<uint64_t>;

}  // namespace gpujoin::cpu
