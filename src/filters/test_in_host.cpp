#include <algorithm>
#include <cstddef>

#include "kernels/filters/split_block.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/filters/test_bits.hpp"
#include "src/filters/test_rows.hpp"
#include "src/filters/value_hash.hpp"
#include "src/keys/value_kinds.hpp"

namespace gpujoin::filters {

namespace {

using columns::ColumnView;
using columns::Layout;

// Rows whose hashes or positions are made at a time: they stay in the first cache.
constexpr int64_t kBlockRows = 512;
static_assert(kBlockRows % 64 == 0);

constexpr int64_t words_of(int64_t rows) { return (rows + 63) / 64; }

uint64_t ones(int64_t rows) { return rows >= 64 ? ~uint64_t{0} : (uint64_t{1} << rows) - 1; }

void fill(bool passes, int64_t count, uint64_t* words) {
  for (int64_t row = 0; row < count; row += 64) *words++ = passes ? ones(count - row) : 0;
}

// Calls of_block(first, count, words) for blocks.
template <typename OfBlock>
void for_blocks(int64_t first, int64_t count, uint64_t* words, const OfBlock& of_block) {
  for (int64_t done = 0; done < count; done += kBlockRows) {
    of_block(first + done, std::min(kBlockRows, count - done), words + done / 64);
  }
}

// A bit for each byte that is `value`.
void keep_where(const uint8_t* bytes, uint8_t value, int64_t count, uint64_t* words) {
  for (int64_t first = 0; first < count; first += 64) {
    uint64_t kept = 0;
    int64_t const rows = std::min<int64_t>(64, count - first);
    for (int64_t i = 0; i < rows; ++i) {
      kept |= static_cast<uint64_t>(bytes[first + i] == value) << i;
    }
    *words++ &= kept;
  }
}

SplitBlocks blocks_of(const Filter& filter) {
  return {filter.bits.as<uint32_t>(), filter.bytes / kernels::kBytesOfBlock};
}

template <typename Value>
void test_positions(const Filter& filter, const Value* values, int64_t count, uint64_t* words) {
  Range const range = {filter.first_position, filter.last_position};
  if (filter.kind == Kind::kMinMax) return test_range(range, values, count, words);
  test_bitmap(range, filter.bits.as<uint64_t>(), values, count, words);
}

void by_position(const Filter& filter, const ColumnView& column, int64_t first, int64_t count,
                 uint64_t* words) {
  if (lie_as_positions(column, filter.unit)) {
    if (column.width == 4) {
      return test_positions(filter, static_cast<const int32_t*>(column.data) + first, count, words);
    }
    return test_positions(filter, static_cast<const int64_t*>(column.data) + first, count, words);
  }
  for_blocks(first, count, words, [&](int64_t from, int64_t rows, uint64_t* made) {
    int64_t positions[kBlockRows];
    uint8_t has[kBlockRows];
    write_positions(column, filter.unit, from, rows, positions, has);
    test_positions(filter, positions, rows, made);
    keep_where(has, 1, rows, made);
  });
}

void by_hash(const Filter& filter, std::span<const ColumnView> columns, int64_t rows, int64_t first,
             int64_t count, uint64_t* words) {
  SplitBlocks const blocks = blocks_of(filter);
  bool const is_lone = columns.size() == 1;
  if (is_lone && lies_as_hashed(columns.front())) {
    if (columns.front().width == 4) {
      auto const* const values = static_cast<const int32_t*>(columns.front().data);
      return test_blocks(blocks, values + first, count, words);
    }
    auto const* const values = static_cast<const int64_t*>(columns.front().data);
    return test_blocks(blocks, values + first, count, words);
  }
  std::span<const int32_t> const flags =
      is_lone ? std::span<const int32_t>() : std::span(filter.key_flags);
  for_blocks(first, count, words, [&](int64_t from, int64_t now, uint64_t* made) {
    uint64_t hashes[kBlockRows];
    uint8_t has_null[kBlockRows];
    hash_values(columns, rows, flags, from, now, hashes, has_null);
    test_hashes(blocks, hashes, now, made);
    keep_where(has_null, 0, now, made);
  });
}

// NULLs of a lone key pass or do not, whatever lies there.
void put_nulls(const ColumnView& column, bool passes, int64_t first, int64_t count,
               uint64_t* words) {
  if (column.validity == nullptr) return;
  auto const begin = static_cast<uint64_t>(column.validity_bit_offset + first);
  auto const end = begin + static_cast<uint64_t>(count);
  for (int64_t row = 0; row < count; row += 64, ++words) {
    uint64_t const valid =
        columns::bits_of_64_rows(column.validity, begin + static_cast<uint64_t>(row), end);
    *words = passes ? (*words | ~valid) & ones(count - row) : *words & valid;
  }
}

}  // namespace

bool lies_as_hashed(const ColumnView& column) {
  PositionUnit const unit = position_unit(column);
  bool const is_word = (unit.kind == PositionUnit::Kind::kNumbers && unit.scale == 0) ||
                       (unit.kind == PositionUnit::Kind::kTimes && unit.nanoseconds == 1);
  return is_word && lie_as_positions(column, unit);
}

void test_in_host(const Filter& filter, std::span<const ColumnView> columns, int64_t rows,
                  int64_t first, int64_t count, uint64_t* words) {
  if (filter.kind == Kind::kNone) return fill(true, count, words);
  bool const is_lone = filter.keys.size() == 1;
  ColumnView const& column = columns.front();
  if (is_lone && column.layout == Layout::kNulls) return fill(filter.passes_null, count, words);
  if (filter.distinct == 0) {
    fill(false, count, words);
  } else if (filter.kind == Kind::kBloom) {
    by_hash(filter, columns, rows, first, count, words);
  } else {
    by_position(filter, column, first, count, words);
  }
  if (is_lone) put_nulls(column, filter.passes_null, first, count, words);
}

}  // namespace gpujoin::filters
