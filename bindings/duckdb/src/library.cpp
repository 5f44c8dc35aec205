// library.cpp: errors of libgpujoin as DuckDB's.
#include "bindings/duckdb/src/library.hpp"

#include <duckdb/common/exception.hpp>
#include <string>

namespace gpujoin_duckdb {

void check_version() {
  int const loaded = gpujoin_version_number();
  // While the major version is 0, a minor one may change the interface.
  if (loaded / 100 == GPUJOIN_VERSION_NUMBER / 100 && loaded >= GPUJOIN_VERSION_NUMBER) return;
  throw duckdb::IOException(
      std::string("gpujoin: the library is version ") + gpujoin_version_string() +
      ", the extension was built for " + std::to_string(GPUJOIN_VERSION_MAJOR) + "." +
      std::to_string(GPUJOIN_VERSION_MINOR) + "." + std::to_string(GPUJOIN_VERSION_PATCH));
}

void check(gpujoin_status status, const gpujoin_error& error) {
  if (status == GPUJOIN_OK) return;
  std::string const message = std::string("gpujoin: ") + error.message;
  switch (status) {
    case GPUJOIN_ERROR_CANCELLED:
      throw duckdb::InterruptException();
    case GPUJOIN_ERROR_SEVERAL_MATCHES:
      throw duckdb::InvalidInputException(
          "More than one row returned by a subquery used as an expression - scalar subqueries can "
          "only return a single row.\n\nUse \"SET scalar_subquery_error_on_multiple_rows=false\" "
          "to revert to previous behavior of returning a random row. (" +
          message + ")");
    case GPUJOIN_ERROR_OUT_OF_MEMORY:
    case GPUJOIN_ERROR_MEMORY_LIMIT:
      throw duckdb::OutOfMemoryException(message);
    case GPUJOIN_ERROR_EVALUATION:
      throw duckdb::OutOfRangeException(message);
    case GPUJOIN_ERROR_SPILL:
    case GPUJOIN_ERROR_CUDA:
    case GPUJOIN_ERROR_DEVICE_LOST:
      throw duckdb::IOException(message);
    default:
      throw duckdb::InvalidInputException(message);
  }
}

}  // namespace gpujoin_duckdb
