// shown_rows.hpp: what the library puts out as what DuckDB's operator puts out: rows that the
// filter drops are gone, and columns that only the filter reads.
#pragma once

#include <duckdb/execution/expression_executor.hpp>
#include <memory>

#include "bindings/duckdb/src/join_layout.hpp"
#include "bindings/duckdb/src/output_rows.hpp"

namespace gpujoin_duckdb {

// Of one thread.
class ShownRows {
 public:
  ShownRows(duckdb::ClientContext& client, const JoinLayout& layout);

  void begin(Result result) { rows_.begin(std::move(result)); }
  bool is_at_end() const { return rows_.is_at_end(); }
  // Lets go of the rows that were put out last, whose text lies in their result.
  void release() { joined_.Reset(); }
  // May put out no row and not be at its end.
  void put_out(duckdb::DataChunk& chunk);

 private:
  const JoinLayout& layout_;
  OutputRows rows_;
  duckdb::DataChunk joined_;
  duckdb::unique_ptr<duckdb::ExpressionExecutor> filter_;
  duckdb::SelectionVector kept_;
};

}  // namespace gpujoin_duckdb
