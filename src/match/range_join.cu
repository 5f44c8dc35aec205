// range_join.cu: host side of joins by inequalities.
#include "src/match/range_join.hpp"

#include <cub/device/device_scan.cuh>
#include <cuda/functional>

#include <bit>
#include <utility>

#include "kernels/match/range_levels.cuh"
#include "kernels/match/range_ranks.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/match/expand_ranges.hpp"
#include "src/match/range_sides.hpp"

namespace gpujoin::match {

namespace {

using base::check;
using base::Memory;
using base::stream_of;
using columns::Inequality;
using columns::RangeProblem;

base::Buffer numbers(base::Queue& queue, uint64_t count, const char* what) {
  return queue.device_pool->allocate_rows<uint32_t>(Memory::kDevice, count, what);
}

unsigned blocks_of(uint64_t rows) { return base::grid_of(rows, kernels::kStreamThreads); }

// sorted > ranged is sorted < ranged of the codes with their bits turned round.
uint64_t flip_of(const Inequality& inequality) {
  return inequality.sorted_is_less ? 0 : ~uint64_t{0};
}

// Rows of the ranged side, in the order of their first code, and how many matches each has: of
// positions lower[i] to lower[i] + counts[i] - 1 of the sorted rows.
struct Ranges {
  base::Buffer rows;
  base::Buffer lower;
  base::Buffer counts;  // and one more
  base::Buffer sorted_rows;
  uint32_t count = 0;
};

class RangeJoin {
 public:
  RangeJoin(base::Queue& queue, const RangeProblem& problem)
      : queue_(queue),
        problem_(problem),
        sorted_(rows_without_null(queue, problem, false)),
        ranged_(rows_without_null(queue, problem, true)) {}

  bool is_empty() const { return sorted_.count == 0 || ranged_.count == 0; }

  Ranges find_neighbours() {
    Ranges found = make_ranges();
    Inequality const& first = problem_.inequalities.front();
    SortedSide sorted = sort_side(queue_, first.sorted.codes, sorted_, 0);
    kernels::RankedRows args = ranked_rows(found.rows);
    add(&args, first, sorted.codes, 0, first.sorted_is_less == first.or_equal);
    base::Buffer other_codes;
    if (problem_.inequalities.size() == 2) {
      // Other codes of the same values have the same order.
      Inequality const& second = problem_.inequalities.back();
      other_codes =
          codes_of_rows(queue_, second.sorted.codes, sorted.rows.as<uint32_t>(), sorted.count);
      add(&args, second, other_codes, 0, second.sorted_is_less == second.or_equal);
    }
    kernels::neighbours_kernel<<<blocks_of(found.count), kernels::kStreamThreads, 0,
                                 stream_of(queue_)>>>(args, found.lower.as<uint32_t>(),
                                                      found.counts.as<uint32_t>());
    check(cudaGetLastError(), "finding the neighbours of rows");
    found.sorted_rows = std::move(sorted.rows);
    return found;
  }

  void find_on_levels(output::GrowingPairs& pairs) {
    Ranges found = make_ranges();
    Corners corners = find_corners(found.rows);
    Level level = make_level();
    level.rows = std::move(corners.second_rows);
    place(corners.first_rows, level.rows, level.places.as<uint32_t>(), nullptr);
    corners.first_rows = {};
    Level next = make_level();
    next.rows = numbers(queue_, sorted_.count, "rows of a level");
    base::Buffer const words = numbers(queue_, sorted_.count / 32 + 1, "halves of a level");
    base::Buffer const ones = numbers(queue_, sorted_.count / 32 + 1, "counts of a level");
    kernels::Halves const halves{words.as<uint32_t>(), ones.as<uint32_t>()};
    for (auto bit = static_cast<uint32_t>(std::bit_width(sorted_.count)); bit-- > 0;) {
      queue_.check_cancelled();
      split(level, next, bit, halves);
      std::swap(level, next);
      kernels::walk_level_kernel<<<blocks_of(found.count), kernels::kStreamThreads, 0,
                                   stream_of(queue_)>>>(
          corners.first.as<uint32_t>(), found.count, bit, halves, corners.second.as<uint32_t>(),
          found.lower.as<uint32_t>(), found.counts.as<uint32_t>());
      check(cudaGetLastError(), "walking a level");
      expand_ranges(queue_, found.lower.as<uint32_t>(), found.counts.as<uint32_t>(), found.count,
                    level.rows.as<uint32_t>(), found.rows.as<uint32_t>(), pairs);
    }
  }

