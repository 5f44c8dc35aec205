#include "src/base/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "src/base/forks.hpp"
#include "src/base/status.hpp"

namespace gpujoin::base {

namespace {

constexpr uint64_t kAlignment = 256;
constexpr uint64_t kHugePage = uint64_t{2} << 20;

#if GPUJOIN_CHECKED
constexpr uint64_t kGuard = 256;  // before and after each block
constexpr int kGuardByte = 0xFD;
constexpr int kPoisonByte = 0xFE;
#else
constexpr uint64_t kGuard = 0;
#endif

// Powers of two up to 1 MiB, then 64 steps between powers of two, which waste at most a 64th: a
// join's large columns are most of its memory, and of 64 classes one still holds what the next join
// of the same tables wants.
constexpr uint64_t kClasses = 64;
constexpr uint64_t kLargeBlock = uint64_t{1} << 20;
// A cached block may be larger by such a part: the next join's output is seldom as large as the
// last one's. One that is smaller by as little goes back to its source when a larger one is
// allocated in its place, or outputs that grow would leave one of each class behind.
constexpr uint64_t kSpareShare = 8;

uint64_t block_bytes(uint64_t bytes) {
  bytes += 2 * kGuard;
  if (bytes <= kAlignment) return kAlignment;
  if (bytes <= kLargeBlock) return std::bit_ceil(bytes);
  uint64_t const step = std::bit_floor(bytes) / kClasses;
  return (bytes + step - 1) / step * step;
}

size_t index_of(Memory memory) { return static_cast<size_t>(memory); }

class HostSource final : public MemorySource {
 public:
  void* allocate(Memory, uint64_t bytes) override {
    bool const huge = bytes >= kHugePage;
    uint64_t const alignment = huge ? kHugePage : kAlignment;
    void* pointer = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
#ifdef MADV_HUGEPAGE
    // First touch of a large block is half the cost of writing it with 4 KiB pages.
    if (huge && pointer != nullptr) madvise(pointer, bytes, MADV_HUGEPAGE);
#endif
    return pointer;
  }
  void deallocate(Memory, void* pointer, uint64_t) noexcept override { std::free(pointer); }
};

class CallerSource final : public MemorySource {
 public:
  CallerSource(const gpujoin_allocator& allocator, void* cuda_stream,
               std::unique_ptr<MemorySource> device_bytes)
      : allocator_(allocator), cuda_stream_(cuda_stream), device_bytes_(std::move(device_bytes)) {}
  void* allocate(Memory memory, uint64_t bytes) override {
    return allocator_.allocate(bytes, kAlignment, static_cast<gpujoin_memory>(memory), cuda_stream_,
                               allocator_.user);
  }
  void deallocate(Memory memory, void* pointer, uint64_t bytes) noexcept override {
    allocator_.deallocate(pointer, bytes, static_cast<gpujoin_memory>(memory), cuda_stream_,
                          allocator_.user);
  }
  void fill(Memory memory, void* pointer, int value, uint64_t bytes) override {
    if (memory == Memory::kDevice) return device_bytes_->fill(memory, pointer, value, bytes);
    MemorySource::fill(memory, pointer, value, bytes);
  }
  bool is_filled(Memory memory, const void* pointer, int value, uint64_t bytes) override {
    if (memory == Memory::kDevice) return device_bytes_->is_filled(memory, pointer, value, bytes);
    return MemorySource::is_filled(memory, pointer, value, bytes);
  }

 private:
  gpujoin_allocator allocator_;
  void* cuda_stream_;
  std::unique_ptr<MemorySource> device_bytes_;
};

}  // namespace

void MemorySource::fill(Memory, void* pointer, int value, uint64_t bytes) {
  std::memset(pointer, value, bytes);
}

bool MemorySource::is_filled(Memory, const void* pointer, int value, uint64_t bytes) {
  auto const* first = static_cast<const unsigned char*>(pointer);
  return std::all_of(first, first + bytes, [value](unsigned char byte) { return byte == value; });
}

std::unique_ptr<MemorySource> make_host_source() { return std::make_unique<HostSource>(); }

std::unique_ptr<MemorySource> make_caller_source(const gpujoin_allocator& allocator,
                                                 void* cuda_stream,
                                                 std::unique_ptr<MemorySource> device_bytes) {
  return std::make_unique<CallerSource>(allocator, cuda_stream, std::move(device_bytes));
}

uint64_t checked_bytes(uint64_t rows, uint64_t width) {
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(rows, width, &bytes) || bytes > uint64_t{INT64_MAX}) {
    fail(GPUJOIN_ERROR_OUT_OF_MEMORY, "%llu rows of %llu bytes are more than any memory holds",
         static_cast<unsigned long long>(rows), static_cast<unsigned long long>(width));
  }
  return bytes;
}

