// decisions.cpp: gpujoin_decisions().
#include "bindings/duckdb/src/decisions.hpp"

#include <duckdb/function/table_function.hpp>
#include <duckdb/main/client_context_state.hpp>
#include <mutex>

#include "bindings/duckdb/src/duckdb_versions.hpp"

namespace gpujoin_duckdb {

namespace {

struct Decisions final : duckdb::ClientContextState {
  std::mutex mutex;
  std::vector<Decision> all;
};

duckdb::shared_ptr<Decisions> decisions_of(duckdb::ClientContext& client) {
  return client.registered_state->GetOrCreate<Decisions>("gpujoin_decisions");
}

struct Scan final : duckdb::GlobalTableFunctionState {
  std::vector<Decision> all;
  size_t next = 0;
};

duckdb::unique_ptr<duckdb::FunctionData> bind(duckdb::ClientContext&,
                                              duckdb::TableFunctionBindInput&,
                                              duckdb::vector<duckdb::LogicalType>& types,
                                              duckdb::vector<ColumnName>& names) {
  using duckdb::LogicalType;
  names = {"join_type", "conditions", "taken", "reason", "left_rows", "right_rows"};
  types = {LogicalType::VARCHAR, LogicalType::VARCHAR, LogicalType::BOOLEAN,
           LogicalType::VARCHAR, LogicalType::BIGINT,  LogicalType::BIGINT};
  return nullptr;
}

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> begin(duckdb::ClientContext& client,
                                                           duckdb::TableFunctionInitInput&) {
  auto scan = duckdb::make_uniq<Scan>();
  auto const decisions = decisions_of(client);
  std::lock_guard<std::mutex> const lock(decisions->mutex);
  scan->all = decisions->all;
  return std::move(scan);
}

void put_out(duckdb::ClientContext&, duckdb::TableFunctionInput& input, duckdb::DataChunk& chunk) {
  auto& scan = input.global_state->Cast<Scan>();
  size_t row = 0;
  for (; scan.next < scan.all.size() && row < STANDARD_VECTOR_SIZE; ++scan.next, ++row) {
    auto const& decision = scan.all[scan.next];
    append(chunk.data[0], row, duckdb::Value(decision.join_type));
    append(chunk.data[1], row, duckdb::Value(decision.conditions));
    append(chunk.data[2], row, duckdb::Value::BOOLEAN(decision.is_taken));
    append(chunk.data[3], row, duckdb::Value(decision.reason));
    append(chunk.data[4], row, duckdb::Value::BIGINT(decision.left_rows));
    append(chunk.data[5], row, duckdb::Value::BIGINT(decision.right_rows));
  }
  chunk.SetChildCardinality(row);
}

}  // namespace

void forget_decisions(duckdb::ClientContext& client) {
  auto const decisions = decisions_of(client);
  std::lock_guard<std::mutex> const lock(decisions->mutex);
  decisions->all.clear();
}

void add_decision(duckdb::ClientContext& client, Decision decision) {
  auto const decisions = decisions_of(client);
  std::lock_guard<std::mutex> const lock(decisions->mutex);
  decisions->all.push_back(std::move(decision));
}

void register_decisions(duckdb::ExtensionLoader& loader) {
  loader.RegisterFunction(duckdb::TableFunction("gpujoin_decisions", {}, put_out, bind, begin));
}

}  // namespace gpujoin_duckdb
