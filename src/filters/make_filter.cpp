#include "src/filters/make_filter.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "kernels/bytes_column.hpp"
#include "kernels/filters/split_block.hpp"
#include "src/base/memory.hpp"
#include "src/base/prefetch.hpp"
#include "src/base/status.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/filters/chosen_rows.hpp"
#include "src/filters/distinct_count.hpp"
#include "src/filters/extremes.hpp"
#include "src/filters/key_scan.hpp"
#include "src/filters/split_block.hpp"
#include "src/filters/value_hash.hpp"
#include "src/keys/value_kinds.hpp"

namespace gpujoin::filters {

namespace {

using base::Buffer;
using base::Memory;
using columns::ColumnView;
using columns::Layout;

constexpr double kRate = 0.01;
constexpr double kMostRate = 0.5;  // of one that is of use
constexpr uint64_t kLargestBytes = uint64_t{256} << 20;
constexpr uint64_t kLimitShare = 32;
// Of a bitmap, whatever a Bloom filter takes: it stays in a core's first cache.
constexpr uint64_t kSmallBytes = uint64_t{32} << 10;

bool has_null(const ColumnView& column, int64_t rows) {
  if (rows == 0) return false;
  if (column.layout == Layout::kNulls) return true;
  return column.validity != nullptr &&
         columns::count_nulls(column.validity, column.validity_bit_offset, rows) != 0;
}

// How many values the type has; 0: more than anyone counts.
uint64_t values_of_type(const ColumnView& column) {
  if (column.layout == Layout::kBits) return 2;
  if (!keys::is_integer(column) || column.width > 2) return 0;
  return uint64_t{1} << (8 * column.width);
}

class Maker {
 public:
  Maker(base::Queue& queue, std::vector<ColumnView> keys, std::vector<int32_t> flags,
        const Wish& wish, const KeySource& source)
      : queue_(queue), scan_(queue, source), wish_(wish), made_(std::make_shared<Filter>()) {
    made_->context = queue.context.shared_from_this();
    made_->keys = std::move(keys);
    for (ColumnView const& key : made_->keys) made_->key_types.push_back(key.type);
    made_->key_flags = std::move(flags);
    made_->key_flags.resize(made_->keys.size(), 0);
    made_->rows = source.rows();
    if (is_lone()) made_->unit = position_unit(made_->keys.front());
    if (wish_.false_positive_rate == 0) wish_.false_positive_rate = kRate;
    if (wish_.largest_bytes == 0) {
      uint64_t const limit = queue.context.host_account->limit_bytes();
      wish_.largest_bytes = limit == 0 ? kLargestBytes : limit / kLimitShare;
    }
    most_blocks_ =
        std::clamp<uint64_t>(wish_.largest_bytes / kernels::kBytesOfBlock, 1, UINT32_MAX);
    seen_.resize(static_cast<size_t>(scan_.threads()));
  }

  std::shared_ptr<const Filter> make() {
    bool const is_automatic = wish_.kind == GPUJOIN_KEY_FILTER_AUTOMATIC;
    bool const wants_bits = wish_.kind == GPUJOIN_KEY_FILTER_BLOOM;
    bool const has_unit = made_->unit.kind != PositionUnit::Kind::kNone;
    if (!is_automatic && !wants_bits && !has_unit && !is_null_type()) refuse("of this type");
    if (wants_bits || (is_automatic && !has_unit)) {
      make_blocks(made_->rows);
      scan(true);
      if (finish_values()) return made_;
      fold();
      return finish_blocks();
    }
    scan(false);
    if (finish_values()) return made_;
    if (!set_positions()) {
      if (!is_automatic) refuse("of values that 64 bits do not hold");
    } else if (wish_.kind == GPUJOIN_KEY_FILTER_MIN_MAX) {
      return finish_range(false);
    } else if (wants_bitmap()) {
      return make_bitmap();
    }
    make_blocks(made_->distinct);
    scan(true);
    return finish_blocks();
  }

 private:
  struct Seen {
    DistinctCount distinct;
    Extremes extremes;
    bool has_any = false;
  };

