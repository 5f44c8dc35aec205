#include "src/execute/by_number_on_cpu.hpp"

#include <algorithm>
#include <optional>

#include "src/execute/match_on_cpu.hpp"

namespace gpujoin::execute {

namespace {

enum class Way {
  kPartitions,
  kKeys,      // build rows are read where they lie, if at all
  kNearKeys,  // the same of any number, as rows near each other have near keys
  kPlaces     // build rows are moved to their keys' numbers
};

// Which way to take.
struct Rule {
  const JoinStep& step;
  const CpuSide& build;
  const CpuSide& probe;
  SideNumbers numbers;
  std::optional<bool> known_near = std::nullopt;

  uint64_t expected() const {  // matches; 0: nobody said how many
    return static_cast<uint64_t>(std::max<int64_t>(step.plan.expected_rows, 0));
  }
  // Whether something of a build row comes out, be it its key.
  bool puts_out() const {
    auto const& columns = step.build_left() ? step.spec.left_columns : step.spec.right_columns;
    return !columns.empty() || (numbers.of_build && !marked_in_match(step));
  }
  // What is more than that.
  bool reads_rows() const { return puts_out() && (numbers.of_build || build.puts_out_others()); }
  // Reads 2048 keys of either side, so once.
  bool are_near() {
    if (!known_near) {
      known_near = build.may_be_read(probe.usual_window_span()) &&
                   build.may_be_read(build.usual_window_span());
    }
    return *known_near;
  }

  // So many matches at the most. To list more rows than there are probe rows takes longer than
  // partitions.
  bool are_few(uint64_t most) const {
    return expected() != 0 && expected() <= most && build.input_rows() <= probe.input_rows();
  }
  // To move all build rows takes longer than to read those that come out.
  bool few_are_read() const { return are_few(build.input_rows() / 4); }

  // Where rows are put out by their numbers. 2^22 x 2^22 rows are as fast in partitions where 30 %
  // match and 4 bytes are put out of a build row, and 50 % of 8 bytes.
  Way without_places() {
    constexpr uint64_t kBytesOfAll = 24;
    uint64_t const most_few = probe.input_rows() / kBytesOfAll * build.bytes_read();
    if (are_few(most_few) || build.may_be_read(build.input_rows())) return Way::kKeys;
    return are_near() ? Way::kNearKeys : Way::kPartitions;
  }

  // Of places, no more than partitions would take. Places in no cache are a line from memory to
  // look at, and two to fill, which is faster than to move rows of more than 8 bytes a line, of
  // both sides: two threads of an AMD EPYC, ms in partitions and so, one payload of 4 bytes a side
  // 2^22 x 2^22 rows 27 and 24, 2^23 x 2^23 59 and 56, 2^24 x 2^24 108 and 130, two 232 and 165.
  // Probe rows with NULL keys are packed.
  uint64_t most_bytes() {
    constexpr uint64_t kBytesOfLine = 8;
    constexpr uint64_t kMostNarrowBytes = uint64_t{32} << 20;
    uint64_t const moved =
        build.moved_bytes(numbers.of_build) + probe.moved_bytes(numbers.of_probe);
    uint64_t const lines =
        2 * build.input_rows() + probe.input_rows() * (probe.may_drop_rows() ? 2 : 1);
    bool const may_be_large = moved > kBytesOfLine * lines || are_near();
    return may_be_large ? moved : std::min(moved, kMostNarrowBytes);
  }

  // Of wide rows in a cache that hardly more probe rows ask for reading takes less than moving:
  // 90000 x 90000 rows with 16 payloads of 8 bytes 4.3 ms, and 5.7.
  bool may_be_placed() {
    constexpr uint64_t kWideBytes = 32;
    if (step.plan.gather != plan::Gather::kTransformed || marked_in_match(step)) return false;
    uint64_t const row_bytes = build.place_bytes(numbers.of_build);
    if (build.input_rows() > most_bytes() / row_bytes) return false;
    bool const are_asked_once = probe.input_rows() < 2 * build.input_rows();
    return !are_asked_once || row_bytes < kWideBytes || !build.may_be_read(build.input_rows());
  }

  Way way() {
    if (step.residual != nullptr || build.is_hashed()) return Way::kPartitions;
    if (!reads_rows() || few_are_read()) return Way::kKeys;
    // Keys come more than once.
    if (expected() > probe.input_rows() + probe.input_rows() / 4) return Way::kPartitions;
    return may_be_placed() ? Way::kPlaces : without_places();
  }
};

}  // namespace

bool find_rows_by_number(const JoinStep& step, CpuSide& build, CpuSide& probe,
                         SideNumbers numbers) {
  Rule rule{step, build, probe, numbers};
  Way const way = rule.way();
  if (way == Way::kPartitions) return false;
  if (way == Way::kPlaces) {
    if (!build.place_rows(numbers.of_build, rule.most_bytes())) return false;
    step.clock.note("build rows placed", 2 * build.rows().rows.bytes());
  } else {
    if (!build.keep_key_bits(rule.reads_rows(), way == Way::kNearKeys)) return false;
    build.lay_out(plan::Gather::kUntransformed, rule.reads_rows());
    step.clock.note("build keys as bits", build.input_rows() * build.key(0).width);
  }
  probe.lay_out(plan::Gather::kUntransformed, numbers.of_probe);
  probe.stream();
  return true;
}

}  // namespace gpujoin::execute
