#include "src/cpu/asof.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "gpujoin.h"
#include "src/cpu/radix_sort.hpp"

namespace gpujoin::cpu {

namespace {

using base::Memory;
using kernels::AsofDirection;
using kernels::AsofMatch;
using kernels::AsofRule;
using kernels::WideKey;

// A multiple of the 64 rows of a word of validity.
constexpr uint64_t kTaskRows = uint64_t{1} << 16;
// Left rows that are merged at once, from where the first one of them is found.
constexpr uint64_t kTileRows = uint64_t{1} << 14;

struct NarrowRow {
  using Key = uint64_t;
  uint64_t sorted_by;
  uint64_t number;

  Key key() const { return sorted_by; }
  uint64_t digit(int32_t shift) const { return sorted_by >> shift; }
  bool is_less(const NarrowRow& other, int32_t low, int32_t) const {
    return sorted_by >> low < other.sorted_by >> low;
  }
};
struct WideRow {
  using Key = WideKey;
  WideKey sorted_by;
  uint64_t number;
  uint64_t unused;

  Key key() const { return sorted_by; }
  uint64_t digit(int32_t shift) const {
    if (shift >= 64) return sorted_by.group >> (shift - 64);
    uint64_t const upper = shift == 0 ? 0 : sorted_by.group << (64 - shift);
    return upper | sorted_by.place >> shift;
  }
  bool is_less(const WideRow& other, int32_t low, int32_t) const {
    return low >= 64 ? sorted_by.group < other.sorted_by.group : sorted_by < other.sorted_by;
  }
};

bool takes_part(const AsofColumns& side, uint64_t row) {
  return side.valid == nullptr || (side.valid[row / 64] >> (row % 64) & 1) != 0;
}
WideKey key_at(const AsofColumns& side, uint64_t row) {
  uint64_t group = 0;
  if (side.groups != nullptr && side.group_width == 4) {
    group = static_cast<const uint32_t*>(side.groups)[row];
  } else if (side.groups != nullptr) {
    group = static_cast<const uint64_t*>(side.groups)[row];
  }
  return {group, side.places[row] ^ side.turned};
}

// Of the rows that take part.
struct Facts {
  uint64_t count = 0;
  WideKey first = {};
  WideKey last = {};
  WideKey low = {~uint64_t{0}, ~uint64_t{0}};  // of groups, and of places
  WideKey high = {0, 0};
  bool is_sorted = true;
  bool is_sorted_by_place = true;

