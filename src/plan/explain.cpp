// explain.cpp: the plan as text, for gpujoin_plan_explain. The same request, sample and facts give
// the same text.
#include <set>
#include <string>

#include "src/base/status.hpp"
#include "src/plan/attempts.hpp"
#include "src/plan/candidates.hpp"
#include "src/plan/choose_plan.hpp"

namespace gpujoin::plan {
namespace {

using base::text;

std::string bytes_text(uint64_t bytes) {
  const double value = static_cast<double>(bytes);
  if (value >= 1e9) return text("%.3f GB", value * 1e-9);
  if (value >= 1e6) return text("%.3f MB", value * 1e-6);
  if (value >= 1e3) return text("%.3f kB", value * 1e-3);
  return text("%.0f B", value);
}

std::string row_text(const char* side, const SideStatistics& statistics, int32_t key_count,
                     bool is_build) {
  std::string line = text(
      "  %-6s %11lld rows  key %s%d B%s%s  payloads", side, static_cast<long long>(statistics.rows),
      key_count > 1 ? text("of %d columns ", key_count).c_str() : "", statistics.key_width,
      statistics.key_nullable ? " nullable" : "", statistics.key_is_output ? " in output" : "");
  for (const int32_t width : statistics.payload_widths) line += text(" %d", width);
  line += statistics.payload_widths.empty() ? " none" : " B";
  if (statistics.in_host_memory) line += "  in host memory";
  return line + (is_build ? "  <- build\n" : "\n");
}

std::string request_text(const PlanRequest& request, const JoinPlan& plan,
                         const base::DeviceFacts& facts) {
  int32_t width = 0;
  for (const SideStatistics* side : {&request.left, &request.right}) {
    for (const int32_t payload : side->payload_widths) width += payload;
    if (side->key_is_output) width += side->key_width;
  }
  const bool on_cpu = plan.device == Device::kCpu;
  std::string lines = text("%s join on ", columns::to_text(request.kind));
  lines += on_cpu ? text("the CPU, %d threads\n", facts.cpu_threads) : facts.name + "\n";
  // A plan for the CPU in a context on a GPU is weighed by the built-in figures: the context's are
  // the GPU's.
  const bool calibrated = facts.calibrated && on_cpu != facts.is_cuda;
  lines += calibrated ? "  rates  measured on this machine\n" : "  rates  built in\n";
  lines += row_text("left", request.left, request.key_count, plan.build_side == Side::kLeft);
  lines += row_text("right", request.right, request.key_count, plan.build_side == Side::kRight);
  if (request.residual) {
    lines += text("  residual reads %d B of the left and %d B of the right row of each pair\n",
                  request.residual->left, request.residual->right);
  }
  lines += "  output ";
  if (request.pairs) lines += "row number pairs";
  if (request.pairs && width > 0) lines += " and ";
  if (width > 0) lines += text("columns of %d B a row", width);
  if (!request.pairs && width == 0) lines += "nothing";
  return lines + text(", room for %lld rows first\n", static_cast<long long>(plan.expected_rows));
}

std::string range_text(const KeyRange& range) {
  if (range.low > range.high) return "none";
  return text("%s%lld to %lld", range.exact ? "" : "about ", static_cast<long long>(range.low),
              static_cast<long long>(range.high));
}

std::string sample_text(const PlanChoice& choice, const PlanRequest& request,
                        const base::DeviceFacts& facts) {
  const SampleStatistics& sample = choice.sample;
  const std::string figures = text("%.2f %% of the probe rows match, %.2f build rows each",
                                   sample.match_ratio * 100, sample.rows_per_match);
  std::string why_not;
  bool const given_less = sample_effort(request, facts, &why_not) == SampleEffort::kCounted;
  if (given_less) why_not = "the planner was given none";
  if (!sample.sampled) {
    return "sample\n  not sampled: " + why_not + "; assumed: " + figures + "\n";
  }
  const std::string seen = sample.scanned_share < 1 ? text(", as %.1f %% of the build rows say",
                                                           sample.scanned_share * 100)
                                                    : "";
  std::string lines = sample.counted
                          ? "sample\n  " + figures + seen + "\n"
                          : "sample\n  not counted: " + why_not + "; assumed: " + figures + "\n";
  lines += text("  heaviest key: %.4f %% of the build rows, %.4f %% of the probe rows",
                sample.heaviest_build_key * 100, sample.heaviest_probe_key * 100);
  if (sample.varying_key_bits > 0) lines += text("; %d key bits vary", sample.varying_key_bits);
  lines += "\n";
  if (sample.hot_build_keys > 0) {
    lines += text(
        "  hot build keys: %lld, which %lld probe rows have: %lld output rows, as a count says\n",
        static_cast<long long>(sample.hot_build_keys),
        static_cast<long long>(sample.hot_probe_rows), static_cast<long long>(sample.hot_rows));
  }
  const bool saw_a_key = sample.build_range.low <= sample.build_range.high ||
                         sample.probe_range.low <= sample.probe_range.high;
  if (!saw_a_key) return lines;
  return lines + "  keys, as signed integers: build " + range_text(sample.build_range) +
         ", probe " + range_text(sample.probe_range) + "\n";
}

std::string candidates_text(const PlanChoice& choice) {
  std::string lines = text("candidates %26s %13s %13s\n", "time", "traffic", "memory");
  for (const Candidate& candidate : choice.candidates) {
    const bool chosen = candidate.plan == choice.plan();
    const bool too_large =
        choice.memory_limit_bytes != 0 && candidate.memory_bytes > choice.memory_limit_bytes;
    const std::string name = candidate_name(candidate.plan);
    lines += text("%c %-23s %9.3f ms %13s %13s%s\n", chosen ? '*' : ' ', name.c_str(),
                  candidate.seconds * 1e3, bytes_text(candidate.bytes).c_str(),
                  bytes_text(candidate.memory_bytes).c_str(), too_large ? "  over the limit" : "");
  }
  if (choice.memory_limit_bytes != 0) {
    lines += "  memory limit " + bytes_text(choice.memory_limit_bytes) + "\n";
  }
  return lines;
}

// Each with what makes it follow, and what it costs.
std::string attempts_text(const PlanChoice& choice) {
  std::string lines;
  int number = 0;
  for (const Attempt& attempt : choice.attempts) {
    const bool is_first = attempt.after == Finding::kJoined;
    lines += text("attempt %d%s%s: %s\n  %s\n", ++number, is_first ? "" : ", where ",
                  to_text(attempt.after), candidate_name(attempt.plan).c_str(),
                  to_text(attempt.plan).c_str());
    for (const StageCost& stage : attempt.stages) {
      lines += text("  %-12s %-22s %9.3f ms %13s\n", stage.stage, stage.technique_text().c_str(),
                    stage.seconds * 1e3, bytes_text(stage.bytes).c_str());
    }
    lines += text("  %-35s %9.3f ms %13s %13s of memory\n", "all", attempt.seconds * 1e3,
                  bytes_text(attempt.bytes).c_str(), bytes_text(attempt.memory_bytes).c_str());
  }
  return lines;
}

// The algorithms that the device has and the options, or the planner, left out.
std::string excluded_text(const PlanChoice& choice) {
  std::set<std::string> considered;
  for (const Candidate& candidate : choice.candidates) {
    considered.insert(candidate_name(candidate.plan));
  }
  std::string names;
  for (const JoinPlan& plan : legal_plans(choice.plan().device)) {
    if (plan.build_side != choice.plan().build_side || algorithm_name(plan).empty()) continue;
    const std::string name = candidate_name(plan);
    if (considered.count(name) != 0) continue;
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names.empty() ? "" : "  not considered: " + names + "\n";
}

}  // namespace

std::string explain(const PlanChoice& choice, const PlanRequest& request,
                    const base::DeviceFacts& facts) {
  return request_text(request, choice.plan(), facts) + sample_text(choice, request, facts) +
         candidates_text(choice) + excluded_text(choice) + attempts_text(choice) + "why\n  " +
         reason_of(choice) + "\n";
}

}  // namespace gpujoin::plan
