// built_pairs_cuda.cpp: matches that write pairs, by which the columns are gathered: a table or a
// multiset of the whole build side, partitions, sorted runs.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/device.hpp"
#include "src/conditions/filter_pairs.hpp"
#include "src/execute/built_on_gpu.hpp"
#include "src/execute/condition_columns.hpp"
#include "src/execute/kinds.hpp"
#include "src/keys/marks.hpp"
#include "src/keys/verify_pairs.hpp"
#include "src/match/match.hpp"
#include "src/output/growing_pairs.hpp"

namespace gpujoin::execute {

namespace {

using plan::Match;

// See plan::reads_by_position.
bool reads_by_position(const JoinStep& step, const GpuSide& build, const GpuSide& probe) {
  auto const pairs = static_cast<uint64_t>(std::max<int64_t>(step.plan.expected_rows, 0));
  uint64_t const rows = uint64_t{build.prepared().rows} + probe.prepared().rows;
  auto const& left = (step.build_left() ? build : probe).relation();
  auto const& right = (step.build_left() ? probe : build).relation();
  return plan::reads_by_position(step.plan, pairs, rows) &&
         reads_values(*step.residual, left, right);
}

// Whether a match without a residual writes transformed positions. Gather-transformed needs them.
// Gather-untransformed fetches a key output column by them, clustered, and turns them into row
// numbers afterwards: two clustered reads for an unclustered one.
bool matches_by_position(const JoinStep& step, const GpuSide& build, const GpuSide& probe) {
  plan::JoinPlan const& plan = step.plan;
  if (plan.transform == plan::Transform::kNone) return false;
  if (build.moves_payloads() || probe.moves_payloads()) return true;
  // With many pairs a row the unclustered read finds the row's key in cache, and the detour costs
  // more than it saves (many-72Mx72M on an H200: 27.7 ms without, 33.6 ms with).
  bool const few_pairs = plan.expected_rows <= 2 * int64_t{probe.prepared().rows};
  return few_pairs && (build.has_key_output() || probe.has_key_output());
}

// Pairs whose keys are equal, where they were joined by hashes, and which fulfil the residual. Rows
// that a kind wants marked are marked by them, and no pair is left. A match that can asks its pairs
// itself, before they are written; then marks are bytes, which become bits at the end.
class Matches final : public output::PairFilter {
 public:
  Matches(const JoinStep& step, const GpuSide& build, const GpuSide& probe)
      : step_(step),
        build_(build),
        probe_(probe),
        by_position_(reads_by_position(step, build, probe)),
        residual_(condition()) {
    using columns::MarkedSide;
    keeps_pairs_ = step.spec.marked == MarkedSide::kNone;
    std::optional<bool> marks_left;
    if (!keeps_pairs_) marks_left = step.spec.marked == MarkedSide::kLeft;
    auto const* const comparisons = residual_->comparisons();
    if (comparisons != nullptr && match::asks_pairs(step.plan) && !build.is_hashed()) {
      question_.emplace();
      question_->comparisons = *comparisons;
      question_->build_is_left = step.build_left();
      question_->by_position = by_position_;
      question_->keeps_pairs = keeps_pairs_;
      // Then marks come by the way, and no pass over the pairs is needed for them.
      if (keeps_pairs_ && step.groups == nullptr) marks_left = outer_side(step.spec.kind);
    }
    is_marked_ = marks_left.has_value();
    if (!is_marked_) return;
    marks_build_ = *marks_left == step.build_left();
    if (!question_) {
      marks_ = std::make_shared<keys::RowMarks>(step.queue, marked_rows());
      return;
    }
    flags_ = step.queue.device_pool->allocate_rows<uint8_t>(base::Memory::kDevice, marked_rows(),
                                                            "flags of rows");
    if (marked_rows() == 0) return;
    base::check(cudaMemsetAsync(flags_.data(), 0, flags_.bytes(), base::stream_of(step.queue)),
                "clearing flags of rows");
    question_->marked = flags_.as<uint8_t>();
    question_->marks_build = marks_build_;
  }

  const kernels::PairQuestion* question() const override {
    return question_ ? &*question_ : nullptr;
  }

