#include "src/execute/derive_keys.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/columns/result.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/execute/column_work.hpp"
#include "src/execute/key_codes.hpp"
#include "src/execute/packed_keys.hpp"
#include "src/keys/derived_key.hpp"

namespace gpujoin::execute {

namespace {

using columns::ColumnView;
using columns::Layout;
using columns::Relation;
using kernels::KeyOp;

// One column of a key: the caller's, or one that was made, or is to be.
struct KeyColumn {
  int32_t number = -1;  // of the caller's
  ColumnView made;
  std::optional<keys::KeyStep> step;  // made has no data yet: this makes it
};

// A relation with further columns, which holds what they lie in.
class Extended {
 public:
  Extended(base::Queue& queue, Works& works, const std::shared_ptr<const Relation>& original)
      : queue_(queue), works_(works), held_(std::make_shared<Kept>()) {
    held_->original = original;
  }

  const Relation& original() const { return *held_->original; }
  const ColumnView& column(int32_t number) const {
    return original().columns[static_cast<size_t>(number)];
  }
  Held* held() { return &held_->values; }

  // What a step makes of a column. is_null_equal: what lies beneath a NULL is 0. Its validity is
  // the column's.
  KeyColumn make(int32_t number, const keys::KeyStep& step, int32_t width, bool is_null_equal) {
    ColumnView const& of = column(number);
    ColumnView const& values = keys::values_of(of);
    bool const has_positions = &values != &of;
    if (values.layout == Layout::kNulls) return {-1, nulls(of.memory, width), std::nullopt};
    bool const is_zeroed = is_null_equal && of.validity != nullptr && !has_positions;
    if (step.op == KeyOp::kAsIs && !has_positions && !is_zeroed) return {number, of, std::nullopt};
    if (!has_positions) {
      KeyColumn later{-1, made_view(nullptr, width, of.memory), filled(step, values, is_zeroed)};
      later.made.validity = of.validity;
      later.made.validity_bit_offset = of.validity_bit_offset;
      return later;
    }
    ColumnWork& work = works_.of(of.memory, original().ready_event);
    int64_t const value_rows = value_rows_of(of, original().rows);
    columns::GatherSource source;
    source.values.width = width;
    source.values.bytes = static_cast<const uint8_t*>(values.data);
    if (step.op != KeyOp::kAsIs) {
      ColumnView const small = derive(work, value_rows, filled(step, values, false), width);
      source.values.bytes = static_cast<const uint8_t*>(small.data);
    }
    source.values.first = source.values.bytes;
    source.values.end = source.values.bytes + value_rows * width;
    source.validity = validity_of(values);
    columns::Storage const positions = positions_in(work, of, original().rows);
    return {-1, keep_gathered(work, *held(), source, positions, original().rows, width),
            std::nullopt};
  }

  // 1 where the key column is NULL.
  KeyColumn null_flag(const KeyColumn& of) {
    ColumnView const& view = of.number < 0 ? of.made : column(of.number);
    keys::KeyStep step;
    step.op = view.validity == nullptr ? KeyOp::kZero : KeyOp::kIsNull;
    step.nulls = validity_of(view);
    return {-1, made_view(nullptr, 4, view.memory), step};
  }

  // Without data where it is to be made.
  const ColumnView& view_of(const KeyColumn& key) const {
    return key.number < 0 ? key.made : column(key.number);
  }
  const ColumnView& made(KeyColumn& key) {
    if (key.step) {
      ColumnWork& work = works_.of(key.made.memory, original().ready_event);
      key.made.data = derive(work, original().rows, *key.step, key.made.width).data;
      key.made.memory = work.memory();
      key.step.reset();
    }
    return view_of(key);
  }
  // As it is packed with others.
  cpu::KeySource source_of(const KeyColumn& key) const {
    ColumnView const& view = view_of(key);
    cpu::KeySource source{key.step.value_or(keys::KeyStep()), view.width, validity_of(view)};
    if (!key.step) {
      source.step.source = view.data;
      source.step.width = view.width;
      source.step.op = KeyOp::kUnsigned;
    }
    return source;
  }

  // Its position in the relation that take() gives.
  int32_t add(KeyColumn key) {
    if (key.number >= 0) return key.number;
    made(key);
    if (relation_ == nullptr) {
      relation_ = std::make_shared<Relation>(original());
      relation_->owner = held_;
    }
    relation_->columns.push_back(std::move(key.made));
    return static_cast<int32_t>(relation_->columns.size()) - 1;
  }
  // Null where no column was added.
  std::shared_ptr<const Relation> take() const { return relation_; }

 private:
  struct Kept {
    std::shared_ptr<const Relation> original;
    Held values;
  };

  static keys::KeyStep filled(keys::KeyStep step, const ColumnView& values, bool is_zeroed) {
    step.source = values.data;
    step.width = values.width;
    if (step.op == KeyOp::kAsIs) step.op = KeyOp::kUnsigned;
    if (step.op == KeyOp::kBit) step.first_bit = values.parts->first_bit;
    if (is_zeroed) step.nulls = validity_of(values);
    return step;
  }

