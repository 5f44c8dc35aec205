#include "src/cpu/dominance.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "src/base/prefetch.hpp"
#include "src/cpu/code_positions.hpp"
#include "src/cpu/lowest_places.hpp"
#include "src/cpu/sort_codes.hpp"

namespace gpujoin::cpu {

namespace {

using base::Memory;
using columns::Inequality;

constexpr const char* kStage = "match";
constexpr uint64_t kTaskRows = uint64_t{1} << 14;  // a multiple of a word's 64
// Of a ranged row: with more, levels are faster.
constexpr uint64_t kFewPairs = 64;
constexpr uint32_t kLastBits = 6;
constexpr uint64_t kLastBlock = uint64_t{1} << kLastBits;

base::Buffer numbers(base::Queue& queue, uint64_t count, const char* what) {
  return queue.host_pool->allocate_rows<uint32_t>(Memory::kHost, count, what);
}

// sorted > ranged is sorted < ranged of the codes with their bits turned round.
uint64_t flip_of(const Inequality& inequality) {
  return inequality.sorted_is_less ? 0 : ~uint64_t{0};
}

uint32_t ones_among(const uint64_t* words, const uint32_t* ones_before, uint64_t position) {
  uint64_t const below = (uint64_t{1} << (position % 64)) - 1;
  return ones_before[position / 64] +
         static_cast<uint32_t>(std::popcount(words[position / 64] & below));
}

}  // namespace

Dominance::Dominance(base::Queue& queue, Workers& workers, const columns::RangeProblem& problem)
    : queue_(queue),
      workers_(workers),
      ranged_(
          rows_without_null(queue, workers, validity_of_side(problem, true), problem.ranged_rows)) {
  rank(problem);
}

Dominance::Level Dominance::make_level() const {
  return {numbers(queue_, sorted_, "places of a level"),
          numbers(queue_, sorted_, "rows of a level")};
}

void Dominance::rank(const columns::RangeProblem& problem) {
  RowList const sorted =
      rows_without_null(queue_, workers_, validity_of_side(problem, false), problem.sorted_rows);
  sorted_ = sorted.count;
  corners_ = queue_.host_pool->allocate_rows<Corner>(Memory::kHost, ranged_.count, "corners");
  auto* const corners = corners_.as<Corner>();
  base::Buffer const place_of_row = numbers(queue_, problem.sorted_rows, "places of rows");
  auto* const places = place_of_row.as<uint32_t>();
  uint64_t const padded = LowestPlaces::padded(sorted_);
  seconds_ = numbers(queue_, padded, "places by the second code");
  std::fill(seconds_.as<uint32_t>() + sorted_, seconds_.as<uint32_t>() + padded, UINT32_MAX);
  level_ = {numbers(queue_, sorted_, "places of a level"), {}};
  for (bool const is_first : {true, false}) {
    Inequality const& inequality = problem.inequalities[is_first ? 0 : 1];
    uint64_t const flip = flip_of(inequality);
    SortedCodes order =
        sort_codes(queue_, workers_, inequality.sorted.codes, sorted.list(), sorted_, flip);
    CodePositions const positions(queue_, workers_, order.codes.as<uint64_t>(), sorted_);
    workers_.for_each_range("sort", ranged_.count, kTaskRows, [&](uint64_t first, uint64_t end) {
      auto const code_of = [&](uint64_t i) {
        return inequality.ranged.codes[ranged_.row(i)] ^ flip;
      };
      positions.count_below(first, end, inequality.or_equal, code_of, [&](uint64_t i, uint32_t n) {
        (is_first ? corners[i].first : corners[i].second) = n;
      });
    });
    auto const* const rows = order.rows.as<uint32_t>();
    workers_.for_each_range("sort", sorted_, kTaskRows, [&](uint64_t first, uint64_t end) {
      for (uint64_t i = first; i < end; ++i) {
        base::ask_for(places + rows[std::min(i + base::kRowsAhead, end - 1)]);
        if (is_first) {
          places[rows[i]] = static_cast<uint32_t>(i);
        } else {
          uint32_t const place = places[rows[i]];
          level_.places.as<uint32_t>()[i] = place;
          seconds_.as<uint32_t>()[place] = static_cast<uint32_t>(i);
        }
      }
    });
    (is_first ? rows_ : level_.rows) = std::move(order.rows);
  }
}

uint64_t Dominance::expected_pairs() {
  if (!expected_) expected_ = sampled_pairs();
  return *expected_;
}

uint64_t Dominance::sampled_pairs() const {
  constexpr uint64_t kMost = 1024;
  if (ranged_.count == 0 || sorted_ == 0) return 0;
  uint64_t const ranged = std::min(ranged_.count, kMost);
  uint64_t const sorted = std::min(sorted_, kMost);
  uint64_t found = 0;
  for (uint64_t i = 0; i < ranged; ++i) {
    Corner const corner = corners_.as<Corner>()[i * ranged_.count / ranged];
    for (uint64_t k = 0; k < sorted; ++k) {
      uint64_t const place = k * sorted_ / sorted;
      found += (place < corner.first && seconds_.as<uint32_t>()[place] < corner.second) ? 1 : 0;
    }
  }
  return static_cast<uint64_t>(static_cast<double>(found) * static_cast<double>(ranged_.count) /
                               static_cast<double>(ranged) * static_cast<double>(sorted_) /
                               static_cast<double>(sorted));
}

// Rows whose blocks are neighbours look up neighbours: by the highest bits of `first`, in one pass.
void Dominance::order_corners() {
  constexpr uint32_t kGroupBits = 10;
  constexpr uint32_t kGroups = (1U << kGroupBits) + 1;
  if (ranged_.count <= kTaskRows || sorted_ <= kTaskRows) return;
  auto const bits = static_cast<uint32_t>(std::bit_width(sorted_));
  uint32_t const shift = bits > kGroupBits ? bits - kGroupBits : 0;
  using Begins = std::array<uint32_t, kGroups>;
  auto const threads = static_cast<uint64_t>(workers_.threads());
  std::vector<Begins> begins(threads);
  auto const part = [&](uint64_t i) { return ranged_.count * i / threads; };
  auto const* const from = corners_.as<Corner>();
  workers_.for_each(kStage, static_cast<int64_t>(threads), [&](int64_t item, int32_t) {
    auto const i = static_cast<uint64_t>(item);
    begins[i].fill(0);
    for (uint64_t at = part(i); at < part(i + 1); ++at) ++begins[i][from[at].first >> shift];
  });
  uint32_t total = 0;
  for (uint32_t group = 0; group < kGroups; ++group) {
    for (Begins& of_part : begins) total += std::exchange(of_part[group], total);
  }
  base::Buffer ordered =
      queue_.host_pool->allocate_rows<Corner>(Memory::kHost, ranged_.count, "corners");
  base::Buffer rows = numbers(queue_, ranged_.count, "rows of corners");
  workers_.for_each(kStage, static_cast<int64_t>(threads), [&](int64_t item, int32_t) {
    auto const i = static_cast<uint64_t>(item);
    for (uint64_t at = part(i); at < part(i + 1); ++at) {
      uint32_t const place = begins[i][from[at].first >> shift]++;
      ordered.as<Corner>()[place] = from[at];
      rows.as<uint32_t>()[place] = ranged_.row(at);
    }
  });
  corners_ = std::move(ordered);
  ranged_.numbers = std::move(rows);
}

void Dominance::count_halves(const Level& level, uint32_t bit, Halves* halves) {
  auto const* const places = level.places.as<uint32_t>();
  auto* const words = halves->words.as<uint64_t>();
  auto* const ones_before = halves->ones_before.as<uint32_t>();
  std::vector<uint32_t> ones(sorted_ / kTaskRows + 2, 0);
  workers_.for_each_range(kStage, sorted_, kTaskRows, [&](uint64_t first, uint64_t end) {
    uint32_t found = 0;
    for (uint64_t row = first; row < end; row += 64) {
      uint64_t word = 0;
      uint64_t const in_word = std::min<uint64_t>(64, end - row);
      for (uint64_t i = 0; i < in_word; ++i) {
        word |= uint64_t{places[row + i] >> bit & 1} << i;
      }
      words[row / 64] = word;
      ones_before[row / 64] = found;
      found += static_cast<uint32_t>(std::popcount(word));
    }
    ones[first / kTaskRows + 1] = found;
  });
  for (size_t i = 1; i < ones.size(); ++i) ones[i] += ones[i - 1];
  workers_.for_each_range(kStage, sorted_, kTaskRows, [&](uint64_t first, uint64_t end) {
    for (uint64_t word = first / 64; word < (end + 63) / 64; ++word) {
      ones_before[word] += ones[first / kTaskRows];
    }
  });
  if (sorted_ % 64 != 0) return;
  words[sorted_ / 64] = 0;
  ones_before[sorted_ / 64] = ones.back();
}

void Dominance::split(const Level& level, const Halves& halves, uint32_t bit, Level* next) {
  auto const* const places = level.places.as<uint32_t>();
  auto const* const rows = level.rows.as<uint32_t>();
  auto* const to_places = next->places.as<uint32_t>();
  auto* const to_rows = next->rows.as<uint32_t>();
  uint64_t const half = uint64_t{1} << bit;
  workers_.for_each_range(kStage, sorted_, kTaskRows, [&](uint64_t first, uint64_t end) {
    uint64_t ones = halves.ones_before.as<uint32_t>()[first / 64];
    for (uint64_t block = first / (2 * half) * (2 * half); first < end; block += 2 * half) {
      uint64_t const block_end = std::min(end, block + 2 * half);
      // Blocks before this one are whole, and half of each goes to the right.
      uint64_t right = block + half + (ones - block / 2);
      uint64_t left = first - (ones - block / 2);
      uint64_t const right_begin = right;
      for (; first < block_end; ++first) {
        uint64_t const goes_right = places[first] >> bit & 1;
        uint64_t const to = goes_right != 0 ? right : left;
        to_places[to] = places[first];
        to_rows[to] = rows[first];
        right += goes_right;
        left += 1 - goes_right;
      }
      ones += right - right_begin;
    }
  });
}

void Dominance::look_at_last_blocks(PairBatches& batches, const uint32_t* within) {
  auto const* const corners = corners_.as<Corner>();
  auto const* const seconds = seconds_.as<uint32_t>();
  auto const* const rows = rows_.as<uint32_t>();
  batches.for_outer_rows(ranged_.count, [&](uint64_t i, int32_t worker) {
    Corner const corner = corners[i];
    if (within[i] == 0) return;
    uint64_t const begin = corner.first / kLastBlock * kLastBlock;
    auto const count = static_cast<uint32_t>(corner.first - begin);
    batches.add_wanted(worker, ranged_.row(i), rows + begin, count,
                       [&](uint32_t k) { return seconds[begin + k] < corner.second; });
  });
}

void Dominance::find(PairTaker& taker) {
  bool const are_few = expected_pairs() < kFewPairs * ranged_.count;
  order_corners();
  PairBatches batches(workers_, taker);
  if (are_few) {
    find_by_lowest(batches);
  } else {
    find_by_levels(batches);
  }
  batches.finish();
}

void Dominance::find_by_lowest(PairBatches& batches) {
  LowestPlaces const places(queue_, workers_, seconds_.as<uint32_t>(), sorted_);
  auto const* const corners = corners_.as<Corner>();
  auto const* const rows = rows_.as<uint32_t>();
  batches.for_outer_rows(ranged_.count, [&](uint64_t i, int32_t worker) {
    uint32_t const outer = ranged_.row(i);
    places.visit(corners[i].first, corners[i].second, [&](uint32_t p, uint32_t are_wanted) {
      batches.add_bits(worker, outer, rows + p, are_wanted);
    });
  });
}

void Dominance::find_by_levels(PairBatches& batches) {
  auto const* const corners = corners_.as<Corner>();
  // Rows of its block that a ranged row has q < second of.
  base::Buffer const counts = numbers(queue_, ranged_.count, "rows within corners");
  auto* const within = counts.as<uint32_t>();
  workers_.for_each_range(kStage, ranged_.count, kTaskRows, [&](uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) within[i] = corners[i].second;
  });
  Halves halves;
  halves.words = queue_.host_pool->allocate_rows<uint64_t>(Memory::kHost, sorted_ / 64 + 1,
                                                           "halves of a level");
  halves.ones_before = numbers(queue_, sorted_ / 64 + 1, "counts of a level");
  Level next = make_level();
  auto const levels = static_cast<uint32_t>(std::bit_width(sorted_));
  for (uint32_t bit = levels; bit-- > kLastBits;) {
    count_halves(level_, bit, &halves);
    split(level_, halves, bit, &next);
    std::swap(level_, next);
    auto const* const words = halves.words.as<uint64_t>();
    auto const* const ones_before = halves.ones_before.as<uint32_t>();
    auto const* const rows = level_.rows.as<uint32_t>();
    uint64_t const half = uint64_t{1} << bit;
    batches.for_outer_rows(ranged_.count, [&](uint64_t i, int32_t worker) {
      if (within[i] == 0) return;
      uint64_t const first = corners[i].first;
      uint64_t const block = first / (2 * half) * (2 * half);
      auto const right =
          static_cast<uint32_t>(ones_among(words, ones_before, block + within[i]) - block / 2);
      uint32_t const left = within[i] - right;
      if ((first & half) != 0) {
        batches.add(worker, ranged_.row(i), rows + block, left);
        within[i] = right;
      } else {
        within[i] = left;
      }
    });
  }
  look_at_last_blocks(batches, within);
}

void Dominance::mark_matched(columns::RowMarks& marks) {
  // The lowest q of the rows below each place.
  base::Buffer const lowest = numbers(queue_, sorted_ + 1, "lowest places");
  auto* const lows = lowest.as<uint32_t>();
  lows[0] = UINT32_MAX;
  for (uint64_t p = 0; p < sorted_; ++p) {
    lows[p + 1] = std::min(lows[p], seconds_.as<uint32_t>()[p]);
  }
  auto const* const corners = corners_.as<Corner>();
  mark_rows_that(queue_, workers_, ranged_, marks,
                 [&](uint64_t i) { return lows[corners[i].first] < corners[i].second; });
}

}  // namespace gpujoin::cpu