  // Whether pairs are positions when the match is done. One that reads by them itself can put out
  // row numbers; of key columns see matches_by_position.
  bool writes_positions() const {
    return by_position_ && (!question_ || build_.has_key_output() || probe_.has_key_output());
  }

  // Candidates that room is needed for at once.
  uint64_t first_capacity(uint64_t expected) const {
    return question_ && !keeps_pairs_ ? 0 : expected;
  }

  uint64_t keep(uint32_t* build, uint32_t* probe, uint64_t pairs) override {
    if (build_.is_hashed()) {
      pairs = keys::verify_pairs(step_.queue, build_.keys(), probe_.keys(), build, probe, pairs);
    }
    uint32_t* const left = step_.build_left() ? build : probe;
    uint32_t* const right = step_.build_left() ? probe : build;
    if (marks_ == nullptr) {
      return conditions::filter_pairs(step_.queue, *residual_, left, right, pairs);
    }
    conditions::KeptPairs const kept =
        conditions::find_kept(step_.queue, *residual_, left, right, pairs);
    if (kept.count == 0) return 0;
    marks_->mark_kept(marks_build_ ? build : probe, kept.bits.as<uint32_t>(), pairs);
    return 0;
  }

  // Of the rows of the input; null: none are wanted.
  std::shared_ptr<columns::RowMarks> marks() const {
    if (!is_marked_) return nullptr;
    if (marks_ != nullptr && !by_position_) return marks_;
    GpuSide const& side = marked_side();
    auto of_rows = std::make_shared<keys::RowMarks>(step_.queue, side.input_rows());
    auto const* const numbers = by_position_ ? positions_of(side).numbers : nullptr;
    if (question_) {
      of_rows->mark_flagged(numbers, flags_.as<uint8_t>(), marked_rows());
    } else {
      of_rows->mark_kept(numbers, marks_->words(), marked_rows());
    }
    return of_rows;
  }

 private:
  static PositionedRows positions_of(const GpuSide& side) {
    return {side.match_side(false).row_ids, side.prepared().rows};
  }

  const GpuSide& marked_side() const { return marks_build_ ? build_ : probe_; }
  // Those that marks are of: positions, or rows.
  uint32_t marked_rows() const {
    GpuSide const& side = marked_side();
    return by_position_ ? side.prepared().rows : side.input_rows();
  }

  std::shared_ptr<const conditions::DeviceCondition> condition() const {
    GpuSide const& left = step_.build_left() ? build_ : probe_;
    GpuSide const& right = step_.build_left() ? probe_ : build_;
    if (!by_position_) {
      return device_condition(step_.queue, step_.residual, left.relation(), right.relation());
    }
    return positioned_condition(step_.queue, *step_.residual, left.relation(), positions_of(left),
                                right.relation(), positions_of(right));
  }

  const JoinStep& step_;
  const GpuSide& build_;
  const GpuSide& probe_;
  bool by_position_;
  std::shared_ptr<const conditions::DeviceCondition> residual_;
  std::optional<kernels::PairQuestion> question_;
  bool keeps_pairs_ = true;
  bool is_marked_ = false;
  bool marks_build_ = false;
  std::shared_ptr<keys::RowMarks> marks_;
  base::Buffer flags_;  // in the place of marks_, with a question
};

class BuiltForPairs final : public BuiltOnGpu {
 public:
  BuiltForPairs(const JoinStep& step, std::shared_ptr<GpuSide> side, transform::KeyBits sort_bits)
      : side_(std::move(side)), sort_bits_(sort_bits) {
    step.clock.enter("transform");
    transform_side(step.plan, sort_bits_, *side_);
    if (step.is_kept && step.plan.gather == plan::Gather::kTransformed) {
      side_->keep_moved(step.build_numbers());
    }
    // Tables come before the probe side's keys, which may still be on their way.
    if (plan::probes_table(step.plan.match)) {
      step.clock.enter("match");
      table_ = std::make_unique<match::GlobalTable>(step.queue, side_->key_width(),
                                                    side_->match_side(false));
    } else if (step.plan.match == Match::kRowMultiset) {
      step.clock.enter("match");
      multiset_ = std::make_unique<match::RowMultiset>(step.queue, side_->key_rows());
    }
  }