  ColumnView derive(ColumnWork& work, int64_t rows, const keys::KeyStep& step, int32_t width) {
    auto const count = static_cast<uint64_t>(rows);
    columns::Storage data = work.allocate(base::checked_bytes(count, static_cast<uint64_t>(width)),
                                          "a derived key column");
    work.derive(step, width, count, 1, const_cast<void*>(data.get()));
    held()->push_back(data);
    return made_view(data.get(), width, work.memory());
  }

  // Zeros, all of them NULL.
  ColumnView nulls(base::Memory memory, int32_t width) {
    ColumnWork& work = works_.of(memory, original().ready_event);
    keys::KeyStep zero;
    zero.op = KeyOp::kZero;
    ColumnView view = derive(work, original().rows, zero, width);
    auto const words = columns::bitmap_words_bytes(original().rows) / 4;
    columns::Storage bits = work.allocate(words * 4, "validity of a NULL column");
    work.derive(zero, 4, words, 1, const_cast<void*>(bits.get()));
    view.validity = static_cast<const uint8_t*>(bits.get());
    held()->push_back(std::move(bits));
    return view;
  }

  base::Queue& queue_;
  Works& works_;
  std::shared_ptr<Kept> held_;
  std::shared_ptr<Relation> relation_;
};

// What stands for one pair of the caller's keys.
struct Key {
  std::vector<KeyColumn> left;
  std::vector<KeyColumn> right;
};

class Derivation {
 public:
  // packs: keys may become one; packs_nulls: also those of which some are NULL.
  Derivation(base::Queue& queue, plan::Device device, bool packs, bool packs_nulls,
             const std::shared_ptr<const Relation>& left,
             const std::shared_ptr<const Relation>& right)
      : queue_(queue),
        works_(queue),
        device_(device),
        packs_(packs),
        packs_nulls_(packs_nulls),
        left_(queue, works_, left),
        right_(queue, works_, right) {}

  void add(int32_t left, int32_t right, int32_t flags, TextKey text) {
    auto const comparison = keys::compare_by(left_.column(left), right_.column(right), flags);
    if (!comparison) base::fail(GPUJOIN_ERROR_TYPE, "key types that do not compare");
    bool const is_null_equal = (flags & columns::kNullEqual) != 0;
    Key key;
    if (comparison->by_bytes) {
      CodedSide const of_left{left_.original(), left_.column(left), left_.held()};
      CodedSide const of_right{right_.original(), right_.column(right), right_.held()};
      auto [left_codes, right_codes] = code_keys(queue_, works_, device_, text, of_left, of_right);
      key.left.push_back({-1, std::move(left_codes), std::nullopt});
      key.right.push_back({-1, std::move(right_codes), std::nullopt});
    }
    for (keys::KeyPart const& part : comparison->parts) {
      key.left.push_back(left_.make(left, part.left, part.width, is_null_equal));
      key.right.push_back(right_.make(right, part.right, part.width, is_null_equal));
    }
    if (is_null_equal) let_nulls_be_equal(key);
    keys_.push_back(std::move(key));
  }

  void finish(int32_t most_columns, std::shared_ptr<const Relation>* left,
              std::shared_ptr<const Relation>* right, columns::JoinSpec* spec) {
    if (packs_) pack();
    while (count() > static_cast<size_t>(most_columns)) code_widest();
    spec->left_keys.clear();
    spec->right_keys.clear();
    for (Key& key : keys_) {
      for (KeyColumn& column : key.left) spec->left_keys.push_back(left_.add(std::move(column)));
      for (KeyColumn& column : key.right) spec->right_keys.push_back(right_.add(std::move(column)));
    }
    if (auto made = left_.take()) *left = std::move(made);
    if (auto made = right_.take()) *right = std::move(made);
    // Other queues may execute the plan.
    base::finish(queue_);
  }

 private:
  size_t count() const {
    size_t columns = 0;
    for (Key const& key : keys_) columns += key.left.size();
    return columns;
  }

  // NULLs are zeros, told from other zeros by a column of flags.
  void let_nulls_be_equal(Key& key) {
    bool const any = left_.view_of(key.left.front()).validity != nullptr ||
                     right_.view_of(key.right.front()).validity != nullptr;
    if (!any) return;
    KeyColumn left_flag = left_.null_flag(key.left.front());
    KeyColumn right_flag = right_.null_flag(key.right.front());
    for (auto* columns : {&key.left, &key.right}) {
      for (KeyColumn& column : *columns) column.made.validity = nullptr;
    }
    key.left.push_back(std::move(left_flag));
    key.right.push_back(std::move(right_flag));
  }

