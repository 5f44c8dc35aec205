#include "src/execute/unknown_comparisons.hpp"

#include <bit>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "src/base/copy.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/execute/fetch_rows.hpp"
#include "src/execute/row_marks.hpp"
#include "src/execute/travellers.hpp"

namespace gpujoin::execute {

namespace {

using base::Memory;
using columns::ColumnView;
using columns::Relation;

// Which of a row's key columns are NULL: bit i, the i-th.
using Pattern = uint32_t;

// Validity where the host reads it.
struct HostBits {
  std::vector<uint8_t> copy;
  const uint8_t* bits = nullptr;
  int64_t offset = 0;
  bool is_valid(int64_t row) const {
    int64_t const at = offset + row;
    return (bits[at / 8] >> (at % 8) & 1) != 0;
  }
};

HostBits bits_on_host(base::Queue& queue, const ColumnView& column, int64_t rows) {
  HostBits found;
  found.bits = column.validity;
  found.offset = column.validity_bit_offset;
  if (column.memory != Memory::kDevice) return found;
  int64_t const first = found.offset / 8;
  found.offset %= 8;
  found.copy.resize(columns::bitmap_bytes(found.offset + rows));
  base::copy(queue, found.copy.data(), Memory::kHost, column.validity + first, Memory::kDevice,
             found.copy.size());
  base::finish(queue);
  found.bits = found.copy.data();
  return found;
}

// One side's keys, and how often which of them are NULL.
class KeySide {
 public:
  KeySide(base::Queue& queue, std::shared_ptr<const Relation> of,
          const std::vector<int32_t>& key_columns)
      : relation_(std::move(of)), keys_(key_columns) {
    for (size_t i = 0; i < keys_.size(); ++i) {
      ColumnView const& column = relation_->columns[static_cast<size_t>(keys_[i])];
      if (column.validity == nullptr) continue;
      nullable_.emplace_back(i, bits_on_host(queue, column, relation_->rows));
    }
    if (nullable_.size() == 1) {
      auto const& [key, bits] = nullable_.front();
      int64_t const nulls = columns::count_nulls(bits.bits, bits.offset, relation_->rows);
      if (nulls != 0) counts_[Pattern{1} << key] = nulls;
      if (nulls != relation_->rows) counts_[0] = relation_->rows - nulls;
    } else {
      for (int64_t row = 0; row < relation_->rows; ++row) ++counts_[pattern_of(row)];
    }
  }

  const std::shared_ptr<const Relation>& relation() const { return relation_; }
  const std::vector<int32_t>& keys() const { return keys_; }
  // Patterns that rows have, with their number.
  const std::map<Pattern, int64_t>& counts() const { return counts_; }
  std::vector<uint32_t> rows_with(Pattern pattern) const {
    std::vector<uint32_t> rows;
    rows.reserve(static_cast<size_t>(counts_.at(pattern)));
    for (int64_t row = 0; row < relation_->rows; ++row) {
      if (pattern_of(row) == pattern) rows.push_back(static_cast<uint32_t>(row));
    }
    return rows;
  }

 private:
  Pattern pattern_of(int64_t row) const {
    Pattern pattern = 0;
    for (auto const& [key, bits] : nullable_) {
      pattern |= bits.is_valid(row) ? 0 : Pattern{1} << key;
    }
    return pattern;
  }

  std::shared_ptr<const Relation> relation_;
  const std::vector<int32_t>& keys_;
  std::vector<std::pair<size_t, HostBits>> nullable_;
  std::map<Pattern, int64_t> counts_;
};

// A key column of known values as its bits: one side's may have been turned into integers (of a
// dictionary) where the other's is a timestamp still. All are there: what lies beneath a NULL is in
// no row of its pattern.
ColumnView bits_of(ColumnView key) {
  constexpr gpujoin_type kUnsigned[] = {GPUJOIN_TYPE_UINT8, GPUJOIN_TYPE_UINT16,
                                        GPUJOIN_TYPE_UINT32, GPUJOIN_TYPE_UINT64};
  key.type = kUnsigned[std::countr_zero(static_cast<uint32_t>(key.width))];
  key.arrow_format = columns::arrow_format_of(key.type);
  key.parts = nullptr;
  key.validity = nullptr;
  return key;
}

bool may_be_null(const Relation& relation, const std::vector<int32_t>& keys) {
  for (int32_t const key : keys) {
    if (relation.columns[static_cast<size_t>(key)].validity != nullptr) return true;
  }
  return false;
}

class Unknown {
 public:
  Unknown(base::Queue& queue, const PlannedJoin& join, Memory memory, columns::RowMarks& marks,
          std::vector<columns::StageStatistics>& stages)
      : queue_(queue),
        device_(memory == Memory::kDevice ? plan::Device::kCuda : plan::Device::kCpu),
        memory_(memory),
        context_(join.context),
        marks_(marks),
        stages_(stages) {}