Buffer::~Buffer() {
  if (data_ != nullptr) pool_->release(memory_, bytes_, std::move(block_));
}

Pool::Pool(std::unique_ptr<MemorySource> source, Memory limited, uint64_t limit_bytes)
    : source_(std::move(source)), limited_(limited), limit_(limit_bytes), forks_(forks()) {}

Pool::~Pool() { trim(); }

Blocks::node_type Pool::take_cached(Memory memory, uint64_t bytes) {
  auto& blocks = cache_[index_of(memory)];
  // What fits a limit once shall fit it whatever was cached before.
  bool const is_exact = is_limited(memory) && limit_ != 0;
  uint64_t const most = is_exact ? bytes : bytes + bytes / kSpareShare;
  auto const found = blocks.lower_bound(bytes);
  if (found == blocks.end() || found->first > most) {
    if (bytes > kLargeBlock) drop_outgrown(memory, bytes);
    return {};
  }
  if (is_limited(memory)) cached_ -= found->first;
  return blocks.extract(found);
}

Blocks::node_type Pool::take_new(Memory memory, uint64_t bytes) {
  // The node first: once there is a block, nothing may fail.
  Blocks made;
  auto const block = made.emplace(bytes, nullptr);
  if (is_limited(memory) && limit_ != 0 && in_use_ + cached_ > limit_ - bytes) trim_locked();
  block->second = source_->allocate(memory, bytes);
  if (block->second == nullptr) {
    trim_locked();
    block->second = source_->allocate(memory, bytes);
  }
  if (block->second == nullptr) return {};
  return made.extract(block);
}

void Pool::drop_outgrown(Memory memory, uint64_t bytes) {
  auto& blocks = cache_[index_of(memory)];
  auto found = blocks.lower_bound(bytes);
  if (found == blocks.begin()) return;
  --found;
  auto const [block, pointer] = *found;
  if (bytes - block > block / kSpareShare) return;
  blocks.erase(found);
  source_->deallocate(memory, pointer, block);
  if (is_limited(memory)) cached_ -= block;
}

Buffer Pool::try_allocate(Memory memory, uint64_t bytes) {
  if (bytes == 0) return {};
  uint64_t const wanted = block_bytes(bytes);
  std::lock_guard const lock(mutex_);
  if (passes_limit(memory, wanted)) return {};
  Blocks::node_type block = take_cached(memory, wanted);
  if (block.empty()) block = take_new(memory, wanted);
  if (block.empty()) return {};
  if (is_limited(memory)) {
    in_use_ += block.key();
    peak_ = std::max(peak_, in_use_);
  }
  auto* data = static_cast<unsigned char*>(block.mapped()) + kGuard;
  [[maybe_unused]] uint64_t const behind = block.key() - kGuard - bytes;
  Buffer buffer(shared_from_this(), memory, data, bytes, std::move(block));
#if GPUJOIN_CHECKED
  source_->fill(memory, data - kGuard, kGuardByte, kGuard);
  source_->fill(memory, data, kPoisonByte, bytes);
  source_->fill(memory, data + bytes, kGuardByte, behind);
#endif
  return buffer;
}

bool Pool::is_limited(Memory memory) const {
  return memory == limited_ || (memory == Memory::kManaged && limited_ == Memory::kDevice);
}

bool Pool::passes_limit(Memory memory, uint64_t bytes) const {
  return is_limited(memory) && limit_ != 0 && (bytes > limit_ || in_use_ > limit_ - bytes);
}

