#include "src/cpu/gather_bytes.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "src/base/prefetch.hpp"
#include "src/cpu/bytes_layout.hpp"
#include "src/cpu/gather_bits.hpp"
#include "src/cpu/value_width.hpp"

namespace gpujoin::cpu {

namespace {

using base::Memory;
using kernels::BytesColumn;
using kernels::BytesLayout;
using kernels::ByteSpan;

// Of one task at most: a multiple of the 64 rows of a word of validity, so that no two tasks share
// a word. Long values: fewer, so that a task has some megabytes and all threads some tasks.
constexpr uint64_t kTaskRows = uint64_t{1} << 16;
constexpr uint64_t kTaskBytes = uint64_t{4} << 20;
// Rows whose lengths are summed up by themselves, which the tasks of the copy begin at.
constexpr uint64_t kSumRows = uint64_t{1} << 10;
static_assert(kTaskRows % kSumRows == 0 && kSumRows % 64 == 0);

// What a task needs to know of the rows.
struct Rows {
  const uint32_t* numbers;  // null: the identity
  uint64_t count;
  const uint64_t* validity;  // of the output; null: all are valid

  uint64_t operator[](uint64_t i) const { return numbers != nullptr ? numbers[i] : i; }
  bool is_valid(uint64_t i) const {
    return validity == nullptr || (validity[i / 64] >> (i % 64) & 1) != 0;
  }
};

template <BytesLayout kLayout>
void fetch_place(const BytesColumn& column, const Rows& rows, uint64_t i) {
  constexpr uint64_t kBytes = kLayout == BytesLayout::kOffsets32   ? 4
                              : kLayout == BytesLayout::kOffsets64 ? 8
                                                                   : 16;
  if (i < rows.count && rows.is_valid(i)) {
    base::ask_for(static_cast<const std::byte*>(column.places) + kBytes * rows[i]);
  }
}

// Where a task writes its values, one after the other. A copy of a short value writes as many bytes
// as fit a register or two, which saves a call; what is too many the next value overwrites.
class Target {
 public:
  Target(std::byte* begin, std::byte* end) : at_(begin), end_(end) {}

  // readable_end: of what may be read behind the value.
  void append(const ByteSpan& value, const uint8_t* readable_end) {
    int64_t const room = std::min(readable_end - value.data, end_ - at_);
    // Of text, whose values are of any length, which of two sizes nobody can predict.
    if (value.count <= 32 && room >= 32) {
      std::memcpy(at_, value.data, 32);
    } else if (value.count <= 16 && room >= 16) {
      std::memcpy(at_, value.data, 16);
    } else if (value.count != 0) {
      std::memcpy(at_, value.data, value.count);
    }
    at_ += value.count;
  }
  void append_zeros(uint64_t bytes) {
    if (bytes != 0) std::memset(at_, 0, bytes);
    at_ += bytes;
  }

