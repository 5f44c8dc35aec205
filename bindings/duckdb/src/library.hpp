// library.hpp: handles of libgpujoin that destroy themselves, and its errors as DuckDB's.
#pragma once

#include <duckdb/main/client_context.hpp>
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

// Throws what DuckDB throws in such a case. Never its InternalException, which would close the
// database.
void check(gpujoin_status status, const gpujoin_error& error);

// While it lives, joins of the calling thread end where the query of `client` is interrupted.
class Interruptible {
 public:
  explicit Interruptible(const duckdb::ClientContext& client);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  const duckdb::ClientContext* outer_;
};

// A gpujoin_progress_function: whether the query of the calling thread is interrupted.
int32_t is_interrupted(const char* stage, int64_t done, int64_t total, void* user);

}  // namespace gpujoin_duckdb
