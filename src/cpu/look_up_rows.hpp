// look_up_rows.hpp: columns of the one build row that each probe row matches, at the probe row's
// own place.
//
// A foreign key that always matches moves no row: with dense unique build keys its rows stay where
// they are, and of each join of a star only its own columns are written (invisible joins, Abadi et
// al., SIGMOD 2008, section 5.4, whose dimension keys are positions, too).
#pragma once

#include <cstdint>
#include <vector>

#include "src/columns/column.hpp"
#include "src/cpu/batch_values.hpp"
#include "src/cpu/key_bits.hpp"
#include "src/cpu/output_rows.hpp"
#include "src/cpu/row_layout.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// Writes a column for each source. False: a probe row has no match, which ends all workers at their
// next batch. probe: its key, of the width of the build side's and without NULLs. build: laid out
// with row numbers alone. expected: keys.keeps_rows() where there are sources; an output of `rows`
// rows, none claimed.
bool look_up_rows(Workers& workers, const KeyBits& keys, const RowLayout& build,
                  const columns::ColumnView& probe, uint64_t rows,
                  const std::vector<OutputSource>& sources, OutputRows& output);

}  // namespace gpujoin::cpu