Buffer Pool::allocate(Memory memory, uint64_t bytes, const char* what) {
  Buffer buffer = try_allocate(memory, bytes);
  if (buffer || bytes == 0) return buffer;
  uint64_t const block = block_bytes(bytes);
  std::lock_guard const lock(mutex_);
  if (passes_limit(memory, block)) {
    fail(GPUJOIN_ERROR_MEMORY_LIMIT,
         "%s needs %llu bytes; %llu of the context's memory limit of %llu bytes are in use", what,
         static_cast<unsigned long long>(block), static_cast<unsigned long long>(in_use_),
         static_cast<unsigned long long>(limit_));
  }
  fail(GPUJOIN_ERROR_OUT_OF_MEMORY, "no memory for %s: %llu bytes asked for, %llu in use", what,
       static_cast<unsigned long long>(block), static_cast<unsigned long long>(in_use_));
}

void Pool::release(Memory memory, [[maybe_unused]] uint64_t bytes,
                   Blocks::node_type block) noexcept {
  // The lock may be held by a thread of the parent, and the memory is the parent's.
  if (forks() != forks_) return;
  std::lock_guard const lock(mutex_);
#if GPUJOIN_CHECKED
  auto* const data = static_cast<unsigned char*>(block.mapped()) + kGuard;
  if (!source_->is_filled(memory, block.mapped(), kGuardByte, kGuard) ||
      !source_->is_filled(memory, data + bytes, kGuardByte, block.key() - kGuard - bytes)) {
    ++guard_violations_;
  }
#endif
  if (is_limited(memory)) {
    in_use_ -= block.key();
    cached_ += block.key();
  }
  cache_[index_of(memory)].insert(std::move(block));
}

bool Pool::try_reserve(uint64_t bytes) {
  std::lock_guard const lock(mutex_);
  if (limit_ != 0) {
    if (bytes > limit_ || in_use_ > limit_ - bytes) return false;
    if (in_use_ + cached_ > limit_ - bytes) trim_locked();
  }
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  return true;
}

void Pool::unreserve(uint64_t bytes) noexcept {
  std::lock_guard const lock(mutex_);
  in_use_ -= bytes;
}

void Pool::park(uint64_t bytes) noexcept {
  std::lock_guard const lock(mutex_);
  in_use_ -= bytes;
  cached_ += bytes;
}

void Pool::unpark(uint64_t bytes) noexcept {
  std::lock_guard const lock(mutex_);
  cached_ -= bytes;
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
}

void Pool::drop_parked(uint64_t bytes) noexcept {
  std::lock_guard const lock(mutex_);
  cached_ -= bytes;
}

void Pool::set_trim_hook(std::function<void()> hook) {
  std::lock_guard const lock(mutex_);
  trim_hook_ = std::move(hook);
}

void Pool::trim_locked() noexcept {
  for (size_t index = 0; index < cache_.size(); ++index) {
    auto const memory = static_cast<Memory>(index);
    for (auto const& [bytes, pointer] : cache_[index]) {
      source_->deallocate(memory, pointer, bytes);
      if (is_limited(memory)) cached_ -= bytes;
    }
    cache_[index].clear();
  }
  if (trim_hook_) trim_hook_();
}

void Pool::trim() noexcept {
  if (forks() != forks_) return;
  std::lock_guard const lock(mutex_);
  trim_locked();
}

uint64_t Pool::held_bytes() const {
  std::lock_guard const lock(mutex_);
  return in_use_ + cached_;
}

uint64_t Pool::in_use_bytes() const {
  std::lock_guard const lock(mutex_);
  return in_use_;
}

uint64_t Pool::peak_bytes() const {
  std::lock_guard const lock(mutex_);
  return peak_;
}

void Pool::reset_peak() {
  std::lock_guard const lock(mutex_);
  earlier_peak_ = std::max(earlier_peak_, peak_);
  peak_ = in_use_;
}

uint64_t Pool::lifetime_peak_bytes() const {
  std::lock_guard const lock(mutex_);
  return std::max(earlier_peak_, peak_);
}

uint64_t Pool::guard_violations() const {
  std::lock_guard const lock(mutex_);
  return guard_violations_;
}

}  // namespace gpujoin::base
