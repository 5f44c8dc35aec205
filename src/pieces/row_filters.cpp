#include "src/pieces/row_filters.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "src/base/status.hpp"
#include "src/columns/join_kind.hpp"
#include "src/columns/selection.hpp"
#include "src/execute/no_room.hpp"
#include "src/filters/test_rows.hpp"

namespace gpujoin::pieces {

namespace {

using columns::Relation;
using columns::RowsOfSide;

// Reading the build for its filter costs about what keeping an eighth as many rows does.
constexpr int64_t kShareBefore = 8;
constexpr int64_t kSampleRows = int64_t{1} << 16;
// Rows that are let through until the next sample.
constexpr int64_t kOffRows = int64_t{1} << 20;
// Of the rows of a sample that have to be dropped, and where the others are copied to no file: see
// docs/decisions/0036.
constexpr double kLeastDropped = 0.2;
constexpr double kLeastDroppedOfWhole = 0.4;

bool may_be_unknown(RowsOfSide rows) {
  return rows == RowsOfSide::kMarked || rows == RowsOfSide::kNotIn;
}

}  // namespace

bool can_drop_probe_rows(const columns::JoinSpec& spec, bool build_left) {
  if (spec.left_keys.empty() || !spec.aggregates.empty() || spec.asof) return false;
  RowsOfSide const probe = columns::rows_of(spec.kind, !build_left);
  RowsOfSide const build = columns::rows_of(spec.kind, build_left);
  bool const comes_with_matches =
      probe == RowsOfSide::kPairs || probe == RowsOfSide::kMatched || probe == RowsOfSide::kNone;
  // A NULL, and that there is a row at all, makes marks of the build side unknown.
  return comes_with_matches && !may_be_unknown(build);
}

RowFilters::RowFilters(std::shared_ptr<const Build> build, std::vector<int32_t> keys,
                       std::vector<AppliedFilter> given, OwnFilter own, const char* why_not,
                       const base::CallEnd& end)
    : build_(std::move(build)),
      given_(std::move(given)),
      wanted_(own),
      why_not_(why_not == nullptr ? "" : why_not) {
  own_.columns = std::move(keys);
  if (why_not != nullptr) return;
  state_ = State::kWaiting;
  if (own != OwnFilter::kOn) return;
  own_.filter = make_own(end);
  state_ = own_.filter->kind == filters::Kind::kNone ? State::kNever : State::kOn;
  if (state_ == State::kNever) why_not_ = "the build has every value that its key can have";
}

// Of one that is in partitions a Bloom filter, for which it is read once.
std::shared_ptr<const filters::Filter> RowFilters::make_own(const base::CallEnd& end) const {
  filters::Wish wish;
  if (!build_->is_whole()) wish.kind = GPUJOIN_KEY_FILTER_BLOOM;
  return build_->filter(own_.columns.size() == 1 ? 0 : -1, wish, end);
}

// Whether the next rows are to be tested by the own filter.
bool RowFilters::is_own_due(int64_t rows, const base::CallEnd& end) {
  std::unique_lock lock(mutex_);
  if (state_ == State::kSampling || state_ == State::kOn) return true;
  if (state_ == State::kOff) {
    rows_ += rows;
    if (rows_ < kOffRows) return false;
    state_ = State::kSampling;
    rows_ = passing_ = 0;
    return true;
  }
  if (state_ != State::kWaiting) return false;
  rows_ += rows;
  if (rows_ < std::max(kSampleRows, build_->size().rows / kShareBefore)) return false;
  if (build_->is_whole()) {
    if (joined_ < kSampleRows) return false;
    bool const is_worth_it = is_worth_making();
    joined_ = matched_ = 0;
    if (!is_worth_it) {
      rows_ = 0;
      return false;
    }
  }
  // Other threads let their rows through meanwhile.
  state_ = State::kMaking;
  lock.unlock();
  std::shared_ptr<const filters::Filter> made;
  const char* why_not = nullptr;
  try {
    made = make_own(end);
  } catch (const base::Error& error) {
    if (!execute::is_no_room(error)) throw;
    why_not = "there is no memory for one";
  }
  lock.lock();
  rows_ = passing_ = 0;
  if (why_not != nullptr) {
    why_not_ = why_not;
    state_ = State::kNever;
    return false;
  }
  own_.filter = std::move(made);
  state_ = State::kSampling;
  return true;
}

void RowFilters::count_joined(int64_t rows, std::optional<int64_t> matched) {
  std::lock_guard const lock(mutex_);
  if (state_ != State::kWaiting) return;
  joined_ += rows;
  matched_ += matched.value_or(0);
}

// As count() would see.
bool RowFilters::is_worth_making() const {
  return static_cast<double>(matched_) <= (1 - kLeastDroppedOfWhole) * static_cast<double>(joined_);
}

void RowFilters::count(int64_t rows, int64_t passing) {
  if (wanted_ == OwnFilter::kOn) return;
  std::lock_guard const lock(mutex_);
  if (state_ != State::kSampling && state_ != State::kOn) return;
  rows_ += rows;
  passing_ += passing;
  if (rows_ < kSampleRows) return;
  last_share_ = 1 - static_cast<double>(passing_) / static_cast<double>(rows_);
  double const least = build_->is_whole() ? kLeastDroppedOfWhole : kLeastDropped;
  state_ = last_share_ >= least ? State::kOn : State::kOff;
  rows_ = passing_ = 0;
}

std::shared_ptr<const Relation> RowFilters::tested(base::Queue& queue, const AppliedFilter& filter,
                                                   const std::shared_ptr<const Relation>& batch) {
  auto tested = filters::test_rows(queue, *filter.filter, batch, filter.columns);
  dropped_ += batch->rows - tested.passing;
  if (tested.passing == batch->rows) return batch;
  if (tested.passing == 0) return nullptr;
  auto selection = std::make_shared<columns::Selection>();
  selection->of = batch;
  selection->is_bitmap = true;
  selection->data = tested.bits.data();
  selection->count = tested.passing;
  selection->memory = tested.memory;
  auto made = std::make_shared<Relation>();
  made->context = batch->context;
  made->rows = tested.passing;
  made->columns = batch->columns;
  made->ready_event = batch->ready_event;
  made->selection = std::move(selection);
  made->owner = std::make_shared<base::Buffer>(std::move(tested.bits));
  return made;
}

std::shared_ptr<const Relation> RowFilters::passing(const std::shared_ptr<const Relation>& batch,
                                                    bool is_own_asked, const base::CallEnd& end) {
  bool const tests_own = is_own_asked && batch->rows != 0 && is_own_due(batch->rows, end);
  if (batch->rows == 0 || (given_.empty() && !tests_own)) return batch;
  base::LeasedQueue const queue(*build_->context, end);
  auto rows = batch;
  for (AppliedFilter const& filter : given_) {
    rows = tested(*queue, filter, rows);
    if (rows == nullptr) return nullptr;
  }
  return tests_own ? tested_by_own(*queue, rows) : rows;
}

// Where there is no room to test them nobody asked for it: all pass.
std::shared_ptr<const Relation> RowFilters::tested_by_own(
    base::Queue& queue, const std::shared_ptr<const Relation>& batch) {
  std::shared_ptr<const Relation> rows;
  try {
    rows = tested(queue, own_, batch);
  } catch (const base::Error& error) {
    if (wanted_ == OwnFilter::kOn || !execute::is_no_room(error)) throw;
    return batch;
  }
  count(batch->rows, rows == nullptr ? 0 : rows->rows);
  return rows;
}

std::string RowFilters::own_text() const {
  std::lock_guard const lock(mutex_);
  auto const share = [&](const char* what) {
    char text[128];
    std::snprintf(text, sizeof(text), "%s, %s: the last sample dropped %.0f %% of its rows",
                  filters::to_text(own_.filter->kind), what, 100 * last_share_);
    return std::string(text);
  };
  switch (state_) {
    case State::kWaiting:
      return std::string("not yet: an eighth as many rows as the build has are to come first") +
             (build_->is_whole() ? ", many of them without a match" : "");
    case State::kMaking:
      return "it is being made";
    case State::kSampling:
      return std::string(filters::to_text(own_.filter->kind)) + ", while a sample is counted";
    case State::kOn:
      if (wanted_ == OwnFilter::kOn) {
        return std::string(filters::to_text(own_.filter->kind)) + ", as options.own_filter says";
      }
      return share("on");
    case State::kOff:
      return share("off");
    default:
      return "none: " + why_not_;
  }
}

}  // namespace gpujoin::pieces
