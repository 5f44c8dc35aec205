#include "src/pieces/staying_partitions.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/base/traffic.hpp"
#include "src/execute/kept_build.hpp"
#include "src/execute/no_room.hpp"

namespace gpujoin::pieces {

namespace {

using columns::Relation;

// Rows that come in less than such a part of a block cost more, in waits for what the others are,
// than they save.
constexpr int64_t kLeastShare = 8;

}  // namespace

bool StayingPartitions::suit(const JoinOfPieces& join, const Build& build, const RowStore& probe) {
  columns::JoinSpec const& spec = join.spec;
  if (!build.keeps_table() || !build.store().is_partitioned() || build.is_whole()) return false;
  if (!probe.is_partitioned_by_device() || !meets_kept_table(join)) return false;
  return !may_be_unknown(spec, true) && !may_be_unknown(spec, false) && spec.residual == nullptr &&
         join.decider == nullptr;
}

StayingPartitions::StayingPartitions(const JoinOfPieces& join, const Budget& budget,
                                     const Build& build, RowStore* probe)
    : join_(join), most_bytes_(budget.staying_bytes), build_(build.store()), probe_(probe) {}

std::shared_ptr<const Relation> StayingPartitions::meeting(
    const std::shared_ptr<const Relation>& block, const base::CallEnd& end) {
  bool const is_one = probe_->takes_where_it_lies(*block) && block->rows <= probe_->rows_of_block();
  if (is_one && !is_chosen_.load(std::memory_order_acquire)) choose(*block, end);
  if (is_one && piece_.rows != nullptr) return probe_->append_others(block, stays_, end);
  probe_->append_block(block, end);
  return nullptr;
}

// Others wait: what they would keep meanwhile goes over the link three times.
void StayingPartitions::choose(const Relation& sample, const base::CallEnd& end) {
  std::lock_guard const lock(mutex_);
  if (is_chosen_.load(std::memory_order_relaxed)) return;
  auto const sampled = probe_->count(sample, end);
  auto const parts = chosen(sampled);
  int64_t rows = 0;
  for (size_t const part : parts) rows += sampled[part];
  if (rows != 0 && rows >= sample.rows / kLeastShare) {
    base::LeasedQueue const queue(*join_.context, end);
    try {
      auto brought = build_.bring_parts(*queue, parts);
      base::finish(*queue);
      if (brought != nullptr) {
        Piece piece = piece_of(*queue, join_, join_.build_left, std::move(brought));
        piece.kept = std::make_shared<KeptPart>();
        std::vector<bool> stays(build_.null_part(), false);
        for (size_t const part : parts) stays[part] = true;
        // Both or neither, whatever had no room.
        stays_ = std::move(stays);
        piece_ = std::move(piece);
      }
    } catch (const base::Error& error) {
      if (!execute::is_no_room(error)) throw;
      base::finish(*queue);
    }
  }
  is_chosen_.store(true, std::memory_order_release);
}

// sampled: rows of the probe side in each partition; empty: not known.
std::vector<size_t> StayingPartitions::chosen(const std::vector<int64_t>& sampled) const {
  std::vector<size_t> parts;
  if (sampled.empty()) return parts;
  std::vector<size_t> order(build_.null_part());
  std::iota(order.begin(), order.end(), size_t{0});
  auto const rows_of_byte = [&](size_t part) {
    return static_cast<double>(sampled[part]) / (static_cast<double>(build_.bytes(part)) + 1);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return rows_of_byte(a) > rows_of_byte(b); });
  uint64_t const most = room();
  uint64_t bytes = 0;
  uint64_t rows = 0;
  for (size_t const part : order) {
    uint64_t const more = bytes + build_.bytes(part);
    uint64_t const more_rows = rows + static_cast<uint64_t>(build_.rows(part));
    if (build_.rows(part) == 0 || more > most || more_rows > kMostRowsOfRelation ||
        base::traffic::global_table_bytes(more_rows) > most - more) {
      continue;
    }
    bytes = more;
    rows = more_rows;
    parts.push_back(part);
  }
  return parts;
}

// What others on the context have is not there.
uint64_t StayingPartitions::room() const {
  uint64_t const in_use = join_.context->device_account->in_use_bytes();
  uint64_t const moving = std::min(in_use, probe_->shape().moving_bytes);
  return most_bytes_ - std::min(most_bytes_, in_use - moving);
}

size_t StayingPartitions::count() const {
  if (!is_chosen_.load(std::memory_order_acquire)) return 0;
  return static_cast<size_t>(std::count(stays_.begin(), stays_.end(), true));
}

}  // namespace gpujoin::pieces
