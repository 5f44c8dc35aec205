// growing_pairs.hpp: the output stage: memory for the pairs of a match, which grows while the match
// waits.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/output/asking_sink.hpp"
#include "kernels/output/pair_sink.hpp"
#include "src/base/mapped_range.hpp"
#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/columns/result.hpp"
#include "src/output/pair_filter.hpp"

namespace gpujoin::output {

// Two columns of uint32: build and probe row numbers (or positions) of each pair. In a reserved
// address range with pages mapped on demand; with a caller's allocator, a list of blocks that are
// joined at the end.
class GrowingPairs {
 public:
  // first_capacity: pairs to make room for at once; less when memory does not allow it, as long as
  // one pair fits. filter: null, or what pairs must pass; then no more than a bounded number of
  // them lies there unfiltered. most_pairs: more end the join with ROW_LIMIT; 0 = any number.
  GrowingPairs(base::Queue& queue, uint64_t first_capacity, PairFilter* filter = nullptr,
               uint64_t most_pairs = 0);

  // What a kernel writes through; the row ids are the caller's to set. Starts the counters on the
  // first call.
  kernels::PairSink sink();
  // The same for a kernel that asks the filter's question, so that what it writes is filtered.
  // expected: there is one.
  kernels::AskingSink asking_sink();
  bool has_question() const { return filter_ != nullptr && filter_->question() != nullptr; }
  // Resume points of a persistent grid, all "take a new unit".
  kernels::ResumePoint* resume_points(uint32_t blocks);

  // Waits for the launch that used the sink. True when every pair is written; otherwise room was
  // made and the same launch must be made again. units: work units of the match, to foresee the
  // need; 0 = unknown. Throws OUT_OF_MEMORY or MEMORY_LIMIT.
  bool collect(uint64_t units);

  // For matches that know their total: room for exactly that many, no collect needed. expected: no
  // filter, which wants them in pieces.
  void make_room(uint64_t pairs);
  // The same with a filter: room for candidates, as many as is answered; what was written there is
  // filtered. most: that may come. Pages that are mapped take longer than few pairs.
  bool is_filtered() const { return filter_ != nullptr; }
  uint64_t make_room_for_candidates(uint64_t most = kCandidatePairs);
  void filter_candidates(uint64_t pairs);

  // For outputs that count for themselves: room for so many pairs behind rows(), side by side. What
  // is written there is lost unless it is kept before more room is made. False when memory does not
  // allow it; then there may be less room than before.
  bool try_room(uint64_t pairs);
  kernels::PairTarget room() const;   // its first place is 0
  uint64_t room_pairs() const;        // how many pairs it holds
  void keep(uint64_t pairs);          // the first so many pairs of the room belong to the output
  void note_resume() { ++resumes_; }  // a launch was made again
  [[noreturn]] void fail_for_room(uint64_t pairs) const;

  // After finish: those behind are none of the output.
  void keep_front(uint64_t pairs) { rows_ = pairs; }

  // Joins a list of blocks into one; call once, after collect answered true. Queued on the stream.
  void finish();

  uint64_t rows() const { return rows_; }
  int32_t resumes() const { return resumes_; }
  uint32_t* build() const { return build_pointer_; }
  uint32_t* probe() const { return probe_pointer_; }
  // Shared ownership of the two columns.
  columns::Storage build_storage() const { return build_; }
  columns::Storage probe_storage() const { return probe_; }

 private:
  struct Block {
    base::Buffer build;
    base::Buffer probe;
    uint64_t rows = 0;
  };
  // False when memory does not allow it; then nothing changed.
  bool try_make_room(uint64_t capacity);
  bool try_map(uint64_t bytes);
  bool try_add_block(uint64_t capacity);
  bool collect_filtered(const kernels::AskingCounters& found);
  void keep_filtered(uint64_t pairs);
  void start_counters(uint64_t reserved);
  void grow(uint64_t needed, uint64_t foreseen);
  void check_limit(uint64_t pairs) const;

  base::Queue& queue_;
  bool maps_pages_;
  std::shared_ptr<base::MappedRange> build_range_;
  std::shared_ptr<base::MappedRange> probe_range_;
  std::vector<Block> blocks_;
  columns::Storage build_;
  columns::Storage probe_;
  uint32_t* build_pointer_ = nullptr;
  uint32_t* probe_pointer_ = nullptr;
  base::Buffer resume_;
  kernels::AskingCounters* counters_ = nullptr;
  PairFilter* filter_ = nullptr;
  uint64_t most_pairs_;
  uint64_t candidates_ = kCandidatePairs;  // written before they are filtered, at most
  uint64_t filtered_ = 0;  // pairs before the candidates, of the block at hand or of the range
  uint64_t capacity_ = 0;  // pairs that fit what the sink points to
  uint64_t rows_ = 0;      // written, all blocks together
  int32_t resumes_ = 0;
  bool started_ = false;
  bool asks_ = false;  // the kernel does, and what it wrote is filtered
};

}  // namespace gpujoin::output
