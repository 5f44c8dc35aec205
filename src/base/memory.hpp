// memory.hpp: an account for each context, a pool for each of its queues, and the buffers that come
// from them.
//
// A pool hands out blocks of host, device and pinned memory and keeps freed blocks for the next
// join. Blocks are reused in stream order: everything that a queue does runs on its one stream, so
// a block may be handed out again while earlier work that used it is still queued. A block that
// another queue's pool kept comes with a wait of the one stream for the other. The account enforces
// the context's limit. Thread-safe, because exported Arrow arrays may be released anywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpujoin.h"

namespace gpujoin::base {

enum class Memory : int32_t {
  kHost = GPUJOIN_MEMORY_HOST,
  kDevice = GPUJOIN_MEMORY_DEVICE,
  kPinned = GPUJOIN_MEMORY_PINNED,
  kManaged =
      // of our own only: pages that migrate; counted as device memory, which is where they end up
  4
};

// A CUDA stream of a queue; in device.hpp. Null: what is done is done when the call returns.
struct Stream;

// Where blocks come from: the system, CUDA, or the caller's allocator. Device memory is used in the
// order of the stream that is named.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // nullptr when there is none left. Blocks are aligned to 256 bytes.
  virtual void* allocate(Memory memory, uint64_t bytes, const Stream* stream) = 0;
  virtual void deallocate(Memory memory, void* pointer, uint64_t bytes,
                          const Stream* stream) noexcept = 0;
  // What `later` is given from here on comes after what `earlier` has been given.
  virtual void put_in_order(const Stream* /*earlier*/, const Stream* /*later*/) {}
  // Checked builds: fill with a byte, and compare against it. These serve host memory.
  virtual void fill(Memory memory, void* pointer, int value, uint64_t bytes, const Stream* stream);
  virtual bool is_filled(Memory memory, const void* pointer, int value, uint64_t bytes,
                         const Stream* stream);
  // Whether growing output may map pages into a reserved address range; otherwise it is a list of
  // blocks.
  virtual bool maps_pages() const { return false; }
  // Whether it may be asked for kManaged.
  virtual bool gives_managed_memory() const { return false; }
};

std::unique_ptr<MemorySource> make_host_source();

// The caller's callbacks. Device memory is filled and compared by `device_bytes` (a CUDA source),
// which may be null without CUDA.
std::unique_ptr<MemorySource> make_caller_source(const gpujoin_allocator& allocator,
                                                 std::unique_ptr<MemorySource> device_bytes);

class Pool;

// Blocks by size.
using Blocks = std::multimap<uint64_t, void*>;

// Owns a block. Empty after a move. Releasing is cheap, never waits, and never allocates: the
// block's place in the pool's map travels with it.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<Pool> pool, Memory memory, void* data, uint64_t bytes,
         Blocks::node_type block)
      : pool_(std::move(pool)),
        memory_(memory),
        data_(data),
        bytes_(bytes),
        block_(std::move(block)) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  void* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }
  Memory memory() const { return memory_; }
  explicit operator bool() const { return data_ != nullptr; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  void swap(Buffer& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    block_.swap(other.block_);
  }

 private:
  std::shared_ptr<Pool> pool_;
  Memory memory_ = Memory::kHost;
  void* data_ = nullptr;
  uint64_t bytes_ = 0;
  Blocks::node_type block_;  // of the pool, in which the data lies
};

// Of one context and kind of executor: where the blocks of its pools come from, and how many bytes
// all of them together may have.
class Account {
 public:
  // limited: the memory that `limit_bytes` (0 = none) counts. Pinned memory, where that is another
  // one, has a limit of its own.
  Account(std::unique_ptr<MemorySource> source, Memory limited, uint64_t limit_bytes,
          uint64_t pinned_limit_bytes = 0);
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  void trim() noexcept;  // gives the cached blocks of all pools back to the source
  // For who changes what is cached in several steps, among which nobody trims or is refused.
  std::unique_lock<std::recursive_mutex> lock() const { return std::unique_lock(mutex_); }
  // Called by trim, to unmap parked ranges.
  void set_trim_hook(std::function<void()> hook);

