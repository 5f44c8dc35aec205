// collected_result.hpp: results of pieces, one behind the other in host memory, as one result.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/result.hpp"

namespace gpujoin::pieces {

class CollectedResult {
 public:
  // Copies what lies on the device to host memory; waits for it. Rows are in the order of the
  // calls. Throws.
  void add(base::Queue& queue, std::unique_ptr<columns::JoinResult> piece);
  // All rows; like: a result of the same join with its columns, of which the rows are not used.
  // Throws.
  std::unique_ptr<columns::JoinResult> finish(base::Queue& queue, const columns::JoinResult& like);

  int64_t rows() const { return rows_; }

 private:
  std::vector<std::unique_ptr<columns::JoinResult>> parts_;
  int64_t rows_ = 0;
};

}  // namespace gpujoin::pieces
