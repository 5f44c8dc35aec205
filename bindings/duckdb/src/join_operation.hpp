// join_operation.hpp: one execution of a join: the library's build and operation.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "bindings/duckdb/src/input_rows.hpp"
#include "bindings/duckdb/src/join_layout.hpp"
#include "bindings/duckdb/src/library.hpp"

namespace gpujoin_duckdb {

// What EXPLAIN ANALYZE shows of the executions so far.
struct JoinMeasure {
  std::mutex mutex;
  std::string executor;
  std::string plan;
  int64_t build_rows = 0;
  uint64_t spilled_bytes = 0;
  double milliseconds = 0;
};

class JoinOperation {
 public:
  JoinOperation(Context context, const JoinLayout& layout);

  void append(const gpujoin_relation* batch);
  // No row of the build side will come. Answers what there is of them.
  gpujoin_build_info finish_build();
  // Of a finished build; how it joins and why, as text.
  std::string explain() const;

  Probe new_probe() const;
  // No new probe will come.
  void close();
  // The next result of those that come out when all rows have come; NULL = none will come.
  Result next();

  // What runs and what comes later ends with duckdb::InterruptException. Any thread.
  void cancel();

  void add_to(JoinMeasure& measure) const;

 private:
  Context context_;
  const JoinLayout& layout_;
  std::mutex mutex_;  // of what is cancelled and what is made at the same time
  bool is_cancelled_ = false;
  Build build_;
  Operation operation_;
};

// Adds a result's figures.
void add_to(JoinMeasure& measure, const gpujoin_result* result);

}  // namespace gpujoin_duckdb