  void mark(const KeySide& side, const KeySide& other) {
    auto const all = (Pattern{1} << side.keys().size()) - 1;
    if (other.counts().contains(all)) {
      columns::RowMarks::Rows const rows =
          make_row_marks(queue_, memory_, side.relation()->rows)->unmarked();
      return marks_.mark(rows.numbers.as<uint32_t>(), rows.count);
    }
    for (auto const& [pattern, count] : side.counts()) {
      for (auto const& [other_pattern, other_count] : other.counts()) {
        Pattern const unknown = pattern | other_pattern;
        if (unknown == 0) continue;
        if (unknown == all) {
          mark_rows(side.rows_with(pattern));
          break;
        }
        mark_equal(side, pattern, other, other_pattern);
      }
    }
  }

 private:
  void mark_rows(const std::vector<uint32_t>& rows) {
    base::Buffer const numbers = row_numbers_in(queue_, memory_, rows);
    marks_.mark(numbers.as<uint32_t>(), rows.size());
  }

  // Rows of a pattern with the key columns that are NULL in neither, and their own numbers last.
  std::shared_ptr<const Relation> rows_of(const KeySide& side, Pattern pattern, Pattern unknown) {
    std::vector<int32_t> known;
    for (size_t i = 0; i < side.keys().size(); ++i) {
      if ((unknown >> i & 1) == 0) known.push_back(side.keys()[i]);
    }
    std::vector<uint32_t> const rows = side.rows_with(pattern);
    auto const count = static_cast<int64_t>(rows.size());
    auto const numbers = columns::make_storage(row_numbers_in(queue_, memory_, rows));
    struct Kept {
      std::vector<columns::ResultColumn> columns;
    };
    auto kept = std::make_shared<Kept>();
    FetchedRelation fetched(queue_, side.relation(), device_);
    kept->columns = fetched.fetch("unknown", known, numbers, count,
                                  base::traffic::Locality::kClustered, stages_);
    kept->columns.push_back(row_numbers_of(numbers));
    auto made = std::make_shared<Relation>();
    made->context = context_;
    made->rows = count;
    for (columns::ResultColumn const& column : kept->columns) {
      made->columns.push_back(bits_of(view_of(column, memory_)));
    }
    made->owner = std::move(kept);
    return made;
  }

  void mark_equal(const KeySide& side, Pattern pattern, const KeySide& other,
                  Pattern other_pattern) {
    auto const own = rows_of(side, pattern, pattern | other_pattern);
    auto const others = rows_of(other, other_pattern, pattern | other_pattern);
    auto const keys = static_cast<int32_t>(own->columns.size()) - 1;
    columns::JoinSpec spec;
    spec.kind = columns::JoinKind::kLeftSemi;
    spec.left_keys.clear();
    for (int32_t i = 0; i < keys; ++i) spec.left_keys.push_back(i);
    spec.right_keys = spec.left_keys;
    spec.materialize = true;
    spec.left_columns = {keys};
    gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
    options.device = static_cast<gpujoin_device>(device_);
    auto const found =
        execute(queue_, make_plan(queue_, own, others, std::move(spec), options, false));
    for (columns::StageStatistics& stage : found->statistics.stages) {
      stage.stage = "unknown." + stage.stage;
      stages_.push_back(std::move(stage));
    }
    marks_.mark(static_cast<const uint32_t*>(found->columns.front().data.get()),
                static_cast<uint64_t>(found->rows));
  }

  base::Queue& queue_;
  plan::Device device_;
  Memory memory_;
  std::shared_ptr<base::Context> context_;
  columns::RowMarks& marks_;
  std::vector<columns::StageStatistics>& stages_;
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
  if (!may_be_null(*own, own_keys) && !may_be_null(*other, other_keys)) return;
  Unknown(queue, join, memory, marks, stages)
      .mark(KeySide(queue, own, own_keys), KeySide(queue, other, other_keys));
}

}  // namespace gpujoin::execute