  uint64_t limit_bytes() const { return counts_.limit; }
  uint64_t held_bytes() const;                 // of the limited memory: in use and cached
  uint64_t in_use_bytes() const;               // of the limited memory
  uint64_t peak_bytes() const;                 // most in use so far
  uint64_t pinned_held_bytes() const;          // in use and cached
  bool has_pinned_room(uint64_t bytes) const;  // within its limit
  uint64_t guard_violations() const;  // checked builds: blocks whose guard bands were overwritten
  MemorySource& source() { return *source_; }

 private:
  friend class Pool;
  struct Counts {
    uint64_t limit = 0;  // 0: none
    uint64_t in_use = 0;
    uint64_t cached = 0;
    uint64_t peak = 0;

    bool passes_limit(uint64_t bytes) const {
      return limit != 0 && (bytes > limit || in_use > limit - bytes);
    }
    void add_in_use(uint64_t bytes);
  };
  bool is_limited(Memory memory) const;
  Counts* counts_of(Memory memory);  // null: nobody counts it
  void trim_locked() noexcept;

  mutable std::recursive_mutex mutex_;  // recursive: the trim hook calls unreserve
  std::function<void()> trim_hook_;
  std::unique_ptr<MemorySource> source_;
  Memory limited_;
  Counts counts_;  // of the limited memory
  Counts pinned_;
  uint64_t guard_violations_ = 0;
  std::vector<Pool*> pools_;
  uint32_t forks_;  // of the process that the account belongs to
};

// Of one queue. Lives as long as a buffer of it does.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  explicit Pool(std::shared_ptr<Account> account, std::shared_ptr<const Stream> stream = nullptr);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // A block of at least `bytes` (an empty Buffer for 0). Uninitialised; poisoned in checked builds.
  // Throws MEMORY_LIMIT or OUT_OF_MEMORY; `what` names the buffer in the message.
  Buffer allocate(Memory memory, uint64_t bytes, const char* what);

  // The same, empty instead of an exception.
  Buffer try_allocate(Memory memory, uint64_t bytes);

  template <typename T>
  Buffer allocate_rows(Memory memory, uint64_t rows, const char* what);

  // Growing ranges map their own pages; these keep the account. False when the limit would be
  // passed, even with nothing cached. A parked range waits for the next join: its bytes count as
  // cached.
  bool try_reserve(uint64_t bytes);
  void unreserve(uint64_t bytes) noexcept;
  void park(uint64_t bytes) noexcept;
  void unpark(uint64_t bytes) noexcept;
  void drop_parked(uint64_t bytes) noexcept;  // unmapped while parked

  // No call works with the queue: other pools may take what this one keeps.
  void set_idle(bool is_idle);

  // Of the limited memory, of this pool alone.
  uint64_t in_use_bytes() const;
  uint64_t peak_bytes() const;  // most in use since reset_peak
  void reset_peak();            // peak := in use; execute brackets itself with it
  Account& account() const { return *account_; }

 private:
  friend class Account;
  friend class Buffer;
  void release(Memory memory, uint64_t bytes, Blocks::node_type block) noexcept;
  // The smallest cached block that holds so many bytes, and not much more. Empty: there is none.
  Blocks::node_type take_cached(Memory memory, uint64_t bytes);
  Blocks::iterator find_cached(Memory memory, uint64_t bytes);
  // One that the pool of an idle queue keeps.
  Blocks::node_type take_from_others(Memory memory, uint64_t bytes);
  // A block from the source, which is asked again when the cached ones are back there. Empty: it
  // has none.
  Blocks::node_type take_new(Memory memory, uint64_t bytes);
  void drop_outgrown(Memory memory, uint64_t bytes);
  void add_in_use(uint64_t bytes);
  void give_back() noexcept;  // what is cached

  std::shared_ptr<Account> account_;
  std::shared_ptr<const Stream> stream_;
  bool is_idle_ = false;
  uint64_t in_use_ = 0;
  uint64_t peak_ = 0;
  // Freed blocks, one map for each kind of memory (index = the enum's value).
  std::array<Blocks, 5> cache_;
};

// rows * width, or GPUJOIN_ERROR_OUT_OF_MEMORY when the product does not fit 63 bits: no machine
// has that much.
uint64_t checked_bytes(uint64_t rows, uint64_t width);

template <typename T>
Buffer Pool::allocate_rows(Memory memory, uint64_t rows, const char* what) {
  return allocate(memory, checked_bytes(rows, sizeof(T)), what);
}

}  // namespace gpujoin::base
