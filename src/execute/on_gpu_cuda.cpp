// on_gpu_cuda.cpp: the path on the GPU: transfer, transform, match, materialize.
#include <algorithm>
#include <vector>

#include "src/base/device.hpp"
#include "src/base/status.hpp"
#include "src/execute/execute.hpp"
#include "src/execute/gpu_side.hpp"
#include "src/execute/stage_clock.hpp"
#include "src/match/match.hpp"
#include "src/output/growing_pairs.hpp"
#include "src/sample/sample_keys.hpp"

namespace gpujoin::execute {

namespace {

void match_sides(base::Context& context, const plan::JoinPlan& plan, const GpuSide& build,
                 const GpuSide& probe, output::GrowingPairs& pairs) {
  int32_t const key_width = build.key_width();
  bool const by_position = matches_by_position(plan, build, probe);
  match::MatchSide const build_keys = build.match_side(by_position);
  match::MatchSide const probe_keys = probe.match_side(by_position);
  switch (plan.match) {
    case plan::Match::kGlobalTable:
      match::global_table(context, key_width, build_keys, probe_keys, pairs);
      break;
    case plan::Match::kCoPartitions:
    case plan::Match::kNestedLoop:
      match::co_partitions(context, plan, key_width, build_keys, build.partitions(), probe_keys,
                           probe.partitions(), pairs);
      break;
    case plan::Match::kMergePath:
    case plan::Match::kMergeTwoBounds:
    case plan::Match::kMergeOneBound:
      match::merge_path(context, plan, key_width, build_keys, probe_keys, pairs);
      break;
    case plan::Match::kRowMultiset:
      break;
  }
  pairs.finish();
}

}  // namespace

void on_gpu(const PlannedJoin& join, columns::JoinResult& result) {
  base::Context& context = *join.context;
  plan::JoinPlan const& plan = join.choice.plan;
  bool const build_left = plan.build_side == plan::Side::kLeft;
  StageClock clock(context, join.choice.predicted, result.statistics.stages);

  clock.begin("transfer");
  GpuSide left(context, *join.left, join.spec.left_key, join.spec.left_columns);
  GpuSide right(context, *join.right, join.spec.right_key, join.spec.right_columns);
  GpuSide& build = build_left ? left : right;
  GpuSide& probe = build_left ? right : left;

  clock.begin("transform");
  build.prepare(plan);
  probe.prepare(plan);
  transform_sides(context, plan, build, probe);

  clock.begin("match");
  output::GrowingPairs pairs(context,
                             static_cast<uint64_t>(std::max<int64_t>(plan.expected_rows, 0)));
  match_sides(context, plan, build, probe, pairs);

  clock.begin("materialize");
  result.memory = base::Memory::kDevice;
  result.rows = static_cast<int64_t>(pairs.rows());
  result.has_pairs = join.spec.pairs;
  result.pair_sides = join.spec.pair_sides;
  result.statistics.output_resumes = pairs.resumes();
  materialize_sides(context, plan, build, probe, pairs, build_left, result);
  clock.finish();
}

plan::KeySample sample_on_gpu(base::Context& context, const columns::Relation& build,
                              int32_t build_key, const columns::Relation& probe, int32_t probe_key,
                              plan::SampleEffort effort) {
  base::await(context, build.ready_event);
  base::await(context, probe.ready_event);
  return sample::sample_keys(context, build.columns[static_cast<size_t>(build_key)], build.rows,
                             probe.columns[static_cast<size_t>(probe_key)], probe.rows, effort);
}

}  // namespace gpujoin::execute
