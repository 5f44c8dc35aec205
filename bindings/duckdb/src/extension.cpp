// extension.cpp: what LOAD gpujoin registers.
#include <duckdb/main/extension/extension_loader.hpp>
#include <duckdb/optimizer/optimizer_extension.hpp>

#include "bindings/duckdb/src/decisions.hpp"
#include "bindings/duckdb/src/library.hpp"
#include "bindings/duckdb/src/logical_join.hpp"
#include "bindings/duckdb/src/settings.hpp"

extern "C" __attribute__((visibility("default"))) void gpujoin_register(
    duckdb::ExtensionLoader& loader) {
  using namespace gpujoin_duckdb;
  check_version();
  loader.SetDescription("Joins on NVIDIA GPUs and on the CPU, by libgpujoin");
  auto& config = duckdb::DBConfig::GetConfig(loader.GetDatabaseInstance());
  add_settings(config);
  register_decisions(loader);
  duckdb::OptimizerExtension optimizer;
  optimizer.optimize_function = mark_joins;
  optimizer.optimizer_info = duckdb::make_shared_ptr<SharedState>();
  duckdb::OptimizerExtension::Register(config, std::move(optimizer));
}
