// on_cpu.cpp: the path of a CPU plan: partition -> build, probe and write -> finish.
#include <memory>

#include "src/cpu/sample.hpp"
#include "src/cpu/workers.hpp"
#include "src/execute/built_on_cpu.hpp"
#include "src/execute/execute.hpp"
#include "src/execute/late_spec.hpp"

namespace gpujoin::execute {

void on_cpu(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result,
            const JoinGroups* groups) {
  plan::JoinPlan const& plan = join.choice.plan();
  columns::JoinSpec const& spec = join.spec;
  result.memory = base::Memory::kHost;
  result.has_pairs = spec.pairs;
  result.pair_sides = spec.pair_sides;

  cpu::Workers workers(queue);
  auto const left =
      std::make_shared<CpuSide>(queue, workers, *join.left, spec.left_keys, spec.left_columns);
  auto const right =
      std::make_shared<CpuSide>(queue, workers, *join.right, spec.right_keys, spec.right_columns);
  StageClock clock(queue, plan::Device::kCpu, result.statistics.stages);
  clock.predict(join.choice.predicted());
  JoinStep step{queue, plan, spec, clock};
  step.residual = join.residual;
  step.groups = groups;
  step.fetches_of_probe = fetches_text(join, !step.build_left());
  CpuSide& probe = step.build_left() ? *right : *left;
  std::unique_ptr<const Built> const built =
      build_on_cpu(step, step.build_left() ? left : right, &probe);
  built->probe(step, probe, result);
  clock.finish();
}

plan::SampleFindings sample_on_cpu(base::Queue& queue, const columns::Relation& build,
                                   int32_t build_key, const columns::Relation& probe,
                                   int32_t probe_key) {
  return cpu::sample_keys(queue, build, build_key, probe, probe_key);
}

}  // namespace gpujoin::execute
