// query.hpp: what a benchmark calls, times and checks: a join, or a sequence of joins
#pragma once

#include <optional>
#include <string>

#include "bench/library.hpp"

namespace gpujoin::bench {

class Query {
 public:
  virtual ~Query() = default;

  // One call of the library: plans and executes.
  virtual Result call_library() const = 0;

  // What else belongs to the call: the result's way into host memory. Nothing for most.
  virtual void fetch(gpujoin_result*) const {}
  virtual bool is_fetched() const { return false; }

  // Empty when the result is the right one, else what is wrong with it.
  virtual std::string find_fault(gpujoin_result* result) const = 0;

  virtual int64_t input_rows() const = 0;
  virtual int64_t largest_input() const = 0;
  virtual uint64_t expected_rows() const = 0;

  // Of a row of the result, where the memory whose peak the statistics give holds the whole result
  // and nothing of the inputs; nothing where it does not.
  virtual std::optional<uint64_t> output_row_bytes() const = 0;
};

}  // namespace gpujoin::bench