  // counts: 1 of rows with a match.
  Ranges find_matched() {
    if (problem_.has_neighbours()) return find_neighbours();
    Ranges found = make_ranges();
    Corners const corners = find_corners(found.rows);
    base::Buffer const seconds = numbers(queue_, sorted_.count, "places by the second code");
    place(corners.first_rows, corners.second_rows, nullptr, seconds.as<uint32_t>());
    auto* const lowest = seconds.as<uint32_t>();
    size_t bytes = 0;
    auto const scan = [&](void* storage) {
      check(cub::DeviceScan::InclusiveScan(storage, bytes, lowest, lowest, cuda::minimum<>{},
                                           int64_t{sorted_.count}, stream_of(queue_)),
            "finding the lowest places");
    };
    scan(nullptr);
    base::Buffer const storage =
        queue_.device_pool->allocate(Memory::kDevice, bytes, "scan storage");
    scan(storage.data());
    kernels::
        has_row_kernel<<<blocks_of(found.count), kernels::kStreamThreads, 0, stream_of(queue_)>>>(
            corners.first.as<uint32_t>(), corners.second.as<uint32_t>(), found.count, lowest,
            found.counts.as<uint32_t>());
    check(cudaGetLastError(), "finding rows with a match");
    return found;
  }

 private:
  struct Corners {
    base::Buffer first;
    base::Buffer second;
    base::Buffer first_rows;   // of the sorted side, by the first code
    base::Buffer second_rows;  // by the second one
  };
  struct Level {
    base::Buffer places;
    base::Buffer rows;
  };

  Ranges make_ranges() {
    Ranges found;
    found.count = ranged_.count;
    Inequality const& first = problem_.inequalities.front();
    found.rows = std::move(sort_side(queue_, first.ranged.codes, ranged_, 0).rows);
    found.lower = numbers(queue_, found.count, "ranges of rows");
    found.counts = numbers(queue_, uint64_t{found.count} + 1, "matches of rows");
    return found;
  }

  kernels::RankedRows ranked_rows(const base::Buffer& rows) const {
    kernels::RankedRows args{};
    args.rows = rows.as<uint32_t>();
    args.row_count = ranged_.count;
    args.sorted_count = sorted_.count;
    return args;
  }
  static void add(kernels::RankedRows* args, const Inequality& inequality,
                  const base::Buffer& sorted, uint64_t flip, bool counts_equal) {
    args->inequalities[args->count++] = {inequality.ranged.codes, sorted.as<uint64_t>(), flip,
                                         inequality.sorted_is_less, counts_equal};
  }

  Corners find_corners(const base::Buffer& ranged_rows) {
    Corners corners;
    corners.first = numbers(queue_, ranged_.count, "corners");
    corners.second = numbers(queue_, ranged_.count, "corners");
    Inequality const& first = problem_.inequalities.front();
    Inequality const& second = problem_.inequalities.back();
    SortedSide by_first = sort_side(queue_, first.sorted.codes, sorted_, flip_of(first));
    SortedSide by_second = sort_side(queue_, second.sorted.codes, sorted_, flip_of(second));
    kernels::RankedRows args = ranked_rows(ranged_rows);
    add(&args, first, by_first.codes, flip_of(first), first.or_equal);
    add(&args, second, by_second.codes, flip_of(second), second.or_equal);
    kernels::
        corners_kernel<<<blocks_of(ranged_.count), kernels::kStreamThreads, 0, stream_of(queue_)>>>(
            args, corners.first.as<uint32_t>(), corners.second.as<uint32_t>());
    check(cudaGetLastError(), "finding the corners of rows");
    corners.first_rows = std::move(by_first.rows);
    corners.second_rows = std::move(by_second.rows);
    return corners;
  }

