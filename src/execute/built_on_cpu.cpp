#include "src/execute/built_on_cpu.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.hpp"
#include "src/cpu/batch_adder.hpp"
#include "src/cpu/batch_writer.hpp"
#include "src/cpu/key_filter.hpp"
#include "src/cpu/key_hash.hpp"
#include "src/cpu/match_partitions.hpp"
#include "src/cpu/output_rows.hpp"
#include "src/cpu/row_marks.hpp"
#include "src/cpu/streamed_probe.hpp"
#include "src/execute/aggregate.hpp"
#include "src/execute/alone_on_cpu.hpp"
#include "src/execute/by_number_on_cpu.hpp"
#include "src/execute/kept_places.hpp"
#include "src/execute/match_on_cpu.hpp"
#include "src/execute/spare_room.hpp"

namespace gpujoin::execute {

namespace {

uint32_t radix_bits_of(const JoinStep& step, const cpu::PartitionedRows& build,
                       uint64_t probe_rows) {
  if (step.plan.radix_bits > 0) {
    return std::min(static_cast<uint32_t>(step.plan.radix_bits), cpu::kMostRadixBits);
  }
  return cpu::choose_radix_bits(build.input_rows, probe_rows, build.layout.row_bytes,
                                step.queue.context.cpu_threads);
}

void partition(const JoinStep& step, std::span<CpuSide* const> sides, uint32_t radix_bits,
               const std::string& filtered = "") {
  CpuSide::partition(sides, radix_bits);
  uint64_t bytes = 0;
  for (CpuSide const* side : sides) bytes += side->rows().rows.bytes();
  std::string const how = "radix_onesweep(" + std::to_string(radix_bits) + ")";
  step.clock.note(hashes_of(*sides.front()) + filtered + how, 2 * bytes);
}

bool puts_out_numbers(const JoinStep& step, bool left) {
  return (left ? step.spec.left_rows() : step.spec.right_rows()) && !marked_in_match(step);
}

// The result's physical columns: the row numbers, then the columns of both sides.
std::vector<cpu::OutputSource> output_sources(const JoinStep& step, const CpuSide& build,
                                              const CpuSide& probe) {
  bool const build_left = step.build_left();
  CpuSide const& left = build_left ? build : probe;
  CpuSide const& right = build_left ? probe : build;
  std::vector<cpu::OutputSource> sources;
  if (puts_out_numbers(step, true)) sources.push_back(left.row_numbers_source(build_left));
  if (puts_out_numbers(step, false)) sources.push_back(right.row_numbers_source(!build_left));
  left.add_column_sources(build_left, &sources);
  right.add_column_sources(!build_left, &sources);
  return sources;
}

void finish(const JoinStep& step, cpu::Workers& workers, cpu::OutputRows& output,
            const std::vector<cpu::OutputSource>& sources, plan::Gather gather,
            columns::JoinResult& result) {
  cpu::OutputRows::Finished finished = output.finish(workers);
  result.rows = static_cast<int64_t>(finished.rows);
  size_t next = 0;
  if (!finished.columns.empty()) result.row_numbers_room = finished.columns.front().room;
  if (puts_out_numbers(step, true)) result.left_rows = std::move(finished.columns[next++].values);
  if (puts_out_numbers(step, false)) result.right_rows = std::move(finished.columns[next++].values);
  for (; next < sources.size(); ++next) {
    result.columns.push_back(column_of(sources[next], std::move(finished.columns[next])));
  }
  note_finish(step, sources, finished, gather, result);
}

bool numbers_of(const JoinStep& step, const CpuSide& side, bool left) {
  // Pairs are filtered, or mark rows, by them.
  if (step.residual != nullptr || (step.is_kept && marked_in_match(step) == left)) return true;
  if (auto const task = task_of(step, side, left)) return task->numbers;
  return left ? step.spec.left_rows() : step.spec.right_rows();
}

// Not a set of the rows of one side.
bool are_pairs(const JoinStep& step) {
  for (bool const left : {true, false}) {
    if (comes_alone(rows_of(step.spec, left)) && step.residual == nullptr) return false;
  }
  return true;
}

// Where no number of partitions is named. Sets are of partitions.
bool may_stream(const JoinStep& step) { return are_pairs(step) && step.plan.radix_bits == 0; }

// One thread fills the table of a small build side, and the others wait. Scattered keys, two
// payloads of 4 bytes a side, two threads, ms by a table and in partitions: 2^16 x 2^16 rows 1.64
// and 1.34, x 2^18 2.9 and 2.5, x 2^20 7 and 9, 2^14 x 2^14 0.76 and 0.63, 2^13 x 2^14 0.93 and
// 1.09.
bool wait_for_table(const JoinStep& step, const CpuSide& build, const CpuSide& probe) {
  constexpr uint64_t kFewRows = uint64_t{1} << 14;
  constexpr uint64_t kProbeRows = 8;
  return step.queue.context.cpu_threads > 1 && !build.is_hashed() &&
         build.input_rows() >= kFewRows && probe.input_rows() < kProbeRows * build.input_rows();
}

// Pairs of a small build side.
bool streams(const JoinStep& step, const CpuSide& build, const CpuSide& probe) {
  return may_stream(step) && !wait_for_table(step, build, probe) &&
         cpu::streams_probe(build.input_rows(), probe.input_rows(), build.is_hashed());
}

// Whether rows that lie in the order of their keys are merged where they lie. Of a small build side
// many probe rows look up a row faster: 2^14 x 2^22 rows 14 ms in the place of 28.
bool may_merge(const JoinStep& step, const CpuSide& build, const CpuSide& probe) {
  constexpr uint64_t kProbeRowsOfSmall = 16;
  if (!may_stream(step) || build.is_hashed()) return false;
  return !streams(step, build, probe) ||
         probe.input_rows() <= kProbeRowsOfSmall * build.input_rows();
}

// Pairs by which text is fetched: in the order of the probe side that is next to each other.
bool keeps_order(const JoinStep& step, const CpuSide& build, const CpuSide* probe) {
  return probe != nullptr && step.fetches_of_probe && may_stream(step) &&
         probe->input_rows() >= build.input_rows();
}

// Rows of the larger side, where few are expected to match, by a filter of the other side's keys.
// Answers what is said of it.
std::string leave_out_unmatched(const JoinStep& step, CpuSide& build, CpuSide& probe) {
  constexpr uint64_t kRowsOfMatch = 4;
  bool const is_build_less = build.input_rows() <= probe.input_rows();
  CpuSide& more = is_build_less ? probe : build;
  CpuSide const& less = is_build_less ? build : probe;
  auto const expected = static_cast<uint64_t>(std::max<int64_t>(step.plan.expected_rows, 0));
  bool const are_few = expected != 0 && expected <= more.input_rows() / kRowsOfMatch;
  bool const is_filter_small = less.input_rows() <= cpu::kMostFilterRows &&
                               less.input_rows() <= more.input_rows() / kRowsOfMatch;
  if (!are_few || !is_filter_small) return "";
  // Of a side that comes out alone without a match those are what is wanted.
  auto const alone = side_alone(step, build, probe);
  if (alone && &alone->side == &more && !alone->task.with_match) return "";
  try {
    if (!more.leave_out_unmatched(less)) return "";
  } catch (const base::Error& error) {
    if (error.status() != GPUJOIN_ERROR_MEMORY_LIMIT) throw;
    return "";
  }
  return is_build_less ? "probe rows filtered, " : "build rows filtered, ";
}

// Of a kept side whose rows are listed by key bits; null: nothing of them is put out, or a
// condition reads them.
std::unique_ptr<KeptPlaces> places_of(const JoinStep& step, const CpuSide& side) {
  bool const numbers = numbers_of(step, side, step.build_left());
  if (step.residual != nullptr || (!numbers && !side.puts_out_others())) return nullptr;
  return std::make_unique<KeptPlaces>(side, numbers);
}

// Whether rows of hashed keys carry the key columns, by which matches are verified: by row number
// each would be a line from memory on either side. Of few matches less than it takes to move them:
// 2^20 x 2^22 rows with two keys of 8 bytes, two threads, ms without and with, 10 % of the rows
// match 53 and 57, 30 % 73 and 72, all 120 and 84; with three 163 and 124.
bool carries_keys(const JoinStep& step, const CpuSide& build, const CpuSide& probe) {
  constexpr uint64_t kMostRowBytes = 64;
  constexpr int64_t kRowsOfMatch = 4;
  if (!build.is_hashed() || !are_pairs(step)) return false;
  uint64_t const build_bytes = build.row_bytes_with_keys();
  uint64_t const probe_bytes = probe.row_bytes_with_keys();
  if (std::max(build_bytes, probe_bytes) > kMostRowBytes) return false;
  auto const probe_rows = static_cast<int64_t>(probe.input_rows());
  if (step.plan.expected_rows > 0 && step.plan.expected_rows < probe_rows / kRowsOfMatch) {
    return false;
  }
  return has_spare_room(step, build.input_rows() * build_bytes + probe.input_rows() * probe_bytes);
}

class BuiltOnCpu final : public Built {
 public:
  // expected: the side is partitioned.
  BuiltOnCpu(std::shared_ptr<CpuSide> side, bool is_probed_once,
             std::unique_ptr<KeptPlaces> places = nullptr)
      : side_(std::move(side)), is_probed_once_(is_probed_once), places_(std::move(places)) {}

