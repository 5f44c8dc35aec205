// extended_relation.hpp: a relation with further columns, which are keys as they compare.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/cpu/pack_keys.hpp"
#include "src/execute/key_codes.hpp"
#include "src/keys/derived_key.hpp"

namespace gpujoin::execute {

// One column of a key: the caller's, or one that was made, or is to be.
struct KeyColumn {
  int32_t number = -1;  // of the caller's
  columns::ColumnView made;
  std::optional<keys::KeyStep> step;  // made has no data yet: this makes it
};

// Holds what the columns lie in.
class ExtendedRelation {
 public:
  // has_keys: they were made of it before, and of what is made now nothing but the widths is asked.
  ExtendedRelation(base::Queue& queue, Works& works,
                   const std::shared_ptr<const columns::Relation>& original, bool has_keys);

  const columns::Relation& original() const { return *held_->original; }
  const columns::ColumnView& column(int32_t number) const {
    return original().columns[static_cast<size_t>(number)];
  }
  Held* held() { return &held_->values; }

  // What lies beneath a NULL: whatever it is; or 0, and columns without NULLs may stay where they
  // are, or are made, too.
  enum class Nulls { kAnything, kZero, kZeroAlways };
  // What a step makes of a column. Its validity is the column's.
  KeyColumn make(int32_t number, const keys::KeyStep& step, int32_t width, Nulls nulls);
  // 1 where the key column is NULL.
  KeyColumn null_flag(const KeyColumn& of);
  // Without data where it is to be made.
  const columns::ColumnView& view_of(const KeyColumn& key) const {
    return key.number < 0 ? key.made : column(key.number);
  }
  const columns::ColumnView& made(KeyColumn& key);
  // As it is packed with others.
  cpu::KeySource source_of(const KeyColumn& key) const;
  // Its position in the relation that take() gives.
  int32_t add(KeyColumn key);
  // Null where no column was added.
  std::shared_ptr<const columns::Relation> take() const { return relation_; }

 private:
  struct Kept {
    std::shared_ptr<const columns::Relation> original;
    Held values;
  };

  columns::ColumnView derive(ColumnWork& work, int64_t rows, const keys::KeyStep& step,
                             int32_t width);
  columns::ColumnView nulls(base::Memory memory, int32_t width);

  base::Queue& queue_;
  Works& works_;
  bool has_keys_;
  std::shared_ptr<Kept> held_;
  std::shared_ptr<columns::Relation> relation_;
};

}  // namespace gpujoin::execute
