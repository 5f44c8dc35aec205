// input_rows.hpp: chunks of one side of a join as relations of the library.
#pragma once

#include <duckdb/common/types/data_chunk.hpp>
#include <duckdb/execution/expression_executor.hpp>
#include <vector>

#include "bindings/duckdb/src/join_layout.hpp"
#include "bindings/duckdb/src/library.hpp"

namespace gpujoin_duckdb {

// A relation of no rows that has a side's columns.
Relation empty_relation(gpujoin_context* context, const SideLayout& side);

// Of one thread.
class InputRows {
 public:
  InputRows(duckdb::ClientContext& client, Context context, const SideLayout& side);

  // The relation of a chunk of the side's child. Good until the next call; numbers and validity lie
  // where DuckDB has them, text is copied to offsets and bytes.
  const gpujoin_relation* relation_of(duckdb::DataChunk& chunk);

 private:
  struct Text {
    std::vector<int64_t> offsets;
    std::vector<char> bytes;
  };

  void describe_text(duckdb::Vector& vector, size_t rows, Text& text, gpujoin_column& column);

  Context context_;
  const SideLayout& side_;
  duckdb::ExpressionExecutor executor_;
  duckdb::DataChunk values_;
  std::vector<Text> texts_;
  Relation relation_;
};

}  // namespace gpujoin_duckdb
