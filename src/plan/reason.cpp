// reason.cpp: why the cheapest candidate that fits is the one that was chosen.
#include <algorithm>
#include <string>
#include <string_view>

#include "src/base/status.hpp"
#include "src/plan/candidates.hpp"

namespace gpujoin::plan {
namespace {

// What milliseconds() shows: candidates that differ by less cost the same, as far as anyone knows.
constexpr double kLeastSaving = 5e-7;

std::string milliseconds(double seconds) { return base::text("%.3f ms", seconds * 1e3); }

double seconds_of(const Candidate& candidate, std::string_view stage) {
  double seconds = 0;
  for (const StageCost& cost : candidate.stages) {
    if (cost.stage == stage) seconds += cost.seconds;
  }
  return seconds;
}

// The stage in which the winner saves most against the other.
std::string largest_saving(const Candidate& winner, const Candidate& other) {
  std::string best;
  double most = 0;
  for (const Candidate* candidate : {&other, &winner}) {
    for (const StageCost& cost : candidate->stages) {
      const double saving = seconds_of(other, cost.stage) - seconds_of(winner, cost.stage);
      if (saving > most) {
        most = saving;
        best = cost.stage;
      }
    }
  }
  if (best.empty()) return "";
  const double own = seconds_of(winner, best);
  return base::text(", most of it in %s (%s against %s)", best.c_str(),
                    own > 0 ? milliseconds(own).c_str() : "none",
                    milliseconds(seconds_of(other, best)).c_str());
}

}  // namespace

std::string reason_of(const PlanChoice& choice) {
  if (!choice.reason.empty()) return choice.reason;
  const std::vector<Candidate>& candidates = choice.candidates;
  const uint64_t limit = choice.memory_limit_bytes;
  const auto found = std::find_if(candidates.begin(), candidates.end(),
                                  [&](const Candidate& c) { return c.plan == choice.plan(); });
  if (found == candidates.end()) return "";
  const Candidate& chosen = *found;
  const auto winner = static_cast<size_t>(found - candidates.begin());
  const bool fits = limit == 0 || chosen.memory_bytes <= limit;
  const std::string name = candidate_name(chosen.plan);
  std::string reason;
  if (!fits) {
    reason = base::text("%s needs the least memory (%.3f GB), and no plan fits in %.3f GB",
                        name.c_str(), static_cast<double>(chosen.memory_bytes) * 1e-9,
                        static_cast<double>(limit) * 1e-9);
  } else if (candidates.size() == 1) {
    reason = name + " is the only plan with all that was named";
  } else {
    // The runner-up is the next that fits, if any does.
    size_t next = winner + 1;
    while (next < candidates.size() && limit != 0 && candidates[next].memory_bytes > limit) ++next;
    if (next < candidates.size()) {
      const Candidate& other = candidates[next];
      const double saved = other.seconds - chosen.seconds;
      const std::string other_name = candidate_name(other.plan);
      reason =
          saved < kLeastSaving
              ? base::text("%s costs as little as %s", name.c_str(), other_name.c_str())
              : base::text("%s saves %s against %s%s", name.c_str(), milliseconds(saved).c_str(),
                           other_name.c_str(), largest_saving(chosen, other).c_str());
    } else {
      reason = name + " is the only plan that fits in memory";
    }
    if (winner > 0) {
      reason += base::text("; %s would be faster but needs %.3f GB of %.3f GB",
                           candidate_name(candidates[0].plan).c_str(),
                           static_cast<double>(candidates[0].memory_bytes) * 1e-9,
                           static_cast<double>(limit) * 1e-9);
    }
  }
  return reason;
}

}  // namespace gpujoin::plan
