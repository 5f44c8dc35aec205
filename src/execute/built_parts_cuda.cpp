// built_parts_cuda.cpp: a table in parts of which shared memory holds one, of dense keys or of
// hashed ones, whose probe rows write the output columns.
#include <algorithm>
#include <utility>
#include <vector>

#include "src/base/traffic.hpp"
#include "src/execute/built_on_gpu.hpp"
#include "src/execute/carried_result.hpp"
#include "src/match/match_parts.hpp"

namespace gpujoin::execute {

namespace {

using plan::Finding;
using transform::KeyPlaces;
using transform::PartColumn;
using transform::WithoutPlace;

// Probe rows that one block takes of a part, but for parts with several times the average.
uint32_t unit_rows_of(uint32_t rows, uint32_t parts) {
  constexpr uint32_t kFewest = 1U << 16;
  constexpr uint64_t kTimesAverage = 4;
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(rows / parts * kTimesAverage, kFewest, UINT32_MAX));
}

bool are_dense(const KeyPlaces& places, uint32_t rows) {
  return places.places != 0 && places.places <= base::traffic::most_direct_places(rows);
}

// Places of the keys that a sample read, and of some beyond either end. Of none: it read none, or
// they lie far apart.
KeyPlaces drawn_places(const plan::KeyRange& drawn, uint32_t rows) {
  // Beyond the lowest of n keys that were read lies one in n of all, likely: of 2^27 rows, of which
  // an eighth is read, eight.
  constexpr uint32_t kBeyond = 1024;
  KeyPlaces places;
  if (drawn.low > drawn.high) return places;
  uint64_t const width = static_cast<uint64_t>(drawn.high) - static_cast<uint64_t>(drawn.low);
  uint64_t const beyond = drawn.exact ? 0 : rows / kBeyond;
  if (width >= UINT32_MAX - 2 * beyond) return places;
  places.low = static_cast<uint64_t>(drawn.low) - beyond;
  places.places = width + 1 + 2 * beyond;
  return places;
}

// Keys of 4 bytes, which need no range to be hashed.
KeyPlaces all_places() {
  KeyPlaces places;
  places.places = uint64_t{1} << 32;
  return places;
}

KeyPlaces exact_places(base::Queue& queue, const GpuSide& side) {
  match::TableSide const rows = side.table_side();
  return transform::places_of(
      transform::key_range(queue, rows.keys, side.key_width(), rows.rows, rows.present),
      side.key_width());
}

// Both sides on their way to parts. How many there are hangs on the columns of both.
class Moves {
 public:
  Moves(const JoinStep& step, const GpuSide& build, const GpuSide& probe)
      : queue_(step.queue),
        are_hashed_(step.plan.match == plan::Match::kGlobalTable),
        build_(build),
        build_columns_(build.part_columns()),
        probe_rows_(probe.table_side()),
        probe_columns_(probe.part_columns()) {}

  bool need_no_range() const { return are_hashed_ && build_.key_width() == 4; }

  // False: the places are too many, or too far apart, or the columns are others than move; where
  // rows without a place are refused, there are some.
  bool move_build(const KeyPlaces& places, WithoutPlace without, match::Parts& parts) const {
    match::TableSide const rows = build_.table_side();
    parts.places = places;
    if (!choose_parts(rows.rows, parts)) return false;
    auto moved = move(rows, build_columns_, parts, without);
    if (!moved) return false;
    parts.build = std::move(*moved);
    return true;
  }

  void move_probe(match::Parts& parts) const {
    parts.probe = *move(probe_rows_, probe_columns_, parts, WithoutPlace::kLeftOut);
  }