 private:
  std::byte* at_;
  std::byte* end_;
};

// Rows of a task that copies, where all rows together have so many bytes: a power of two.
uint64_t rows_of_task(uint64_t bytes, uint64_t count, uint64_t fewest) {
  uint64_t const of_row = std::max<uint64_t>(1, bytes / std::max<uint64_t>(1, count));
  return std::clamp(std::bit_floor(std::max<uint64_t>(1, kTaskBytes / of_row)), fewest, kTaskRows);
}

// Of a width that has a type: values that nothing is asked about. Of rows that are not valid 0.
template <typename Value>
void gather_typed(const uint8_t* bytes, const Rows& rows, uint64_t first, uint64_t end,
                  std::byte* target) {
  auto const load = [=](uint64_t row) {
    Value value;
    std::memcpy(&value, bytes + row * sizeof(Value), sizeof(Value));
    return value;
  };
  auto const store = [=](uint64_t i, Value value) {
    std::memcpy(target + i * sizeof(Value), &value, sizeof(Value));
  };
  for (uint64_t begin = first; begin < end; begin += 64) {
    uint64_t const last = std::min(begin + 64, end);
    uint64_t const all = ~uint64_t{0} >> (64 - (last - begin));
    uint64_t const valid = rows.validity != nullptr ? rows.validity[begin / 64] & all : all;
    if (rows.numbers != nullptr) {
      for (uint64_t i = last; i < std::min(last + 64, end); ++i) {
        if (rows.is_valid(i)) base::ask_for(bytes + rows[i] * sizeof(Value));
      }
    }
    if (valid == all) {
      for (uint64_t i = begin; i < last; ++i) store(i, load(rows[i]));
    } else if (valid == 0) {
      std::memset(target + begin * sizeof(Value), 0, (last - begin) * sizeof(Value));
    } else {
      // Where one row is valid there is a first value.
      for (uint64_t i = begin; i < last; ++i) {
        uint64_t const is_valid = valid >> (i - begin) & 1;
        Value const value = load(rows[i] & (uint64_t{0} - is_valid));
        store(i, is_valid != 0 ? value : Value{});
      }
    }
  }
}

// The same of any width.
void gather_any(const BytesColumn& values, const Rows& rows, uint64_t first, uint64_t end,
                std::byte* data) {
  auto const width = static_cast<uint64_t>(values.width);
  Target target(data + first * width, data + end * width);
  for (uint64_t i = first; i < end; ++i) {
    if (i + base::kRowsAhead < end && rows.is_valid(i + base::kRowsAhead)) {
      base::ask_for(values.bytes + rows[i + base::kRowsAhead] * width);
    }
    if (rows.is_valid(i)) {
      target.append(span_at<BytesLayout::kFixed>(values, rows[i]), values.end);
    } else {
      target.append_zeros(width);
    }
  }
}

columns::Gathered gather_fixed(base::Queue& queue, Workers& workers, const char* stage,
                               const columns::GatherSource& source, const uint32_t* numbers,
                               uint64_t count) {
  columns::Gathered gathered;
  if (count == 0) return gathered;
  BytesColumn const& values = source.values;
  auto const width = static_cast<uint64_t>(values.width);
  gathered.bytes = base::checked_bytes(count, width);
  base::Buffer data =
      queue.host_pool->allocate(Memory::kHost, gathered.bytes, "a column fetched by row number");
  base::Buffer validity = allocate_validity(queue, source.validity, numbers, count);
  Rows const rows{numbers, count, validity.as<uint64_t>()};
  std::atomic<int64_t> nulls{0};
  auto const run = [&](uint64_t first, uint64_t end) {
    if (validity) {
      nulls.fetch_add(
          gather_validity(source.validity, numbers, first, end, validity.as<uint64_t>()),
          std::memory_order_relaxed);
    }
    // Validity of the next task's rows is not there yet.
    Rows const here{rows.numbers, end, rows.validity};
    if (width > 16 || !std::has_single_bit(width)) {
      return gather_any(values, here, first, end, data.as<std::byte>());
    }
    with_width(values.width, [&](auto zero) {
      gather_typed<decltype(zero)>(values.bytes, here, first, end, data.as<std::byte>());
    });
  };
  workers.for_each_range(stage, count, rows_of_task(gathered.bytes, count, 64), run);
  if (gathered.bytes != 0) gathered.data = columns::make_storage(std::move(data));
  gathered.null_count = nulls.load(std::memory_order_relaxed);
  if (gathered.null_count != 0) gathered.validity = columns::make_storage(std::move(validity));
  return gathered;
}

// Where values lie and how long they are, as the first reading found it: row numbers are anything,
// so it is memory in no order that takes the time, and a place is read there once.
template <BytesLayout kLayout>
struct Places {
  static constexpr bool kCounts = kLayout == BytesLayout::kOffsets32;
  // From the column's bytes on; of the others, which need not be one block, the address.
  using Start = std::conditional_t<kCounts, int32_t, const uint8_t*>;
  using Length = std::conditional_t<kLayout == BytesLayout::kOffsets64, int64_t, int32_t>;
  Start* starts = nullptr;
  Length* lengths = nullptr;

