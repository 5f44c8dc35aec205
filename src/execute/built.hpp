// built.hpp: a build side that an executor made ready: a table, partitions, sorted runs, a
// multiset. A join in one call is a build and a probe; of a probe side in chunks every chunk is a
// probe.
#pragma once

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/conditions/bound_condition.hpp"
#include "src/execute/seen_keys.hpp"
#include "src/execute/side.hpp"
#include "src/execute/stage_clock.hpp"
#include "src/plan/choose_plan.hpp"

namespace gpujoin::execute {

class JoinGroups;

// One attempt at a join, as build and probe see it.
struct JoinStep {
  base::Queue& queue;
  const plan::JoinPlan& plan;
  const columns::JoinSpec& spec;
  StageClock& clock;
  // Further probe sides will come: what a probe would move by and by of the build side is moved
  // once, and nothing is fitted to one probe side.
  bool is_kept = false;
  // By row number, when the join is done, bytes of each output row are fetched from the probe side.
  bool fetches_of_probe = false;
  // What pairs of rows with equal keys have to fulfil; null: nothing.
  std::shared_ptr<const conditions::BoundCondition> residual = nullptr;
  // Matches are added to them in the place of rows; null: rows are put out.
  const JoinGroups* groups = nullptr;
  // Of keys that may be the build side's; null: nothing is known.
  const SeenKeys* seen = nullptr;
  // Only whether rows have a match is asked for, which any build row of a key tells.
  // has_heavy_keys: one of them may have a large part of the build rows.
  bool any_row = false;
  bool has_heavy_keys = true;
  // Of the build keys as they are that a scan read; null: none did. Others may lie beyond it.
  const plan::KeyRange* drawn = nullptr;

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
  // kJoined: rows, columns and row numbers of the result are complete on the stream, and memory,
  // has_pairs and pair_sides were set before. Otherwise nothing was written. step: of the same
  // plan, but for the rows that are expected. probe: of the executor that built. Throws.
  virtual plan::Finding probe(const JoinStep& step, Side& probe,
                              columns::JoinResult& result) const = 0;
  // Known to have no key twice: a probe row has one match at most.
  virtual bool has_unique_keys() const { return false; }
  // A probe by this side is one launch that tells its time itself.
  virtual bool tells_time(const Side&) const { return false; }
};

}  // namespace gpujoin::execute
