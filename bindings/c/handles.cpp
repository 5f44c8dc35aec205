#include "bindings/c/handles.hpp"

#include <pthread.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

#include "src/base/forks.hpp"
#include "src/base/own_share.hpp"
#include "src/base/status.hpp"

namespace gpujoin::shim {

namespace {

// The top bit is set in no address that a program can have, so that no pointer to something else
// is taken for a handle.
constexpr uintptr_t kMark = uintptr_t{1} << 63;
constexpr unsigned kKindBits = 4;

// A thread finds and makes handles in a part of its own, which others seldom lock. A fork holds the
// locks of all parts, and in a host under the thread sanitizer a thread that holds 64 is the end of
// the process.
constexpr size_t kParts = 32;
constexpr unsigned kPartBits = 5;

// What many threads use at once. Were it looked for in one part, all of them would wait for the
// part's lock, and count their shares in one place: eight threads that take 2048 rows at a time
// spent ten microseconds of fifteen so.
constexpr bool is_shared_by_threads(unsigned kind) {
  return kind == HandleFacts<gpujoin_context>::kKind || kind == HandleFacts<gpujoin_build>::kKind ||
         kind == HandleFacts<gpujoin_operation>::kKind;
}

struct Entry {
  AnyShare object;
  uint32_t forks;          // of the process that made it
  uint64_t copied_to = 0;  // parts that have an entry of their own, by a share of their own
};

struct alignas(64) Part {  // each has cache lines of its own
  std::mutex mutex;
  std::unordered_map<uintptr_t, Entry> entries;
  uint64_t last = 0;
};

size_t own_part() {
  static std::atomic<size_t> threads{0};
  thread_local size_t const mine = threads.fetch_add(1, std::memory_order_relaxed) % kParts;
  return mine;
}

class Table {
 public:
  // Never destroyed: handles may be used while statics are.
  static Table& of_the_process() {
    static auto* const table = new Table;
    return *table;
  }

  Part& part(size_t number) { return parts_[number]; }
  // Where it was made.
  Part& part_of(uintptr_t handle) { return parts_[part_number(handle)]; }
  static size_t part_number(uintptr_t handle) { return (handle >> kKindBits) % kParts; }

  // Of who copies an entry to another part, and who drops one with its copies.
  std::mutex copies_mutex;

 private:
  // The parts are whole in a child, whatever other threads of the parent are at when it forks.
  Table() {
    pthread_atfork([] { of_the_process().lock(); }, [] { of_the_process().unlock(); },
                   [] { of_the_process().unlock(); });
  }
  void lock() {
    copies_mutex.lock();
    for (Part& part : parts_) part.mutex.lock();
  }
  void unlock() {
    for (Part& part : parts_) part.mutex.unlock();
    copies_mutex.unlock();
  }

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

AnyShare find_in(Part& part, uintptr_t handle) noexcept {
  std::lock_guard const lock(part.mutex);
  auto const found = part.entries.find(handle);
  return found == part.entries.end() ? nullptr : found->second.object;
}

// From now on the thread's part answers, by a share that is counted there. Without memory for it
// the one of the part where the handle was made goes on answering.
AnyShare find_and_copy(uintptr_t handle, size_t to) noexcept {
  Table& table = Table::of_the_process();
  std::lock_guard const copies(table.copies_mutex);
  Part& home = table.part_of(handle);
  AnyShare object;
  uint32_t forks = 0;
  {
    std::lock_guard const lock(home.mutex);
    auto const found = home.entries.find(handle);
    if (found == home.entries.end() || found->second.object == nullptr) return nullptr;
    object = found->second.object;
    forks = found->second.forks;
  }
  try {
    AnyShare const own = base::own_share(object);
    {
      std::lock_guard const lock(table.part(to).mutex);
      table.part(to).entries.insert_or_assign(handle, Entry{own, forks});
    }
    std::lock_guard const lock(home.mutex);
    home.entries.find(handle)->second.copied_to |= uint64_t{1} << to;
    return own;
  } catch (const std::bad_alloc&) {
    return object;
  }
}

// Empty: it is not there.
Entry take_from(Part& part, uintptr_t handle) noexcept {
  std::lock_guard const lock(part.mutex);
  auto const found = part.entries.find(handle);
  if (found == part.entries.end()) return {};
  Entry entry = std::move(found->second);
  part.entries.erase(found);
  return entry;
}

// The last share ends what it stands for, which may call back into the library.
void let_go(Entry entry) noexcept {
  if (entry.forks != base::forks()) forget(std::move(entry.object));
}

}  // namespace

const void* make_handle(unsigned kind) {
  size_t const number = own_part();
  Part& part = Table::of_the_process().part(number);
  std::lock_guard const lock(part.mutex);
  uintptr_t const handle =
      kMark | ++part.last << (kKindBits + kPartBits) | uintptr_t{number} << kKindBits | kind;
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
  Table& table = Table::of_the_process();
  uintptr_t const number = number_of(handle);
  size_t const own = own_part();
  if (!is_shared_by_threads(kind) || Table::part_number(number) == own) {
    return find_in(table.part_of(number), number);
  }
  AnyShare found = find_in(table.part(own), number);
  return found != nullptr ? found : find_and_copy(number, own);
}

void drop_handle(const void* handle, unsigned kind) noexcept {
  if (!is_of_kind(handle, kind)) return;
  Table& table = Table::of_the_process();
  uintptr_t const number = number_of(handle);
  if (!is_shared_by_threads(kind)) return let_go(take_from(table.part_of(number), number));
  Entry entry;
  std::array<Entry, kParts> copies;
  {
    std::lock_guard const lock(table.copies_mutex);
    entry = take_from(table.part_of(number), number);
    for (uint64_t left = entry.copied_to; left != 0; left &= left - 1) {
      auto const part = static_cast<size_t>(std::countr_zero(left));
      copies[part] = take_from(table.part(part), number);
    }
  }
  for (Entry& copy : copies) let_go(std::move(copy));
  let_go(std::move(entry));
}

void check_found(const void* object, const void* handle, const char* name) {
  if (object != nullptr) return;
  base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
             handle == nullptr ? "%s is NULL" : "%s is no handle of its type, or was destroyed",
             name);
}

}  // namespace gpujoin::shim