  void follow(const WideKey& key) {
    if (count != 0) {
      is_sorted = is_sorted && !(key < last);
      is_sorted_by_place = is_sorted_by_place && last.place <= key.place;
    } else {
      first = key;
    }
    last = key;
  }
  void add(const WideKey& key) {
    follow(key);
    low = {std::min(low.group, key.group), std::min(low.place, key.place)};
    high = {std::max(high.group, key.group), std::max(high.place, key.place)};
    ++count;
  }
  // Of rows behind these.
  void add(const Facts& other) {
    if (other.count == 0) return;
    follow(other.first);
    last = other.last;
    is_sorted = is_sorted && other.is_sorted;
    is_sorted_by_place = is_sorted_by_place && other.is_sorted_by_place;
    low = {std::min(low.group, other.low.group), std::min(low.place, other.low.place)};
    high = {std::max(high.group, other.high.group), std::max(high.place, other.high.place)};
    count += other.count;
  }
};

// begins: rows that take part before each task of kTaskRows.
Facts look(Workers& workers, const AsofColumns& side, std::vector<uint64_t>* begins) {
  std::vector<Facts> of_tasks((side.rows + kTaskRows - 1) / kTaskRows);
  workers.for_each_range("transform", side.rows, kTaskRows, [&](uint64_t row, uint64_t end) {
    Facts found;
    size_t const task = row / kTaskRows;
    for (; row < end; ++row) {
      if (takes_part(side, row)) found.add(key_at(side, row));
    }
    of_tasks[task] = found;
  });
  Facts all;
  for (Facts const& each : of_tasks) {
    begins->push_back(all.count);
    all.add(each);
  }
  return all;
}

// What a narrow key has: (group - low) above the bits of a place less the lowest.
struct Packing {
  WideKey low;
  int32_t place_bits = 0;
  int32_t group_bits = 0;
  bool fits() const { return place_bits + group_bits <= 64; }
};
Packing pack(Facts both) {
  if (both.count == 0) both.low = both.high = {0, 0};
  Packing made;
  made.low = both.low;
  made.place_bits = 64 - std::countl_zero(both.high.place - both.low.place);
  made.group_bits = 64 - std::countl_zero(both.high.group - both.low.group);
  return made;
}

// Steele, Lea & Flood 2014, as MurmurHash3 ends: one to one, so that groups stay apart, and any of
// its bits cut them into even partitions.
uint64_t mixed(uint64_t group) {
  group = (group ^ group >> 33) * 0xff51afd7ed558ccd;
  group = (group ^ group >> 33) * 0xc4ceb9fe1a85ec53;
  return group ^ group >> 33;
}

// The rows of a side in their order.
template <typename Row>
class RowsInOrder {
 public:
  using Key = typename Row::Key;
  // make: of a key.
  template <typename Make>
  RowsInOrder(base::Queue& queue, Workers& workers, const AsofColumns& side, uint64_t count,
              const std::vector<uint64_t>& begins, const Make& make)
      : rows_(queue.host_pool->allocate_rows<Row>(Memory::kHost, count, "rows in order")),
        count_(count) {
    auto* const rows = rows_.as<Row>();
    workers.for_each_range("transform", side.rows, kTaskRows, [&](uint64_t row, uint64_t end) {
      uint64_t to = begins[row / kTaskRows];
      for (; row < end; ++row) {
        if (takes_part(side, row)) rows[to++] = make(key_at(side, row), row);
      }
    });
  }
  void sort(base::Queue& queue, Workers& workers, int32_t low, int32_t high) {
    if (low >= high || count_ < 2) return;
    base::Buffer const scratch =
        queue.host_pool->allocate_rows<Row>(Memory::kHost, count_, "rows on their way");
    RadixSort<Row>(queue, workers, "transform", rows_.as<Row>(), scratch.as<Row>())
        .sort(count_, low, high);
  }
  uint64_t count() const { return count_; }
  Key key(uint64_t place) const { return rows_.as<Row>()[place].key(); }
  uint32_t row(uint64_t place) const {
    return static_cast<uint32_t>(rows_.as<Row>()[place].number);
  }

 private:
  base::Buffer rows_;
  uint64_t count_;
};

// A side of one group that lies in order.
class RowsAsTheyLie {
 public:
  using Key = uint64_t;
  explicit RowsAsTheyLie(const AsofColumns& side) : side_(side) {}
  uint64_t count() const { return side_.rows; }
  Key key(uint64_t place) const { return side_.places[place] ^ side_.turned; }
  uint32_t row(uint64_t place) const { return static_cast<uint32_t>(place); }

