#include "src/cpu/neighbours.hpp"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "src/cpu/gather_values.hpp"

namespace gpujoin::cpu {

namespace {

using base::Memory;
using columns::Inequality;

constexpr const char* kStage = "match";
constexpr uint64_t kTaskRows = uint64_t{1} << 14;

}  // namespace

Neighbours::Neighbours(base::Queue& queue, Workers& workers, const columns::RangeProblem& problem)
    : queue_(queue),
      workers_(workers),
      ranged_(
          rows_without_null(queue, workers, validity_of_side(problem, true), problem.ranged_rows)) {
  look_up(problem);
}

void Neighbours::look_up(const columns::RangeProblem& problem) {
  RowList const sorted =
      rows_without_null(queue_, workers_, validity_of_side(problem, false), problem.sorted_rows);
  ranges_ = queue_.host_pool->allocate_rows<Range>(Memory::kHost, ranged_.count, "ranges of rows");
  auto* const ranges = ranges_.as<Range>();
  workers_.for_each_range(kStage, ranged_.count, kTaskRows, [&](uint64_t first, uint64_t end) {
    std::fill(ranges + first, ranges + end, Range{0, static_cast<uint32_t>(sorted.count)});
  });
  SortedCodes order;
  for (size_t i = 0; i < problem.inequalities.size(); ++i) {
    Inequality const& inequality = problem.inequalities[i];
    if (i == 0) {
      order = sort_codes(queue_, workers_, inequality.sorted.codes, sorted.list(), sorted.count, 0);
    } else {
      // Other codes of the same values: they are in this order too.
      auto* const codes = order.codes.as<uint64_t>();
      auto const* const rows = order.rows.as<uint32_t>();
      workers_.for_each_range("sort", order.count, kTaskRows, [&](uint64_t first, uint64_t end) {
        gather_values<uint64_t>(inequality.sorted.codes, rows + first, end - first, codes + first);
      });
    }
    CodePositions const positions(queue_, workers_, order.codes.as<uint64_t>(), order.count);
    bool const is_less = inequality.sorted_is_less;
    bool const counts_equal = is_less == inequality.or_equal;
    workers_.for_each_range(kStage, ranged_.count, kTaskRows, [&](uint64_t first, uint64_t end) {
      auto const code_of = [&](uint64_t at) { return inequality.ranged.codes[ranged_.row(at)]; };
      positions.count_below(first, end, counts_equal, code_of, [&](uint64_t at, uint32_t below) {
        if (is_less) {
          ranges[at].end = std::min(ranges[at].end, below);
        } else {
          ranges[at].first = std::max(ranges[at].first, below);
        }
      });
    });
  }
  std::atomic<uint64_t> pairs{0};
  workers_.for_each_range(kStage, ranged_.count, kTaskRows, [&](uint64_t first, uint64_t end) {
    uint64_t found = 0;
    for (uint64_t at = first; at < end; ++at) {
      ranges[at].end = std::max(ranges[at].end, ranges[at].first);
      found += ranges[at].end - ranges[at].first;
    }
    pairs.fetch_add(found, std::memory_order_relaxed);
  });
  pairs_ = pairs.load();
  sorted_rows_ = std::move(order.rows);
}

void Neighbours::find(PairTaker& taker) {
  PairBatches batches(workers_, taker);
  auto const* const ranges = ranges_.as<Range>();
  auto const* const sorted = sorted_rows_.as<uint32_t>();
  batches.for_outer_rows(ranged_.count, [&](uint64_t at, int32_t worker) {
    Range const range = ranges[at];
    batches.add(worker, ranged_.row(at), sorted + range.first, range.end - range.first);
  });
  batches.finish();
}

void Neighbours::mark_matched(columns::RowMarks& marks) {
  auto const* const ranges = ranges_.as<Range>();
  mark_rows_that(queue_, workers_, ranged_, marks,
                 [&](uint64_t at) { return ranges[at].first != ranges[at].end; });
}

}  // namespace gpujoin::cpu
