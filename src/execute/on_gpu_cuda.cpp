// on_gpu_cuda.cpp: the path on the GPU: transfer, transform, match, materialize.
#include <algorithm>
#include <vector>

#include "src/base/device.hpp"
#include "src/base/status.hpp"
#include "src/execute/execute.hpp"
#include "src/execute/gpu_side.hpp"
#include "src/execute/in_chunks.hpp"
#include "src/execute/stage_clock.hpp"
#include "src/match/match.hpp"
#include "src/output/growing_pairs.hpp"
#include "src/sample/sample_keys.hpp"

namespace gpujoin::execute {

namespace {

// Nothing of a side is brought, waited for or prepared, and nothing is fetched after a match that
// writes columns.
bool comes_ready(const columns::Relation& relation, const std::vector<int32_t>& keys,
                 const std::vector<int32_t>& output_columns) {
  if (relation.ready_event != nullptr || output_columns.size() >= kernels::kMovedColumns) {
    return false;
  }
  auto const is_ready = [&](int32_t index) {
    columns::ColumnView const& column = relation.columns[static_cast<size_t>(index)];
    return column.memory == base::Memory::kDevice && column.validity == nullptr;
  };
  return std::all_of(keys.begin(), keys.end(), is_ready) &&
         std::all_of(output_columns.begin(), output_columns.end(), is_ready);
}

// The whole join is one launch, unless build keys repeat.
bool is_one_launch(const PlannedJoin& join, const plan::JoinPlan& plan) {
  bool const build_left = plan.build_side == plan::Side::kLeft;
  auto const rows = [](const columns::Relation& relation) {
    return static_cast<uint64_t>(relation.rows);
  };
  return plan.gather == plan::Gather::kCarried && plan.transform == plan::Transform::kNone &&
         plan.filter == plan::Filter::kNone && !join.spec.keep_left &&
         match::joins_in_one_launch(rows(build_left ? *join.left : *join.right),
                                    rows(build_left ? *join.right : *join.left)) &&
         comes_ready(*join.left, join.spec.left_keys, join.spec.left_columns) &&
         comes_ready(*join.right, join.spec.right_keys, join.spec.right_columns);
}

}  // namespace

void on_gpu(const PlannedJoin& join, columns::JoinResult& result) {
  if (join.choice.plan.transfer == plan::Transfer::kProbeChunks) return in_chunks(join, result);
  base::Context& context = *join.context;
  plan::JoinPlan plan = join.choice.plan;
  bool const build_left = plan.build_side == plan::Side::kLeft;
  StageClock clock(context, join.choice.predicted, result.statistics.stages);
  if (is_one_launch(join, plan)) clock.be_told();

  clock.begin("transfer");
  GpuSide left(context, *join.left, join.spec.left_keys, join.spec.left_columns,
               plan::moves_payloads(join.request.left, plan, join.spec.pairs));
  GpuSide right(context, *join.right, join.spec.right_keys, join.spec.right_columns,
                plan::moves_payloads(join.request.right, plan, join.spec.pairs));
  GpuSide& build = build_left ? left : right;
  GpuSide& probe = build_left ? right : left;
  // After the sides, so that it is gone before their memory is.
  auto const transport = transfer::make_transport(context, plan.transfer);
  build.bring_transformed(*transport);
  probe.bring_transformed(*transport);
  build.bring_payloads(*transport);
  probe.bring_payloads(*transport);

  columns::StageStatistics& transfer = result.statistics.stages.back();
  if (plan.transfer != plan::Transfer::kNone) transfer.technique = plan::to_text(plan.transfer);

  result.memory = base::Memory::kDevice;
  result.has_pairs = join.spec.pairs;
  result.pair_sides = join.spec.pair_sides;
  if (plan.filter != plan::Filter::kNone) {
    clock.begin("filter");
    if (!GpuSide::filter(plan, build, probe)) {
      result.statistics.stages.back().technique = "none: the keys are too far apart for key_bits";
    }
    // As many partitions as the rows that are left want, unless they were named.
    if (plan::partitions(plan.transform) && plan.radix_bits == 0) {
      plan.radix_bits =
          plan::bits_of_rows(plan, build.prepared().rows, probe.prepared().rows, build.key_width());
      result.statistics.plan = plan::to_text(plan);
    }
  }
  bool const carried = plan::writes_columns(plan.gather);
  bool const build_numbers = build_left ? join.spec.left_rows() : join.spec.right_rows();
  bool const probe_numbers = build_left ? join.spec.right_rows() : join.spec.left_rows();
  clock.begin("transform");
  if (carried && plan.transform != plan::Transform::kNone) {
    build.carry(plan, build_numbers);
    probe.carry(plan, probe_numbers);
    clock.begin("match");
    write_carried(context, plan, build, probe, build_left, clock, result);
    return clock.finish();
  }
  transform_sides(context, plan, build, probe);

  clock.begin("match");
  if (carried) {
    if (!probe.is_prepared()) probe.prepare(plan);
    build.carry_in_place(build_numbers);
    probe.carry_in_place(probe_numbers);
    if (join.spec.keep_left) {
      // Rows with NULL keys have no match.
      result.keeps_left = !build_left && probe.prepared().rows == join.left->rows &&
                          look_up_from_table(context, plan, build, probe, result);
      return clock.finish();
    }
    double milliseconds = 0;
    bool const leaves = !join.spec.in_order &&
                        !match::joins_in_one_launch(build.prepared().rows, probe.prepared().rows) &&
                        plan::leaves_scattered_keys(plan, join.request, context.facts,
                                                    join.choice.memory_limit_bytes);
    std::optional<match::NoTable> const why_not =
        write_from_table(context, plan, build, probe, build_left,
                         leaves ? match::ScatteredKeys::kLeft : match::ScatteredKeys::kHashed,
                         result, &milliseconds);
    if (clock.is_told()) clock.add(milliseconds);
    if (!why_not) return clock.finish();
    clock.listen();
    // Few rows are joined by pairs, as without carried payloads. Of more a key may have so many
    // that pairs and gathers take several times what columns take that the match writes.
    constexpr uint32_t kFewRows = 1U << 14;
    bool const repeats = *why_not == match::NoTable::kKeysRepeat;
    if (!repeats || std::min(build.prepared().rows, probe.prepared().rows) >= kFewRows) {
      bool const for_places = plan.match == plan::Match::kDirectTable;
      plan = plan::in_partitions(plan, build.prepared().rows, probe.prepared().rows,
                                 build.key_width(), context.facts);
      result.statistics.plan = plan::to_text(plan);
      result.statistics.stages.back().technique =
          repeats      ? "partitions after a table: build keys repeat"
          : for_places ? "partitions: the keys are too far apart for direct_table"
                       : "partitions: too many rows for global_table";
      build.carry(plan, build_numbers);
      probe.carry(plan, probe_numbers);
      write_carried(context, plan, build, probe, build_left, clock, result);
      return clock.finish();
    }
    result.statistics.stages.back().technique = "global_table: build keys repeat";
  }
  output::GrowingPairs pairs(context,
                             static_cast<uint64_t>(std::max<int64_t>(plan.expected_rows, 0)));
  match_sides(context, plan, build, probe, nullptr, pairs);

  clock.begin("materialize");
  result.rows = static_cast<int64_t>(pairs.rows());
  result.statistics.output_resumes = pairs.resumes();
  materialize_sides(context, plan, build, probe, pairs, build_left, result);
  clock.finish();
}

plan::SampleFindings sample_on_gpu(base::Context& context, const columns::Relation& build,
                                   int32_t build_key, const columns::Relation& probe,
                                   int32_t probe_key, plan::SampleEffort effort) {
  base::await(context, build.ready_event);
  base::await(context, probe.ready_event);
  return sample::sample_keys(context, build.columns[static_cast<size_t>(build_key)], build.rows,
                             probe.columns[static_cast<size_t>(probe_key)], probe.rows, effort);
}

}  // namespace gpujoin::execute
