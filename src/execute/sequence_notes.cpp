#include "src/execute/sequence_notes.hpp"

#include <utility>

#include "src/execute/sequence_keys.hpp"

namespace gpujoin::execute {

void SequenceNotes::add_stages(const std::string& prefix,
                               std::vector<columns::StageStatistics> stages) {
  for (columns::StageStatistics& stage : stages) {
    stage.stage = prefix + "." + stage.stage;
    statistics_.stages.push_back(std::move(stage));
  }
}

void SequenceNotes::note_plan(size_t step, const plan::PlanChoice& choice,
                              const std::string& columns) {
  plan::JoinPlan const& plan = choice.plan();
  std::string const algorithm = plan::algorithm_name(plan);
  note_plan(step,
            algorithm.empty() ? plan::to_text(plan)
                              : algorithm + " build=" + plan::to_text(plan.build_side),
            columns, plan::reason_of(choice));
}

// "2 x PHJ-OM build=right columns=as_they_come, NOP build=left columns=at_the_end".
void SequenceNotes::note_plan(size_t step, const std::string& plan, const std::string& columns,
                              const std::string& reason) {
  std::string text = plan + (columns.empty() ? "" : " columns=" + columns);
  std::string& all = statistics_.plan;
  if (text == last_plan_) {
    std::string const counted = plan_repeats_ > 1 ? std::to_string(plan_repeats_) + " x " : "";
    all.resize(all.size() - counted.size() - text.size());
    text = std::to_string(++plan_repeats_) + " x " + text;
  } else {
    if (!all.empty()) all += ", ";
    last_plan_ = text;
    plan_repeats_ = 1;
  }
  all += text;
  reasons_ += "; " + name_of_step(step) + ": " + reason;
}

columns::Statistics SequenceNotes::take(const std::string& reason_of_context) {
  columns::Statistics taken = std::move(statistics_);
  taken.reason = [text = reason_of_context + reasons_] { return text; };
  *this = SequenceNotes();
  return taken;
}

}  // namespace gpujoin::execute
