#include "src/execute/alone_on_cpu.hpp"

#include <string>
#include <utility>
#include <vector>

#include "src/cpu/set_partitions.hpp"
#include "src/cpu/sets_in_place.hpp"
#include "src/cpu/streamed_probe.hpp"
#include "src/execute/match_on_cpu.hpp"

namespace gpujoin::execute {

namespace {

using Sources = std::vector<cpu::OutputSource>;

void find_rows(const JoinStep& step, const SideAlone& alone, SetBy by,
               std::span<const cpu::ComparedColumns> verified, const Sources& sources,
               cpu::OutputRows& output) {
  cpu::Workers& workers = alone.side.workers();
  cpu::PartitionedRows const& other = alone.other.rows();
  cpu::SetOfSide const set{alone.task.with_match, alone.side.rows(), sources, output};
  switch (by) {
    case SetBy::kPartitions:
      return cpu::set_partitions(step.queue, workers, alone.task.with_match, other,
                                 alone.side.rows(), verified, sources, output);
    case SetBy::kTableOfOther:
      return cpu::set_by_table_of_other(step.queue, workers, set, other, verified);
    case SetBy::kBitsOfOther:
      return cpu::set_by_bits_of_other(step.queue, workers, set, *alone.other.key_bits());
    case SetBy::kOwnTable:
      return cpu::set_by_own_table(step.queue, workers, set, other, verified);
  }
}

std::string details_of(const SideAlone& alone, SetBy by) {
  std::string const what = alone.task.with_match ? ", with a match" : ", without a match";
  if (by == SetBy::kPartitions) return what;
  return what + (by == SetBy::kOwnTable ? ", by marks" : ", rows in place");
}

OutputRowsPtr match_alone(const JoinStep& step, const SideAlone& alone, SetBy by,
                          const Sources& sources) {
  CpuSide const& first = by == SetBy::kOwnTable ? alone.side : alone.other;
  CpuSide const& second = by == SetBy::kOwnTable ? alone.other : alone.side;
  std::vector<cpu::ComparedColumns> const verified = columns_to_verify(first, second);
  auto const write_of = [&](const Sources& wanted, uint64_t capacity) {
    auto output = std::make_unique<cpu::OutputRows>(step.queue, shapes_of(wanted), capacity);
    find_rows(step, alone, by, verified, wanted, *output);
    return output;
  };
  OutputRowsPtr rows = write_rows(
      step, alone.side.rows().begin.back(), [&](uint64_t room) { return write_of(sources, room); },
      [&] { return write_of({}, 0)->finish(alone.side.workers()).rows; });
  note_match(step, !verified.empty(), details_of(alone, by), alone.other, alone.side);
  return rows;
}

columns::RowsAlone finish_alone(const JoinStep& step, const SideAlone& alone, SetBy by,
                                cpu::OutputRows& output, const Sources& sources,
                                columns::JoinResult& result) {
  cpu::OutputRows::Finished finished = output.finish(alone.side.workers());
  columns::RowsAlone rows;
  rows.with_match = alone.task.with_match;
  rows.rows = static_cast<int64_t>(finished.rows);
  size_t next = 0;
  if (alone.task.numbers) rows.numbers = std::move(finished.columns[next++].values);
  for (; next < sources.size(); ++next) {
    rows.columns.push_back(column_of(sources[next], std::move(finished.columns[next])));
  }
  auto const gather = by == SetBy::kPartitions ? step.plan.gather : plan::Gather::kUntransformed;
  note_finish(step, sources, finished, gather, result);
  return rows;
}

class SetInPlace final : public Built {
 public:
  SetInPlace(std::shared_ptr<CpuSide> build, SetBy by) : build_(std::move(build)), by_(by) {}

  plan::Finding probe(const JoinStep& step, Side& side,
                      columns::JoinResult& result) const override {
    step.clock.enter("match");
    return put_out_alone(step, *side_alone(step, *build_, side_as<CpuSide>(side)), by_, result);
  }

