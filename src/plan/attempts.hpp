// attempts.hpp: a plan as the executors run it: a list of attempts, each of them complete, with
// what makes the next one follow. A table of addresses is tried before anybody knows that keys are
// dense; what comes of keys that are not is planned, weighed and explained beforehand. Of repeated
// keys a look may choose anew (pays_to_look).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/plan/choose_plan.hpp"

namespace gpujoin::plan {

// Whether the match writes columns by a table, in which a key has one place: unless any row of a
// key will do (any_row.hpp), or few rows are joined in one launch, keys that repeat have none.
inline bool is_unique_table(const JoinPlan& plan) {
  return probes_table(plan.match) && writes_columns(plan.gather);
}

// Whether a table of few rows is made and asked in one launch, which hashes scattered keys by
// itself. Lookups, whose rows stay in order, are no such, and neither are chunks.
bool is_one_launch(const JoinPlan& plan, const PlanRequest& request);

// The plan, and what follows where the keys do not suit it or there is no room. candidates: of
// which the one that needs least memory comes last of all. Of two plans that may follow, the one
// that fits the memory (0: no limit) is taken.
std::vector<Attempt> attempts_of(const Candidate& first, const std::vector<Candidate>& candidates,
                                 const PlanRequest& request, const SampleStatistics& sample,
                                 const base::DeviceFacts& facts, uint64_t memory_limit_bytes);

// The merge of sides that seem to lie in order, where it is predicted to take less than the plan
// and nobody wants them joined otherwise. are_unique: then either side may be searched. A row out
// of order ends it, as any merge.
std::optional<Candidate> merge_of_order(const Candidate& planned, bool are_unique,
                                        const PlanRequest& request, const base::DeviceFacts& facts);

// Whether the build keys are scanned before the plan's table of addresses is made, which no look
// chose.
bool scans_keys(const JoinPlan& plan, const SampleStatistics& sample);
// Whether the scan says of both sides whether they lie in order, too: neither is on its way.
bool scans_order(const JoinPlan& plan, const SampleStatistics& sample);

// The most that any attempt needs but the last resort, which is asked for when there is no room.
uint64_t most_memory(const std::vector<Attempt>& attempts);

// The attempt that follows the one that ended so; null: none does.
const Attempt* next_attempt(const std::vector<Attempt>& attempts, const Attempt& ended,
                            Finding finding);
// The same of a finding for which one was planned. Throws INTERNAL when none was.
const Attempt& attempt_after(const std::vector<Attempt>& attempts, const Attempt& ended,
                             Finding finding);

// "build keys repeat"; "" of kJoined.
const char* to_text(Finding finding);

}  // namespace gpujoin::plan
