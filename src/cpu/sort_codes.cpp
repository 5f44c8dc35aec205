#include "src/cpu/sort_codes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

namespace gpujoin::cpu {

namespace {

using base::Memory;

constexpr const char* kStage = "sort";
constexpr uint32_t kDigitBits = 11;
constexpr uint32_t kDigits = 1U << kDigitBits;
// Of a part at least: its histogram is to cost less than it.
constexpr uint64_t kPartRows = uint64_t{1} << 15;

struct NarrowEntry {
  uint32_t code;
  uint32_t row;
};
struct WideEntry {
  uint64_t code;
  uint32_t row;
};

struct Bounds {
  uint64_t low = UINT64_MAX;
  uint64_t high = 0;
};

class Parts {
 public:
  Parts(const Workers& workers, uint64_t rows)
      : rows_(rows),
        count_(
            std::clamp<uint64_t>(rows / kPartRows, 1, static_cast<uint64_t>(workers.threads()))) {}
  int64_t count() const { return static_cast<int64_t>(count_); }
  uint64_t first(int64_t part) const { return rows_ * static_cast<uint64_t>(part) / count_; }

 private:
  uint64_t rows_;
  uint64_t count_;
};

template <typename Entry>
class Sorter {
 public:
  Sorter(base::Queue& queue, Workers& workers, Parts parts, uint64_t count)
      : workers_(workers),
        parts_(parts),
        entries_(allocate(queue, count)),
        others_(allocate(queue, count)),
        begins_(static_cast<size_t>(parts.count())) {}

  Entry* entries() const { return entries_.template as<Entry>(); }

  void sort(uint32_t bits) {
    for (uint32_t shift = 0; shift < bits; shift += kDigitBits) {
      if (place_by(shift)) std::swap(entries_, others_);
    }
  }

 private:
  using Begins = std::array<uint32_t, kDigits>;

  static base::Buffer allocate(base::Queue& queue, uint64_t count) {
    return queue.host_pool->allocate_rows<Entry>(Memory::kHost, count, "codes to sort");
  }
  static uint32_t digit_of(const Entry& entry, uint32_t shift) {
    return static_cast<uint32_t>(entry.code >> shift) & (kDigits - 1);
  }

  // False where all entries have one digit.
  bool place_by(uint32_t shift) {
    Entry const* const from = entries();
    Entry* const to = others_.template as<Entry>();
    workers_.for_each(kStage, parts_.count(), [&](int64_t part, int32_t) {
      Begins& counts = begins_[static_cast<size_t>(part)];
      counts.fill(0);
      uint64_t const end = parts_.first(part + 1);
      for (uint64_t i = parts_.first(part); i < end; ++i) ++counts[digit_of(from[i], shift)];
    });
    uint32_t total = 0;
    for (uint32_t digit = 0; digit < kDigits; ++digit) {
      uint32_t const before = total;
      for (Begins& begins : begins_) {
        uint32_t const here = begins[digit];
        begins[digit] = total;
        total += here;
      }
      if (before == 0 && total == parts_.first(parts_.count())) return false;
    }
    workers_.for_each(kStage, parts_.count(), [&](int64_t part, int32_t) {
      Begins& begins = begins_[static_cast<size_t>(part)];
      uint64_t const end = parts_.first(part + 1);
      for (uint64_t i = parts_.first(part); i < end; ++i) {
        to[begins[digit_of(from[i], shift)]++] = from[i];
      }
    });
    return true;
  }

  Workers& workers_;
  Parts parts_;
  base::Buffer entries_;
  base::Buffer others_;
  std::vector<Begins> begins_;
};

// The rows to sort, with the code of each.
struct Input {
  const uint64_t* codes;
  const uint32_t* rows;
  uint64_t flip;
  uint32_t row(uint64_t i) const { return rows == nullptr ? static_cast<uint32_t>(i) : rows[i]; }
  uint64_t code(uint64_t i) const { return codes[row(i)] ^ flip; }
};

template <typename Entry>
void sort_entries(base::Queue& queue, Workers& workers, const Input& input, Bounds bounds,
                  SortedCodes* sorted) {
  Parts const parts(workers, sorted->count);
  Sorter<Entry> sorter(queue, workers, parts, sorted->count);
  workers.for_each(kStage, parts.count(), [&](int64_t part, int32_t) {
    for (uint64_t i = parts.first(part); i < parts.first(part + 1); ++i) {
      using Code = decltype(Entry::code);
      sorter.entries()[i] = {static_cast<Code>(input.code(i) - bounds.low), input.row(i)};
    }
  });
  sorter.sort(static_cast<uint32_t>(std::bit_width(bounds.high - bounds.low)));
  auto* const codes = sorted->codes.as<uint64_t>();
  auto* const rows = sorted->rows.as<uint32_t>();
  workers.for_each(kStage, parts.count(), [&](int64_t part, int32_t) {
    for (uint64_t i = parts.first(part); i < parts.first(part + 1); ++i) {
      Entry const entry = sorter.entries()[i];
      codes[i] = bounds.low + entry.code;
      rows[i] = entry.row;
    }
  });
}

}  // namespace

SortedCodes sort_codes(base::Queue& queue, Workers& workers, const uint64_t* codes,
                       const uint32_t* rows, uint64_t count, uint64_t flip) {
  SortedCodes sorted;
  sorted.count = count;
  sorted.codes = queue.host_pool->allocate_rows<uint64_t>(Memory::kHost, count, "sorted codes");
  sorted.rows = queue.host_pool->allocate_rows<uint32_t>(Memory::kHost, count, "sorted rows");
  if (count == 0) return sorted;
  Input const input{codes, rows, flip};
  Parts const parts(workers, count);
  std::vector<Bounds> of_parts(static_cast<size_t>(parts.count()));
  workers.for_each(kStage, parts.count(), [&](int64_t part, int32_t) {
    Bounds found;
    for (uint64_t i = parts.first(part); i < parts.first(part + 1); ++i) {
      uint64_t const code = input.code(i);
      found.low = std::min(found.low, code);
      found.high = std::max(found.high, code);
    }
    of_parts[static_cast<size_t>(part)] = found;
  });
  Bounds bounds;
  for (Bounds const& of_part : of_parts) {
    bounds.low = std::min(bounds.low, of_part.low);
    bounds.high = std::max(bounds.high, of_part.high);
  }
  if (bounds.high - bounds.low <= UINT32_MAX) {
    sort_entries<NarrowEntry>(queue, workers, input, bounds, &sorted);
  } else {
    sort_entries<WideEntry>(queue, workers, input, bounds, &sorted);
  }
  return sorted;
}

}  // namespace gpujoin::cpu
