// settings.hpp: what SET gpujoin_... says.
#pragma once

#include <duckdb/main/client_context.hpp>
#include <duckdb/main/config.hpp>
#include <string>

#include "gpujoin.h"

namespace gpujoin_duckdb {

struct Settings {
  bool is_enabled = true;
  bool is_forced = false;
  gpujoin_device device = GPUJOIN_DEVICE_AUTOMATIC;
  uint64_t device_limit_bytes = 0;
  uint64_t host_limit_bytes = 0;
  int32_t threads = 0;
  // Where rows go that the limits have no room for; empty = nowhere.
  std::string spill_folder;

  // Whether joins by either run in contexts that are alike.
  bool has_same_context(const Settings& other) const;
};

void add_settings(duckdb::DBConfig& config);

Settings read_settings(duckdb::ClientContext& client);

}  // namespace gpujoin_duckdb
