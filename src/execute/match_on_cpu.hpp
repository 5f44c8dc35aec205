// match_on_cpu.hpp: the matches of two sides on the CPU, on their way to rows, groups and marks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/columns/row_marks.hpp"
#include "src/cpu/batch_values.hpp"
#include "src/cpu/output_rows.hpp"
#include "src/execute/built.hpp"
#include "src/execute/cpu_side.hpp"

namespace gpujoin::execute {

std::vector<cpu::OutputShape> shapes_of(const std::vector<cpu::OutputSource>& sources);
// What was written of a column of a relation.
columns::ResultColumn column_of(const cpu::OutputSource& source, cpu::OutputRows::Column finished);

using OutputRowsPtr = std::unique_ptr<cpu::OutputRows>;

// write(room) into output that grows; where memory is too tight for a generous room, into as much
// as count() says.
OutputRowsPtr write_rows(const JoinStep& step, uint64_t generous,
                         const std::function<OutputRowsPtr(uint64_t)>& write,
                         const std::function<uint64_t()>& count);

// Of a side with hashed keys, in front of what was done with them.
std::string hashes_of(const CpuSide& side);

void note_match(const JoinStep& step, bool is_verified, const std::string& what,
                const CpuSide& build, const CpuSide& probe);

// The side of which the match marks the rows with a match, where it filters them; true: left. Row
// numbers are not put out then: nobody asked for them but who would mark rows by them.
std::optional<bool> marked_in_match(const JoinStep& step);

struct Matched {
  OutputRowsPtr rows;                        // null: they are only marked
  std::shared_ptr<columns::RowMarks> marks;  // null: nobody wants them
};
Matched match(const JoinStep& step, const CpuSide& build, CpuSide& probe,
              const std::vector<cpu::OutputSource>& sources);

// Adds the matches to step.groups.
void add_matches(const JoinStep& step, const CpuSide& build, CpuSide& probe,
                 std::vector<cpu::OutputSource> sources);

void note_finish(const JoinStep& step, const std::vector<cpu::OutputSource>& sources,
                 const cpu::OutputRows::Finished& finished, plan::Gather gather,
                 columns::JoinResult& result);

}  // namespace gpujoin::execute