  bool is_lone() const { return made_->keys.size() == 1; }
  bool is_null_type() const { return is_lone() && made_->keys.front().layout == Layout::kNulls; }
  [[noreturn]] void refuse(const char* what) const {
    base::fail(GPUJOIN_ERROR_UNSUPPORTED, "options.kind: no %s of %s %s",
               wish_.kind == GPUJOIN_KEY_FILTER_BITMAP ? "BITMAP" : "MIN_MAX",
               is_lone() ? "a key" : "several keys", is_lone() ? what : "together");
  }
  // Hashes all rows. sets_bits: those of the blocks; else looks at the values.
  void scan(bool sets_bits) {
    bool const looks = !has_looked_;
    has_looked_ = true;
    // Of a lone key NULL has no hash: see Filter::passes_null.
    std::span<const int32_t> const flags =
        is_lone() ? std::span<const int32_t>() : std::span(made_->key_flags);
    scan_.for_chunks(
        [&](std::span<const ColumnView> columns, int64_t rows, int64_t first, int64_t count) {
          if (looks && first == 0) {
            for (ColumnView const& column : columns) {
              made_->has_null = made_->has_null || has_null(column, rows);
            }
          }
          scan_.for_items(count, [&](int64_t begin, int64_t items, int32_t worker) {
            uint64_t* const made = scan_.words() + begin;
            uint8_t* const skipped = scan_.marks() + begin;
            hash_values(columns, rows, flags, first + begin, items, made, skipped);
            if (!looks) return;
            Seen& seen = seen_[static_cast<size_t>(worker)];
            for (int64_t i = 0; i < items; ++i) {
              if (skipped[i] != 0) continue;
              seen.distinct.add(made[i]);
              seen.has_any = true;
            }
            if (is_lone()) seen.extremes.add(columns.front(), rows, first + begin, items);
          });
          if (!sets_bits) return;
          scan_.for_slices(blocks_, [&](uint64_t from, uint64_t end) {
            add_to_blocks(made_->bits.as<uint32_t>(), blocks_, from, end, scan_.words(),
                          scan_.marks(), count);
          });
        });
  }

  // What the values say. True: there are none, and the filter is made.
  bool finish_values() {
    Seen all;
    for (Seen const& seen : seen_) {
      all.distinct.add(seen.distinct);
      all.extremes.add(seen.extremes);
      all.has_any = all.has_any || seen.has_any;
    }
    bool const is_null_equal = (made_->key_flags.front() & columns::kNullEqual) != 0;
    made_->passes_null = is_lone() && made_->has_null && is_null_equal;
    if (!all.has_any) {
      drop_bits();
      made_->kind = Kind::kMinMax;
      made_->distinct_is_exact = true;
      return true;
    }
    made_->distinct = std::clamp<int64_t>(all.distinct.estimate(), 1, made_->rows);
    made_->has_extremes = all.extremes.has_any();
    if (made_->has_extremes) {
      made_->lowest = all.extremes.lowest();
      made_->highest = all.extremes.highest();
    }
    return false;
  }

  // False: the values have none.
  bool set_positions() {
    std::string const values = made_->lowest + made_->highest;
    ColumnView ends = made_->keys.front();
    uint8_t bits = 0;
    if (ends.layout == Layout::kBits) {
      bits = static_cast<uint8_t>(values[0] | values[1] << 1);
      auto parts = std::make_shared<columns::ColumnParts>();
      ends.parts = std::move(parts);
      ends.data = &bits;
    } else {
      ends.data = values.data();
    }
    int64_t positions[2];
    uint8_t has[2];
    write_positions(ends, made_->unit, 0, 2, positions, has);
    if (has[0] == 0 || has[1] == 0) return false;
    made_->first_position = positions[0];
    made_->last_position = positions[1];
    return true;
  }

  // 0: more than 64 bits count.
  uint64_t position_count() const {
    return static_cast<uint64_t>(made_->last_position) -
           static_cast<uint64_t>(made_->first_position) + 1;
  }

  bool wants_bitmap() const {
    uint64_t const places = position_count();
    uint64_t const bytes = places == 0 ? UINT64_MAX : (places - 1) / 8 + 1;
    if (wish_.kind == GPUJOIN_KEY_FILTER_BITMAP) {
      if (bytes <= wish_.largest_bytes) return true;
      base::fail(
          GPUJOIN_ERROR_UNSUPPORTED,
          "options.kind: a BITMAP from the lowest to the highest value takes %llu bytes, and "
          "options.largest_bytes allows %llu",
          static_cast<unsigned long long>(bytes),
          static_cast<unsigned long long>(wish_.largest_bytes));
    }
    if (bytes > wish_.largest_bytes) return false;
    uint64_t const blocks =
        split_blocks_for(made_->distinct, wish_.false_positive_rate, most_blocks_);
    return bytes <= std::max(kSmallBytes, 2 * blocks * kernels::kBytesOfBlock);
  }

  void allocate_bits(uint64_t bytes) {
    made_->bits = queue_.host_pool->allocate(Memory::kHost, bytes, "a filter of keys");
    made_->bytes = bytes;
    std::memset(made_->bits.data(), 0, bytes);
  }
  void drop_bits() {
    made_->bits = Buffer();
    made_->bytes = 0;
  }

