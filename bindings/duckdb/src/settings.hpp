// settings.hpp: what SET gpujoin_... says, and the contexts of libgpujoin for it.
#pragma once

#include <duckdb/main/client_context.hpp>
#include <duckdb/main/config.hpp>
#include <mutex>
#include <string>
#include <vector>

#include "bindings/duckdb/src/library.hpp"

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

  bool has_same_context(const Settings& other) const;
};

void add_settings(duckdb::DBConfig& config);

Settings read_settings(duckdb::ClientContext& client);

// The contexts of one database: one for each set of settings, of which the last few are kept.
class Contexts {
 public:
  // Throws where none can be made.
  Context context_for(const Settings& settings);

 private:
  struct Entry {
    Settings settings;
    Context context;
  };

  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace gpujoin_duckdb
