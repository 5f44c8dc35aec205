// built.hpp: a build side that a family of joins made ready: a table, partitions, sorted runs, a
// multiset. A join in one call is a build and a probe; of a probe side in chunks every chunk is a
// probe.
#pragma once

#include <memory>

#include "src/base/queue.hpp"
#include "src/base/status.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/execute/gpu_side.hpp"
#include "src/execute/stage_clock.hpp"
#include "src/plan/choose_plan.hpp"

namespace gpujoin::execute {

// One attempt at a join, as build and probe see it.
struct JoinStep {
  base::Queue& queue;
  const plan::JoinPlan& plan;
  const columns::JoinSpec& spec;
  StageClock& clock;
  // Further probe sides will come: what a probe would move by and by of the build side is moved
  // once.
  bool is_kept = false;
  transform::KeyBits sort_bits;  // by which both sides are sorted

  bool build_left() const { return plan.build_side == plan::Side::kLeft; }
  bool build_numbers() const { return build_left() ? spec.left_rows() : spec.right_rows(); }
  bool probe_numbers() const { return build_left() ? spec.right_rows() : spec.left_rows(); }
};

// Const once it is made, with a share of its side: any number of probe sides are joined with it,
// also at the same time, each by a queue of its own. Other queues than the one that built it come
// once that one is finished, and are finished before it is let go of; see base::finish.
class Built {
 public:
  virtual ~Built() = default;
  // kJoined: rows, columns and row numbers of the result are complete on the stream, and has_pairs
  // and pair_sides were set before. Otherwise nothing was written. step: of the same plan, but for
  // the rows that are expected. Throws.
  virtual plan::Finding probe(const JoinStep& step, GpuSide& probe,
                              columns::JoinResult& result) const = 0;
};

// The families: tables whose probe writes columns; partitions whose match does; matches of pairs,
// by which columns are gathered.
std::unique_ptr<const Built> build_table(const JoinStep& step, std::shared_ptr<GpuSide> side);
std::unique_ptr<const Built> build_partitions(const JoinStep& step, std::shared_ptr<GpuSide> side);
std::unique_ptr<const Built> build_for_pairs(const JoinStep& step, std::shared_ptr<GpuSide> side);

// By the plan's family. Null: the build keys are scattered (only a table says so). Throws.
std::unique_ptr<const Built> build(const JoinStep& step, std::shared_ptr<GpuSide> side);

// Codes were made of ranges that do not hold for all keys: what was joined by them is worth
// nothing. Waits for the stream where that may be.
bool lie_outside(const JoinStep& step, const GpuSide& build, const GpuSide& probe);

// Of pairs of row numbers whose hashed keys are equal drops those whose keys differ, and answers
// how many are left. A stage of its own. Waits for the stream.
uint64_t verified(const JoinStep& step, const GpuSide& build, const GpuSide& probe,
                  uint32_t* build_rows, uint32_t* probe_rows, uint64_t pairs);

// Whether a plan that needs less memory may do what failed so.
inline bool is_no_room(const base::Error& error) {
  return error.status() == GPUJOIN_ERROR_MEMORY_LIMIT ||
         error.status() == GPUJOIN_ERROR_OUT_OF_MEMORY;
}

// A table of few rows is made and asked in one launch. kJoined or kKeysRepeat. Throws.
plan::Finding join_in_one_launch(const JoinStep& step, GpuSide& build, GpuSide& probe,
                                 columns::JoinResult& result);

}  // namespace gpujoin::execute
