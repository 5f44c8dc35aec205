// alone_on_cpu.hpp: a side whose rows come out without pairs, on the CPU.
#pragma once

#include <memory>
#include <optional>

#include "src/execute/alone_task.hpp"
#include "src/execute/built.hpp"
#include "src/execute/cpu_side.hpp"

namespace gpujoin::execute {

// Of a side whose rows come out alone: a set tells which. Nothing: pairs or marks do.
std::optional<AloneTask> task_of(const JoinStep& step, const CpuSide& side, bool left);

struct SideAlone {
  AloneTask task;
  bool left = false;
  CpuSide& side;
  CpuSide& other;
};
std::optional<SideAlone> side_alone(const JoinStep& step, CpuSide& build, CpuSide& probe);

// What a row is looked up in, as cpu/set_partitions.hpp and cpu/sets_in_place.hpp have it.
enum class SetBy { kPartitions, kTableOfOther, kBitsOfOther, kOwnTable };

// Finds the rows and puts them out; the sides then let go of what was made for it. expected: both
// are partitioned or laid out for that.
plan::Finding put_out_alone(const JoinStep& step, const SideAlone& alone, SetBy by,
                            columns::JoinResult& result);

// Where no row of a large side needs to be moved: what is left is a probe by the other side. Null:
// partitions are to tell, or no side comes out alone. expected: the transform stage.
std::unique_ptr<const Built> build_set_in_place(const JoinStep& step,
                                                const std::shared_ptr<CpuSide>& build,
                                                CpuSide& probe);

}  // namespace gpujoin::execute