 private:
  plan::Finding probe_on_gpu(const JoinStep& step, GpuSide& probe,
                             columns::JoinResult& result) const override {
    if (step.plan.transform != plan::Transform::kNone) {
      step.clock.enter("transform");
      transform_side(step.plan, sort_bits_, probe);
    }
    step.clock.enter("match");
    if (step.plan.transform == plan::Transform::kNone) probe.prepare(step.plan);
    std::optional<Matches> matches;
    if (step.residual != nullptr) matches.emplace(step, *side_, probe);
    bool const by_position =
        matches ? matches->writes_positions() : matches_by_position(step, *side_, probe);
    auto const expected = static_cast<uint64_t>(std::max<int64_t>(step.plan.expected_rows, 0));
    output::GrowingPairs pairs(step.queue, matches ? matches->first_capacity(expected) : expected,
                               matches ? &*matches : nullptr, early_limit(step, *side_));
    match(step, probe, by_position, pairs);
    if (matches) {
      result.marks = matches->marks();
    } else if (side_->is_hashed()) {
      pairs.keep_front(verified(step, *side_, probe, pairs.build(), pairs.probe(), pairs.rows()));
    }
    step.clock.enter("materialize");
    result.rows = static_cast<int64_t>(pairs.rows());
    result.statistics.output_resumes = pairs.resumes();
    materialize(step, probe, by_position, pairs, result);
    return plan::Finding::kJoined;
  }

  // by_position: pairs are positions.
  void match(const JoinStep& step, const GpuSide& probe, bool by_position,
             output::GrowingPairs& pairs) const {
    match::MatchSide const build_keys = side_->match_side(by_position);
    match::MatchSide const probe_keys = probe.match_side(by_position);
    switch (step.plan.match) {
      case Match::kGlobalTable:
      case Match::kDirectTable:
        table_->probe(step.queue, probe_keys, pairs);
        break;
      case Match::kRowMultiset:
        multiset_->probe(step.queue, step.plan.output, probe.key_rows(), pairs);
        break;
      case Match::kCoPartitions:
      case Match::kNestedLoop:
        match::co_partitions(step.queue, step.plan, side_->key_width(), build_keys,
                             side_->partitions(), probe_keys, probe.partitions(), pairs);
        break;
      case Match::kMergePath:
      case Match::kMergeTwoBounds:
      case Match::kMergeOneBound:
        match::merge_path(step.queue, step.plan, side_->key_width(), build_keys, probe_keys, pairs);
        break;
      case Match::kMergeTiles:
        base::fail(GPUJOIN_ERROR_INTERNAL, "match=merge_tiles makes no pairs");
    }
    pairs.finish();
  }

  void materialize(const JoinStep& step, const GpuSide& probe, bool by_position,
                   output::GrowingPairs& pairs, columns::JoinResult& result) const;

