// late_rule.hpp: which output columns of rows that are picked are left where they lie until it is
// known which rows come out.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/device_facts.hpp"
#include "src/columns/join_kind.hpp"

namespace gpujoin::plan {

// A side of a join, as far as it is known before its keys are looked at.
struct SideRows {
  uint64_t registered = 0;
  uint64_t picked = 0;  // as many where all are read
};

// Rows that come out of a side. Each row of the side of more registered rows is taken to have one
// match, as of a foreign key, and to be picked whatever its match is: a guess, since nothing but
// the numbers of rows is known where it is made.
double expected_rows(SideRows own, SideRows other, columns::RowsOfSide comes_out);

// Columns of a side that nothing but the output reads.
struct PickedPayloads {
  SideRows side;
  double expected_rows = 0;
  std::vector<int32_t> widths;    // of each, its validity with it
  bool are_rows_put_out = false;  // their numbers are carried for others, too
  bool may_miss = false;          // rows of the other side come out without one of this
};

// For each of the columns whether it is better fetched by the numbers of the rows that come out,
// than copied with the keys and carried through the join. facts: of the executor.
std::vector<bool> are_late(const PickedPayloads& payloads, const base::DeviceFacts& facts);

}  // namespace gpujoin::plan