 private:
  bool choose_parts(uint32_t rows, match::Parts& parts) const {
    int32_t const build_words = transform::part_words(build_columns_);
    int32_t const probe_words = transform::part_words(probe_columns_);
    if (build_words == 0 || probe_words == 0) return false;
    if (!are_hashed_ && !are_dense(parts.places, rows)) return false;
    base::DeviceFacts const& facts = queue_.context.facts;
    uint64_t const shared = facts.shared_bytes_per_block;
    auto const sm_count = static_cast<uint32_t>(facts.sm_count);
    uint64_t const places = parts.places.places;
    parts.parts = are_hashed_
                      ? kernels::fitting_hashed_parts(rows, places, build_words, probe_words,
                                                      shared, sm_count)
                      : kernels::fitting_parts(places, build_words, probe_words, shared, sm_count,
                                               kernels::most_part_blocks(facts.compute_capability));
    if (parts.parts.count == 0) return false;
    parts.room = kernels::part_table_room(parts.parts, rows, build_words, shared);
    return match::has_room_for_parts(queue_, parts.parts, parts.room, build_words, probe_words);
  }

  std::optional<transform::PartedRows> move(const match::TableSide& side,
                                            const std::vector<PartColumn>& columns,
                                            const match::Parts& parts, WithoutPlace without) const {
    return transform::move_to_parts(
        queue_, {side.keys, build_.key_width(), side.rows, columns, side.present}, parts.places,
        parts.parts, unit_rows_of(side.rows, parts.parts.count), without);
  }

  base::Queue& queue_;
  bool are_hashed_;
  const GpuSide& build_;
  std::vector<PartColumn> build_columns_;
  match::TableSide probe_rows_;
  std::vector<PartColumn> probe_columns_;
};

class BuiltParts final : public BuiltOnGpu {
 public:
  explicit BuiltParts(std::shared_ptr<const GpuSide> side) : side_(std::move(side)) {}

 private:
  Finding probe_on_gpu(const JoinStep& step, GpuSide& probe,
                       columns::JoinResult& result) const override {
    // Rows move to their parts, and no lookup keeps them where they are.
    if (step.spec.keep_left) return Finding::kJoined;
    step.clock.enter("transform");
    probe.prepare(step.plan, true);
    probe.carry_to_parts(step.probe_numbers());
    CarriedResult carried(*side_, probe, step.build_left(), result);
    uint32_t const build_rows = side_->table_side().rows;
    if (build_rows == 0 || probe.table_side().rows == 0) return carried.finish(step, {});
    Moves const moves(step, *side_, probe);
    match::Parts parts;
    // Where a range is needed what a sample read of the keys saves reading them all for it, unless
    // some lie outside: then they were counted in vain.
    if (moves.need_no_range()) {
      if (!moves.move_build(all_places(), WithoutPlace::kLeftOut, parts)) {
        return Finding::kKeysScattered;
      }
    } else if (step.drawn == nullptr || !moves.move_build(drawn_places(*step.drawn, build_rows),
                                                          WithoutPlace::kRefused, parts)) {
      KeyPlaces const places = exact_places(step.queue, *side_);
      bool const has_nulls = side_->table_side().present.bits != nullptr;
      bool const repeat = places.places != 0 && places.places < build_rows && !has_nulls;
      if (repeat) return Finding::kKeysRepeat;
      if (!moves.move_build(places, WithoutPlace::kLeftOut, parts)) return Finding::kKeysScattered;
    }
    moves.move_probe(parts);
    step.clock.enter("match");
    auto const written =
        match::match_parts(step.queue, parts, step.plan.expected_rows, carried.outputs());
    if (!written) return Finding::kKeysRepeat;
    return carried.finish(step, *written);
  }

  std::shared_ptr<const GpuSide> side_;
};

}  // namespace

std::unique_ptr<const Built> build_parts(const JoinStep& step, std::shared_ptr<GpuSide> side) {
  step.clock.enter("transform");
  side->prepare(step.plan, true);
  side->carry_to_parts(step.build_numbers());
  return std::make_unique<BuiltParts>(std::move(side));
}

}  // namespace gpujoin::execute
