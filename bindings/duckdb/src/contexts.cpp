// contexts.cpp: the contexts of libgpujoin that joins run in.
#include "bindings/duckdb/src/contexts.hpp"

#include <algorithm>
#include <duckdb/main/client_context_state.hpp>

#include "bindings/duckdb/src/counted_memory.hpp"

namespace gpujoin_duckdb {

namespace {

// A session that changes its limits over and over must not keep a context for each.
constexpr size_t most_contexts = 8;

struct ConnectionContexts final : duckdb::ClientContextState {
  // Results of queries before may have gone since.
  void QueryEnd() override { cache.give_back_memory(); }

  ContextCache cache;
};

Context make_context(const Settings& settings, gpujoin_device device,
                     std::shared_ptr<CountedMemory> counted) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = device;
  options.cpu_threads = settings.threads;
  options.memory_limit_bytes = settings.device_limit_bytes;
  options.host_limit_bytes = settings.host_limit_bytes;
  if (!settings.spill_folder.empty()) options.spill_path = settings.spill_folder.c_str();
  gpujoin_allocator allocator = GPUJOIN_ALLOCATOR_INIT;
  if (counted) {
    allocator = counted->allocator();
    options.allocator = &allocator;
  }
  gpujoin_context* made = nullptr;
  gpujoin_error error;
  check(gpujoin_context_create(&options, &made, &error), error);
  return Context(made, [counted](gpujoin_context* context) { gpujoin_context_destroy(context); });
}

gpujoin_device device_of(const Context& context) {
  gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
  gpujoin_error error;
  check(gpujoin_context_get_info(context.get(), &info, &error), error);
  return info.device;
}

}  // namespace

void give_back_memory(const Context& context) {
  if (device_of(context) == GPUJOIN_DEVICE_CPU) gpujoin_context_trim(context.get(), nullptr);
}

Context ContextCache::find(const Settings& settings) {
  std::lock_guard<std::mutex> const lock(mutex_);
  auto const found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.settings.has_same_context(settings);
  });
  return found == entries_.end() ? nullptr : found->context;
}

void ContextCache::add(const Settings& settings, Context context) {
  std::lock_guard<std::mutex> const lock(mutex_);
  if (entries_.size() == most_contexts) entries_.erase(entries_.begin());
  entries_.push_back({settings, std::move(context)});
}

void ContextCache::give_back_memory() {
  std::lock_guard<std::mutex> const lock(mutex_);
  for (auto const& entry : entries_) gpujoin_duckdb::give_back_memory(entry.context);
}

Context context_for(duckdb::ClientContext& client, ContextCache& shared, const Settings& settings) {
  auto const own = client.registered_state->GetOrCreate<ConnectionContexts>("gpujoin_contexts");
  for (auto* cache : {&own->cache, &shared}) {
    if (Context found = cache->find(settings)) return found;
  }
  if (settings.device != GPUJOIN_DEVICE_CPU) {
    Context made = make_context(settings, settings.device, nullptr);
    if (device_of(made) == GPUJOIN_DEVICE_CUDA) {
      shared.add(settings, made);
      return made;
    }
  }
  Context made = make_context(settings, GPUJOIN_DEVICE_CPU, CountedMemory::of(client));
  own->cache.add(settings, made);
  return made;
}

}  // namespace gpujoin_duckdb
