#include "src/base/memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "src/base/forks.hpp"
#include "src/base/status.hpp"

namespace gpujoin::base {

namespace {

constexpr uint64_t kAlignment = 256;

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

// Of one kind. counts: null where nobody counts it.
template <typename Counts>
void give_back_blocks(MemorySource& source, Memory memory, const Stream* stream, Blocks& blocks,
                      Counts* counts) noexcept {
  for (auto const& [bytes, pointer] : blocks) {
    source.deallocate(memory, pointer, bytes, stream);
    if (counts != nullptr) counts->cached -= bytes;
  }
  blocks.clear();
}

}  // namespace

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

Account::Account(std::unique_ptr<MemorySource> source, Memory limited, uint64_t limit_bytes,
                 uint64_t pinned_limit_bytes)
    : source_(std::move(source)), limited_(limited), forks_(forks()) {
  counts_.limit = limit_bytes;
  pinned_.limit = pinned_limit_bytes;
}

bool Account::is_limited(Memory memory) const {
  return memory == limited_ || (memory == Memory::kManaged && limited_ == Memory::kDevice);
}

Account::Counts* Account::counts_of(Memory memory) {
  if (is_limited(memory)) return &counts_;
  return memory == Memory::kPinned ? &pinned_ : nullptr;
}

void Account::Counts::add_in_use(uint64_t bytes) {
  in_use += bytes;
  peak = std::max(peak, in_use);
}

// Of the limited memory. To page-lock memory again costs more than all else that a small limit of a
// device makes slow.
void Account::trim_locked() noexcept {
  for (Pool* const pool : pools_) {
    for (size_t index = 0; index < pool->cache_.size(); ++index) {
      auto const memory = static_cast<Memory>(index);
      if (counts_of(memory) != &counts_) continue;
      give_back_blocks(*source_, memory, pool->stream_.get(), pool->cache_[index], &counts_);
    }
  }
  if (trim_hook_) trim_hook_();
}

void Account::trim() noexcept {
  if (forks() != forks_) return;
  std::lock_guard const lock(mutex_);
  trim_locked();
  for (Pool* const pool : pools_) pool->give_back();
}

void Account::set_trim_hook(std::function<void()> hook) {
  std::lock_guard const lock(mutex_);
  trim_hook_ = std::move(hook);
}

uint64_t Account::held_bytes() const {
  std::lock_guard const lock(mutex_);
  return counts_.in_use + counts_.cached;
}

uint64_t Account::pinned_held_bytes() const {
  std::lock_guard const lock(mutex_);
  return pinned_.in_use + pinned_.cached;
}

bool Account::has_pinned_room(uint64_t bytes) const {
  std::lock_guard const lock(mutex_);
  return !pinned_.passes_limit(bytes);
}

uint64_t Account::in_use_bytes() const {
  std::lock_guard const lock(mutex_);
  return counts_.in_use;
}

uint64_t Account::peak_bytes() const {
  std::lock_guard const lock(mutex_);
  return counts_.peak;
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
    give_back_blocks(*account_->source_, memory, stream_.get(), cache_[index],
                     account_->counts_of(memory));
  }
}

Blocks::iterator Pool::find_cached(Memory memory, uint64_t bytes) {
  auto& blocks = cache_[index_of(memory)];
  // What fits a limit once shall fit it whatever was cached before.
  auto const* const counts = account_->counts_of(memory);
  bool const is_exact = counts != nullptr && counts->limit != 0;
  uint64_t const most = is_exact ? bytes : bytes + bytes / kSpareShare;
  auto const found = blocks.lower_bound(bytes);
  return found == blocks.end() || found->first > most ? blocks.end() : found;
}

Blocks::node_type Pool::take_cached(Memory memory, uint64_t bytes) {
  auto& blocks = cache_[index_of(memory)];
  auto const found = find_cached(memory, bytes);
  if (found == blocks.end()) return {};
  if (auto* const counts = account_->counts_of(memory)) counts->cached -= found->first;
  return blocks.extract(found);
}

