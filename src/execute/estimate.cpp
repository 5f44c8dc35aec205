#include "src/execute/estimate.hpp"

#include <algorithm>
#include <utility>

#include "src/base/status.hpp"
#include "src/base/traffic.hpp"
#include "src/execute/execute.hpp"
#include "src/execute/expected_matches.hpp"
#include "src/execute/kinds.hpp"
#include "src/execute/late_spec.hpp"
#include "src/execute/order_rows.hpp"
#include "src/execute/output_size.hpp"
#include "src/keys/derived_key.hpp"

namespace gpujoin::execute {

namespace {

using columns::ColumnView;
using columns::JoinKind;
using columns::JoinSpec;
using columns::Layout;
using columns::Relation;
using columns::RowsOfSide;

// Seconds a row of one thread of the CPU, from joins of 2^20 x 2^22 and 2^22 x 2^22 rows on two
// threads (bench/results/2026-11-23-1ee09aa-joins-2-threads.json): the call without its plan's
// stages, and the stages that the planner does not have.
constexpr double kCpuInternRow = 20e-9;        // text of 18 bytes: 56 ms of 5.2 million
constexpr double kCpuDictionaryRow = 10e-9;    // 20 and 32 ms
constexpr double kCpuPackedTextRow = 2e-9;     // text of 6 bytes: 5.5 ms
constexpr double kCpuDerivedRow = 2.5e-9;      // each column of a key that is copied: 3 to 19 ms
constexpr double kCpuMarkRow = 2e-9;           // 4 ms of 4.2 million
constexpr double kCpuFetchedTextRow = 5.5e-9;  // in the order of a side; 11 ms of 4.2 million
constexpr double kCpuScatteredTextRow = 11.5e-9;
constexpr double kCpuFetchedValueRow = 1.2e-9;
constexpr double kCpuSample = 5e-3;  // of 2^21 rows or more: 2.5 ms on two threads
constexpr int64_t kFewestRowsToSample = int64_t{1} << 21;
constexpr double kMostPackedText = 8;  // bytes of text that a key of 8 bytes holds

// One executor's estimate: its plan, and what is added to it.
class OnExecutor {
 public:
  OnExecutor(const base::DeviceFacts& facts, const ExpectedJoin& join, const Matches& matches,
             double rows, plan::Device device)
      : facts_(facts),
        rates_(device == plan::Device::kCpu && facts.is_cuda ? base::cpu_facts(facts.cpu_threads)
                                                             : facts),
        join_(join),
        matches_(matches),
        rows_(rows),
        is_cpu_(device == plan::Device::kCpu),
        left_(std::make_shared<Relation>(*join.left.relation)),
        right_(std::make_shared<Relation>(*join.right.relation)) {
    planned_.left = left_;
    planned_.right = right_;
    planned_.request.options.device = static_cast<gpujoin_device>(device);
  }

  ExecutorEstimate find() {
    JoinSpec spec = join_.spec;
    if (spec.kind != JoinKind::kCross) derive_keys(spec);
    Relation const& left = *planned_.left;
    Relation const& right = *planned_.right;
    if (has_late_columns(left, right, spec)) {
      planned_.late = spec;
      spec = spec_without_late(left, right, spec, {});
    }
    if (is_policy(spec.kind)) {
      planned_.spec = inner_spec_of(spec, true, false);
      planned_.of_kind = std::move(spec);
    } else {
      planned_.spec = std::move(spec);
    }
    fill_request();
    choose();
    add_kind();
    add_order();
    add_late();
    return std::move(found_);
  }

 private:
  // What is added: seconds of the CPU by thread, of the GPU by the bytes that it moves.
  void add(double cpu_seconds_of_thread, double bytes) {
    found_.bytes += static_cast<uint64_t>(bytes);
    double const threads = static_cast<double>(std::max(rates_.cpu_threads, 1));
    found_.seconds += is_cpu_ ? cpu_seconds_of_thread / threads + rates_.launch_seconds
                              : bytes / rates_.copy_bytes_per_second + rates_.launch_seconds;
  }
  void add_random(double count, double table_bytes) {
    if (is_cpu_) return;
    bool const is_near = table_bytes < static_cast<double>(rates_.l2_bytes) / 2;
    found_.seconds +=
        count / (is_near ? rates_.l2_random_reads_per_second : rates_.random_reads_per_second);
  }
  double side_rows() const { return matches_.left_rows + matches_.right_rows; }

