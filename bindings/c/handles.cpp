#include "bindings/c/handles.hpp"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "src/base/forks.hpp"
#include "src/base/status.hpp"

namespace gpujoin::shim {

namespace {

// The top bit is set in no address that a program can have, so that no pointer to something else
// is taken for a handle.
constexpr uintptr_t kMark = uintptr_t{1} << 63;
constexpr unsigned kKindBits = 4;

// Threads that use handles of their own seldom meet in one of so many parts.
constexpr size_t kParts = 16;

struct Entry {
  AnyShare object;
  uint32_t forks;  // of the process that made it
};

struct alignas(64) Part {  // each has cache lines of its own
  std::mutex mutex;
  std::unordered_map<uintptr_t, Entry> entries;
};

class Table {
 public:
  // Never destroyed: handles may be used while statics are.
  static Table& of_the_process() {
    static auto* const table = new Table;
    return *table;
  }

  uintptr_t next(unsigned kind) {
    uint64_t const number = last_.fetch_add(1, std::memory_order_relaxed) + 1;
    return kMark | number << kKindBits | kind;
  }
  Part& part_of(uintptr_t handle) { return parts_[(handle >> kKindBits) % kParts]; }

 private:
  // The parts are whole in a child, whatever other threads of the parent are at when it forks.
  Table() {
    pthread_atfork([] { of_the_process().lock(); }, [] { of_the_process().unlock(); },
                   [] { of_the_process().unlock(); });
  }
  void lock() {
    for (Part& part : parts_) part.mutex.lock();
  }
  void unlock() {
    for (Part& part : parts_) part.mutex.unlock();
  }

  std::atomic<uint64_t> last_{0};
  std::array<Part, kParts> parts_;
};

// Made when the library is loaded: no fork comes between its first lock and its fork handlers.
[[maybe_unused]] const Table& loaded = Table::of_the_process();

// Gives up a share without counting it.
void forget(AnyShare object) noexcept {
  union Forgotten {
    AnyShare object;
    explicit Forgotten(AnyShare share) : object(std::move(share)) {}
    ~Forgotten() {}
  };
  [[maybe_unused]] Forgotten const forgotten(std::move(object));
}

uintptr_t number_of(const void* handle) { return reinterpret_cast<uintptr_t>(handle); }

bool is_of_kind(const void* handle, unsigned kind) {
  return (number_of(handle) & (kMark | ((1U << kKindBits) - 1))) == (kMark | kind);
}

}  // namespace

const void* make_handle(unsigned kind) {
  Table& table = Table::of_the_process();
  uintptr_t const handle = table.next(kind);
  Part& part = table.part_of(handle);
  std::lock_guard const lock(part.mutex);
  part.entries.emplace(handle, Entry{nullptr, base::forks()});
  return reinterpret_cast<const void*>(handle);
}

void set_object(const void* handle, AnyShare object) noexcept {
  Part& part = Table::of_the_process().part_of(number_of(handle));
  std::lock_guard const lock(part.mutex);
  part.entries.find(number_of(handle))->second.object = std::move(object);
}

AnyShare find_object(const void* handle, unsigned kind) noexcept {
  if (!is_of_kind(handle, kind)) return nullptr;
  Part& part = Table::of_the_process().part_of(number_of(handle));
  std::lock_guard const lock(part.mutex);
  auto const found = part.entries.find(number_of(handle));
  return found == part.entries.end() ? nullptr : found->second.object;
}

void drop_handle(const void* handle, unsigned kind) noexcept {
  if (!is_of_kind(handle, kind)) return;
  Part& part = Table::of_the_process().part_of(number_of(handle));
  Entry entry{};
  {
    std::lock_guard const lock(part.mutex);
    auto const found = part.entries.find(number_of(handle));
    if (found == part.entries.end()) return;
    entry = std::move(found->second);
    part.entries.erase(found);
  }
  // The last share ends what it stands for, which may call back into the library.
  if (entry.forks != base::forks()) forget(std::move(entry.object));
}

void check_found(const void* object, const void* handle, const char* name) {
  if (object != nullptr) return;
  base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
             handle == nullptr ? "%s is NULL" : "%s is no handle of its type, or was destroyed",
             name);
}

}  // namespace gpujoin::shim
