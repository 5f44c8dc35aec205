// shown_rows.cpp: what the library puts out as what DuckDB's operator puts out.
#include "bindings/duckdb/src/shown_rows.hpp"

namespace gpujoin_duckdb {

namespace {

// Of the library's output columns.
duckdb::vector<duckdb::LogicalType> joined_types(const JoinLayout& layout) {
  duckdb::vector<duckdb::LogicalType> types;
  for (auto const* side : {&layout.left, &layout.right}) {
    auto const all = side->logical_types();
    for (int32_t const column : side->outputs) types.push_back(all[column]);
  }
  if (layout.has_mark) types.push_back(duckdb::LogicalType::BOOLEAN);
  return types;
}

}  // namespace

ShownRows::ShownRows(duckdb::ClientContext& client, const JoinLayout& layout)
    : layout_(layout), kept_(STANDARD_VECTOR_SIZE) {
  joined_.Initialize(client, joined_types(layout));
  if (layout.filter) {
    filter_ = duckdb::make_uniq<duckdb::ExpressionExecutor>(client, *layout.filter);
  }
}

void ShownRows::put_out(duckdb::DataChunk& chunk) {
  joined_.Reset();
  rows_.put_out(joined_);
  size_t rows = joined_.size();
  if (filter_) {
    rows = filter_->SelectExpression(joined_, kept_);
    if (rows < joined_.size()) joined_.Slice(kept_, rows);
  }
  for (size_t i = 0; i < layout_.shown.size(); ++i) {
    chunk.data[i].Reference(joined_.data[layout_.shown[i]]);
  }
  chunk.SetChildCardinality(rows);
}

}  // namespace gpujoin_duckdb