  // Keys that do not compare by their bits become columns that do.
  void derive_keys(JoinSpec& spec) {
    std::vector<int32_t> left_keys;
    std::vector<int32_t> right_keys;
    int32_t packed = 0;
    auto const append = [&](int32_t width, bool left_nulls, bool right_nulls) {
      packed += width;
      left_keys.push_back(append_key(*left_, width, left_nulls));
      right_keys.push_back(append_key(*right_, width, right_nulls));
    };
    for (size_t i = 0; i < spec.left_keys.size(); ++i) {
      ColumnView const left = planned_.left->columns[static_cast<size_t>(spec.left_keys[i])];
      ColumnView const right = planned_.right->columns[static_cast<size_t>(spec.right_keys[i])];
      auto const how = keys::compare_by(left, right, 0);
      bool const left_nulls = left.validity != nullptr;
      bool const right_nulls = right.validity != nullptr;
      if (how && !how->by_bytes && left.type == right.type && columns::is_key_type(left.type)) {
        append(left.width, left_nulls, right_nulls);
      } else if (how && !how->by_bytes) {
        for (keys::KeyPart const& part : how->parts) append(part.width, left_nulls, right_nulls);
        double const parts = static_cast<double>(how->parts.size());
        add(kCpuDerivedRow * side_rows(), side_rows() * parts * 16);
        copied_ += parts * 8 * side_rows();
      } else {
        append(code_keys(i, spec), left_nulls, right_nulls);
      }
    }
    if (is_cpu_ && left_keys.size() > 1 && packed <= 8) {
      double const columns = static_cast<double>(left_keys.size());
      add(kCpuDerivedRow * columns * side_rows(), side_rows() * (packed + 8));
      left_keys = {append_key(*left_, packed <= 4 ? 4 : 8, false)};
      right_keys = {append_key(*right_, packed <= 4 ? 4 : 8, false)};
      copied_ += 8 * side_rows();
    } else if (!is_cpu_ && left_keys.size() > 1 && packed <= 8) {
      planned_.request.code_width = packed <= 4 ? 4 : 8;
    }
    spec.left_keys = std::move(left_keys);
    spec.right_keys = std::move(right_keys);
  }

  static int32_t append_key(Relation& relation, int32_t width, bool may_be_null) {
    static const uint8_t kSome = 0xff;
    ColumnView key;
    key.type = width <= 4 ? GPUJOIN_TYPE_UINT32 : GPUJOIN_TYPE_UINT64;
    key.width = width <= 4 ? 4 : 8;
    key.memory = relation.columns.front().memory;
    if (may_be_null) key.validity = &kSome;
    relation.columns.push_back(std::move(key));
    return static_cast<int32_t>(relation.columns.size()) - 1;
  }

  // Values of any number of bytes. Answers the width of what they become.
  int32_t code_keys(size_t key, const JoinSpec& spec) {
    auto const bytes_of = [&](bool left) {
      ExpectedSide const& side = left ? join_.left : join_.right;
      auto const column = static_cast<size_t>((left ? spec.left_keys : spec.right_keys)[key]);
      ColumnView const& view = side.relation->columns[column];
      return view.layout == Layout::kWide ? view.width : side.text_bytes[column];
    };
    auto const is_indexed = [&](bool left) {
      Relation const& relation = left ? *planned_.left : *planned_.right;
      auto const column = static_cast<size_t>((left ? spec.left_keys : spec.right_keys)[key]);
      return relation.columns[column].layout == Layout::kIndices;
    };
    double const bytes =
        matches_.left_rows * bytes_of(true) + matches_.right_rows * bytes_of(false);
    bool const is_short = std::max(bytes_of(true), bytes_of(false)) <= kMostPackedText;
    if (is_cpu_ && is_short && spec.left_keys.size() == 1) {
      add(kCpuPackedTextRow * side_rows(), bytes + 8 * side_rows());
      copied_ += 8 * side_rows();
      return 8;
    }
    bool const are_indexed = is_indexed(true) && is_indexed(false);
    add((are_indexed ? kCpuDictionaryRow : kCpuInternRow) * side_rows(),
        2 * bytes + 24 * side_rows());
    add_random(2 * side_rows(), 16 * side_rows());
    copied_ += 4 * side_rows() + 16 * std::min(matches_.left_rows, matches_.right_rows);
    return 4;
  }