  std::shared_ptr<const Filter> make_bitmap() {
    uint64_t const places = position_count();
    uint64_t const words = (places + 63) / 64;
    allocate_bits(base::checked_bytes(words, sizeof(uint64_t)));
    auto* const bits = made_->bits.as<uint64_t>();
    auto const first_place = static_cast<uint64_t>(made_->first_position);
    scan_.for_chunks(
        [&](std::span<const ColumnView> columns, int64_t, int64_t first, int64_t count) {
          ColumnView const& column = columns.front();
          auto* const positions = reinterpret_cast<int64_t*>(scan_.words());
          if (column.layout == Layout::kNulls) return;
          scan_.for_items(count, [&](int64_t begin, int64_t items, int32_t) {
            uint8_t* const has = scan_.marks() + begin;
            write_positions(column, made_->unit, first + begin, items, positions + begin, has);
            kernels::ValidityBits const validity = {column.validity, column.validity_bit_offset};
            if (validity.bits == nullptr) return;
            for (int64_t i = 0; i < items; ++i) {
              if (!kernels::is_valid(validity, static_cast<uint64_t>(first + begin + i)))
                has[i] = 0;
            }
          });
          scan_.for_slices(words, [&](uint64_t from, uint64_t end) {
            auto const place_of = [&](int64_t i) {
              return static_cast<uint64_t>(positions[i]) - first_place;
            };
            for_chosen(
                count,
                [&](int64_t i) {
                  uint64_t const word = place_of(i) / 64;
                  bool const is_here = static_cast<bool>((word >= from) & (word < end));
                  return static_cast<bool>(is_here & (scan_.marks()[i] != 0));
                },
                [&](int64_t i) { base::ask_for(bits + place_of(i) / 64); },
                [&](int64_t i) { bits[place_of(i) / 64] |= uint64_t{1} << (place_of(i) % 64); });
          });
        });
    uint64_t distinct = 0;
    for (uint64_t i = 0; i < words; ++i) distinct += static_cast<uint64_t>(std::popcount(bits[i]));
    made_->distinct = static_cast<int64_t>(distinct);
    made_->distinct_is_exact = true;
    bool const is_automatic = wish_.kind == GPUJOIN_KEY_FILTER_AUTOMATIC;
    if (is_automatic && distinct == places) return finish_range(true);
    made_->kind = Kind::kBitmap;
    return made_;
  }

  std::shared_ptr<const Filter> finish_range(bool is_exact) {
    drop_bits();
    made_->kind = Kind::kMinMax;
    made_->false_positive_rate = is_exact ? 0 : 1;
    bool const is_all = position_count() == values_of_type(made_->keys.front());
    if (wish_.kind == GPUJOIN_KEY_FILTER_AUTOMATIC && is_all && position_count() != 0) {
      return finish_none();
    }
    return made_;
  }

  std::shared_ptr<const Filter> finish_none() {
    drop_bits();
    made_->kind = Kind::kNone;
    made_->false_positive_rate = 1;
    return made_;
  }

  void make_blocks(int64_t distinct) {
    blocks_ = split_blocks_for(distinct, wish_.false_positive_rate, most_blocks_);
    allocate_bits(base::checked_bytes(blocks_, kernels::kBytesOfBlock));
  }

  // It was made for as many values as there are rows.
  void fold() {
    uint64_t const made_blocks = blocks_;
    while (blocks_ % 2 == 0 &&
           split_block_rate(made_->distinct, blocks_ / 2) <= wish_.false_positive_rate) {
      fold_blocks(made_->bits.as<uint32_t>(), blocks_);
      blocks_ /= 2;
    }
    if (blocks_ == made_blocks) return;
    made_->bytes = blocks_ * kernels::kBytesOfBlock;
    Buffer fitting = queue_.host_pool->try_allocate(Memory::kHost, made_->bytes);
    if (!fitting) return;
    std::memcpy(fitting.data(), made_->bits.data(), made_->bytes);
    made_->bits = std::move(fitting);
  }

  std::shared_ptr<const Filter> finish_blocks() {
    made_->kind = Kind::kBloom;
    made_->false_positive_rate = split_block_rate(made_->distinct, blocks_);
    bool const is_automatic = wish_.kind == GPUJOIN_KEY_FILTER_AUTOMATIC;
    if (!is_automatic || made_->false_positive_rate <= kMostRate) return made_;
    bool const has_range = made_->first_position <= made_->last_position;
    return has_range ? finish_range(false) : finish_none();
  }

  base::Queue& queue_;
  KeyScan scan_;
  Wish wish_;
  std::shared_ptr<Filter> made_;
  uint64_t most_blocks_ = 1;
  uint64_t blocks_ = 0;
  bool has_looked_ = false;
  std::vector<Seen> seen_;  // of each worker
};

}  // namespace

const char* to_text(Kind kind) {
  switch (kind) {
    case Kind::kMinMax:
      return "min_max";
    case Kind::kBitmap:
      return "bitmap";
    case Kind::kBloom:
      return "bloom";
    default:
      return "none";
  }
}

std::shared_ptr<const Filter> make_filter(base::Queue& queue, std::vector<ColumnView> keys,
                                          std::vector<int32_t> key_flags, const Wish& wish,
                                          const KeySource& source) {
  return Maker(queue, std::move(keys), std::move(key_flags), wish, source).make();
}

}  // namespace gpujoin::filters
