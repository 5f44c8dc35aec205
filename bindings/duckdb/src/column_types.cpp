// column_types.cpp: which columns of DuckDB's the library takes, and as what.
//
// Both sides of a comparison have one type in DuckDB, which casts before it compares. So a date is
// the integer that it is stored as, and so is a decimal: nothing is scaled, cast or compared by
// units.
#include "bindings/duckdb/src/column_types.hpp"

namespace gpujoin_duckdb {

using duckdb::LogicalTypeId;
using duckdb::PhysicalType;

std::optional<ColumnType> column_type(const duckdb::LogicalType& type) {
  switch (type.InternalType()) {
    case PhysicalType::BOOL:
    case PhysicalType::UINT8:
      return ColumnType{GPUJOIN_TYPE_UINT8, 1};
    case PhysicalType::INT8:
      return ColumnType{GPUJOIN_TYPE_INT8, 1};
    case PhysicalType::UINT16:
      return ColumnType{GPUJOIN_TYPE_UINT16, 2};
    case PhysicalType::INT16:
      return ColumnType{GPUJOIN_TYPE_INT16, 2};
    case PhysicalType::UINT32:
      return ColumnType{GPUJOIN_TYPE_UINT32, 4};
    case PhysicalType::INT32:
      return ColumnType{GPUJOIN_TYPE_INT32, 4};
    case PhysicalType::UINT64:
      return ColumnType{GPUJOIN_TYPE_UINT64, 8};
    case PhysicalType::INT64:
      return ColumnType{GPUJOIN_TYPE_INT64, 8};
    case PhysicalType::FLOAT:
      return ColumnType{GPUJOIN_TYPE_FLOAT32, 4};
    case PhysicalType::DOUBLE:
      return ColumnType{GPUJOIN_TYPE_FLOAT64, 8};
    case PhysicalType::INT128:
      if (type.id() == LogicalTypeId::DECIMAL) return ColumnType{GPUJOIN_TYPE_BYTES16, 16, 38, 0};
      return ColumnType{GPUJOIN_TYPE_BYTES16, 16};
    case PhysicalType::UINT128:
    case PhysicalType::INTERVAL:
      return ColumnType{GPUJOIN_TYPE_BYTES16, 16};
    case PhysicalType::VARCHAR:
      // Offsets of 8 bytes: rows of many batches may have more than 2 GiB of text.
      return ColumnType{
          type.id() == LogicalTypeId::VARCHAR ? GPUJOIN_TYPE_LARGE_UTF8 : GPUJOIN_TYPE_LARGE_BINARY,
          0};
    default:
      return std::nullopt;
  }
}

bool has_equality(const duckdb::LogicalType& type) {
  switch (type.id()) {
    case LogicalTypeId::INTERVAL:  // 30 days equal a month
    case LogicalTypeId::TIME_TZ:   // stored with an offset that does not count alone
    case LogicalTypeId::BIT:       // padded
      return false;
    default:
      return type.id() == LogicalTypeId::VARCHAR || type.id() == LogicalTypeId::BLOB ||
             (type.InternalType() != PhysicalType::VARCHAR && column_type(type).has_value());
  }
}

bool has_order(const duckdb::LogicalType& type) {
  switch (type.id()) {
    case LogicalTypeId::HUGEINT:  // stored as opaque bytes, without an order
    case LogicalTypeId::UHUGEINT:
    case LogicalTypeId::UUID:
      return false;
    default:
      return has_equality(type);
  }
}

}  // namespace gpujoin_duckdb