  // expected: it is kept.
  bool has_unique_keys() const override { return side_->has_unique_keys(); }

  plan::Finding probe(const JoinStep& step, Side& side,
                      columns::JoinResult& result) const override {
    auto& probe = side_as<CpuSide>(side);
    if (step.is_kept) {
      CpuSide const& build = places_ != nullptr
                                 ? places_->rows_for(step, probe.workers(), probe.input_rows())
                                 : *side_;
      step.clock.enter("match");
      probe.lay_out(plan::Gather::kUntransformed, numbers_of(step, probe, !step.build_left()));
      probe.stream();
      return probe_pairs(step, build, probe, plan::Gather::kUntransformed, result);
    }
    bool const is_ordered = probe.rows().is_streamed && side_->rows().radix_bits != 0;
    if (is_ordered) {
      try {
        step.clock.enter("match");
        return probe_pairs(step, *side_, probe, plan::Gather::kUntransformed, result);
      } catch (const base::Error& error) {
        if (error.status() != GPUJOIN_ERROR_MEMORY_LIMIT) throw;
        step.clock.note_in_vain("no room for all tables");
        probe.let_go_of_rows();
      }
    }
    if (!probe.is_partitioned()) {
      step.clock.enter("transform");
      probe.lay_out(step.plan.gather, numbers_of(step, probe, !step.build_left()));
      CpuSide* const alone[] = {&probe};
      partition(step, alone, side_->rows().radix_bits);
    }
    step.clock.enter("match");
    if (auto const alone = side_alone(step, *side_, probe)) {
      return put_out_alone(step, *alone, SetBy::kPartitions, result);
    }
    bool const are_listed = side_->key_bits() && !side_->rows().rows;
    bool const is_moved = !are_listed && !side_->key_order();
    plan::Gather const gather = is_moved ? step.plan.gather : plan::Gather::kUntransformed;
    return probe_pairs(step, *side_, probe, gather, result);
  }

