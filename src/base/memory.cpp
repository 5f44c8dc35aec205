#include "src/base/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "src/base/forks.hpp"
#include "src/base/status.hpp"

namespace gpujoin::base {

#if GPUJOIN_WITH_CUDA
void* cuda_stream_of(const Stream* stream);  // in device_cuda.cpp
#else
static void* cuda_stream_of(const Stream*) { return nullptr; }
#endif

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
  void* allocate(Memory, uint64_t bytes, const Stream*) override {
    bool const huge = bytes >= kHugePage;
    uint64_t const alignment = huge ? kHugePage : kAlignment;
    void* pointer = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
#ifdef MADV_HUGEPAGE
    // First touch of a large block is half the cost of writing it with 4 KiB pages.
    if (huge && pointer != nullptr) madvise(pointer, bytes, MADV_HUGEPAGE);
#endif
    return pointer;
  }
  void deallocate(Memory, void* pointer, uint64_t, const Stream*) noexcept override {
    std::free(pointer);
  }
};

class CallerSource final : public MemorySource {
 public:
  CallerSource(const gpujoin_allocator& allocator, std::unique_ptr<MemorySource> device_bytes)
      : allocator_(allocator), device_bytes_(std::move(device_bytes)) {}
  void* allocate(Memory memory, uint64_t bytes, const Stream* stream) override {
    return allocator_.allocate(bytes, kAlignment, static_cast<gpujoin_memory>(memory),
                               cuda_stream_of(stream), allocator_.user);
  }
  void deallocate(Memory memory, void* pointer, uint64_t bytes,
                  const Stream* stream) noexcept override {
    allocator_.deallocate(pointer, bytes, static_cast<gpujoin_memory>(memory),
                          cuda_stream_of(stream), allocator_.user);
  }
  void put_in_order(const Stream* earlier, const Stream* later) override {
    if (device_bytes_ != nullptr) device_bytes_->put_in_order(earlier, later);
  }
  void fill(Memory memory, void* pointer, int value, uint64_t bytes,
            const Stream* stream) override {
    if (memory == Memory::kDevice) {
      return device_bytes_->fill(memory, pointer, value, bytes, stream);
    }
    MemorySource::fill(memory, pointer, value, bytes, stream);
  }
  bool is_filled(Memory memory, const void* pointer, int value, uint64_t bytes,
                 const Stream* stream) override {
    if (memory == Memory::kDevice) {
      return device_bytes_->is_filled(memory, pointer, value, bytes, stream);
    }
    return MemorySource::is_filled(memory, pointer, value, bytes, stream);
  }

 private:
  gpujoin_allocator allocator_;
  std::unique_ptr<MemorySource> device_bytes_;
};

}  // namespace

void MemorySource::fill(Memory, void* pointer, int value, uint64_t bytes, const Stream*) {
  std::memset(pointer, value, bytes);
}

bool MemorySource::is_filled(Memory, const void* pointer, int value, uint64_t bytes,
                             const Stream*) {
  auto const* first = static_cast<const unsigned char*>(pointer);
  return std::all_of(first, first + bytes, [value](unsigned char byte) { return byte == value; });
}

std::unique_ptr<MemorySource> make_host_source() { return std::make_unique<HostSource>(); }

