// built_on_gpu.hpp: what is built on a GPU, by family, and the steps that need both sides there.
#pragma once

#include <cstdint>
#include <memory>

#include "src/base/status.hpp"
#include "src/execute/built.hpp"
#include "src/execute/gpu_side.hpp"
#include "src/match/small_table.hpp"

namespace gpujoin::execute {

class BuiltOnGpu : public Built {
 public:
  plan::Finding probe(const JoinStep& step, Side& probe, columns::JoinResult& result) const final {
    return probe_on_gpu(step, side_as<GpuSide>(probe), result);
  }

 private:
  virtual plan::Finding probe_on_gpu(const JoinStep& step, GpuSide& probe,
                                     columns::JoinResult& result) const = 0;
};

// The families: tables whose probe writes columns; sides in order, or partitions, whose match does;
// matches of pairs, by which columns are gathered.
std::unique_ptr<const Built> build_tiles(const JoinStep& step, std::shared_ptr<GpuSide> side);
std::unique_ptr<const Built> build_table(const JoinStep& step, std::shared_ptr<GpuSide> side);
std::unique_ptr<const Built> build_parts(const JoinStep& step, std::shared_ptr<GpuSide> side);
std::unique_ptr<const Built> build_partitions(const JoinStep& step, std::shared_ptr<GpuSide> side);
// sort_bits: by which both sides are sorted.
std::unique_ptr<const Built> build_for_pairs(const JoinStep& step, std::shared_ptr<GpuSide> side,
                                             transform::KeyBits sort_bits);

// By the plan's family. Null: the build keys are scattered (only a table says so). Throws.
std::unique_ptr<const Built> build_on_gpu(const JoinStep& step, std::shared_ptr<GpuSide> side,
                                          transform::KeyBits sort_bits);

// Pairs beyond which the join is over; 0: none. Of hashed keys some may turn out to be none.
uint64_t early_limit(const JoinStep& step, const GpuSide& side);

// Codes were made of ranges that do not hold for all keys: what was joined by them is worth
// nothing. Waits for the stream where that may be.
bool lie_outside(const JoinStep& step, const GpuSide& build, const GpuSide& probe);

// Of pairs of row numbers whose hashed keys are equal drops those whose keys differ, and answers
// how many are left. A stage of its own. Waits for the stream.
uint64_t verified(const JoinStep& step, const GpuSide& build, const GpuSide& probe,
                  uint32_t* build_rows, uint32_t* probe_rows, uint64_t pairs);

// A table of few rows is made and asked in one launch. kJoined or kKeysRepeat, where repeated keys
// are refused, have too many rows, or make too many. Throws.
plan::Finding join_in_one_launch(const JoinStep& step, GpuSide& build, GpuSide& probe,
                                 match::RepeatedKeys repeated, uint32_t most_repeats_seen,
                                 columns::JoinResult& result);

}  // namespace gpujoin::execute
