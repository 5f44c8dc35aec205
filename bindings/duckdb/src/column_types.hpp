// column_types.hpp: which columns of DuckDB's the library takes, and as what.
#pragma once

#include <duckdb/common/types.hpp>
#include <optional>

#include "gpujoin.h"

namespace gpujoin_duckdb {

struct ColumnType {
  gpujoin_type type = 0;
  // Bytes of a value; 0 = text.
  uint64_t width = 0;
  int32_t decimal_precision = 0;
  int32_t decimal_scale = 0;

  bool is_text() const { return width == 0; }
};

// Values keep their bits: a column comes out as it went in. Nothing for nested types.
std::optional<ColumnType> column_type(const duckdb::LogicalType& type);

// Values are equal in DuckDB where they are equal in the library.
bool has_equality(const duckdb::LogicalType& type);

// They are also ordered alike.
bool has_order(const duckdb::LogicalType& type);

}  // namespace gpujoin_duckdb
