#include "src/output/growing_pairs.hpp"

#include <algorithm>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"

namespace gpujoin::output {

namespace {

constexpr uint64_t kPairHalf = sizeof(uint32_t);
// Below this, making room in steps would cost more than the room.
constexpr uint64_t kLeastCapacity = 1024;

}  // namespace

[[noreturn]] void GrowingPairs::fail_for_room(uint64_t pairs) const {
  base::Pool const& pool = *queue_.device_pool;
  gpujoin_status const status =
      pool.account().limit_bytes() != 0 ? GPUJOIN_ERROR_MEMORY_LIMIT : GPUJOIN_ERROR_OUT_OF_MEMORY;
  base::fail(status, "no room for %llu pairs of the output (8 bytes each): %llu bytes are in use",
             static_cast<unsigned long long>(pairs),
             static_cast<unsigned long long>(pool.account().in_use_bytes()));
}

GrowingPairs::GrowingPairs(base::Queue& queue, uint64_t first_capacity, PairFilter* filter,
                           uint64_t most_pairs)
    : queue_(queue),
      maps_pages_(queue.device_pool->account().source().maps_pages()),
      filter_(filter),
      most_pairs_(most_pairs == 0 ? UINT64_MAX : most_pairs) {
  counters_ = queue.device->counters.as<kernels::AskingCounters>();
  // No device holds more pairs than this; an estimate may be any number.
  uint64_t most = queue.context.facts.memory_bytes / kPairHalf;
  if (filter != nullptr) {
    first_capacity = std::min(first_capacity, kCandidatePairs);
  } else {
    most = std::min(most, most_pairs_);
  }
  uint64_t const wanted =
      std::clamp(first_capacity, kLeastCapacity, std::max(most, kLeastCapacity));
  if (maps_pages_) {
    build_range_ = base::take_range(queue, wanted * kPairHalf);
    probe_range_ = base::take_range(queue, wanted * kPairHalf);
  }
  // An estimate may be far too high: half of it, and so on, is a start as well.
  uint64_t capacity = wanted;
  while (!try_make_room(capacity)) {
    if (capacity <= kLeastCapacity) fail_for_room(capacity);
    capacity = std::max(capacity / 2, kLeastCapacity);
  }
}

void GrowingPairs::check_limit(uint64_t pairs) const {
  if (pairs <= most_pairs_) return;
  base::fail(GPUJOIN_ERROR_ROW_LIMIT, "%llu rows or more", static_cast<unsigned long long>(pairs));
}

bool GrowingPairs::try_make_room(uint64_t capacity) {
  uint64_t const bytes = base::checked_bytes(capacity, kPairHalf);
  return maps_pages_ ? try_map(bytes) : try_add_block(capacity);
}

bool GrowingPairs::try_map(uint64_t bytes) {
  uint64_t const build_before = build_range_->mapped_bytes();
  if (!build_range_->try_grow(bytes)) return false;
  if (!probe_range_->try_grow(bytes)) {
    // Half a pair is no room: what the build rows took may be what a smaller request needs. Nothing
    // was written there yet.
    build_range_->shrink(build_before);
    return false;
  }
  capacity_ = std::min(build_range_->mapped_bytes(), probe_range_->mapped_bytes()) / kPairHalf;
  build_pointer_ = static_cast<uint32_t*>(build_range_->data());
  probe_pointer_ = static_cast<uint32_t*>(probe_range_->data());
  build_ = columns::Storage(build_range_, build_pointer_);
  probe_ = columns::Storage(probe_range_, probe_pointer_);
  return true;
}

bool GrowingPairs::try_add_block(uint64_t capacity) {
  base::Pool& pool = *queue_.device_pool;
  uint64_t const bytes = capacity * kPairHalf;
  Block block;
  block.build = pool.try_allocate(base::Memory::kDevice, bytes);
  if (!block.build) return false;
  block.probe = pool.try_allocate(base::Memory::kDevice, bytes);
  if (!block.probe) return false;
  blocks_.push_back(std::move(block));
  capacity_ = capacity;
  return true;
}

void GrowingPairs::start_counters(uint64_t reserved) {
  if (started_) {
    // The units taken so far stay taken.
    kernels::AskingCounters again{};
    again.reserved = again.kept = reserved;
    auto const reset = [&](unsigned long long* counter, const unsigned long long& value) {
      base::check(cudaMemcpyAsync(counter, &value, sizeof(value), cudaMemcpyHostToDevice,
                                  base::stream_of(queue_)),
                  "resetting the output's counters");
    };
    reset(&counters_->reserved, again.reserved);
    if (asks_) {
      reset(&counters_->dropped, again.dropped);
      reset(&counters_->kept, again.kept);
    }
  } else {
    base::check(cudaMemsetAsync(counters_, 0, sizeof(*counters_), base::stream_of(queue_)),
                "starting the output's counters");
  }
  base::check(
      cudaMemsetAsync(&counters_->filled, 0xff, sizeof(counters_->filled), base::stream_of(queue_)),
      "starting the output's counters");
  started_ = true;
}

kernels::PairSink GrowingPairs::sink() {
  if (!started_) start_counters(0);
  kernels::PairSink sink{};
  sink.build_out = maps_pages_ ? build_pointer_ : blocks_.back().build.as<uint32_t>();
  sink.probe_out = maps_pages_ ? probe_pointer_ : blocks_.back().probe.as<uint32_t>();
  sink.taken = &counters_->taken;
  sink.capacity = filter_ == nullptr ? capacity_ : std::min(capacity_, filtered_ + candidates_);
  sink.counters = counters_;
  return sink;
}

kernels::AskingSink GrowingPairs::asking_sink() {
  kernels::PairSink const plain = sink();
  asks_ = true;
  kernels::AskingSink asking{};
  static_cast<kernels::PairTarget&>(asking) = plain;
  asking.capacity = capacity_;
  asking.counters = counters_;
  asking.question = *filter_->question();
  return asking;
}

kernels::ResumePoint* GrowingPairs::resume_points(uint32_t blocks) {
  resume_ = queue_.device_pool->allocate_rows<kernels::ResumePoint>(base::Memory::kDevice, blocks,
                                                                    "resume points");
  // All ones: no unit.
  base::check(cudaMemsetAsync(resume_.data(), 0xff, resume_.bytes(), base::stream_of(queue_)),
              "starting the resume points");
  return resume_.as<kernels::ResumePoint>();
}

bool GrowingPairs::collect(uint64_t units) {
  kernels::AskingCounters const found =
      base::read_back(queue_, static_cast<const kernels::AskingCounters*>(counters_));
  if (filter_ != nullptr) return collect_filtered(found);
  uint64_t const here_before = maps_pages_ ? 0 : rows_;  // pairs in earlier blocks
  bool const complete = found.filled == ~0ULL;
  uint64_t const filled = complete ? found.reserved : found.filled;
  if (!maps_pages_) blocks_.back().rows = filled;
  rows_ = here_before + filled;
  check_limit(here_before + found.reserved);
  if (complete) return true;

  ++resumes_;
  // What was asked for so far, and the same rate for the units not yet taken.
  uint64_t const asked = here_before + found.reserved;
  double foreseen = static_cast<double>(asked);
  if (units != 0 && found.taken != 0 && found.taken < units) {
    foreseen *= static_cast<double>(units) / static_cast<double>(found.taken);
  }
  // A list adds to what is there, a range is made larger as a whole.
  constexpr double kMargin = 1.05;
  auto const total = static_cast<uint64_t>(
      std::min(foreseen * kMargin, 8.0 * static_cast<double>(std::max(asked, rows_ + 1))));
  uint64_t const base_rows = maps_pages_ ? 0 : rows_;
  grow(asked - base_rows, std::max(total, asked) - base_rows);
  start_counters(maps_pages_ ? filled : 0);
  return false;
}

bool GrowingPairs::collect_filtered(const kernels::AskingCounters& found) {
  bool const is_complete = found.filled == ~0ULL;
  // Pairs that are dropped take no room, but those behind them come next.
  bool found_none = false;
  if (asks_) {
    found_none = found.kept == filtered_ && found.dropped == 0;
    keep_filtered(found.kept - filtered_);
  } else {
    uint64_t const filled = is_complete ? found.reserved : found.filled;
    found_none = filled == filtered_;
    filter_candidates(filled - filtered_);
  }
  if (is_complete) return true;
  ++resumes_;
  // A batch of a block that does not fit alone.
  if (found_none) candidates_ *= 2;
  uint64_t const room_before = capacity_ - filtered_;
  if (make_room_for_candidates() <= room_before && found_none) fail_for_room(candidates_);
  start_counters(filtered_);
  return false;
}

void GrowingPairs::filter_candidates(uint64_t pairs) {
  kernels::PairTarget const candidates = room();
  uint64_t const kept =
      pairs == 0 ? 0 : filter_->keep(candidates.build_out, candidates.probe_out, pairs);
  keep_filtered(kept);
}

void GrowingPairs::keep_filtered(uint64_t pairs) {
  keep(pairs);
  filtered_ += pairs;
}

uint64_t GrowingPairs::make_room_for_candidates(uint64_t most) {
  // Less room is more launches.
  uint64_t const room = capacity_ - filtered_;
  for (uint64_t wanted = std::min(candidates_, most); wanted > room; wanted /= 2) {
    if (!try_make_room(maps_pages_ ? filtered_ + wanted : wanted)) continue;
    if (!maps_pages_) filtered_ = 0;
    break;
  }
  return std::min(capacity_ - filtered_, candidates_);
}

void GrowingPairs::grow(uint64_t needed, uint64_t foreseen) {
  // A range is made larger as a whole; a list gets a further block.
  uint64_t const wanted = maps_pages_ ? std::max(foreseen, capacity_ + capacity_ / 2) : foreseen;
  if (try_make_room(wanted) || try_make_room(needed)) return;
  fail_for_room(needed);
}

void GrowingPairs::make_room(uint64_t pairs) {
  check_limit(pairs);
  rows_ = pairs;
  if (pairs > capacity_) {
    blocks_.clear();
    if (!try_make_room(pairs)) fail_for_room(pairs);
  }
  if (!maps_pages_) blocks_.back().rows = pairs;
}

uint64_t GrowingPairs::room_pairs() const {
  if (maps_pages_) return capacity_ - rows_;
  return blocks_.empty() ? 0 : capacity_ - blocks_.back().rows;
}

bool GrowingPairs::try_room(uint64_t pairs) {
  if (room_pairs() >= pairs) return true;
  if (maps_pages_) return pairs <= UINT64_MAX - rows_ && try_make_room(rows_ + pairs);
  // A block in which nothing was kept makes way for a larger one.
  if (!blocks_.empty() && blocks_.back().rows == 0) {
    blocks_.pop_back();
    capacity_ = blocks_.empty() ? 0 : blocks_.back().rows;
  }
  return try_make_room(pairs);
}

kernels::PairTarget GrowingPairs::room() const {
  kernels::PairTarget target{};
  if (maps_pages_) {
    target.build_out = build_pointer_ + rows_;
    target.probe_out = probe_pointer_ + rows_;
  } else if (!blocks_.empty()) {
    target.build_out = blocks_.back().build.as<uint32_t>() + blocks_.back().rows;
    target.probe_out = blocks_.back().probe.as<uint32_t>() + blocks_.back().rows;
  }
  return target;
}

void GrowingPairs::keep(uint64_t pairs) {
  rows_ += pairs;
  check_limit(rows_);
  if (!maps_pages_) blocks_.back().rows += pairs;
}

void GrowingPairs::finish() {
  if (maps_pages_) return;
  if (blocks_.size() > 1) {
    Block joined;
    joined.rows = rows_;
    std::vector<Block> parts;
    parts.swap(blocks_);
    // Of no pairs there is a block all the same.
    if (!try_add_block(std::max<uint64_t>(rows_, 1))) fail_for_room(rows_);
    joined = std::move(blocks_.back());
    blocks_.clear();
    uint64_t row = 0;
    for (Block const& part : parts) {
      uint64_t const bytes = part.rows * kPairHalf;
      base::copy(queue_, joined.build.as<uint32_t>() + row, base::Memory::kDevice,
                 part.build.data(), base::Memory::kDevice, bytes);
      base::copy(queue_, joined.probe.as<uint32_t>() + row, base::Memory::kDevice,
                 part.probe.data(), base::Memory::kDevice, bytes);
      row += part.rows;
    }
    blocks_.push_back(std::move(joined));
  }
  build_ = columns::make_storage(std::move(blocks_.back().build));
  probe_ = columns::make_storage(std::move(blocks_.back().probe));
  // The storage is const for readers; nothing writes through these pointers after the match.
  build_pointer_ = static_cast<uint32_t*>(const_cast<void*>(build_.get()));
  probe_pointer_ = static_cast<uint32_t*>(const_cast<void*>(probe_.get()));
  blocks_.clear();
}

}  // namespace gpujoin::output
