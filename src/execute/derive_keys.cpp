#include "src/execute/derive_keys.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/execute/extended_relation.hpp"
#include "src/execute/key_codes.hpp"
#include "src/execute/packed_keys.hpp"
#include "src/keys/derived_key.hpp"

namespace gpujoin::execute {

using columns::ColumnView;
using columns::Relation;

struct KeptKeys::KeptValues {
  bool build_left = false;
  std::vector<std::shared_ptr<const KeptCodes>> codes;  // in the order in which keys want some
  std::vector<bool> have_flags;                         // of keys of which NULL equals NULL
  std::optional<keys::KeyEncoding> encoding;            // of all keys in one, on the CPU
};

namespace {

// Of dictionaries and runs a value that is named, too, and of runs of positions in a dictionary
// these.
bool may_be_null(const ColumnView& column) {
  if (column.validity != nullptr || column.layout == columns::Layout::kNulls) return true;
  return names_values(column) && may_be_null(*column.parts->values);
}

// What stands for one pair of the caller's keys.
struct Key {
  std::vector<KeyColumn> left;
  std::vector<KeyColumn> right;
};

class Derivation {
 public:
  using KeptValues = KeptKeys::KeptValues;
  struct Packing {
    bool packs = false;        // keys may become one
    bool packs_nulls = false;  // also those of which some are NULL
  };
  Derivation(base::Queue& queue, plan::Device device, Packing packing,
             const std::shared_ptr<const Relation>& left,
             const std::shared_ptr<const Relation>& right)
      : queue_(queue),
        works_(queue),
        device_(device),
        packing_(packing),
        left_(queue, works_, left, false),
        right_(queue, works_, right, false) {}
  // Of a build side that is kept. making: what becomes of it is noted there; null: it was before,
  // and only the probe side's keys are made.
  Derivation(base::Queue& queue, plan::Device device, Packing packing, const KeptValues& kept,
             KeptValues* making, const std::shared_ptr<const Relation>& left,
             const std::shared_ptr<const Relation>& right)
      : queue_(queue),
        works_(queue),
        device_(device),
        packing_(packing),
        kept_(&kept),
        making_(making),
        left_(queue, works_, left, making == nullptr && kept.build_left),
        right_(queue, works_, right, making == nullptr && !kept.build_left) {}

  void add(int32_t left, int32_t right, int32_t flags, TextKey text) {
    auto const comparison = keys::compare_by(left_.column(left), right_.column(right), flags);
    if (!comparison) base::fail(GPUJOIN_ERROR_TYPE, "key types that do not compare");
    bool const is_null_equal = (flags & columns::kNullEqual) != 0 && may_equal_nulls(left, right);
    auto const nulls = !is_null_equal     ? ExtendedRelation::Nulls::kAnything
                       : kept_ == nullptr ? ExtendedRelation::Nulls::kZero
                                          : ExtendedRelation::Nulls::kZeroAlways;
    Key key;
    if (comparison->by_bytes) {
      CodedSide const of_left{left_.original(), left_.column(left), left_.held()};
      CodedSide const of_right{right_.original(), right_.column(right), right_.held()};
      add_codes(key, kept_ == nullptr ? code_keys(queue_, works_, device_, text, of_left, of_right)
                                      : kept_codes(of_left, of_right));
    }
    for (keys::KeyPart const& part : comparison->parts) {
      key.left.push_back(left_.make(left, part.left, part.width, nulls));
      key.right.push_back(right_.make(right, part.right, part.width, nulls));
    }
    if (is_null_equal) let_nulls_be_equal(key);
    keys_.push_back(std::move(key));
  }