  void fill_request() {
    plan::PlanRequest& request = planned_.request;
    JoinSpec const& spec = planned_.spec;
    request.kind = planned_.asked().kind;
    request.joins_pairs = planned_.asked().caller_decides;
    request.left =
        describe_side(*planned_.left, spec.left_keys, spec.left_columns, spec.materialize);
    request.right =
        describe_side(*planned_.right, spec.right_keys, spec.right_columns, spec.materialize);
    request.pairs = spec.pairs;
    request.key_count = static_cast<int32_t>(spec.left_keys.size());
    request.left.row_numbers = spec.left_rows();
    request.right.row_numbers = spec.right_rows();
  }

  plan::SampleStatistics statistics() const {
    plan::SampleStatistics sample;
    bool const builds_left = plan::build_side_of(planned_.request) == plan::Side::kLeft;
    double const probe_rows = matches_.rows(!builds_left);
    double const matched = matches_.matched(!builds_left);
    sample.sampled = sample.counted = true;
    sample.match_ratio = probe_rows == 0 ? 0 : matched / probe_rows;
    sample.rows_per_match = matched == 0 ? 1 : matches_.pairs / matched;
    return sample;
  }

  void choose() {
    auto const device = is_cpu_ ? plan::Device::kCpu : plan::Device::kCuda;
    if (planned_.asked().kind == JoinKind::kCross) {
      planned_.choice = plan::choose_cross(planned_.request, device);
      auto const& attempt = planned_.choice.attempts.front();
      found_.plan = columns::to_text(JoinKind::kCross);
      found_.memory_bytes = attempt.memory_bytes;
      JoinSpec const& spec = planned_.spec;
      auto const columns =
          static_cast<double>(spec.left_columns.size() + spec.right_columns.size());
      add(kCpuFetchedValueRow * rows_ * (1 + columns),
          static_cast<double>(attempt.bytes) + 16 * rows_ * columns);
      return;
    }
    planned_.choice = plan::choose_plan(planned_.request, statistics(), facts_, 0);
    plan::Attempt const& attempt = planned_.choice.attempts.front();
    found_.seconds += attempt.seconds;
    found_.bytes += attempt.bytes;
    found_.memory_bytes = attempt.memory_bytes + static_cast<uint64_t>(copied_);
    found_.plan = plan::to_text(attempt.plan);
    bool const is_sampled =
        planned_.request.left.rows + planned_.request.right.rows >= kFewestRowsToSample &&
        planned_.request.key_count == 1;
    if (is_cpu_ && is_sampled) add(kCpuSample, 0);
  }

  double row_bytes() const {
    return static_cast<double>(
        row_size_of(*planned_.left, *planned_.right, planned_.asked()).fixed_bytes);
  }

  // Marks, and rows that no match has.
  void add_kind() {
    JoinSpec const& asked = planned_.asked();
    if (!is_policy(asked.kind)) return;
    bool appends = false;
    for (bool const left : {true, false}) {
      RowsOfSide const rows = columns::rows_of(asked, left);
      if (!comes_alone(rows) && !comes_unmatched(rows)) continue;
      // A match tells these rows itself; that of the GPU those behind pairs, too.
      bool const is_told = rows == RowsOfSide::kMatched || rows == RowsOfSide::kUnmatchedOnly;
      if (is_told) continue;
      double const marked = comes_alone(rows) ? matches_.matched(left) : matches_.pairs;
      bool const is_marked = is_cpu_ || comes_alone(rows);
      if (is_marked)
        add(kCpuMarkRow * marked,
            static_cast<double>(base::traffic::mark_rows(static_cast<uint64_t>(marked))) / 4);
      double const more = comes_unmatched(rows) ? matches_.unmatched(left) : rows_;
      auto const columns =
          static_cast<double>((left ? asked.left_columns : asked.right_columns).size());
      add(kCpuFetchedValueRow * more * columns, more * columns * 12);
      appends = appends || (comes_unmatched(rows) && more > 0);
      found_.memory_bytes += static_cast<uint64_t>(matches_.rows(left) / 8);
    }
    if (!appends) return;
    // The GPU's match leaves room behind the pairs.
    double const appended = is_cpu_ ? rows_ : rows_ - matches_.pairs;
    double const bytes = 2 * appended * row_bytes();
    double const copied = bytes / rates_.copy_bytes_per_second;
    add(copied * static_cast<double>(rates_.cpu_threads), bytes);
    found_.memory_bytes += static_cast<uint64_t>(bytes / 2);
  }

