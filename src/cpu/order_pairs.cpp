#include "src/cpu/order_pairs.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <utility>
#include <vector>

#include "gpujoin.h"

namespace gpujoin::cpu {

namespace {

using base::Memory;

constexpr const char* kStage = "order";
constexpr uint64_t kTaskPairs = uint64_t{1} << 16;
// A part's pairs and the room to sort them in fit a core's second cache.
constexpr uint64_t kPartPairs = uint64_t{1} << 14;
constexpr int32_t kMostPartBits = 11;
constexpr int32_t kDigitBits = 8;
// Fewer are sorted by comparison before a histogram is summed up.
constexpr uint64_t kFewPairs = 64;

// The first number above the second; what sorts as numbers do.
uint64_t key_of(uint32_t first, uint32_t second) { return uint64_t{first} << 32 | second; }

bool are_in_order(Workers& workers, const uint32_t* first, const uint32_t* second, uint64_t count) {
  std::atomic<bool> falls{false};
  workers.for_each_range(kStage, count - 1, kTaskPairs, [&](uint64_t begin, uint64_t end) {
    if (falls.load(std::memory_order_relaxed)) return;
    bool here = false;
    for (uint64_t i = begin; i < end; ++i) {
      here |= key_of(first[i], second[i]) > key_of(first[i + 1], second[i + 1]);
    }
    if (here) falls.store(true, std::memory_order_relaxed);
  });
  return !falls.load(std::memory_order_relaxed);
}

// Sorts by so many bits from bit `begin` on, stable. room: as many.
void sort_by_digits(uint64_t* keys, uint64_t* room, uint64_t count, int32_t begin, int32_t bits) {
  uint64_t* from = keys;
  uint64_t* to = room;
  for (int32_t done = 0; done < bits; done += kDigitBits) {
    int32_t const shift = begin + done;
    uint64_t const mask = (uint64_t{1} << std::min(kDigitBits, bits - done)) - 1;
    std::array<uint64_t, 1 << kDigitBits> places{};
    for (uint64_t i = 0; i < count; ++i) ++places[from[i] >> shift & mask];
    uint64_t place = 0;
    for (uint64_t& of_digit : places) place += std::exchange(of_digit, place);
    for (uint64_t i = 0; i < count; ++i) to[places[from[i] >> shift & mask]++] = from[i];
    std::swap(from, to);
  }
  if (from != keys) std::copy(from, from + count, keys);
}

// Pairs whose first number is the same in all but its lowest `bits` bits. Second numbers count only
// where the first is the same, which of most joins it seldom is.
void sort_part(uint64_t* keys, uint64_t* room, uint64_t count, int32_t bits) {
  if (count <= kFewPairs) return std::sort(keys, keys + count);
  sort_by_digits(keys, room, count, 32, bits);
  for (uint64_t begin = 0; begin < count;) {
    uint64_t end = begin + 1;
    while (end < count && keys[end] >> 32 == keys[begin] >> 32) ++end;
    if (end - begin <= kFewPairs) {
      std::sort(keys + begin, keys + end);
    } else if (!std::is_sorted(keys + begin, keys + end)) {
      sort_by_digits(keys + begin, room + begin, end - begin, 0, 32);
    }
    begin = end;
  }
}

class PairSort {
 public:
  PairSort(base::Queue& queue, Workers& workers, uint32_t first_rows, uint64_t count)
      : workers_(workers),
        first_rows_(first_rows),
        count_(count),
        first_bits_(static_cast<int32_t>(std::bit_width(first_rows))),
        part_bits_(bits_of_parts()),
        tasks_(tasks_of(workers, count)),
        keys_(queue.host_pool->allocate_rows<uint64_t>(Memory::kHost, count, "pairs to order")),
        room_(
            queue.host_pool->allocate_rows<uint64_t>(Memory::kHost, count, "room to order pairs")),
        places_(static_cast<size_t>(tasks_) << part_bits_) {}

