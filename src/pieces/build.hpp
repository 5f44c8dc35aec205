// build.hpp: one side of joins, of which rows come in batches from any thread, and which any number
// of operations then share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "src/base/context.hpp"
#include "src/base/interrupt.hpp"
#include "src/columns/column.hpp"
#include "src/execute/seen_keys.hpp"
#include "src/filters/filter.hpp"
#include "src/pieces/budget.hpp"
#include "src/pieces/promised_keys.hpp"
#include "src/pieces/row_store.hpp"

namespace gpujoin::pieces {

struct BuildShape {
  std::vector<int32_t> keys;
  std::vector<int32_t> key_flags;
  bool has_row_numbers = false;
  bool on_gpu = false;                        // where its joins run
  std::shared_ptr<base::SpillFolder> folder;  // null: none
  int64_t timeout_milliseconds = 0;           // of each call; 0: none
};

// What a build has, as of now.
struct BuildSize {
  int64_t rows = 0;
  uint64_t bytes = 0;
  uint64_t spilled_bytes = 0;
};

class Build {
 public:
  // like: its columns say what batches have. Throws TYPE, UNSUPPORTED.
  Build(std::shared_ptr<base::Context> context, const columns::Relation& like, BuildShape shape);

  // Any thread, until finish(). Throws; then the build is worth nothing any more, unless it is for
  // a batch that is unlike.
  void append(const std::shared_ptr<const columns::Relation>& batch, int64_t first_row);
  void finish();

  // Any thread, any time.
  bool is_finished() const { return is_ready_.load(std::memory_order_acquire); }
  BuildSize size() const;

  // expected, of what follows: is_finished().
  // All of it is in memory and joined at once; else operations join it in partitions.
  bool is_whole() const { return is_whole_; }
  // expected: is_whole(). Where the executor reads them; more than one where a column of text has
  // more bytes than its offsets count, or there are too many rows.
  const std::vector<std::shared_ptr<const columns::Relation>>& parts() const { return parts_; }
  const RowStore& store() const { return store_; }
  // What is known of the keys of a part that came as it is; else null. It names the keys.
  const std::optional<execute::SeenKeys>& seen_keys() const { return seen_keys_; }

  // A filter of its keys, `key` of them or with -1 all; made by the first call with such a wish.
  // Any thread; the build is as before where it throws. expected: is_finished(), and such a key.
  std::shared_ptr<const filters::Filter> filter(int32_t key, const filters::Wish& wish,
                                                const base::CallEnd& end) const;
  // Of a call on the build.
  base::CallEnd end() const;

  const BuildShape& shape() const { return shape_; }
  // Whether a table of it stays for all probes.
  bool keeps_table() const;
  // No two of its rows have equal keys: looked at by the first call. Throws BROKEN_PROMISE. side:
  // how its parts have the keys. expected: is_whole().
  void check_unique(base::Queue& queue, const PromisedSide& side) const;
  // Its columns, without rows; the numbers of rows are the last where it has them.
  const std::shared_ptr<const columns::Relation>& none() const { return none_; }
  std::shared_ptr<const columns::Relation> without_numbers() const;

  // A call failed before it came here: what follows answers so, as after one that failed here.
  void lose(int32_t status) noexcept;

  const std::shared_ptr<base::Context> context;
  const std::shared_ptr<base::Interrupt> interrupt;

 private:
  void check_usable() const;
  template <typename Call>
  void or_lost(const Call& call);
  void make_parts();
  // Rows do not fit together with such a batch: partitions are made from here on.
  void begin_partitions_before(const columns::Relation& batch);
  // Whether the batch was copied where it lies.
  bool keep_on_device(const std::shared_ptr<const columns::Relation>& batch);
  // Of so many bytes.
  bool is_joined_whole(uint64_t bytes) const;
  // Or may be, should its keys turn out to be addresses. expected: batches on the device, or one
  // that goes there.
  bool may_be_whole(uint64_t bytes);
  bool are_addresses(uint64_t places, uint64_t bytes) const;
  bool may_be_addresses(uint64_t bytes);
  void partition_device_batches();
  std::shared_ptr<const columns::Relation> united_on_device();
  void unite_device_batches();

  BuildShape shape_;
  Budget budget_;
  RowStore store_;
  std::shared_ptr<const columns::Relation> none_;
  std::atomic<int32_t> failed_with_{0};
  std::atomic<bool> is_finished_{false};  // or about to be
  std::atomic<bool> is_ready_{false};
  std::atomic<int64_t> rows_{0};
  std::atomic<int64_t> coming_rows_{0};  // those, and of batches that are on their way
  bool is_whole_ = false;
  std::vector<std::shared_ptr<const columns::Relation>> parts_;
  std::atomic<uint64_t> device_bytes_{0};
  struct DeviceBatch {
    std::shared_ptr<const columns::Relation> rows;
    uint64_t bytes = 0;
  };
  struct MadeFilter {
    int32_t key;
    filters::Wish wish;
    std::shared_ptr<const filters::Filter> filter;
  };
  mutable std::atomic<bool> is_unique_{false};  // known to be
  mutable std::mutex filters_mutex_;
  mutable std::vector<MadeFilter> filters_;
  std::mutex device_mutex_;  // of what follows
  std::optional<bool> first_are_addresses_;
  std::vector<DeviceBatch> device_batches_;     // until finish()
  std::optional<execute::SeenKeys> seen_keys_;  // of one of them
};

// Rows of a batch that has been checked, wherever they lie and whichever are selected.
void append_batch(base::Context& context, const std::shared_ptr<const columns::Relation>& batch,
                  int64_t first_row, RowStore* store, const base::CallEnd& end);
// The same of the columns that are named.
void append_columns(base::Context& context, const std::shared_ptr<const columns::Relation>& batch,
                    const std::vector<int32_t>& columns, int64_t first_row, RowStore* store,
                    const base::CallEnd& end);

// A relation whose columns lie on the device. Waits for the copies.
std::shared_ptr<const columns::Relation> on_device(
    base::Queue& queue, const std::shared_ptr<const columns::Relation>& rows);

}  // namespace gpujoin::pieces