 private:
  AsofColumns side_;
};

// The first place from `from` on whose key is not before `key` (behind: not equal to it either).
template <typename Rows>
uint64_t bound(const Rows& rows, uint64_t from, const typename Rows::Key& key, bool behind) {
  auto const is_before = [&](uint64_t place) {
    return behind ? !(key < rows.key(place)) : rows.key(place) < key;
  };
  // Neighbours mostly, else by doubling steps.
  uint64_t step = 1;
  uint64_t low = from;
  uint64_t high = from;
  while (high < rows.count() && is_before(high)) {
    low = high + 1;
    high += step;
    step *= 2;
  }
  high = std::min(high, rows.count());
  while (low < high) {
    uint64_t const middle = low + (high - low) / 2;
    if (is_before(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

template <typename Left, typename Right>
void merge_tile(const Left& left, const Right& right, const AsofRule& rule, uint64_t first,
                uint64_t end, uint32_t* found) {
  bool const behind = kernels::belongs_behind_equals(rule);
  uint64_t place = 0;
  for (uint64_t i = first; i < end; ++i) {
    auto const key = left.key(i);
    place = bound(right, place, key, behind);
    uint64_t after = place;
    if (!behind && rule.direction == AsofDirection::kNearest) {
      // Strictly after: behind all that are equal.
      after = bound(right, place, key, true);
    }
    bool const has_before = rule.direction != AsofDirection::kForward && place > 0;
    bool const has_after = rule.direction != AsofDirection::kBackward && after < right.count();
    auto const before_key = has_before ? right.key(place - 1) : key;
    auto const after_key = has_after ? right.key(after) : key;
    AsofMatch const match = kernels::choose_match(rule, key, has_before ? &before_key : nullptr,
                                                  has_after ? &after_key : nullptr);
    if (match == AsofMatch::kNone) continue;
    found[left.row(i)] = right.row(match == AsofMatch::kBefore ? place - 1 : after);
  }
}

template <typename Left, typename Right>
void merge(Workers& workers, const Left& left, const Right& right, const AsofRule& rule,
           uint32_t* found) {
  workers.for_each_range("match", left.count(), kTileRows, [&](uint64_t first, uint64_t end) {
    merge_tile(left, right, rule, first, end, found);
  });
}

// Of the left rows of which `found` says one.
void put_pairs(base::Queue& queue, Workers& workers, base::Buffer found, uint64_t rows,
               AsofPairs* pairs) {
  auto const* const right = found.as<uint32_t>();
  std::vector<uint64_t> begins((rows + kTaskRows - 1) / kTaskRows);
  workers.for_each_range("match", rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    auto const misses = std::count(right + first, right + end, GPUJOIN_NO_ROW);
    begins[first / kTaskRows] = end - first - static_cast<uint64_t>(misses);
  });
  for (uint64_t& begin : begins) pairs->count += std::exchange(begin, pairs->count);
  base::Pool& pool = *queue.host_pool;
  pairs->left = pool.allocate_rows<uint32_t>(Memory::kHost, pairs->count, "left row numbers");
  bool const all = pairs->count == rows;
  if (!all) {
    pairs->right = pool.allocate_rows<uint32_t>(Memory::kHost, pairs->count, "right row numbers");
  }
  auto* const left_rows = pairs->left.as<uint32_t>();
  auto* const right_rows = pairs->right.as<uint32_t>();
  workers.for_each_range("match", rows, kTaskRows, [&](uint64_t row, uint64_t end) {
    uint64_t to = begins[row / kTaskRows];
    for (; row < end; ++row) {
      if (right[row] == GPUJOIN_NO_ROW) continue;
      left_rows[to] = static_cast<uint32_t>(row);
      if (!all) right_rows[to] = right[row];
      ++to;
    }
  });
  if (all) pairs->right = std::move(found);
}

AsofOrder order_of(const Facts& facts) {
  if (facts.is_sorted) return AsofOrder::kAsItLies;
  return facts.is_sorted_by_place ? AsofOrder::kByGroups : AsofOrder::kSorted;
}

// make, bits_of(facts): the key's bits to sort by, lowest and behind the highest.
template <typename Row, typename Make, typename BitsOf>
void merge_in_order(base::Queue& queue, Workers& workers, const AsofColumns& left,
                    const AsofColumns& right, const Facts (&facts)[2],
                    const std::vector<uint64_t> (&begins)[2], const AsofRule& rule,
                    const Make& make, const BitsOf& bits_of, uint32_t* found, AsofPairs* pairs) {
  auto const in_order = [&](const AsofColumns& side, int number, int32_t* sorted_bits) {
    RowsInOrder<Row> rows(queue, workers, side, facts[number].count, begins[number], make);
    std::pair<int32_t, int32_t> const bits = bits_of(facts[number]);
    rows.sort(queue, workers, bits.first, bits.second);
    *sorted_bits = bits.second - bits.first;
    return rows;
  };
  RowsInOrder<Row> const left_rows = in_order(left, 0, &pairs->left_bits);
  RowsInOrder<Row> const right_rows = in_order(right, 1, &pairs->right_bits);
  merge(workers, left_rows, right_rows, rule, found);
}

}  // namespace

const char* to_text(AsofOrder order) {
  switch (order) {
    case AsofOrder::kAsItLies:
      return "as it lies";
    case AsofOrder::kByGroups:
      return "sorted by groups";
    default:
      return "sorted";
  }
}

AsofPairs asof_pairs(base::Queue& queue, Workers& workers, const AsofColumns& left,
                     const AsofColumns& right, AsofRule rule) {
  std::vector<uint64_t> begins[2];
  Facts const facts[2] = {look(workers, left, &begins[0]), look(workers, right, &begins[1])};
  AsofPairs pairs;
  pairs.left_order = order_of(facts[0]);
  pairs.right_order = order_of(facts[1]);
  base::Buffer buffer =
      queue.host_pool->allocate_rows<uint32_t>(Memory::kHost, left.rows, "matches of left rows");
  auto* const found = buffer.as<uint32_t>();
  workers.for_each_range("match", left.rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    std::fill(found + first, found + end, GPUJOIN_NO_ROW);
  });
  Facts both = facts[0];
  both.add(facts[1]);
  Packing const packing = pack(both);
  auto const lies_in_order = [](const AsofColumns& side, const Facts& of_side) {
    return of_side.is_sorted && side.groups == nullptr && of_side.count == side.rows;
  };
  // A rule of ranks is that of wide keys.
  bool const are_ranks =
      rule.distance == kernels::AsofDistance::kRanks && kernels::asks_for_distance(rule);
  if (facts[0].count == 0 || facts[1].count == 0) {
    // Nothing meets.
  } else if (!are_ranks && lies_in_order(left, facts[0]) && lies_in_order(right, facts[1])) {
    merge(workers, RowsAsTheyLie(left), RowsAsTheyLie(right), rule, found);
  } else if (packing.fits() && !are_ranks) {
    rule.place_bits = packing.place_bits;
    rule.least = packing.low.place;
    auto const make = [&](const WideKey& key, uint64_t row) {
      uint64_t const group =
          packing.group_bits == 0 ? 0 : (key.group - packing.low.group) << packing.place_bits;
      return NarrowRow{group | (key.place - packing.low.place), row};
    };
    auto const bits_of = [&](const Facts& side) -> std::pair<int32_t, int32_t> {
      if (side.is_sorted) return {0, 0};
      return {side.is_sorted_by_place ? packing.place_bits : 0,
              packing.place_bits + packing.group_bits};
    };
    merge_in_order<NarrowRow>(queue, workers, left, right, facts, begins, rule, make, bits_of,
                              found, &pairs);
  } else {
    bool const are_sorted = facts[0].is_sorted && facts[1].is_sorted;
    auto const make = [&](const WideKey& key, uint64_t row) {
      return WideRow{{are_sorted ? key.group : mixed(key.group), key.place}, row, 0};
    };
    auto const bits_of = [&](const Facts& side) -> std::pair<int32_t, int32_t> {
      if (are_sorted) return {0, 0};
      return {side.is_sorted_by_place ? 64 : 0, 128};
    };
    merge_in_order<WideRow>(queue, workers, left, right, facts, begins, rule, make, bits_of, found,
                            &pairs);
  }
  put_pairs(queue, workers, std::move(buffer), left.rows, &pairs);
  return pairs;
}

}  // namespace gpujoin::cpu
