#include "src/plan/late_rule.hpp"

#include <algorithm>

#include "src/base/pick_traffic.hpp"
#include "src/plan/stage_costs.hpp"

namespace gpujoin::plan {

namespace {

namespace traffic = base::traffic;
using traffic::Traffic;

// A gather, what waits for it, and what a further column takes the match.
constexpr double kLaunches = 4;

// Behind the copy a join reads a column of a side at least once more, and where it partitions it
// writes it and reads it again. Whether it does is not known yet.
Traffic carried(uint64_t rows, uint64_t width) { return traffic::radix_pass(rows, 0, width); }

}  // namespace

double expected_rows(SideRows own, SideRows other, columns::RowsOfSide comes_out) {
  auto const picked = static_cast<double>(own.picked);
  using columns::RowsOfSide;
  bool const only_with_match = comes_out == RowsOfSide::kPairs || comes_out == RowsOfSide::kMatched;
  if (own.registered == 0 || other.registered == 0) return 0;
  auto const share_of = [](SideRows side) {
    return static_cast<double>(side.picked) / static_cast<double>(side.registered);
  };
  double const matches = static_cast<double>(std::max(own.registered, other.registered)) *
                         share_of(own) * share_of(other);
  if (!only_with_match) return std::max(picked, matches);
  return comes_out == RowsOfSide::kMatched ? std::min(picked, matches) : matches;
}

std::vector<bool> are_late(const PickedPayloads& payloads, const base::DeviceFacts& facts) {
  SideRows const side = payloads.side;
  auto const come_out = static_cast<uint64_t>(payloads.expected_rows);
  constexpr uint64_t kNumber = traffic::kRowIdBytes;
  // Of all columns together: the rows' numbers are written and carried. Where others want numbers,
  // or some are none, they count picked rows, and by them those as registered are read.
  double before = kLaunches * facts.launch_seconds;
  if (!payloads.are_rows_put_out) {
    before += stream_seconds(traffic::write_row_ids(side.picked) + carried(side.picked, kNumber) +
                                 traffic::write_row_ids(come_out),
                             facts);
  }
  if (payloads.are_rows_put_out || payloads.may_miss) {
    before += read_seconds(payloads.expected_rows, side.picked * kNumber, facts);
  }
  std::vector<bool> late;
  double saved = 0;
  for (int32_t const bytes : payloads.widths) {
    auto const width = static_cast<uint64_t>(bytes);
    double const early =
        stream_seconds(traffic::pick_column(side.registered, side.picked, width) +
                           carried(side.picked, width) + Traffic{come_out * width, 0},
                       facts);
    double const fetched =
        stream_seconds(traffic::gather(come_out, width, traffic::Locality::kRandom), facts) +
        read_seconds(payloads.expected_rows, side.registered * width, facts);
    late.push_back(fetched < early);
    if (late.back()) saved += early - fetched;
  }
  if (saved <= before) late.assign(late.size(), false);
  return late;
}

}  // namespace gpujoin::plan
