// operation_run.hpp: one operation of a simulated run: its probes' threads, and what comes at the
// end.
#pragma once

#include <atomic>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "tests/simulator/draw.hpp"
#include "tests/simulator/joined_rows.hpp"

namespace gpujoin_test {

class OperationRun {
 public:
  OperationRun(const RunDraw& run, const OperationDraw& draw, const SideTable& build_rows,
               gpujoin_context* context, gpujoin_build* build);

  // Makes it; false: the library refused. Then all that it does.
  bool create();
  void run();

  struct Failure {
    gpujoin_status status;
    std::string message;
    bool at_the_end;  // of gpujoin_operation_next
  };
  const std::vector<Failure>& failures() const { return failures_; }
  // What was found that no early end explains. Empty: nothing.
  const std::vector<std::string>& wrong() const { return wrong_; }
  bool was_made() const { return was_made_; }
  bool has_probes() const { return has_probes_; }  // all that were drawn
  // All rows, unless something failed; sorted.
  const std::vector<JoinedRow>& rows() const { return rows_; }
  bool is_whole() const { return failures_.empty() && draw_.end != OperationEnd::kProbeDestroyed; }
  const Reference& reference() const { return reference_; }
  const OperationDraw& draw() const { return draw_; }

 private:
  void make_probes();
  void run_probe(int thread);
  bool append(gpujoin_probe* probe, gpujoin_relation* batch, int64_t first);
  // One result, if there is one. False: a call failed.
  bool take(gpujoin_probe* probe, gpujoin_state* state);
  void take_rest();
  void read(gpujoin_result* result);
  void check_counts();
  bool is_ok(const Answer& answer, bool at_the_end = false);
  void add_wrong(const std::string& what);

  const RunDraw& run_;
  const OperationDraw& draw_;
  const SideTable& build_rows_;
  SideTable probe_rows_;
  Reference reference_;
  gpujoin_context* context_;
  gpujoin_build* build_;
  Operation operation_;
  bool was_made_ = false;
  bool has_probes_ = false;
  std::vector<Probe> probes_;
  std::atomic<int64_t> next_row_{0};
  std::atomic<int> ready_calls_{0};
  std::mutex mutex_;  // of what follows
  std::vector<Failure> failures_;
  std::vector<std::string> wrong_;
  std::vector<JoinedRow> rows_;
};

}  // namespace gpujoin_test
