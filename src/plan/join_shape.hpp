// join_shape.hpp: a request seen from a plan's build side, and which columns the executors move:
// the ground that costs and memory needs stand on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/base/packed_row_bytes.hpp"
#include "src/base/traffic.hpp"
#include "src/plan/choose_plan.hpp"
#include "src/plan/word_rule.hpp"

namespace gpujoin::plan {

struct JoinShape {
  const SideStatistics& build;
  const SideStatistics& probe;
  uint64_t build_rows;
  uint64_t probe_rows;
  uint64_t key_width;  // of what is joined: a code's, or that of all key columns
  int32_t key_count;
  SampleStatistics sample;  // build and probe as here
  uint64_t matching_rows;   // probe rows with a match
  uint64_t pairs;
  bool want_pairs;
  bool names_table;        // the caller does
  columns::JoinKind kind;  // inner where all pairs are asked for
  bool keys_repeat;        // of the build side, or nobody scanned them
  bool is_scanned;         // the build side is the one of which a sample says most
  bool any_row;            // any_row.hpp
  bool finds_unmatched;
};

// Whether the caller named an algorithm or one of the techniques by which tables and partitions
// differ: keys that do not suit a table get no partitions then.
bool names_table(const PlanRequest& request);

// The same request with the side other than `build` as the build side; nullopt where the caller
// named one, or what follows stands on it.
std::optional<PlanRequest> building_on_other(const PlanRequest& request, Side build);

// The same facts about the data when the sides change roles; rows: of the sides as sampled. The
// number of pairs is known; of how many build rows have a match, only that there are no more than
// pairs.
SampleStatistics turned_round(const SampleStatistics& sample, double build_rows, double probe_rows);

JoinShape shape_of(const JoinPlan& plan, const PlanRequest& request,
                   const SampleStatistics& sample);

// Whether one launch makes a table and asks it, where the plan is one whose probe writes columns.
bool is_one_launch(const JoinShape& shape);
// And whether the plan is such a one.
bool is_one_launch(const JoinPlan& plan, const JoinShape& shape);
bool joins_in_one_launch(Side build, const PlanRequest& request);

// Widths of the columns of one side that are moved with its keys, in the order of the moves: on
// CUDA, where a radix sort moves a key and one value, one move each; on the CPU, and where they are
// carried, whole rows at once.
std::vector<int32_t> moved_widths(const SideStatistics& side, const JoinPlan& plan,
                                  bool want_pairs);
// Of a side's payloads, what travels in words: through partitions of whole rows, and to parts,
// where one that is alone in its word does, too.
PackedBytes packed_of(const SideStatistics& side, const JoinPlan& plan);
// Of both sides' together: what an output row has before its words are taken apart.
PackedBytes packed_of(const JoinShape& shape, const JoinPlan& plan);
// The first of them, which is all where whole rows are moved at once.
int32_t moved_row_width(const SideStatistics& side, const JoinPlan& plan, bool want_pairs);

uint64_t sum_of(const std::vector<int32_t>& widths);
// Bytes of a row that a match reads where its columns lie: the key and all payloads.
uint64_t read_width(const JoinShape& shape, const SideStatistics& side);

// Widths of the output columns gathered from one side.
std::vector<int32_t> gathered_widths(const JoinShape& shape, const JoinPlan& plan, bool of_build);
// How many those are, and bytes of a row of them: what most costs want to know, without a list.
struct GatheredColumns {
  uint64_t count = 0;
  uint64_t width = 0;
  base::traffic::PackedValues values;
  // Bytes of a row of them side by side behind so many others, or 0.
  uint64_t packed_bytes(uint64_t first_bytes, uint64_t build_rows) const {
    return base::traffic::build_row_bytes(first_bytes, values, build_rows);
  }
};
GatheredColumns gathered_columns(const JoinShape& shape, const JoinPlan& plan, bool of_build);

// Bytes that a match which writes columns writes of one side for each output row.
uint64_t written_width(const JoinShape& shape, const JoinPlan& plan, bool of_build);

// Of kRadixOnesweep: as the plan says, or the default where a plan leaves them 0.
int32_t partition_bits(const JoinPlan& plan, const JoinShape& shape);

// Device memory beyond the input at the peak of an execution, the output included.
uint64_t memory_need(const JoinPlan& plan, const JoinShape& shape);

// Whether it is an inner join whose columns of both sides transform=write_combined moves.
bool moves_to_parts(const PlanRequest& request);
// Of a side's rows there.
uint64_t part_bytes(const SideStatistics& side, bool want_pairs);

// Bytes of a side that go to the device when it lies in host memory.
uint64_t input_bytes(const SideStatistics& side);

}  // namespace gpujoin::plan
