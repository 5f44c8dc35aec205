#include "src/execute/unknown_comparisons.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <utility>

#include "src/execute/column_work.hpp"
#include "src/execute/fetch_rows.hpp"
#include "src/execute/null_patterns.hpp"
#include "src/execute/row_marks.hpp"
#include "src/execute/travellers.hpp"
#include "src/plan/memory_of_device.hpp"

namespace gpujoin::execute {

namespace {

using base::Memory;
using columns::ColumnView;
using columns::Relation;

// A key column as its bits: one side's may have been turned into integers (of a dictionary, of
// another unit) where the other's is a timestamp still.
ColumnView bits_of(ColumnView key) {
  constexpr gpujoin_type kUnsigned[] = {GPUJOIN_TYPE_UINT8, GPUJOIN_TYPE_UINT16,
                                        GPUJOIN_TYPE_UINT32, GPUJOIN_TYPE_UINT64};
  key.type = kUnsigned[std::countr_zero(static_cast<uint32_t>(key.width))];
  key.arrow_format = columns::arrow_format_of(key.type);
  key.parts = nullptr;
  return key;
}

// Of a pattern's rows, all of which have a value: what lies beneath a NULL is in none of them.
ColumnView known_bits_of(const ColumnView& key) {
  ColumnView bits = bits_of(key);
  bits.validity = nullptr;
  return bits;
}

// The relation with its keys' bits behind its columns, which a residual may read as they are.
std::shared_ptr<const Relation> with_key_bits(const Relation& relation,
                                              std::vector<int32_t>* keys) {
  auto made = std::make_shared<Relation>(relation);
  for (int32_t& key : *keys) {
    made->columns.push_back(bits_of(relation.columns[static_cast<size_t>(key)]));
    key = static_cast<int32_t>(made->columns.size()) - 1;
  }
  return made;
}

// "condition IS NOT FALSE" of the sides as they are, or changed over.
std::shared_ptr<columns::Condition> not_false(const columns::Condition& condition, bool own_left) {
  auto made = std::make_shared<columns::Condition>(condition);
  for (columns::ConditionNode& node : made->nodes) {
    if (!own_left) node.of_left = !node.of_left;
  }
  for (gpujoin_operator const operation : {GPUJOIN_OPERATOR_IS_FALSE, GPUJOIN_OPERATOR_NOT}) {
    columns::ConditionNode node;
    node.operation = operation;
    node.argument_count = 1;
    made->nodes.push_back(std::move(node));
  }
  return made;
}

// Whether the condition is true or false of every pair of rows, as far as its form and the columns
// that it reads tell.
bool is_never_null(const columns::Condition& condition, const Relation& left,
                   const Relation& right) {
  return std::all_of(
      condition.nodes.begin(), condition.nodes.end(), [&](const columns::ConditionNode& node) {
        if (node.operation == GPUJOIN_OPERATOR_CASE) return false;
        bool const is_column = node.operation == GPUJOIN_OPERATOR_COLUMN;
        if (!is_column && node.values == nullptr) return true;
        Relation const& relation = is_column ? (node.of_left ? left : right) : *node.values;
        ColumnView const& column = relation.columns[static_cast<size_t>(node.column)];
        return column.validity == nullptr && columns::is_key_type(column.type);
      });
}

bool may_be_null(const Relation& relation, const std::vector<int32_t>& keys) {
  for (int32_t const key : keys) {
    if (relation.columns[static_cast<size_t>(key)].validity != nullptr) return true;
  }
  return false;
}

// Rows of a side, all or those of a pattern, as a join reads them.
struct RowsOfPattern {
  std::shared_ptr<const Relation> relation;
  std::vector<int32_t> keys;  // those of its columns that are compared
  int32_t first_read = -1;  // where those begin that the residual reads; -1: they are where it says
  int32_t numbers = -1;     // the column of the rows' own numbers; -1: there are all rows
};

class Unknown {
 public:
  // left: whose rows are marked.
  Unknown(base::Queue& queue, const PlannedJoin& join, bool left, Memory memory,
          columns::RowMarks& marks, std::vector<columns::StageStatistics>& stages)
      : queue_(queue),
        device_(plan::device_of(memory)),
        memory_(memory),
        work_(make_column_work(queue, memory)),
        context_(join.context),
        marks_(marks),
        stages_(stages) {
    if (join.residual == nullptr) return;
    columns::Condition const& residual = *join.asked().residual;
    residual_ = not_false(residual, left);
    own_columns_ = columns_read(residual, left);
    other_columns_ = columns_read(residual, !left);
  }