std::unique_ptr<MemorySource> make_caller_source(const gpujoin_allocator& allocator,
                                                 std::unique_ptr<MemorySource> device_bytes) {
  return std::make_unique<CallerSource>(allocator, std::move(device_bytes));
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

Account::Account(std::unique_ptr<MemorySource> source, Memory limited, uint64_t limit_bytes)
    : source_(std::move(source)), limited_(limited), limit_(limit_bytes), forks_(forks()) {}

bool Account::is_limited(Memory memory) const {
  return memory == limited_ || (memory == Memory::kManaged && limited_ == Memory::kDevice);
}

bool Account::passes_limit(Memory memory, uint64_t bytes) const {
  return is_limited(memory) && limit_ != 0 && (bytes > limit_ || in_use_ > limit_ - bytes);
}

void Account::add_in_use(uint64_t bytes) {
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
}

void Account::trim_locked() noexcept {
  for (Pool* const pool : pools_) pool->give_back();
  if (trim_hook_) trim_hook_();
}

void Account::trim() noexcept {
  if (forks() != forks_) return;
  std::lock_guard const lock(mutex_);
  trim_locked();
}

void Account::set_trim_hook(std::function<void()> hook) {
  std::lock_guard const lock(mutex_);
  trim_hook_ = std::move(hook);
}

uint64_t Account::held_bytes() const {
  std::lock_guard const lock(mutex_);
  return in_use_ + cached_;
}

uint64_t Account::in_use_bytes() const {
  std::lock_guard const lock(mutex_);
  return in_use_;
}

uint64_t Account::peak_bytes() const {
  std::lock_guard const lock(mutex_);
  return peak_;
}

uint64_t Account::guard_violations() const {
  std::lock_guard const lock(mutex_);
  return guard_violations_;
}

Pool::Pool(std::shared_ptr<Account> account, std::shared_ptr<const Stream> stream)
    : account_(std::move(account)), stream_(std::move(stream)) {
  std::lock_guard const lock(account_->mutex_);
  account_->pools_.push_back(this);
}

Pool::~Pool() {
  if (forks() != account_->forks_) return;
  std::lock_guard const lock(account_->mutex_);
  give_back();
  std::erase(account_->pools_, this);
}

void Pool::give_back() noexcept {
  for (size_t index = 0; index < cache_.size(); ++index) {
    auto const memory = static_cast<Memory>(index);
    for (auto const& [bytes, pointer] : cache_[index]) {
      account_->source_->deallocate(memory, pointer, bytes, stream_.get());
      if (account_->is_limited(memory)) account_->cached_ -= bytes;
    }
    cache_[index].clear();
  }
}

Blocks::iterator Pool::find_cached(Memory memory, uint64_t bytes) {
  auto& blocks = cache_[index_of(memory)];
  // What fits a limit once shall fit it whatever was cached before.
  bool const is_exact = account_->is_limited(memory) && account_->limit_ != 0;
  uint64_t const most = is_exact ? bytes : bytes + bytes / kSpareShare;
  auto const found = blocks.lower_bound(bytes);
  return found == blocks.end() || found->first > most ? blocks.end() : found;
}

Blocks::node_type Pool::take_cached(Memory memory, uint64_t bytes) {
  auto& blocks = cache_[index_of(memory)];
  auto const found = find_cached(memory, bytes);
  if (found == blocks.end()) return {};
  if (account_->is_limited(memory)) account_->cached_ -= found->first;
  return blocks.extract(found);
}

Blocks::node_type Pool::take_from_others(Memory memory, uint64_t bytes) {
  for (Pool* const other : account_->pools_) {
    if (other == this || !other->is_idle_) continue;
    if (other->find_cached(memory, bytes) == other->cache_[index_of(memory)].end()) continue;
    account_->source_->put_in_order(other->stream_.get(), stream_.get());
    return other->take_cached(memory, bytes);
  }
  return {};
}

Blocks::node_type Pool::take_new(Memory memory, uint64_t bytes) {
  Account& all = *account_;
  // The node first: once there is a block, nothing may fail.
  Blocks made;
  auto const block = made.emplace(bytes, nullptr);
  if (bytes > kLargeBlock) drop_outgrown(memory, bytes);
  if (all.is_limited(memory) && all.limit_ != 0 && all.in_use_ + all.cached_ > all.limit_ - bytes) {
    all.trim_locked();
  }
  block->second = all.source_->allocate(memory, bytes, stream_.get());
  if (block->second == nullptr) {
    all.trim_locked();
    block->second = all.source_->allocate(memory, bytes, stream_.get());
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
  account_->source_->deallocate(memory, pointer, block, stream_.get());
  if (account_->is_limited(memory)) account_->cached_ -= block;
}

void Pool::add_in_use(uint64_t bytes) {
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  account_->add_in_use(bytes);
}

Buffer Pool::try_allocate(Memory memory, uint64_t bytes) {
  if (bytes == 0) return {};
  uint64_t const wanted = block_bytes(bytes);
  std::lock_guard const lock(account_->mutex_);
  if (account_->passes_limit(memory, wanted)) return {};
  Blocks::node_type block = take_cached(memory, wanted);
  if (block.empty()) block = take_from_others(memory, wanted);
  if (block.empty()) block = take_new(memory, wanted);
  if (block.empty()) return {};
  if (account_->is_limited(memory)) add_in_use(block.key());
  auto* data = static_cast<unsigned char*>(block.mapped()) + kGuard;
  [[maybe_unused]] uint64_t const behind = block.key() - kGuard - bytes;
  Buffer buffer(shared_from_this(), memory, data, bytes, std::move(block));
#if GPUJOIN_CHECKED
  MemorySource& source = *account_->source_;
  source.fill(memory, data - kGuard, kGuardByte, kGuard, stream_.get());
  source.fill(memory, data, kPoisonByte, bytes, stream_.get());
  source.fill(memory, data + bytes, kGuardByte, behind, stream_.get());
#endif
  return buffer;
}

Buffer Pool::allocate(Memory memory, uint64_t bytes, const char* what) {
  Buffer buffer = try_allocate(memory, bytes);
  if (buffer || bytes == 0) return buffer;
  uint64_t const block = block_bytes(bytes);
  std::lock_guard const lock(account_->mutex_);
  auto const in_use = static_cast<unsigned long long>(account_->in_use_);
  if (account_->passes_limit(memory, block)) {
    fail(GPUJOIN_ERROR_MEMORY_LIMIT,
         "%s needs %llu bytes; %llu of the context's memory limit of %llu bytes are in use", what,
         static_cast<unsigned long long>(block), in_use,
         static_cast<unsigned long long>(account_->limit_));
  }
  fail(GPUJOIN_ERROR_OUT_OF_MEMORY, "no memory for %s: %llu bytes asked for, %llu in use", what,
       static_cast<unsigned long long>(block), in_use);
}

void Pool::release(Memory memory, [[maybe_unused]] uint64_t bytes,
                   Blocks::node_type block) noexcept {
  // The lock may be held by a thread of the parent, and the memory is the parent's.
  if (forks() != account_->forks_) return;
  std::lock_guard const lock(account_->mutex_);
#if GPUJOIN_CHECKED
  MemorySource& source = *account_->source_;
  auto* const data = static_cast<unsigned char*>(block.mapped()) + kGuard;
  uint64_t const behind = block.key() - kGuard - bytes;
  if (!source.is_filled(memory, block.mapped(), kGuardByte, kGuard, stream_.get()) ||
      !source.is_filled(memory, data + bytes, kGuardByte, behind, stream_.get())) {
    ++account_->guard_violations_;
  }
#endif
  if (account_->is_limited(memory)) park(block.key());
  cache_[index_of(memory)].insert(std::move(block));
}

bool Pool::try_reserve(uint64_t bytes) {
  Account& all = *account_;
  std::lock_guard const lock(all.mutex_);
  if (all.passes_limit(all.limited_, bytes)) return false;
  if (all.limit_ != 0 && all.in_use_ + all.cached_ > all.limit_ - bytes) all.trim_locked();
  add_in_use(bytes);
  return true;
}

void Pool::unreserve(uint64_t bytes) noexcept {
  std::lock_guard const lock(account_->mutex_);
  in_use_ -= bytes;
  account_->in_use_ -= bytes;
}

void Pool::park(uint64_t bytes) noexcept {
  std::lock_guard const lock(account_->mutex_);
  unreserve(bytes);
  account_->cached_ += bytes;
}

void Pool::unpark(uint64_t bytes) noexcept {
  std::lock_guard const lock(account_->mutex_);
  account_->cached_ -= bytes;
  add_in_use(bytes);
}

void Pool::drop_parked(uint64_t bytes) noexcept {
  std::lock_guard const lock(account_->mutex_);
  account_->cached_ -= bytes;
}

void Pool::set_idle(bool is_idle) {
  std::lock_guard const lock(account_->mutex_);
  is_idle_ = is_idle;
}

uint64_t Pool::in_use_bytes() const {
  std::lock_guard const lock(account_->mutex_);
  return in_use_;
}

uint64_t Pool::peak_bytes() const {
  std::lock_guard const lock(account_->mutex_);
  return peak_;
}

void Pool::reset_peak() {
  std::lock_guard const lock(account_->mutex_);
  peak_ = in_use_;
}

}  // namespace gpujoin::base