  void add_order() {
    auto const by_left = ordering_side(planned_);
    if (!by_left) return;
    plan::StageCost const cost = order_cost(planned_, rates_, static_cast<uint64_t>(rows_));
    found_.seconds += cost.seconds;
    found_.bytes += cost.bytes;
    found_.memory_bytes += static_cast<uint64_t>(16 * rows_);
  }

  // Output columns by row number.
  void add_late() {
    if (!planned_.late) return;
    for (bool const left : {true, false}) {
      ExpectedSide const& side = left ? join_.left : join_.right;
      auto const& wanted = left ? planned_.late->left_columns : planned_.late->right_columns;
      for (int32_t const column : wanted) add_late(side, left, static_cast<size_t>(column));
    }
  }
  void add_late(const ExpectedSide& side, bool left, size_t column) {
    ColumnView const& view = side.relation->columns[column];
    if (columns::is_moved_as_values(view.layout) && !orders_pairs(*planned_.late)) return;
    bool const is_probe = left != (plan::build_side_of(planned_.request) == plan::Side::kLeft);
    auto const ordering = ordering_side(planned_);
    bool const in_runs =
        comes_alone(planned_.asked().kind) || (ordering ? *ordering == left : is_probe);
    if (view.layout != Layout::kText) {
      add(kCpuFetchedValueRow * rows_ * (in_runs ? 1 : 3), rows_ * (4 + 2 * view.width));
      if (!in_runs) add_random(rows_, matches_.rows(left) * view.width);
      found_.memory_bytes += static_cast<uint64_t>(rows_ * std::max(view.width, 1));
      return;
    }
    double const bytes = side.text_bytes[column];
    double const of_bytes = bytes / 20;  // longer values take longer, shorter ones hardly less
    add((in_runs ? kCpuFetchedTextRow : kCpuScatteredTextRow) * rows_ * std::max(of_bytes, 0.7),
        rows_ * (24 + 2 * bytes));
    add_random(rows_ * (in_runs ? 0.2 : 2), matches_.rows(left) * (bytes + 4));
    found_.memory_bytes += static_cast<uint64_t>(rows_ * (12 + bytes));
  }

  const base::DeviceFacts& facts_;
  base::DeviceFacts rates_;
  const ExpectedJoin& join_;
  const Matches& matches_;
  double rows_;
  bool is_cpu_;
  std::shared_ptr<Relation> left_;  // with derived keys behind the columns
  std::shared_ptr<Relation> right_;
  double copied_ = 0;  // bytes of keys
  PlannedJoin planned_;
  ExecutorEstimate found_;
};

uint64_t output_bytes(const ExpectedJoin& join, const Matches& matches, double rows) {
  Relation const& left = *join.left.relation;
  RowSize const size = row_size_of(left, *join.right.relation, join.spec);
  double bytes = static_cast<double>(size.bytes_of(static_cast<uint64_t>(whole_number(rows))));
  for (OutputText const& text : size.texts) {
    ExpectedSide const& side = text.of_left ? join.left : join.right;
    // Rows that have none of the side have no text.
    double const missing = comes_unmatched(columns::rows_of(join.spec, !text.of_left))
                               ? matches.unmatched(!text.of_left)
                               : 0;
    bytes += (rows - missing) * side.text_bytes[static_cast<size_t>(text.column)];
  }
  return static_cast<uint64_t>(std::min(bytes, 1.8e19));
}

}  // namespace

JoinEstimate estimate(const base::DeviceFacts& facts, const ExpectedJoin& join) {
  Matches const matches = matches_of(join);
  double const rows = rows_out(join.spec.kind, matches);
  JoinEstimate found;
  found.rows = whole_number(rows);
  found.bytes = output_bytes(join, matches, rows);
  found.cpu = OnExecutor(facts, join, matches, rows, plan::Device::kCpu).find();
  if (!facts.is_cuda) return found;
  found.cuda = OnExecutor(facts, join, matches, rows, plan::Device::kCuda).find();
  // Results go to pinned memory of the pool's first.
  constexpr double kPinnedSpeedup = 7.5;
  found.cuda->fetch_seconds =
      static_cast<double>(found.bytes) / (facts.host_link_bytes_per_second * kPinnedSpeedup);
  return found;
}

}  // namespace gpujoin::execute
