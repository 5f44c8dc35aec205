// row_filters.hpp: rows of the probe side that are dropped before they are kept or joined: those
// that do not pass the filters of other builds, which the caller gave, and those that a filter of
// the operation's own build shows to have no match.
//
// The own filter is a bet: testing a row costs nanoseconds, and one that has no match costs its
// bytes, to a file and back, or, where the build fits, gathered and packed. So a sample of the rows
// says whether it pays, and says it again:
//
//   waiting   until enough rows came to be worth a look at the build, and again while so many of
//             those that were joined had a match that a filter would not pay
//   sampling  rows are tested, and counted
//   on        the last sample dropped enough; every sample counts anew
//   off       it did not: rows are let through, until another sample is due
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "src/base/interrupt.hpp"
#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/filters/filter.hpp"
#include "src/pieces/build.hpp"

namespace gpujoin::pieces {

// A filter, and the columns of the probe side that it tests.
struct AppliedFilter {
  std::shared_ptr<const filters::Filter> filter;
  std::vector<int32_t> columns;
};

enum class OwnFilter : int32_t {
  kAutomatic = GPUJOIN_OWN_FILTER_AUTOMATIC,
  kOff = GPUJOIN_OWN_FILTER_OFF,
  kOn = GPUJOIN_OWN_FILTER_ON,
};

// Whether rows of the probe side without a match neither come out nor change what does.
bool can_drop_probe_rows(const columns::JoinSpec& spec, bool build_left);

class RowFilters {
 public:
  // keys: of the probe side. has_own: the own filter is tried, from the beginning where `own` is
  // kOn. Throws what making a filter does where it is.
  RowFilters(std::shared_ptr<const Build> build, std::vector<int32_t> keys,
             std::vector<AppliedFilter> given, OwnFilter own, const char* why_not,
             const base::CallEnd& end);

  bool has_given() const { return !given_.empty(); }
  // Rows of a batch that pass; null: none. Any thread. is_own_asked: the own filter may drop rows,
  // too. Throws.
  std::shared_ptr<const columns::Relation> passing(
      const std::shared_ptr<const columns::Relation>& batch, bool is_own_asked,
      const base::CallEnd& end);

  // So many rows were joined with a build that is whole; of them had a match; nothing: who knows.
  // Any thread.
  void count_joined(int64_t rows, std::optional<int64_t> matched);

  int64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  // What was decided of the own filter, and why.
  std::string own_text() const;

 private:
  enum class State { kNever, kWaiting, kMaking, kSampling, kOn, kOff };

  std::shared_ptr<const columns::Relation> tested(
      base::Queue& queue, const AppliedFilter& filter,
      const std::shared_ptr<const columns::Relation>& batch);
  std::shared_ptr<const columns::Relation> tested_by_own(
      base::Queue& queue, const std::shared_ptr<const columns::Relation>& batch);
  bool is_own_due(int64_t rows, const base::CallEnd& end);
  std::shared_ptr<const filters::Filter> make_own(const base::CallEnd& end) const;
  void count(int64_t rows, int64_t passing);
  bool is_worth_making() const;

  std::shared_ptr<const Build> build_;
  std::vector<AppliedFilter> given_;
  OwnFilter wanted_;
  std::string why_not_;
  std::atomic<int64_t> dropped_{0};

  mutable std::mutex mutex_;  // of what follows
  AppliedFilter own_;
  State state_ = State::kNever;
  int64_t rows_ = 0;       // of the state
  int64_t passing_ = 0;    // of these, while they are tested
  double last_share_ = 0;  // that the last sample dropped
  int64_t joined_ = 0;     // while the filter is waited for
  int64_t matched_ = 0;    // of these, at least
};

}  // namespace gpujoin::pieces