 private:
  std::shared_ptr<CpuSide> build_;
  SetBy by_;
};

// Where no number of partitions is named. A table is asked while a core's second cache has it;
// bits are an eighth of it at most, and are made of any number of rows. Two threads of an AMD EPYC,
// ms in partitions and so: 6.7*10^3 rows that 4.0*10^6 others mark 29 and 7; 4.0*10^6 rows by a
// table of 6.7*10^3 others 16 and 7; 1.4*10^6 by bits of 3.5*10^6 29 and 12.
SetBy choose(const JoinStep& step, const SideAlone& alone) {
  if (step.plan.radix_bits != 0) return SetBy::kPartitions;
  uint64_t const rows = alone.side.input_rows();
  uint64_t const others = alone.other.input_rows();
  bool const is_hashed = alone.other.is_hashed();
  if (cpu::streams_probe(rows, others, is_hashed) && rows < others) return SetBy::kOwnTable;
  if (!is_hashed && alone.other.keep_set_bits()) return SetBy::kBitsOfOther;
  return cpu::streams_probe(others, rows, is_hashed) ? SetBy::kTableOfOther : SetBy::kPartitions;
}

}  // namespace

std::optional<AloneTask> task_of(const JoinStep& step, const CpuSide& side, bool left) {
  bool const is_marked = step.residual != nullptr || step.is_kept;
  if (!comes_alone(rows_of(step.spec, left)) || is_marked) return std::nullopt;
  return alone_task(step.spec, left, side.may_drop_rows());
}

std::optional<SideAlone> side_alone(const JoinStep& step, CpuSide& build, CpuSide& probe) {
  for (bool const left : {true, false}) {
    bool const is_build = left == step.build_left();
    CpuSide& side = is_build ? build : probe;
    if (auto const task = task_of(step, side, left)) {
      return SideAlone{*task, left, side, is_build ? probe : build};
    }
  }
  return std::nullopt;
}

plan::Finding put_out_alone(const JoinStep& step, const SideAlone& alone, SetBy by,
                            columns::JoinResult& result) {
  Sources sources;
  if (alone.task.numbers) sources.push_back(alone.side.row_numbers_source(false));
  alone.side.add_column_sources(false, &sources);
  auto const output = match_alone(step, alone, by, sources);
  alone.side.let_go_of_rows();
  alone.other.let_go_of_rows();
  step.clock.enter("materialize");
  (alone.left ? result.left_alone : result.right_alone) =
      finish_alone(step, alone, by, *output, sources, result);
  return plan::Finding::kJoined;
}

std::unique_ptr<const Built> build_set_in_place(const JoinStep& step,
                                                const std::shared_ptr<CpuSide>& build,
                                                CpuSide& probe) {
  auto const alone = side_alone(step, *build, probe);
  if (!alone) return nullptr;
  SetBy const by = choose(step, *alone);
  if (by == SetBy::kPartitions) return nullptr;
  CpuSide& moved = by == SetBy::kOwnTable ? alone->side : alone->other;
  CpuSide& stays = by == SetBy::kOwnTable ? alone->other : alone->side;
  stays.lay_out(plan::Gather::kUntransformed, &stays == &alone->side && alone->task.numbers);
  stays.stream();
  std::string const whose = &moved == build.get() ? "build" : "probe";
  if (by == SetBy::kBitsOfOther) {
    step.clock.note(whose + " keys as bits",
                    moved.input_rows() * static_cast<uint64_t>(moved.key(0).width));
  } else {
    moved.lay_out(plan::Gather::kUntransformed, by == SetBy::kOwnTable);
    moved.pack();
    step.clock.note(hashes_of(moved) + whose + " rows packed", 2 * moved.rows().rows.bytes());
  }
  return std::make_unique<SetInPlace>(build, by);
}

}  // namespace gpujoin::execute