 private:
  // gather: how the sides are laid out.
  plan::Finding probe_pairs(const JoinStep& step, const CpuSide& build, CpuSide& probe,
                            plan::Gather gather, columns::JoinResult& result) const {
    std::vector<cpu::OutputSource> const sources = output_sources(step, build, probe);
    if (step.groups != nullptr) {
      add_matches(step, build, probe, sources);
      if (is_probed_once_) side_->let_go_of_rows();
      probe.let_go_of_rows();
      return plan::Finding::kJoined;
    }
    Matched matched = match(step, build, probe, sources);
    result.marks = std::move(matched.marks);
    if (is_probed_once_) side_->let_go_of_rows();
    probe.let_go_of_rows();
    if (matched.rows == nullptr) return plan::Finding::kJoined;
    step.clock.enter("materialize");
    finish(step, probe.workers(), *matched.rows, sources, gather, result);
    return plan::Finding::kJoined;
  }

  std::shared_ptr<CpuSide> side_;
  bool is_probed_once_;
  std::unique_ptr<KeptPlaces> places_;  // null: rows stay as they are
};

}  // namespace

std::unique_ptr<const Built> build_on_cpu(const JoinStep& step, std::shared_ptr<CpuSide> side,
                                          CpuSide* only_probe) {
  step.clock.enter("transform");
  if (step.is_kept) {
    side->lay_out(plan::Gather::kUntransformed, true);
    if (!side->is_hashed() && side->keep_key_bits(true, true)) {
      step.clock.note("build keys as bits", side->input_rows() * side->key(0).width);
      auto places = places_of(step, *side);
      return std::make_unique<BuiltOnCpu>(std::move(side), false, std::move(places));
    }
    CpuSide* const alone[] = {side.get()};
    partition(step, alone, radix_bits_of(step, side->rows(), 0));
    side->make_tables();
    return std::make_unique<BuiltOnCpu>(std::move(side), false);
  }
  if (only_probe != nullptr) {
    if (auto set = build_set_in_place(step, side, *only_probe)) return set;
  }
  if (only_probe != nullptr && may_merge(step, *side, *only_probe) &&
      side->find_key_order(*only_probe)) {
    side->lay_out(plan::Gather::kUntransformed, numbers_of(step, *side, step.build_left()));
    only_probe->lay_out(plan::Gather::kUntransformed,
                        numbers_of(step, *only_probe, !step.build_left()));
    only_probe->stream();
    auto const width = static_cast<uint64_t>(side->key(0).width);
    step.clock.note("keys in order", (side->input_rows() + only_probe->input_rows()) * width);
    return std::make_unique<BuiltOnCpu>(std::move(side), true);
  }
  if (only_probe != nullptr && may_stream(step)) {
    SideNumbers const numbers{numbers_of(step, *side, step.build_left()),
                              numbers_of(step, *only_probe, !step.build_left())};
    if (find_rows_by_number(step, *side, *only_probe, numbers)) {
      return std::make_unique<BuiltOnCpu>(std::move(side), true);
    }
  }
  bool const is_small = only_probe != nullptr && streams(step, *side, *only_probe);
  bool const is_ordered = !is_small && keeps_order(step, *side, only_probe);
  side->lay_out(is_ordered ? plan::Gather::kUntransformed : step.plan.gather,
                numbers_of(step, *side, step.build_left()));
  if (is_small || is_ordered) {
    only_probe->lay_out(plan::Gather::kUntransformed,
                        numbers_of(step, *only_probe, !step.build_left()));
    only_probe->stream();
    if (is_small) {
      side->pack();
      step.clock.note(hashes_of(*side) + "build rows packed", 2 * side->rows().rows.bytes());
    } else {
      CpuSide* const alone[] = {side.get()};
      partition(step, alone, radix_bits_of(step, side->rows(), only_probe->input_rows()));
    }
    return std::make_unique<BuiltOnCpu>(std::move(side), true);
  }
  std::vector<CpuSide*> sides = {side.get()};
  uint64_t probe_rows = 0;
  std::string filtered;
  if (only_probe != nullptr) {
    only_probe->lay_out(step.plan.gather, numbers_of(step, *only_probe, !step.build_left()));
    if (carries_keys(step, *side, *only_probe)) {
      side->carry_keys();
      only_probe->carry_keys();
      filtered = "keys carried, ";
    }
    filtered += leave_out_unmatched(step, *side, *only_probe);
    probe_rows = only_probe->rows().input_rows;
    sides.push_back(only_probe);
  }
  partition(step, sides, radix_bits_of(step, side->rows(), probe_rows), filtered);
  return std::make_unique<BuiltOnCpu>(std::move(side), only_probe != nullptr);
}

}  // namespace gpujoin::execute
