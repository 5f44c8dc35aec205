// library.hpp: handles of libgpujoin that destroy themselves, and its errors as DuckDB's.
#pragma once

#include <memory>

#include "gpujoin.h"

namespace gpujoin_duckdb {

template <auto destroy>
struct Destroy {
  template <class T>
  void operator()(T* handle) const {
    destroy(handle);
  }
};

using Context = std::shared_ptr<gpujoin_context>;
using Relation = std::unique_ptr<gpujoin_relation, Destroy<gpujoin_relation_destroy>>;
using Build = std::unique_ptr<gpujoin_build, Destroy<gpujoin_build_destroy>>;
using Operation = std::unique_ptr<gpujoin_operation, Destroy<gpujoin_operation_destroy>>;
using Probe = std::unique_ptr<gpujoin_probe, Destroy<gpujoin_probe_destroy>>;
using Result = std::unique_ptr<gpujoin_result, Destroy<gpujoin_result_destroy>>;

// Throws where the library that was loaded cannot be used.
void check_version();

// Throws what DuckDB throws in such a case. Never its InternalException, which would close the
// database.
void check(gpujoin_status status, const gpujoin_error& error);

}  // namespace gpujoin_duckdb