  std::shared_ptr<GpuSide> side_;
  transform::KeyBits sort_bits_;
  std::unique_ptr<const match::GlobalTable> table_;
  std::unique_ptr<const match::RowMultiset> multiset_;
};

void BuiltForPairs::materialize(const JoinStep& step, const GpuSide& probe, bool by_position,
                                output::GrowingPairs& pairs, columns::JoinResult& result) const {
  base::Queue& queue = step.queue;
  GpuSide const& build = *side_;
  bool const build_left = step.build_left();
  GpuSide const& left = build_left ? build : probe;
  GpuSide const& right = build_left ? probe : build;
  size_t const left_columns = start_columns(left, right, result);
  columns::ResultColumn* left_targets = result.columns.data();
  columns::ResultColumn* right_targets = left_targets + left_columns;
  columns::ResultColumn* build_targets = build_left ? left_targets : right_targets;
  columns::ResultColumn* probe_targets = build_left ? right_targets : left_targets;

  // Matching keys are equal, so every key column of the output comes from the probe side, whose
  // rows lie closer together.
  uint64_t const rows = pairs.rows();
  std::vector<materialize::Request> key_requests;
  for (size_t i = 0; i < result.columns.size(); ++i) {
    GpuSide const& side = i < left_columns ? left : right;
    size_t const column = i < left_columns ? i : i - left_columns;
    if (!side.is_key(column)) continue;
    size_t const key = side.key_number(column);
    if (by_position && probe.encoding() != nullptr) {
      if (rows != 0) result.columns[i].data = probe.decode_key(queue, key, pairs.probe(), rows);
      continue;
    }
    key_requests.push_back({probe.key_source(by_position, key), &result.columns[i]});
  }

  materialize::NullCounts null_counts(queue, build.nullable_columns() + probe.nullable_columns());
  if (by_position) {
    if (probe.moves_payloads()) {
      probe.gather_transformed(queue, pairs.probe(), rows, null_counts, probe_targets,
                               std::move(key_requests));
    } else {
      materialize::gather(queue, pairs.probe(), rows, key_requests, null_counts);
    }
    key_requests.clear();
    if (build.moves_payloads()) {
      build.gather_transformed(queue, pairs.build(), rows, null_counts, build_targets, {});
    }
  }
  columns::Storage build_rows = pairs.build_storage();
  columns::Storage probe_rows = pairs.probe_storage();
  bool const want_left = result.has_left_rows();
  bool const want_right = result.has_right_rows();
  if (by_position) {
    bool const want_build = build_left ? want_left : want_right;
    bool const want_probe = build_left ? want_right : want_left;
    bool const fetch_build = build.has_payloads() && !build.moves_payloads();
    bool const fetch_probe = probe.has_payloads() && !probe.moves_payloads();
    if (want_build || fetch_build) build_rows = build.row_numbers(queue, pairs.build(), rows);
    if (want_probe || fetch_probe) probe_rows = probe.row_numbers(queue, pairs.probe(), rows);
  }
  std::vector<materialize::Request> build_requests;
  if (!build.moves_payloads()) build.request_untransformed(build_targets, &build_requests);
  if (!probe.moves_payloads()) probe.request_untransformed(probe_targets, &key_requests);
  auto const numbers = [](const columns::Storage& storage) {
    return static_cast<const uint32_t*>(storage.get());
  };
  materialize::gather(queue, numbers(build_rows), rows, build_requests, null_counts);
  materialize::gather(queue, numbers(probe_rows), rows, key_requests, null_counts);
  if (want_left && rows != 0) result.left_rows = build_left ? build_rows : probe_rows;
  if (want_right && rows != 0) result.right_rows = build_left ? probe_rows : build_rows;
  null_counts.finish();
}

}  // namespace

std::unique_ptr<const Built> build_for_pairs(const JoinStep& step, std::shared_ptr<GpuSide> side,
                                             transform::KeyBits sort_bits) {
  return std::make_unique<BuiltForPairs>(step, std::move(side), sort_bits);
}

uint64_t verified(const JoinStep& step, const GpuSide& build, const GpuSide& probe,
                  uint32_t* build_rows, uint32_t* probe_rows, uint64_t pairs) {
  step.clock.enter("verify");
  return keys::verify_pairs(step.queue, build.keys(), probe.keys(), build_rows, probe_rows, pairs);
}

uint64_t early_limit(const JoinStep& step, const GpuSide& side) {
  auto const limit = static_cast<uint64_t>(step.spec.bounds.row_limit);
  return side.is_hashed() ? limit + limit / 8 : limit;
}

bool lie_outside(const JoinStep& step, const GpuSide& build, const GpuSide& probe) {
  return build.encoding() != nullptr && build.encoding()->assumed &&
         transform::lie_outside(step.queue, build.prepared(), probe.prepared());
}

std::unique_ptr<const Built> build_on_gpu(const JoinStep& step, std::shared_ptr<GpuSide> side,
                                          transform::KeyBits sort_bits) {
  // Other queues may probe it, for which this one's waits are none.
  if (step.is_kept) side->await_all();
  if (!plan::writes_columns(step.plan.gather)) {
    return build_for_pairs(step, std::move(side), sort_bits);
  }
  if (step.plan.match == plan::Match::kMergeTiles) return build_tiles(step, std::move(side));
  if (step.plan.transform == plan::Transform::kWriteCombined) {
    return build_parts(step, std::move(side));
  }
  if (step.plan.transform == plan::Transform::kNone) return build_table(step, std::move(side));
  return build_partitions(step, std::move(side));
}

}  // namespace gpujoin::execute
