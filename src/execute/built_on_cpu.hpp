// built_on_cpu.hpp: what is built on the CPU: the partitioned rows of the build side.
#pragma once

#include <memory>

#include "src/execute/built.hpp"
#include "src/execute/cpu_side.hpp"

namespace gpujoin::execute {

// Of a step that is kept: tables of all its partitions, for probe sides that are looked up where
// they lie. Else:
// only_probe: the probe side of a join in one call, which is partitioned along: no thread waits
// between the sides, and both say into how many partitions. Its probe lets go of all rows before
// the result is finished. Null where step.is_kept: the build side alone says it. Throws.
std::unique_ptr<const Built> build_on_cpu(const JoinStep& step, std::shared_ptr<CpuSide> side,
                                          CpuSide* only_probe = nullptr);

}  // namespace gpujoin::execute
