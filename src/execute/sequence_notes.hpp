// sequence_notes.hpp: what a sequence says of its joins: stages, plans, and why they were chosen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/columns/result.hpp"
#include "src/execute/execute.hpp"

namespace gpujoin::execute {

class SequenceNotes {
 public:
  // Behind the stages before, their names with "prefix." before them.
  void add_stages(const std::string& prefix, std::vector<columns::StageStatistics> stages);
  void add_resumes(int32_t resumes) { statistics_.output_resumes += resumes; }
  // columns: of the dimension, as they come or fetched at the end; empty: it has none.
  void note_plan(size_t step, const plan::PlanChoice& choice, const std::string& columns);
  void note_plan(size_t step, const std::string& plan, const std::string& columns,
                 const std::string& reason);

  // With the reason behind that of the context. The notes are empty then.
  columns::Statistics take(const std::string& reason_of_context);

 private:
  columns::Statistics statistics_;
  std::string reasons_;
  std::string last_plan_;
  int32_t plan_repeats_ = 0;
};

}  // namespace gpujoin::execute
