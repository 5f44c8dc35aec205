// interrupts.cpp: joins end where DuckDB interrupts their query.
#include "bindings/duckdb/src/interrupts.hpp"

#include <algorithm>
#include <chrono>

namespace gpujoin_duckdb {

namespace {

constexpr std::chrono::milliseconds between_looks(20);

}  // namespace

Interrupts::~Interrupts() {
  {
    std::lock_guard<std::mutex> const lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Interrupts::add(const duckdb::ClientContext& client, JoinOperation& operation) {
  {
    std::lock_guard<std::mutex> const lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
    running_.push_back({&client, &operation});
  }
  changed_.notify_all();
}

void Interrupts::remove(JoinOperation& operation) {
  std::lock_guard<std::mutex> const lock(mutex_);
  auto const is_it = [&](const Running& entry) { return entry.operation == &operation; };
  running_.erase(std::remove_if(running_.begin(), running_.end(), is_it), running_.end());
}

void Interrupts::watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!is_over_) {
    if (running_.empty()) {
      changed_.wait(lock);
      continue;
    }
    changed_.wait_for(lock, between_looks);
    for (auto const& entry : running_) {
      if (entry.client->IsInterrupted()) entry.operation->cancel();
    }
  }
}

}  // namespace gpujoin_duckdb
