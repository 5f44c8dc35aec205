// output_rows.hpp: results of the library as chunks of DuckDB's.
#pragma once

#include <duckdb/common/types/data_chunk.hpp>
#include <memory>

#include "bindings/duckdb/src/library.hpp"

namespace gpujoin_duckdb {

// A result as Arrow: on the CPU its own memory.
class ExportedResult {
 public:
  explicit ExportedResult(gpujoin_result* result);
  ~ExportedResult();
  ExportedResult(const ExportedResult&) = delete;
  ExportedResult& operator=(const ExportedResult&) = delete;

  const ArrowArray& column(size_t position) const { return *array_.children[position]; }
  // The column's Arrow format.
  const char* format(size_t position) const { return schema_.children[position]->format; }

 private:
  ArrowSchema schema_;
  ArrowArray array_;
};

// The rows of a result, chunk by chunk. Text stays where the result has it: what was put out keeps
// the result alive.
class OutputRows {
 public:
  void begin(Result result);
  bool is_at_end() const { return row_ == rows_; }

  // The next rows, as many as a chunk holds, of all output columns.
  void put_out(duckdb::DataChunk& chunk);

 private:
  std::shared_ptr<ExportedResult> exported_;
  size_t row_ = 0;
  size_t rows_ = 0;
};

}  // namespace gpujoin_duckdb