Blocks::node_type Pool::take_from_others(Memory memory, uint64_t bytes) {
  for (Pool* const other : account_->pools_) {
    if (other == this || !other->is_idle_) continue;
    // Work that is queued on a stream may still use its blocks, and nothing waits for it here.
    if (stream_ == nullptr && other->stream_ != nullptr) continue;
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
  auto const* const counts = all.counts_of(memory);
  if (counts != nullptr && counts->limit != 0 &&
      counts->in_use + counts->cached > counts->limit - bytes) {
    counts == &all.counts_ ? all.trim_locked() : all.trim();
  }
  block->second = all.source_->allocate(memory, bytes, stream_.get());
  if (block->second == nullptr) {
    all.trim();
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
  if (auto* const counts = account_->counts_of(memory)) counts->cached -= block;
}

void Pool::add_in_use(uint64_t bytes) {
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  account_->counts_.add_in_use(bytes);
}

Buffer Pool::try_allocate(Memory memory, uint64_t bytes) {
  if (bytes == 0) return {};
  uint64_t const wanted = block_bytes(bytes);
  std::lock_guard const lock(account_->mutex_);
  auto* const counts = account_->counts_of(memory);
  if (counts != nullptr && counts->passes_limit(wanted)) return {};
  Blocks::node_type block = take_cached(memory, wanted);
  if (block.empty()) block = take_from_others(memory, wanted);
  if (block.empty()) block = take_new(memory, wanted);
  if (block.empty()) return {};
  if (account_->is_limited(memory)) {
    add_in_use(block.key());
  } else if (counts != nullptr) {
    counts->add_in_use(block.key());
  }
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
  // Held until the refusal has its reason: what another thread gives back in between would turn a
  // passed limit into memory that the source does not have.
  std::lock_guard const lock(account_->mutex_);
  Buffer buffer = try_allocate(memory, bytes);
  if (buffer || bytes == 0) return buffer;
  uint64_t const block = block_bytes(bytes);
  auto const* const counts = account_->counts_of(memory);
  auto const in_use =
      static_cast<unsigned long long>((counts != nullptr ? *counts : account_->counts_).in_use);
  if (counts != nullptr && counts->passes_limit(block)) {
    fail(GPUJOIN_ERROR_MEMORY_LIMIT,
         "%s needs %llu bytes; %llu of the context's %s limit of %llu bytes are in use", what,
         static_cast<unsigned long long>(block), in_use,
         account_->is_limited(memory) ? "memory" : "pinned memory",
         static_cast<unsigned long long>(counts->limit));
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
  if (account_->is_limited(memory)) {
    park(block.key());
  } else if (auto* const counts = account_->counts_of(memory)) {
    counts->in_use -= block.key();
    counts->cached += block.key();
  }
  cache_[index_of(memory)].insert(std::move(block));
}

bool Pool::try_reserve(uint64_t bytes) {
  Account& all = *account_;
  std::lock_guard const lock(all.mutex_);
  auto const& counts = all.counts_;
  if (counts.passes_limit(bytes)) return false;
  if (counts.limit != 0 && counts.in_use + counts.cached > counts.limit - bytes) all.trim_locked();
  add_in_use(bytes);
  return true;
}

void Pool::unreserve(uint64_t bytes) noexcept {
  std::lock_guard const lock(account_->mutex_);
  in_use_ -= bytes;
  account_->counts_.in_use -= bytes;
}

void Pool::park(uint64_t bytes) noexcept {
  std::lock_guard const lock(account_->mutex_);
  unreserve(bytes);
  account_->counts_.cached += bytes;
}

void Pool::unpark(uint64_t bytes) noexcept {
  std::lock_guard const lock(account_->mutex_);
  account_->counts_.cached -= bytes;
  add_in_use(bytes);
}

void Pool::drop_parked(uint64_t bytes) noexcept {
  std::lock_guard const lock(account_->mutex_);
  account_->counts_.cached -= bytes;
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