  void sort(const uint32_t* first, const uint32_t* second) {
    each_task([&](uint64_t task, uint64_t begin, uint64_t end) {
      uint64_t* const counts = places_of(task);
      for (uint64_t i = begin; i < end; ++i) ++counts[part_of(first[i])];
    });
    std::vector<uint64_t> const begins = sum_up();
    each_task([&](uint64_t task, uint64_t begin, uint64_t end) {
      uint64_t* const places = places_of(task);
      for (uint64_t i = begin; i < end; ++i) {
        // A missing row sorts behind all others of the part that is theirs.
        keys()[places[part_of(first[i])]++] = key_of(std::min(first[i], first_rows_), second[i]);
      }
    });
    workers_.for_each(kStage, int64_t{1} << part_bits_, [&](int64_t part, int32_t) {
      uint64_t const begin = begins[static_cast<size_t>(part)];
      uint64_t const count = begins[static_cast<size_t>(part) + 1] - begin;
      sort_part(keys() + begin, room_.as<uint64_t>() + begin, count, first_bits_ - part_bits_);
    });
  }

  void split(uint32_t* first, uint32_t* second) {
    workers_.for_each_range(kStage, count_, kTaskPairs, [&](uint64_t begin, uint64_t end) {
      for (uint64_t i = begin; i < end; ++i) {
        auto const number = static_cast<uint32_t>(keys()[i] >> 32);
        first[i] = number == first_rows_ ? GPUJOIN_NO_ROW : number;
        second[i] = static_cast<uint32_t>(keys()[i]);
      }
    });
  }
  void let_go_of_room() { room_ = {}; }

 private:
  int32_t bits_of_parts() const {
    auto const wanted = static_cast<int32_t>(std::bit_width(count_ / kPartPairs));
    return std::min({wanted, kMostPartBits, first_bits_});
  }
  static uint64_t tasks_of(const Workers& workers, uint64_t count) {
    constexpr uint64_t kTasksOfThread = 4;
    return std::clamp<uint64_t>(count / kTaskPairs, 1,
                                kTasksOfThread * static_cast<uint64_t>(workers.threads()));
  }
  uint64_t part_of(uint32_t first) const {
    return uint64_t{std::min(first, first_rows_)} >> (first_bits_ - part_bits_);
  }
  uint64_t* keys() { return keys_.as<uint64_t>(); }
  uint64_t* places_of(uint64_t task) { return places_.data() + (task << part_bits_); }
  template <typename Body>
  void each_task(const Body& body) {
    workers_.for_each(kStage, static_cast<int64_t>(tasks_), [&](int64_t number, int32_t) {
      auto const task = static_cast<uint64_t>(number);
      body(task, count_ / tasks_ * task,
           task + 1 == tasks_ ? count_ : count_ / tasks_ * (task + 1));
    });
  }
  // Counts become places. Answers where parts begin.
  std::vector<uint64_t> sum_up() {
    std::vector<uint64_t> begins;
    uint64_t sum = 0;
    for (uint64_t part = 0; part < uint64_t{1} << part_bits_; ++part) {
      begins.push_back(sum);
      for (uint64_t task = 0; task < tasks_; ++task) {
        sum += std::exchange(places_of(task)[part], sum);
      }
    }
    begins.push_back(sum);
    return begins;
  }

  Workers& workers_;
  uint32_t first_rows_;
  uint64_t count_;
  int32_t first_bits_;
  int32_t part_bits_;
  uint64_t tasks_;
  base::Buffer keys_;
  base::Buffer room_;
  std::vector<uint64_t> places_;  // [tasks][parts]
};

}  // namespace

std::optional<OrderedPairs> order_pairs(base::Queue& queue, Workers& workers, const uint32_t* first,
                                        uint32_t first_rows, const uint32_t* second,
                                        uint64_t count) {
  if (count < 2 || are_in_order(workers, first, second, count)) return std::nullopt;
  PairSort pairs(queue, workers, first_rows, count);
  pairs.sort(first, second);
  pairs.let_go_of_room();
  base::Pool& pool = *queue.host_pool;
  OrderedPairs ordered{pool.allocate_rows<uint32_t>(Memory::kHost, count, "row numbers"),
                       pool.allocate_rows<uint32_t>(Memory::kHost, count, "row numbers")};
  pairs.split(ordered.first.as<uint32_t>(), ordered.second.as<uint32_t>());
  return ordered;
}

}  // namespace gpujoin::cpu