  void finish(int32_t most_columns, std::shared_ptr<const Relation>* left,
              std::shared_ptr<const Relation>* right, columns::JoinSpec* spec) {
    if (packing_.packs) pack();
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
  using Codes = std::pair<ColumnView, ColumnView>;

  static void add_codes(Key& key, Codes codes) {
    key.left.push_back({-1, std::move(codes.first), std::nullopt});
    key.right.push_back({-1, std::move(codes.second), std::nullopt});
  }

  size_t count() const {
    size_t columns = 0;
    for (Key const& key : keys_) columns += key.left.size();
    return columns;
  }

  // By the values of the build side alone.
  template <typename Coded>
  Codes kept_codes(const Coded& left, const Coded& right) {
    bool const build_left = kept_->build_left;
    ColumnView build = made_view(nullptr, 4, plan::memory_of(device_));
    if (making_ != nullptr) {
      making_->codes.push_back(
          KeptCodes::make(queue_, works_, device_, build_left ? left : right, &build));
    }
    ColumnView probe =
        kept_->codes[next_codes_++]->codes_of(queue_, works_, build_left ? right : left);
    return in_order(std::move(build), std::move(probe));
  }

  // Left ones first.
  Codes in_order(ColumnView build, ColumnView probe) const {
    if (kept_->build_left) return {std::move(build), std::move(probe)};
    return {std::move(probe), std::move(build)};
  }

  // Of a key of which NULL equals NULL. A NULL of a probe side equals nothing where a build side
  // that is kept has none.
  bool may_equal_nulls(int32_t left, int32_t right) {
    bool const in_left = may_be_null(left_.column(left));
    bool const in_right = may_be_null(right_.column(right));
    if (kept_ == nullptr) return in_left || in_right;
    if (making_ != nullptr) making_->have_flags.push_back(kept_->build_left ? in_left : in_right);
    return kept_->have_flags[next_flags_++];
  }

  // NULLs are zeros, told from other zeros by a column of flags.
  void let_nulls_be_equal(Key& key) {
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
    auto const side_of = [&](ExtendedRelation& side, std::vector<KeyColumn> Key::*columns) {
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
    if (!packing_.packs_nulls && (left.has_nulls() || right.has_nulls())) return;
    auto codes = kept_ == nullptr ? pack_keys(queue_, left, right) : pack_kept(left, right);
    if (!codes) return;
    keys_.clear();
    keys_.push_back({});
    add_codes(keys_.front(), std::move(*codes));
  }

  std::optional<Codes> pack_kept(const PackedSide& left, const PackedSide& right) {
    bool const build_left = kept_->build_left;
    ColumnView build = made_view(nullptr, 4, base::Memory::kHost);
    if (making_ != nullptr) {
      auto packed = pack_build(queue_, build_left ? left : right);
      if (packed) {
        build = std::move(packed->codes);
        making_->encoding = std::move(packed->encoding);
      }
    }
    if (!kept_->encoding) return std::nullopt;
    return in_order(build, codes_of(queue_, build_left ? right : left, *kept_->encoding));
  }

  // The key of the most columns becomes one of codes.
  void code_widest() {
    auto const widest = std::max_element(
        keys_.begin(), keys_.end(),
        [](const Key& one, const Key& other) { return one.left.size() < other.left.size(); });
    auto const side_of = [](ExtendedRelation& side, std::vector<KeyColumn>& columns) {
      CodedRows rows{side.original(), {}, side.held()};
      for (KeyColumn& column : columns) rows.columns.push_back(side.made(column));
      return rows;
    };
    CodedRows const of_left = side_of(left_, widest->left);
    CodedRows const of_right = side_of(right_, widest->right);
    Codes codes = kept_ == nullptr ? code_rows(queue_, works_, device_, of_left, of_right)
                                   : kept_codes(of_left, of_right);
    *widest = {};
    add_codes(*widest, std::move(codes));
  }

  base::Queue& queue_;
  Works works_;
  plan::Device device_;
  Packing packing_;
  const KeptValues* kept_ = nullptr;
  KeptValues* making_ = nullptr;
  size_t next_codes_ = 0;
  size_t next_flags_ = 0;
  ExtendedRelation left_;
  ExtendedRelation right_;
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

// The keys of a join of two relations.
class KeysOfJoin {
 public:
  KeysOfJoin(const Relation& left, const Relation& right, const columns::JoinSpec& spec)
      : left_(left), right_(right), spec_(spec) {}

  size_t count() const { return spec_.left_keys.size(); }
  const ColumnView& left(size_t key) const {
    return left_.columns[static_cast<size_t>(spec_.left_keys[key])];
  }
  const ColumnView& right(size_t key) const {
    return right_.columns[static_cast<size_t>(spec_.right_keys[key])];
  }
  int32_t flags(size_t key) const { return spec_.key_flags.empty() ? 0 : spec_.key_flags[key]; }
  bool nulls_are_equal(size_t key) const { return (flags(key) & columns::kNullEqual) != 0; }

  // nulls_may_meet(key): those of both sides.
  template <typename MayMeet>
  bool compare_as_they_are(const MayMeet& nulls_may_meet) const {
    for (size_t key = 0; key < count(); ++key) {
      if (!execute::compare_as_they_are(left(key), right(key))) return false;
      if (nulls_are_equal(key) && nulls_may_meet(key)) return false;
    }
    return true;
  }
  bool is_any_wide() const {
    for (size_t key = 0; key < count(); ++key) {
      if (left(key).width == 8) return true;
    }
    return false;
  }

 private:
  const Relation& left_;
  const Relation& right_;
  const columns::JoinSpec& spec_;
};

// Names the keys that were derived in the spec, and gives the relations that have them.
void derive(Derivation& derivation, int32_t most_columns, std::shared_ptr<const Relation>* left,
            std::shared_ptr<const Relation>* right, columns::JoinSpec* spec) {
  KeysOfJoin const keys(**left, **right, *spec);
  TextKey const text = spec->asof         ? TextKey::kGrouped
                       : keys.count() > 1 ? TextKey::kBesideOthers
                                          : TextKey::kAlone;
  for (size_t key = 0; key < keys.count(); ++key) {
    derivation.add(spec->left_keys[key], spec->right_keys[key], keys.flags(key), text);
  }
  derivation.finish(most_columns, left, right, spec);
}

// Of probe sides to come, of which any may have NULLs.
Derivation::Packing packing_of_kept(plan::Device device, const columns::JoinSpec& spec) {
  Derivation::Packing packing;
  packing.packs = device == plan::Device::kCpu && !tells_unknown(spec.kind);
  packing.packs_nulls = true;
  return packing;
}

}  // namespace

bool do_compare(const ColumnView& left, const ColumnView& right) {
  return compare_as_they_are(left, right) || keys::compare_by(left, right, 0).has_value();
}

void make_comparable(base::Queue& queue, plan::Device device, std::shared_ptr<const Relation>* left,
                     std::shared_ptr<const Relation>* right, columns::JoinSpec* spec,
                     int32_t most_columns) {
  KeysOfJoin const keys(**left, **right, *spec);
  bool const all_plain = keys.compare_as_they_are([&](size_t key) {
    return keys.left(key).validity != nullptr || keys.right(key).validity != nullptr;
  });
  bool const is_lone = all_plain && keys.count() == 1;
  Derivation::Packing packing;
  packing.packs = device == plan::Device::kCpu && keys.count() != 0 &&
                  (!is_lone || (keys.is_any_wide() && most_columns > 1));
  packing.packs_nulls = !tells_unknown(spec->kind);
  if (!all_plain || packing.packs) {
    Derivation derivation(queue, device, packing, *left, *right);
    derive(derivation, most_columns, left, right, spec);
  }
  spec->key_flags.clear();
}

KeptKeys::KeptKeys(plan::Device device, std::shared_ptr<const Relation> build,
                   columns::JoinSpec spec)
    : device_(device), build_(std::move(build)), spec_(std::move(spec)) {}
KeptKeys::~KeptKeys() = default;

std::shared_ptr<const KeptKeys> KeptKeys::make(base::Queue& queue, plan::Device device,
                                               bool build_left,
                                               std::shared_ptr<const Relation>* left,
                                               std::shared_ptr<const Relation>* right,
                                               columns::JoinSpec* spec) {
  auto const packing = packing_of_kept(device, *spec);
  KeysOfJoin const keys(**left, **right, *spec);
  bool const all_plain = keys.compare_as_they_are([&](size_t key) {
    return (build_left ? keys.left(key) : keys.right(key)).validity != nullptr;
  });
  std::shared_ptr<KeptKeys> kept;
  if (!all_plain || (packing.packs && keys.count() > 1)) {
    Relation const* const before[] = {left->get(), right->get()};
    kept.reset(new KeptKeys(device, build_left ? *left : *right, *spec));
    kept->values_ = std::make_unique<KeptValues>();
    kept->values_->build_left = build_left;
    Derivation derivation(queue, device, packing, *kept->values_, kept->values_.get(), *left,
                          *right);
    derive(derivation, columns::kMostKeys, left, right, spec);
    kept->probe_keys_ = build_left ? spec->right_keys : spec->left_keys;
    if (left->get() == before[0] && right->get() == before[1]) kept = nullptr;
  }
  spec->key_flags.clear();
  return kept;
}

std::shared_ptr<const Relation> KeptKeys::with_keys(
    base::Queue& queue, const std::shared_ptr<const Relation>& probe) const {
  bool const build_left = values_->build_left;
  auto left = build_left ? build_ : probe;
  auto right = build_left ? probe : build_;
  columns::JoinSpec spec = spec_;
  try {
    Derivation derivation(queue, device_, packing_of_kept(device_, spec), *values_, nullptr, left,
                          right);
    derive(derivation, columns::kMostKeys, &left, &right, &spec);
  } catch (...) {
    // What was queued reads the build side's values, which others may let go of.
    base::finish(queue);
    throw;
  }
  bool const are_same = (build_left ? spec.right_keys : spec.left_keys) == probe_keys_;
  if (!are_same) return nullptr;
  return build_left ? right : left;
}

}  // namespace gpujoin::execute