  // All keys become one of codes, where they fit.
  void pack() {
    auto const side_of = [&](Extended& side, std::vector<KeyColumn> Key::*columns) {
      PackedSide packed{{}, static_cast<uint64_t>(side.original().rows), side.held()};
      for (Key const& key : keys_) {
        for (KeyColumn const& column : key.*columns) {
          packed.columns.push_back(side.source_of(column));
        }
      }
      return packed;
    };
    PackedSide const left = side_of(left_, &Key::left);
    PackedSide const right = side_of(right_, &Key::right);
    if (!packs_nulls_ && (left.has_nulls() || right.has_nulls())) return;
    auto codes = pack_keys(queue_, left, right);
    if (!codes) return;
    keys_.clear();
    keys_.push_back({});
    keys_.front().left.push_back({-1, std::move(codes->first), std::nullopt});
    keys_.front().right.push_back({-1, std::move(codes->second), std::nullopt});
  }

  // The key of the most columns becomes one of codes.
  void code_widest() {
    auto const widest = std::max_element(
        keys_.begin(), keys_.end(),
        [](const Key& one, const Key& other) { return one.left.size() < other.left.size(); });
    auto const side_of = [](Extended& side, std::vector<KeyColumn>& columns) {
      CodedRows rows{side.original(), {}, side.held()};
      for (KeyColumn& column : columns) rows.columns.push_back(side.made(column));
      return rows;
    };
    auto [left_codes, right_codes] = code_rows(
        queue_, works_, device_, side_of(left_, widest->left), side_of(right_, widest->right));
    widest->left.clear();
    widest->right.clear();
    widest->left.push_back({-1, std::move(left_codes), std::nullopt});
    widest->right.push_back({-1, std::move(right_codes), std::nullopt});
  }

  base::Queue& queue_;
  Works works_;
  plan::Device device_;
  bool packs_;
  bool packs_nulls_;
  Extended left_;
  Extended right_;
  std::vector<Key> keys_;
};

// Kinds for which a key of several columns is unknown, not false, where one of them is NULL and the
// others are equal.
bool tells_unknown(columns::JoinKind kind) {
  using columns::RowsOfSide;
  auto const is_told = [](RowsOfSide rows) {
    return rows == RowsOfSide::kMarked || rows == RowsOfSide::kNotIn;
  };
  return is_told(columns::rows_of(kind, true)) || is_told(columns::rows_of(kind, false));
}

// Of most joins all keys: asking costs no allocation, of which a small join feels each.
bool compare_as_they_are(const ColumnView& left, const ColumnView& right) {
  if (left.type != right.type || !columns::is_key_type(left.type)) return false;
  auto const has_zone = [](const ColumnView& key) {
    return key.type >= GPUJOIN_TYPE_TIMESTAMP_S && key.type <= GPUJOIN_TYPE_TIMESTAMP_NS &&
           key.arrow_format.size() > 4;
  };
  return has_zone(left) == has_zone(right);
}

}  // namespace

bool do_compare(const ColumnView& left, const ColumnView& right) {
  return compare_as_they_are(left, right) || keys::compare_by(left, right, 0).has_value();
}

void make_comparable(base::Queue& queue, plan::Device device, std::shared_ptr<const Relation>* left,
                     std::shared_ptr<const Relation>* right, columns::JoinSpec* spec,
                     int32_t most_columns) {
  std::vector<int32_t> const flags = std::move(spec->key_flags);
  spec->key_flags.clear();
  auto const flags_of = [&](size_t key) { return flags.empty() ? 0 : flags[key]; };
  bool all_plain = true;
  bool is_wide = false;
  for (size_t i = 0; i < spec->left_keys.size(); ++i) {
    ColumnView const& left_key = (*left)->columns[static_cast<size_t>(spec->left_keys[i])];
    ColumnView const& right_key = (*right)->columns[static_cast<size_t>(spec->right_keys[i])];
    bool const has_nulls = left_key.validity != nullptr || right_key.validity != nullptr;
    is_wide = is_wide || left_key.width == 8;
    all_plain = all_plain && compare_as_they_are(left_key, right_key) &&
                !(has_nulls && (flags_of(i) & columns::kNullEqual) != 0);
  }
  bool const is_lone = all_plain && spec->left_keys.size() == 1;
  // Codes are of the keys of both sides: those of a build side that is kept would be of the first
  // probe side's.
  bool const packs = device == plan::Device::kCpu && !spec->left_keys.empty() && !spec->of_kept &&
                     (!is_lone || (is_wide && most_columns > 1));
  if (all_plain && !packs) return;
  Derivation derivation(queue, device, packs, !tells_unknown(spec->kind), *left, *right);
  TextKey const text = spec->asof                   ? TextKey::kGrouped
                       : spec->left_keys.size() > 1 ? TextKey::kBesideOthers
                                                    : TextKey::kAlone;
  for (size_t i = 0; i < spec->left_keys.size(); ++i) {
    derivation.add(spec->left_keys[i], spec->right_keys[i], flags_of(i), text);
  }
  derivation.finish(most_columns, left, right, spec);
}

}  // namespace gpujoin::execute
