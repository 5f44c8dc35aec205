// interrupts.hpp: joins end where DuckDB interrupts their query.
#pragma once

#include <condition_variable>
#include <duckdb/main/client_context.hpp>
#include <mutex>
#include <thread>
#include <vector>

#include "bindings/duckdb/src/join_operation.hpp"

namespace gpujoin_duckdb {

// DuckDB calls nobody when a query is interrupted, and a call of the library may take as long as
// its result does: so one thread of a database looks, some times a second, as long as joins run.
class Interrupts {
 public:
  Interrupts() = default;
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  void add(const duckdb::ClientContext& client, JoinOperation& operation);
  // Returns when the operation is no longer looked at.
  void remove(JoinOperation& operation);

 private:
  struct Running {
    const duckdb::ClientContext* client;
    JoinOperation* operation;
  };

  void watch();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Running> running_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace gpujoin_duckdb
