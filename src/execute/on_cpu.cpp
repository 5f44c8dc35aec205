// on_cpu.cpp: the path of a CPU plan: partition -> build, probe and write -> finish.
#include <memory>

#include "src/cpu/sample.hpp"
#include "src/cpu/workers.hpp"
#include "src/execute/built_on_cpu.hpp"
#include "src/execute/execute.hpp"
#include "src/execute/kept_build.hpp"
#include "src/execute/late_spec.hpp"

namespace gpujoin::execute {

namespace {

std::shared_ptr<CpuSide> make_side(base::Queue& queue, cpu::Workers& workers,
                                   const PlannedJoin& join, bool left) {
  columns::JoinSpec const& spec = join.spec;
  return left ? std::make_shared<CpuSide>(queue, workers, *join.left, spec.left_keys,
                                          spec.left_columns)
              : std::make_shared<CpuSide>(queue, workers, *join.right, spec.right_keys,
                                          spec.right_columns);
}

}  // namespace

std::unique_ptr<const Built> keep_on_cpu(base::Queue& queue, const PlannedJoin& join) {
  cpu::Workers workers(queue);
  std::vector<columns::StageStatistics> stages;
  StageClock clock(queue, plan::Device::kCpu, stages);
  clock.predict(join.choice.predicted());
  JoinStep step{queue, join.choice.plan(), join.spec, clock, true};
  step.residual = join.residual;
  auto built = build_on_cpu(step, make_side(queue, workers, join, step.build_left()));
  clock.finish();
  return built;
}

void on_cpu(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result,
            const JoinGroups* groups) {
  plan::JoinPlan const& plan = join.choice.plan();
  columns::JoinSpec const& spec = join.spec;
  result.memory = base::Memory::kHost;
  result.has_pairs = spec.pairs;
  result.pair_sides = spec.pair_sides;

  cpu::Workers workers(queue);
  StageClock clock(queue, plan::Device::kCpu, result.statistics.stages);
  clock.predict(join.choice.predicted());
  JoinStep step{queue, plan, spec, clock};
  step.residual = join.residual;
  step.groups = groups;
  step.fetches_of_probe = fetches_text(join, !step.build_left());
  bool const build_left = step.build_left();
  auto const probe = make_side(queue, workers, join, !build_left);
  if (join.kept != nullptr) {
    step.is_kept = true;
    join.kept->built().probe(step, *probe, result);
  } else {
    auto const built = build_on_cpu(step, make_side(queue, workers, join, build_left), probe.get());
    built->probe(step, *probe, result);
  }
  clock.finish();
}

plan::SampleFindings sample_on_cpu(base::Queue& queue, const columns::Relation& build,
                                   int32_t build_key, const columns::Relation& probe,
                                   int32_t probe_key) {
  return cpu::sample_keys(queue, build, build_key, probe, probe_key);
}

}  // namespace gpujoin::execute