  // Rows with equal keys, whose residual is NULL or true.
  void mark_equal_keys(const std::shared_ptr<const Relation>& own,
                       const std::vector<int32_t>& own_keys,
                       const std::shared_ptr<const Relation>& other,
                       const std::vector<int32_t>& other_keys) {
    mark_equal(all_rows(own, own_keys), all_rows(other, other_keys));
  }

  void mark_unknown_keys(const std::shared_ptr<const Relation>& own,
                         const std::vector<int32_t>& own_keys,
                         const std::shared_ptr<const Relation>& other,
                         const std::vector<int32_t>& other_keys) {
    NullPatterns own_patterns(*work_, readable(own, own_columns_), own_keys);
    NullPatterns other_patterns(*work_, readable(other, other_columns_), other_keys);
    mark(own_patterns, other_patterns);
  }

 private:
  // What is compared of a pair of rows are the keys that are NULL in neither. Those of a pattern,
  // and all rows of the other side: a join skips those with other NULLs, which are left to another
  // pattern.
  void mark(NullPatterns& side, NullPatterns& other) {
    auto const all = (NullPattern{1} << side.keys().size()) - 1;
    if (residual_ == nullptr && other.counts().contains(all)) {
      columns::RowMarks::Rows const rows =
          make_row_marks(queue_, memory_, side.relation()->rows)->unmarked();
      return marks_.mark(rows.numbers.as<uint32_t>(), rows.count);
    }
    for (auto const& [pattern, count] : side.counts()) {
      if (pattern == 0) continue;
      if (pattern == all && residual_ == nullptr) {
        mark_rows(side.rows_with(pattern), count);
      } else {
        mark_equal(rows_of(side, pattern, pattern, own_columns_), all_rows(other, pattern));
      }
    }
    for (auto const& [pattern, count] : other.counts()) {
      if (pattern == 0) continue;
      mark_equal(all_rows(side, pattern), rows_of(other, pattern, pattern, other_columns_));
      for (auto const& [own, own_count] : side.counts()) {
        NullPattern const unknown = own | pattern;
        if (unknown == own || unknown == pattern) continue;
        if (unknown == all && residual_ == nullptr) {
          mark_rows(side.rows_with(own), own_count);
        } else {
          mark_equal(rows_of(side, own, unknown, own_columns_),
                     rows_of(other, pattern, unknown, other_columns_));
        }
      }
    }
  }

  void mark_rows(const columns::Storage& numbers, uint64_t count) {
    marks_.mark(static_cast<const uint32_t*>(numbers.get()), count);
  }

  // The relation whose values, wherever they lie, a relation of gathered rows may name: what
  // dictionaries and views point to is not gathered with them.
  std::shared_ptr<const Relation> readable(const std::shared_ptr<const Relation>& relation,
                                           const std::vector<int32_t>& read) {
    auto made = std::make_shared<Relation>(*relation);
    struct Kept {
      std::shared_ptr<const Relation> relation;
      Held copies;
    };
    auto kept = std::make_shared<Kept>();
    kept->relation = relation;
    if (relation->ready_event != nullptr) work_->await(relation->ready_event);
    for (int32_t const column : read) {
      ColumnView& view = made->columns[static_cast<size_t>(column)];
      if (view.layout == columns::Layout::kValues) continue;
      view = bring_column(queue_, *work_, view, relation->rows, &kept->copies);
    }
    made->owner = std::move(kept);
    return made;
  }

  static RowsOfPattern all_rows(const std::shared_ptr<const Relation>& relation,
                                std::vector<int32_t> keys) {
    RowsOfPattern rows;
    rows.relation = with_key_bits(*relation, &keys);
    rows.keys = std::move(keys);
    return rows;
  }
  static RowsOfPattern all_rows(const NullPatterns& side, NullPattern unknown) {
    return all_rows(side.relation(), known_keys(side, unknown));
  }

  static std::vector<int32_t> known_keys(const NullPatterns& side, NullPattern unknown) {
    std::vector<int32_t> known;
    for (size_t i = 0; i < side.keys().size(); ++i) {
      if ((unknown >> i & 1) == 0) known.push_back(side.keys()[i]);
    }
    return known;
  }

