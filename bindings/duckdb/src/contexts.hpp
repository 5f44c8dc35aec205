// contexts.hpp: the contexts of libgpujoin that joins run in.
#pragma once

#include <duckdb/main/client_context.hpp>
#include <memory>
#include <mutex>
#include <vector>

#include "bindings/duckdb/src/library.hpp"
#include "bindings/duckdb/src/settings.hpp"

namespace gpujoin_duckdb {

// To DuckDB, of a context on the CPU: memory that no join and no result has.
void give_back_memory(const Context& context);

// Of a set of settings each; the last few are kept.
class ContextCache {
 public:
  // NULL where there is none.
  Context find(const Settings& settings);
  void add(const Settings& settings, Context context);
  void give_back_memory();

 private:
  struct Entry {
    Settings settings;
    Context context;
  };

  std::mutex mutex_;
  std::vector<Entry> entries_;
};

// Those of a device are one for all connections of a database, as they share its memory: `shared`.
// On the CPU each connection has its own, with its own limit, and what they hold is part of what
// DuckDB counts. Throws where none can be made.
Context context_for(duckdb::ClientContext& client, ContextCache& shared, const Settings& settings);

}  // namespace gpujoin_duckdb