  Level make_level() { return {numbers(queue_, sorted_.count, "places of a level"), {}}; }

  // p by q, or q by p.
  void place(const base::Buffer& by_first, const base::Buffer& by_second, uint32_t* places,
             uint32_t* seconds) {
    base::Buffer const place_of_row = numbers(queue_, problem_.sorted_rows, "places of rows");
    kernels::number_places_kernel<<<blocks_of(sorted_.count), kernels::kStreamThreads, 0,
                                    stream_of(queue_)>>>(by_first.as<uint32_t>(), sorted_.count,
                                                         place_of_row.as<uint32_t>());
    check(cudaGetLastError(), "numbering places");
    kernels::first_level_kernel<<<blocks_of(sorted_.count), kernels::kStreamThreads, 0,
                                  stream_of(queue_)>>>(
        by_second.as<uint32_t>(), sorted_.count, place_of_row.as<uint32_t>(), places, seconds);
    check(cudaGetLastError(), "making the first level");
  }

  void split(const Level& level, const Level& next, uint32_t bit, const kernels::Halves& halves) {
    uint64_t const words = sorted_.count / 32 + 1;
    kernels::
        halves_kernel<<<blocks_of(words * 32), kernels::kStreamThreads, 0, stream_of(queue_)>>>(
            level.places.as<uint32_t>(), sorted_.count, bit, halves);
    check(cudaGetLastError(), "finding the halves of a level");
    size_t bytes = 0;
    auto const sum = [&](void* storage) {
      check(cub::DeviceScan::ExclusiveSum(storage, bytes, halves.ones_before, halves.ones_before,
                                          static_cast<int64_t>(words), stream_of(queue_)),
            "counting the halves of a level");
    };
    sum(nullptr);
    base::Buffer const storage =
        queue_.device_pool->allocate(Memory::kDevice, bytes, "scan storage");
    sum(storage.data());
    kernels::
        split_kernel<<<blocks_of(sorted_.count), kernels::kStreamThreads, 0, stream_of(queue_)>>>(
            {level.places.as<uint32_t>(), level.rows.as<uint32_t>()},
            {next.places.as<uint32_t>(), next.rows.as<uint32_t>()}, sorted_.count, bit, halves);
    check(cudaGetLastError(), "making a level");
  }

  base::Queue& queue_;
  const RangeProblem& problem_;
  RowList sorted_;
  RowList ranged_;
};

}  // namespace

void range_join(base::Queue& queue, const RangeProblem& problem, output::GrowingPairs& pairs) {
  RangeJoin join(queue, problem);
  if (join.is_empty()) return;
  if (!problem.has_neighbours()) return join.find_on_levels(pairs);
  Ranges const found = join.find_neighbours();
  expand_ranges(queue, found.lower.as<uint32_t>(), found.counts.as<uint32_t>(), found.count,
                found.sorted_rows.as<uint32_t>(), found.rows.as<uint32_t>(), pairs);
}

MatchedRows matched_rows(base::Queue& queue, const RangeProblem& problem) {
  MatchedRows matched;
  RangeJoin join(queue, problem);
  if (join.is_empty()) return matched;
  Ranges const found = join.find_matched();
  RowList list =
      select_rows(queue, found.rows.as<uint32_t>(), found.counts.as<uint32_t>(), found.count);
  matched.count = list.count;
  matched.numbers = std::move(list.numbers);
  return matched;
}

}  // namespace gpujoin::match
