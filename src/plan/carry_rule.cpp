#include "src/plan/carry_rule.hpp"

#include "src/base/traffic.hpp"

namespace gpujoin::plan {

bool carries_columns(const DimensionColumns& dimension, const base::DeviceFacts& facts) {
  namespace traffic = base::traffic;
  // Of one row: rows of the sequence are a common factor.
  uint64_t carry_columns = 0;
  uint64_t fetch_columns = 0;
  for (int32_t const each : dimension.widths) {
    auto const width = static_cast<uint64_t>(each);
    bool const in_cache = static_cast<uint64_t>(dimension.rows) * width <= facts.l2_bytes;
    carry_columns += traffic::gather(1, width, traffic::Locality::kRandom).bytes();
    fetch_columns +=
        traffic::gather(1, width,
                        in_cache ? traffic::Locality::kClustered : traffic::Locality::kRandom)
            .bytes();
  }
  auto const joins = static_cast<uint64_t>(dimension.later_joins);
  uint64_t const carry_row_numbers =
      dimension.row_numbers_wanted
          ? 0
          : joins * traffic::gather(1, traffic::kRowIdBytes, traffic::Locality::kRandom).bytes();
  return joins * carry_columns <= carry_row_numbers + fetch_columns;
}

}  // namespace gpujoin::plan
