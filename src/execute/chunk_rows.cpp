#include "src/execute/chunk_rows.hpp"

#include <algorithm>

#include "src/base/traffic.hpp"

namespace gpujoin::execute {

namespace {

// Chunks that a large probe side has at least: an eighth of a way in and of a way out are not
// covered.
constexpr int64_t kFewestChunks = 8;
// A chunk of 2^22 rows of 8 bytes is 0.6 ms on the link of an H200 and takes 0.3 ms of launches and
// waits.
constexpr int64_t kUsefulChunkRows = int64_t{1} << 22;
constexpr int64_t kMostChunkRows = int64_t{1} << 26;
// A cached block may be an eighth larger than what is wanted, and sorters have storage of their
// own.
constexpr double kMargin = 1.25;

}  // namespace

uint64_t chunk_row_bytes(const plan::JoinPlan& plan, const plan::PlanRequest& request) {
  bool const build_left = plan.build_side == plan::Side::kLeft;
  plan::SideStatistics const& probe = build_left ? request.right : request.left;
  auto const key = static_cast<uint64_t>(probe.key_width);
  uint64_t payloads = 0;
  uint64_t widest = base::traffic::kRowIdBytes;
  for (int32_t const width : probe.payload_widths) {
    payloads += static_cast<uint64_t>(width);
    widest = std::max(widest, static_cast<uint64_t>(width));
  }
  uint64_t output = request.pairs ? base::traffic::kPairBytes : 0;
  for (plan::SideStatistics const* side : {&request.left, &request.right}) {
    if (side->key_is_output) output += key;
    for (int32_t const width : side->payload_widths) output += static_cast<uint64_t>(width);
    // Written to be verified.
    if (plan.keys == plan::Keys::kHashed && !side->key_is_output) output += key;
  }
  // Keys mixed or without NULLs, their order with the first moved column, the sorter's copies of
  // both, row numbers.
  uint64_t const transformed = plan.transform == plan::Transform::kNone
                                   ? key + base::traffic::kRowIdBytes
                                   : 3 * key + 2 * widest + 2 * base::traffic::kRowIdBytes;
  uint64_t const further = plan.gather == plan::Gather::kTransformed ? 2 * (key + widest) : 0;
  constexpr uint64_t kBounds = 16;
  double const pairs_a_row =
      probe.rows > 0
          ? std::max(1.0, static_cast<double>(plan.expected_rows) / static_cast<double>(probe.rows))
          : 1.0;
  double const found = pairs_a_row * static_cast<double>(2 * (output + base::traffic::kPairBytes));
  double const row =
      static_cast<double>(2 * (key + payloads) + transformed + further + kBounds) + found;
  return static_cast<uint64_t>(row * kMargin) + 1;
}

int64_t chunk_rows_for(int64_t probe_rows, uint64_t row_bytes, uint64_t room) {
  auto const fit = static_cast<int64_t>(
      std::min<uint64_t>(room / std::max<uint64_t>(row_bytes, 1), uint64_t{kMostChunkRows}));
  int64_t const even = (probe_rows + kFewestChunks - 1) / kFewestChunks;
  int64_t const useful = std::max(even, std::min(probe_rows, kUsefulChunkRows));
  return std::max({std::min(fit, useful), std::min(probe_rows, kLeastChunkRows), int64_t{1}});
}

}  // namespace gpujoin::execute
