// pair_batches.hpp: pairs of row numbers on their way from who finds them to who takes them, a
// bounded number at a time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "src/cpu/probe_partition.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// Who takes pairs: writes, filters or counts them.
class PairTaker {
 public:
  virtual ~PairTaker() = default;
  // At most kBatchRows pairs. Workers take at the same time, each worker one batch at a time.
  virtual void take(int32_t worker, const uint32_t* outer, const uint32_t* inner,
                    uint32_t count) = 0;
  // False: more pairs of the outer row are of no use.
  virtual bool wants(uint32_t /*outer*/) const { return true; }
};

// One for each worker.
class PairBatches {
 public:
  static constexpr uint64_t kTaskRows = 4096;

  PairBatches(Workers& workers, PairTaker& taker)
      : workers_(workers), taker_(taker), batches_(static_cast<size_t>(workers.threads())) {
    for (auto& batch : batches_) batch = std::make_unique<Batch>();
  }

  // body(i, worker) for each of `rows` outer rows, which adds its pairs. A task has `most` of them
  // at most.
  template <typename Body>
  void for_outer_rows(uint64_t rows, const Body& body, uint64_t most = kTaskRows) {
    uint64_t const tasks = 16 * static_cast<uint64_t>(workers_.threads());
    uint64_t const at_once = std::min(most, std::clamp<uint64_t>(rows / tasks, 16, kTaskRows));
    for (uint64_t block = 0; block < rows; block += kBlockRows) {
      uint64_t const block_end = std::min(rows, block + kBlockRows);
      auto const ranges = static_cast<int64_t>((block_end - block + at_once - 1) / at_once);
      workers_.for_each("match", ranges, [&](int64_t range, int32_t worker) {
        uint64_t const first = block + static_cast<uint64_t>(range) * at_once;
        uint64_t const end = std::min(block_end, first + at_once);
        for (uint64_t i = first; i < end; ++i) body(i, worker);
      });
      settle();
    }
  }

  // In a body: the outer row with each of the inner ones, which lie there until the loop is over.
  void add(int32_t worker, uint32_t outer, const uint32_t* inner, uint64_t count) {
    Batch& batch = *batches_[static_cast<size_t>(worker)];
    if (count >= kBatchRows) workers_.poll();
    if (count >= kLongRun) {
      batch.long_runs.push_back({outer, inner, count});
    } else {
      add_to(worker, batch, {outer, inner, count});
    }
  }

  // The outer row with those of at most 64 inner ones of which a byte is 1; without a branch each.
  template <typename IsWanted>
  void add_wanted(int32_t worker, uint32_t outer, const uint32_t* inner, uint32_t count,
                  const IsWanted& is_wanted) {
    Batch& batch = *batches_[static_cast<size_t>(worker)];
    if (batch.count + count > kBatchRows) flush(worker, batch);
    uint32_t end = batch.count;
    for (uint32_t i = 0; i < count; ++i) {
      batch.outer[end] = outer;
      batch.inner[end] = inner[i];
      end += is_wanted(i) ? 1U : 0U;
    }
    batch.count = end;
  }

  // The outer row with those of at most 32 inner ones whose bit is 1.
  void add_bits(int32_t worker, uint32_t outer, const uint32_t* inner, uint32_t bits) {
    Batch& batch = *batches_[static_cast<size_t>(worker)];
    if (batch.count + 32 > kBatchRows) {
      workers_.poll();
      flush(worker, batch);
    }
    for (; bits != 0; bits &= bits - 1) {
      batch.outer[batch.count] = outer;
      batch.inner[batch.count] = inner[std::countr_zero(bits)];
      ++batch.count;
    }
  }

  // Behind the last loop: what is left in the batches.
  void finish() {
    for (size_t worker = 0; worker < batches_.size(); ++worker) {
      flush(static_cast<int32_t>(worker), *batches_[worker]);
    }
  }

 private:
  // Of one outer row: more than one worker is to do.
  static constexpr uint64_t kLongRun = uint64_t{1} << 20;
  // Outer rows before long runs are shared: so many are listed at most.
  static constexpr uint64_t kBlockRows = uint64_t{1} << 18;

  struct Run {
    uint32_t outer;
    const uint32_t* inner;
    uint64_t count;
  };
  struct Batch {
    // One place more than is ever kept: a pair that is not wanted is written there too.
    uint32_t outer[kBatchRows + 1];
    uint32_t inner[kBatchRows + 1];
    uint32_t count = 0;
    std::vector<Run> long_runs;
  };

  void add_to(int32_t worker, Batch& batch, Run run) {
    while (run.count != 0 && taker_.wants(run.outer)) {
      auto const here =
          static_cast<uint32_t>(std::min<uint64_t>(run.count, kBatchRows - batch.count));
      std::fill_n(batch.outer + batch.count, here, run.outer);
      std::memcpy(batch.inner + batch.count, run.inner, here * sizeof(uint32_t));
      batch.count += here;
      run.inner += here;
      run.count -= here;
      if (batch.count == kBatchRows) flush(worker, batch);
    }
  }
  // What workers put aside, shared among all of them.
  void settle() {
    std::vector<Run> pieces;
    for (auto& batch : batches_) {
      for (Run const& run : batch->long_runs) {
        for (uint64_t at = 0; at < run.count; at += kLongRun) {
          pieces.push_back({run.outer, run.inner + at, std::min(kLongRun, run.count - at)});
        }
      }
      batch->long_runs.clear();
    }
    if (pieces.empty()) return;
    workers_.for_each("match", static_cast<int64_t>(pieces.size()),
                      [&](int64_t piece, int32_t worker) {
                        Run const& run = pieces[static_cast<size_t>(piece)];
                        add_to(worker, *batches_[static_cast<size_t>(worker)], run);
                      });
  }

  void flush(int32_t worker, Batch& batch) {
    uint32_t const count = batch.count;
    batch.count = 0;
    if (count != 0) taker_.take(worker, batch.outer, batch.inner, count);
  }

  Workers& workers_;
  PairTaker& taker_;
  std::vector<std::unique_ptr<Batch>> batches_;
};

}  // namespace gpujoin::cpu
