#include "src/execute/looked_up_on_cpu.hpp"

#include <string>
#include <utility>

#include "src/cpu/look_up_rows.hpp"
#include "src/execute/cpu_side.hpp"
#include "src/execute/match_on_cpu.hpp"
#include "src/execute/stage_clock.hpp"

namespace gpujoin::execute {

std::optional<LookedUp> look_up_on_cpu(base::Queue& queue, const columns::Relation& fact,
                                       const columns::Relation& dimension, int32_t key,
                                       const std::vector<int32_t>& columns, bool row_numbers,
                                       std::vector<columns::StageStatistics>& stages) {
  cpu::Workers workers(queue);
  std::vector<int32_t> const keys = {key};
  CpuSide side(queue, workers, dimension, keys, columns);
  if (!side.may_be_read(side.input_rows())) return std::nullopt;
  columns::ColumnView const& probe = fact.columns.front();
  bool const reads_rows = row_numbers || !columns.empty();

  plan::StageCosts const none_foreseen;
  StageClock clock(queue, plan::Device::kCpu, stages);
  clock.predict(none_foreseen);
  clock.begin("transform");
  if (!side.keep_key_bits(reads_rows, false)) {
    clock.note("build keys as bits, in vain: they are not dense and unique");
    clock.finish();
    return std::nullopt;
  }
  clock.note("build keys as bits", side.input_rows() * static_cast<uint64_t>(probe.width));
  side.lay_out(plan::Gather::kUntransformed, true);
  std::vector<cpu::OutputSource> sources;
  if (row_numbers) sources.push_back(side.row_numbers_source(true));
  side.add_column_sources(true, &sources);

  clock.begin("match");
  cpu::OutputRows output(queue, shapes_of(sources), static_cast<uint64_t>(fact.rows));
  bool const all = cpu::look_up_rows(workers, *side.key_bits(), side.rows().layout, probe,
                                     static_cast<uint64_t>(fact.rows), sources, output);
  clock.note(std::string("rows looked up, each at its place") +
             (all ? "" : ", in vain: a row has no match"));
  clock.finish();
  if (!all) return std::nullopt;
  cpu::OutputRows::Finished found = output.finish(workers);
  LookedUp made;
  size_t next = 0;
  if (row_numbers) made.rows = std::move(found.columns[next++].values);
  for (; next < sources.size(); ++next) {
    made.columns.push_back(column_of(sources[next], std::move(found.columns[next])));
  }
  return made;
}

}  // namespace gpujoin::execute