  // Of a pattern: the key columns that are known, those that the residual reads, and the rows' own
  // numbers last.
  RowsOfPattern rows_of(NullPatterns& side, NullPattern pattern, NullPattern unknown,
                        const std::vector<int32_t>& read) {
    std::vector<int32_t> wanted = known_keys(side, unknown);
    size_t const keys = wanted.size();
    wanted.insert(wanted.end(), read.begin(), read.end());
    columns::Storage const numbers = side.rows_with(pattern);
    auto const count = static_cast<int64_t>(side.counts().at(pattern));
    struct Kept {
      std::shared_ptr<const Relation> relation;
      std::vector<columns::ResultColumn> columns;
    };
    auto kept = std::make_shared<Kept>();
    kept->relation = side.relation();
    FetchedRelation fetched(queue_, side.relation(), device_);
    kept->columns = fetched.fetch("unknown", wanted, numbers, count,
                                  base::traffic::Locality::kClustered, stages_);
    kept->columns.push_back(row_numbers_of(numbers));
    auto made = std::make_shared<Relation>();
    made->context = context_;
    made->rows = count;
    RowsOfPattern rows;
    for (size_t i = 0; i < kept->columns.size(); ++i) {
      ColumnView const view = view_of(kept->columns[i], memory_);
      made->columns.push_back(i < keys ? known_bits_of(view) : view);
      if (i < keys) rows.keys.push_back(static_cast<int32_t>(i));
    }
    rows.first_read = static_cast<int32_t>(keys);
    rows.numbers = static_cast<int32_t>(made->columns.size()) - 1;
    made->owner = std::move(kept);
    rows.relation = std::move(made);
    return rows;
  }

  // The residual as it reads these relations.
  std::shared_ptr<const columns::Condition> residual_of(const RowsOfPattern& own,
                                                        const RowsOfPattern& other) const {
    if (residual_ == nullptr) return nullptr;
    auto made = std::make_shared<columns::Condition>(*residual_);
    for (columns::ConditionNode& node : made->nodes) {
      RowsOfPattern const& rows = node.of_left ? own : other;
      if (node.operation != GPUJOIN_OPERATOR_COLUMN || rows.first_read < 0) continue;
      std::vector<int32_t> const& read = node.of_left ? own_columns_ : other_columns_;
      auto const place = std::find(read.begin(), read.end(), node.column) - read.begin();
      node.column = rows.first_read + static_cast<int32_t>(place);
    }
    return made;
  }

  void mark_equal(const RowsOfPattern& own, const RowsOfPattern& other) {
    columns::JoinSpec spec;
    spec.kind = columns::JoinKind::kLeftSemi;
    spec.left_keys = own.keys;
    spec.right_keys = other.keys;
    spec.residual = residual_of(own, other);
    spec.pairs = own.numbers < 0;
    spec.materialize = !spec.pairs;
    if (spec.materialize) spec.left_columns = {own.numbers};
    gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
    options.device = static_cast<gpujoin_device>(device_);
    auto const found = execute(
        queue_, make_plan(queue_, own.relation, other.relation, std::move(spec), options, false));
    for (columns::StageStatistics& stage : found->statistics.stages) {
      stage.stage = "unknown." + stage.stage;
      stages_.push_back(std::move(stage));
    }
    mark_rows(own.numbers < 0 ? found->left_rows : found->columns.front().data,
              static_cast<uint64_t>(found->rows));
  }

  base::Queue& queue_;
  plan::Device device_;
  Memory memory_;
  std::unique_ptr<ColumnWork> work_;
  std::shared_ptr<base::Context> context_;
  columns::RowMarks& marks_;
  std::vector<columns::StageStatistics>& stages_;
  // "residual IS NOT FALSE", own rows on the left; null: there is none.
  std::shared_ptr<const columns::Condition> residual_;
  std::vector<int32_t> own_columns_;  // that it reads
  std::vector<int32_t> other_columns_;
};

}  // namespace

void mark_unknown(base::Queue& queue, const PlannedJoin& join, bool left, Memory memory,
                  columns::RowMarks& marks, std::vector<columns::StageStatistics>& stages) {
  auto const& own = left ? join.left : join.right;
  auto const& other = left ? join.right : join.left;
  auto const& own_keys = left ? join.asked().left_keys : join.asked().right_keys;
  auto const& other_keys = left ? join.asked().right_keys : join.asked().left_keys;
  // In nothing, no comparison is unknown.
  if (own->rows == 0 || other->rows == 0) return;
  Unknown unknown(queue, join, left, memory, marks, stages);
  if (join.residual != nullptr && !is_never_null(*join.asked().residual, *join.left, *join.right)) {
    unknown.mark_equal_keys(own, own_keys, other, other_keys);
  }
  if (!may_be_null(*own, own_keys) && !may_be_null(*other, other_keys)) return;
  unknown.mark_unknown_keys(own, own_keys, other, other_keys);
}

}  // namespace gpujoin::execute