  void write(const BytesColumn& values, uint64_t i, const ByteSpan& value) const {
    // A copy may read behind a value's bytes, of which there may be none.
    const uint8_t* const data = value.count == 0 ? values.first : value.data;
    if constexpr (kCounts) {
      starts[i] = static_cast<int32_t>(data - values.bytes);
    } else {
      starts[i] = data;
    }
    lengths[i] = static_cast<Length>(value.count);
  }
  ByteSpan read(const BytesColumn& values, uint64_t i) const {
    auto const length = static_cast<uint64_t>(lengths[i]);
    if constexpr (kCounts) {
      return {values.bytes + starts[i], length};
    } else {
      return {starts[i], length};
    }
  }
};

// Row numbers are anything: where a value lies is asked for ahead, and then its bytes.
//
// Places of the rows from `first` to `end`, and their bytes, of each kSumRows by themselves.
template <BytesLayout kLayout>
void find_places(const BytesColumn& values, const Rows& rows, uint64_t first, uint64_t end,
                 const Places<kLayout>& places, uint64_t* sums) {
  for (uint64_t begin = first; begin < end; begin += kSumRows) {
    uint64_t sum = 0;
    for (uint64_t i = begin; i < std::min(begin + kSumRows, end); ++i) {
      fetch_place<kLayout>(values, rows, i + base::kRowsAhead);
      ByteSpan const value = rows.is_valid(i) ? span_at<kLayout>(values, rows[i]) : ByteSpan{};
      places.write(values, i, value);
      sum += value.count;
    }
    sums[begin / kSumRows] = sum;
  }
}

// Offsets and bytes of the rows from `first` to `end`, whose first has the offset `begin`. An
// offset may be written over its row's length.
template <BytesLayout kLayout, typename Offset>
void copy_values(const BytesColumn& values, const Places<kLayout>& places, uint64_t first,
                 uint64_t end, uint64_t begin, Target target, Offset* offsets) {
  uint64_t offset = begin;
  for (uint64_t i = first; i < end; ++i) {
    if (i + base::kRowsAhead < end) {
      ByteSpan const later = places.read(values, i + base::kRowsAhead);
      base::ask_for(later.data);
      base::ask_for(later.data + later.count);
    }
    ByteSpan const value = places.read(values, i);
    offsets[i] = static_cast<Offset>(offset);
    // Nobody says where the buffers of views end.
    target.append(value, kLayout == BytesLayout::kViews ? value.data + value.count : values.end);
    offset += value.count;
  }
}

// Each becomes the sum of those before it, the last of all.
void sum_up(uint64_t* sums, uint64_t count) {
  uint64_t before = 0;
  for (uint64_t i = 0; i < count; ++i) before += std::exchange(sums[i], before);
  sums[count] = before;
}

template <BytesLayout kLayout>
columns::Gathered gather_lengths(base::Queue& queue, Workers& workers, const char* stage,
                                 const columns::GatherSource& source, const uint32_t* numbers,
                                 uint64_t count) {
  BytesColumn const& values = source.values;
  base::Pool& pool = *queue.host_pool;
  base::Buffer validity = allocate_validity(queue, source.validity, numbers, count);
  Rows const rows{numbers, count, validity.as<uint64_t>()};
  uint64_t const sum_count = (count + kSumRows - 1) / kSumRows;
  base::Buffer const sums =
      pool.allocate_rows<uint64_t>(Memory::kHost, sum_count + 1, "bytes of a column's parts");
  auto* const begins = sums.as<uint64_t>();
  Places<kLayout> places;
  base::Buffer const starts = pool.allocate_rows<typename Places<kLayout>::Start>(
      Memory::kHost, count, "places of a column's values");
  places.starts = starts.as<typename Places<kLayout>::Start>();
  base::Buffer offsets = pool.allocate_rows<typename Places<kLayout>::Length>(
      Memory::kHost, count + 1, "offsets of a column fetched by row number");
  places.lengths = offsets.as<typename Places<kLayout>::Length>();
  std::atomic<int64_t> nulls{0};
  workers.for_each_range(stage, count, kTaskRows, [&](uint64_t first, uint64_t end) {
    Rows here{rows.numbers, end, rows.validity};
    if (validity) {
      int64_t const missing =
          gather_validity(source.validity, numbers, first, end, validity.as<uint64_t>());
      nulls.fetch_add(missing, std::memory_order_relaxed);
      if (missing == 0) here.validity = nullptr;
    }
    find_places<kLayout>(values, here, first, end, places, begins);
  });
  sum_up(begins, sum_count);

  columns::Gathered gathered;
  gathered.bytes = begins[sum_count];
  bool const is_wide =
      kLayout == BytesLayout::kOffsets64 || gathered.bytes > source.most_narrow_bytes;
  gathered.offset_width = is_wide ? 8 : 4;
  base::Buffer data = pool.allocate(Memory::kHost, base::checked_bytes(gathered.bytes, 1),
                                    "a column fetched by row number");
  auto const copy = [&](auto* targets) {
    uint64_t const at_once = rows_of_task(gathered.bytes, count, kSumRows);
    workers.for_each_range(stage, count, at_once, [&](uint64_t first, uint64_t end) {
      uint64_t const begin = begins[first / kSumRows];
      Target const target(data.as<std::byte>() + begin,
                          data.as<std::byte>() + begins[(end + kSumRows - 1) / kSumRows]);
      copy_values<kLayout>(values, places, first, end, begin, target, targets);
    });
    targets[count] = static_cast<std::remove_reference_t<decltype(*targets)>>(gathered.bytes);
  };
  if (!is_wide) {
    copy(offsets.as<int32_t>());
  } else if constexpr (kLayout == BytesLayout::kOffsets64) {
    copy(offsets.as<int64_t>());
  } else {
    base::Buffer wide = pool.allocate_rows<int64_t>(Memory::kHost, count + 1,
                                                    "offsets of a column fetched by row number");
    copy(wide.as<int64_t>());
    offsets = std::move(wide);
  }
  gathered.offsets = columns::make_storage(std::move(offsets));
  if (gathered.bytes != 0) gathered.data = columns::make_storage(std::move(data));
  gathered.null_count = nulls.load(std::memory_order_relaxed);
  if (gathered.null_count != 0) gathered.validity = columns::make_storage(std::move(validity));
  return gathered;
}

}  // namespace

columns::Gathered gather_bytes(base::Queue& queue, Workers& workers, const char* stage,
                               const columns::GatherSource& source, const uint32_t* rows,
                               uint64_t count) {
  return with_layout(source.values, [&](const auto& value_at) {
    constexpr BytesLayout kLayout = std::remove_cvref_t<decltype(value_at)>::kOf;
    if constexpr (kLayout == BytesLayout::kFixed) {
      return gather_fixed(queue, workers, stage, source, rows, count);
    } else {
      return gather_lengths<kLayout>(queue, workers, stage, source, rows, count);
    }
  });
}

}  // namespace gpujoin::cpu
