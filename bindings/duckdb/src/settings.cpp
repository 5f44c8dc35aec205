// settings.cpp: what SET gpujoin_... says.
#include "bindings/duckdb/src/settings.hpp"

#include <duckdb/common/exception.hpp>
#include <duckdb/common/string_util.hpp>
#include <duckdb/parallel/task_scheduler.hpp>
#include <duckdb/storage/buffer_manager.hpp>
#include <filesystem>

#include "bindings/duckdb/src/duckdb_versions.hpp"

namespace gpujoin_duckdb {

namespace {

// Of DuckDB's memory_limit, as what its own operators and scans hold counts in it, too.
constexpr uint64_t share_of_limit = 2;

gpujoin_device device_of(const std::string& name) {
  std::string const lower = duckdb::StringUtil::Lower(name);
  if (lower == "automatic") return GPUJOIN_DEVICE_AUTOMATIC;
  if (lower == "cuda") return GPUJOIN_DEVICE_CUDA;
  if (lower == "cpu") return GPUJOIN_DEVICE_CPU;
  throw duckdb::InvalidInputException("gpujoin_device is '" + name +
                                      "': automatic, cuda or cpu was expected");
}

// 0 = none.
uint64_t limit_of(const std::string& text) {
  if (text.empty()) return 0;
  return bytes_of_limit(text);
}

void check_device(duckdb::ClientContext&, duckdb::SetScope, duckdb::Value& value) {
  device_of(value.ToString());
}

void check_limit(duckdb::ClientContext&, duckdb::SetScope, duckdb::Value& value) {
  limit_of(value.ToString());
}

void check_threads(duckdb::ClientContext&, duckdb::SetScope, duckdb::Value& value) {
  auto const threads = value.GetValue<int64_t>();
  if (threads < 0 || threads > 4096) {
    throw duckdb::InvalidInputException("gpujoin_threads is %lld: 0 to 4096 was expected", threads);
  }
}

duckdb::Value value_of(const duckdb::ClientContext& client, const char* name) {
  duckdb::Value value;
  if (!client.TryGetCurrentSetting(name, value) || value.IsNull()) {
    throw duckdb::InvalidInputException(std::string(name) + " has no value");
  }
  return value;
}

std::string spill_folder(duckdb::ClientContext& client) {
  auto& buffers = duckdb::BufferManager::GetBufferManager(client);
  std::string const folder = buffers.GetTemporaryDirectory();
  if (folder.empty()) return folder;  // SET temp_directory = '': nothing may be written
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return folder;
  // DuckDB makes its folder when it spills itself. Files of ours have no names wherever they are.
  auto const common = std::filesystem::temp_directory_path(error);
  return error ? std::string() : common.string();
}

}  // namespace

bool Settings::has_same_context(const Settings& other) const {
  return device == other.device && device_limit_bytes == other.device_limit_bytes &&
         host_limit_bytes == other.host_limit_bytes && threads == other.threads &&
         spill_folder == other.spill_folder;
}

void add_settings(duckdb::DBConfig& config) {
  using duckdb::LogicalType;
  using duckdb::Value;
  config.AddExtensionOption("gpujoin_enable", "Whether gpujoin may take joins",
                            LogicalType::BOOLEAN, Value::BOOLEAN(true));
  config.AddExtensionOption("gpujoin_force",
                            "Whether gpujoin takes every join that it can, whatever it costs",
                            LogicalType::BOOLEAN, Value::BOOLEAN(false));
  config.AddExtensionOption("gpujoin_memory_limit",
                            "Of the memory that gpujoin's joins run in, for example 4GiB; "
                            "empty = half of DuckDB's memory_limit, and all of a device's",
                            LogicalType::VARCHAR, Value(""), check_limit);
  config.AddExtensionOption("gpujoin_device", "automatic, cuda or cpu", LogicalType::VARCHAR,
                            Value("automatic"), check_device);
  config.AddExtensionOption("gpujoin_threads",
                            "Of gpujoin's joins on the CPU; 0 = as many as DuckDB has",
                            LogicalType::BIGINT, Value::BIGINT(0), check_threads);
}

Settings read_settings(duckdb::ClientContext& client) {
  Settings settings;
  settings.is_enabled = value_of(client, "gpujoin_enable").GetValue<bool>();
  settings.is_forced = value_of(client, "gpujoin_force").GetValue<bool>();
  settings.device = device_of(value_of(client, "gpujoin_device").ToString());
  settings.device_limit_bytes = limit_of(value_of(client, "gpujoin_memory_limit").ToString());
  settings.host_limit_bytes = settings.device_limit_bytes;
  if (settings.host_limit_bytes == 0) {
    settings.host_limit_bytes =
        duckdb::BufferManager::GetBufferManager(client).GetMaxMemory() / share_of_limit;
  }
  settings.threads = static_cast<int32_t>(value_of(client, "gpujoin_threads").GetValue<int64_t>());
  if (settings.threads == 0) {
    settings.threads = duckdb::TaskScheduler::GetScheduler(client).NumberOfThreads();
  }
  settings.spill_folder = spill_folder(client);
  return settings;
}

}  // namespace gpujoin_duckdb
