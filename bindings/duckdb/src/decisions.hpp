// decisions.hpp: gpujoin_decisions(), a table of the joins of a connection's last query that had
// any: which of them gpujoin took, which it left to DuckDB, and why.
#pragma once

#include <duckdb/main/client_context.hpp>
#include <duckdb/main/extension/extension_loader.hpp>
#include <string>
#include <vector>

namespace gpujoin_duckdb {

struct Decision {
  std::string join_type;
  std::string conditions;
  bool is_taken = false;
  std::string reason;
  int64_t left_rows = 0;
  int64_t right_rows = 0;
};

void forget_decisions(duckdb::ClientContext& client);
void add_decision(duckdb::ClientContext& client, Decision decision);

void register_decisions(duckdb::ExtensionLoader& loader);

}  // namespace gpujoin_duckdb
