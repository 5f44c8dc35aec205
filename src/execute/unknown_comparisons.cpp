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

class Unknown {
 public:
  // left: whose rows are marked.
  Unknown(base::Queue& queue, const PlannedJoin& join, bool left, Memory memory,
          columns::RowMarks& marks, std::vector<columns::StageStatistics>& stages)
      : queue_(queue),
        device_(plan::device_of(memory)),
        memory_(memory),
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
  void mark_equal_keys(const std::shared_ptr<const Relation>& own, std::vector<int32_t> own_keys,
                       const std::shared_ptr<const Relation>& other,
                       std::vector<int32_t> other_keys) {
    auto const own_rows = with_key_bits(*own, &own_keys);
    auto const other_rows = with_key_bits(*other, &other_keys);
    columns::JoinSpec spec;
    spec.left_keys = std::move(own_keys);
    spec.right_keys = std::move(other_keys);
    spec.residual = residual_;
    spec.pairs = true;
    auto const found = semi_join(own_rows, other_rows, std::move(spec));
    marks_.mark(static_cast<const uint32_t*>(found->left_rows.get()),
                static_cast<uint64_t>(found->rows));
  }

  void mark_unknown_keys(const std::shared_ptr<const Relation>& own,
                         const std::vector<int32_t>& own_keys,
                         const std::shared_ptr<const Relation>& other,
                         const std::vector<int32_t>& other_keys) {
    mark(NullPatterns(queue_, readable(own, own_columns_), own_keys),
         NullPatterns(queue_, readable(other, other_columns_), other_keys));
  }

 private:
  void mark(const NullPatterns& side, const NullPatterns& other) {
    auto const all = (NullPattern{1} << side.keys().size()) - 1;
    if (residual_ == nullptr && other.counts().contains(all)) {
      columns::RowMarks::Rows const rows =
          make_row_marks(queue_, memory_, side.relation()->rows)->unmarked();
      return marks_.mark(rows.numbers.as<uint32_t>(), rows.count);
    }
    for (auto const& [pattern, count] : side.counts()) {
      for (auto const& [other_pattern, other_count] : other.counts()) {
        NullPattern const unknown = pattern | other_pattern;
        if (unknown == 0) continue;
        if (unknown == all && residual_ == nullptr) {
          mark_rows(side.rows_with(pattern));
          break;
        }
        mark_equal(side, pattern, other, other_pattern);
      }
    }
  }

  void mark_rows(const std::vector<uint32_t>& rows) {
    base::Buffer const numbers = row_numbers_in(queue_, memory_, rows);
    marks_.mark(numbers.as<uint32_t>(), rows.size());
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
    auto const work = make_column_work(queue_, memory_);
    if (relation->ready_event != nullptr) work->await(relation->ready_event);
    for (int32_t const column : read) {
      ColumnView& view = made->columns[static_cast<size_t>(column)];
      if (view.layout == columns::Layout::kValues) continue;
      view = bring_column(queue_, *work, view, relation->rows, &kept->copies);
    }
    made->owner = std::move(kept);
    return made;
  }

  // Rows of a pattern: the key columns that are NULL in neither, those that the residual reads, and
  // their own numbers last.
  std::shared_ptr<const Relation> rows_of(const NullPatterns& side, NullPattern pattern,
                                          NullPattern unknown, const std::vector<int32_t>& read) {
    std::vector<int32_t> wanted;
    for (size_t i = 0; i < side.keys().size(); ++i) {
      if ((unknown >> i & 1) == 0) wanted.push_back(side.keys()[i]);
    }
    size_t const keys = wanted.size();
    wanted.insert(wanted.end(), read.begin(), read.end());
    std::vector<uint32_t> const rows = side.rows_with(pattern);
    auto const count = static_cast<int64_t>(rows.size());
    auto const numbers = columns::make_storage(row_numbers_in(queue_, memory_, rows));
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
    for (size_t i = 0; i < kept->columns.size(); ++i) {
      ColumnView const view = view_of(kept->columns[i], memory_);
      made->columns.push_back(i < keys ? known_bits_of(view) : view);
    }
    made->owner = std::move(kept);
    return made;
  }

  // The residual over relations of rows_of with so many keys.
  std::shared_ptr<const columns::Condition> residual_behind(size_t keys) const {
    if (residual_ == nullptr) return nullptr;
    auto made = std::make_shared<columns::Condition>(*residual_);
    for (columns::ConditionNode& node : made->nodes) {
      if (node.operation != GPUJOIN_OPERATOR_COLUMN) continue;
      std::vector<int32_t> const& read = node.of_left ? own_columns_ : other_columns_;
      auto const place = std::find(read.begin(), read.end(), node.column) - read.begin();
      node.column = static_cast<int32_t>(keys) + static_cast<int32_t>(place);
    }
    return made;
  }

  std::unique_ptr<columns::JoinResult> semi_join(std::shared_ptr<const Relation> own,
                                                 std::shared_ptr<const Relation> others,
                                                 columns::JoinSpec spec) {
    spec.kind = columns::JoinKind::kLeftSemi;
    gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
    options.device = static_cast<gpujoin_device>(device_);
    auto found = execute(queue_, make_plan(queue_, std::move(own), std::move(others),
                                           std::move(spec), options, false));
    for (columns::StageStatistics& stage : found->statistics.stages) {
      stage.stage = "unknown." + stage.stage;
      stages_.push_back(std::move(stage));
    }
    return found;
  }

  void mark_equal(const NullPatterns& side, NullPattern pattern, const NullPatterns& other,
                  NullPattern other_pattern) {
    NullPattern const unknown = pattern | other_pattern;
    auto const own = rows_of(side, pattern, unknown, own_columns_);
    auto const others = rows_of(other, other_pattern, unknown, other_columns_);
    auto const keys = side.keys().size() - static_cast<size_t>(std::popcount(unknown));
    columns::JoinSpec spec;
    spec.left_keys.clear();
    for (size_t i = 0; i < keys; ++i) spec.left_keys.push_back(static_cast<int32_t>(i));
    spec.right_keys = spec.left_keys;
    spec.residual = residual_behind(keys);
    spec.materialize = true;
    spec.left_columns = {static_cast<int32_t>(own->columns.size()) - 1};
    auto const found = semi_join(own, others, std::move(spec));
    marks_.mark(static_cast<const uint32_t*>(found->columns.front().data.get()),
                static_cast<uint64_t>(found->rows));
  }

  base::Queue& queue_;
  plan::Device device_;
  Memory memory_;
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
