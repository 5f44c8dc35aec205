#include "src/execute/derive_keys.hpp"

#include <utility>
#include <vector>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/base/without_cuda.hpp"
#include "src/columns/result.hpp"
#include "src/cpu/derive_keys.hpp"
#include "src/cpu/workers.hpp"
#include "src/keys/derived_key.hpp"

namespace gpujoin::execute {

namespace {

using columns::ColumnView;
using columns::Relation;
using kernels::KeyOp;

// A relation with further columns, which holds what they lie in.
class Extended {
 public:
  Extended(base::Queue& queue, const std::shared_ptr<const Relation>& original)
      : queue_(queue), held_(std::make_shared<Held>()), relation_(std::make_shared<Relation>()) {
    held_->original = original;
    *relation_ = *original;
    relation_->owner = held_;
  }

  // The position of what `op` makes of a column.
  int32_t add(int32_t number, KeyOp op, int32_t width) {
    if (op == KeyOp::kAsIs) return number;
    ColumnView const column = relation_->columns[static_cast<size_t>(number)];
    std::shared_ptr<const void> values;
    ColumnView view = derive(column, op, width, &values);
    view.type = width == 4 ? GPUJOIN_TYPE_UINT32 : GPUJOIN_TYPE_UINT64;
    view.width = width;
    view.arrow_format = columns::arrow_format_of(view.type);
    held_->values.push_back(std::move(values));
    relation_->columns.push_back(std::move(view));
    return static_cast<int32_t>(relation_->columns.size()) - 1;
  }

  // Null where no column was added.
  std::shared_ptr<const Relation> take() const {
    return held_->values.empty() ? nullptr : relation_;
  }

 private:
  struct Held {
    std::shared_ptr<const Relation> original;
    std::vector<std::shared_ptr<const void>> values;
  };

  ColumnView derive(const ColumnView& column, KeyOp op, int32_t width,
                    std::shared_ptr<const void>* values) {
    if (column.memory == base::Memory::kDevice) {
      return derive_on_gpu(queue_, column, relation_->ready_event, static_cast<int32_t>(op), width,
                           relation_->rows, values);
    }
    cpu::Workers workers(queue_);
    kernels::DerivedKey const key{column.data, column.width, op};
    *values = columns::make_storage(
        cpu::derive_key(queue_, workers, key, width, static_cast<uint64_t>(relation_->rows)));
    ColumnView view = column;
    view.data = values->get();
    view.memory = base::Memory::kHost;
    return view;
  }

  base::Queue& queue_;
  std::shared_ptr<Held> held_;
  std::shared_ptr<Relation> relation_;
};

std::vector<keys::KeyPart> parts_of(const ColumnView& left, const ColumnView& right) {
  auto parts = keys::compare_by(left, right);
  if (!parts) base::fail(GPUJOIN_ERROR_TYPE, "key types that do not compare");
  return *std::move(parts);
}

// Of most joins all keys: asking costs no allocation, of which a small join feels each.
bool compare_as_they_are(const ColumnView& left, const ColumnView& right) {
  return left.type == right.type && columns::is_key_type(left.type);
}

bool are_plain(const std::vector<keys::KeyPart>& parts) {
  return parts.size() == 1 && parts.front().left == KeyOp::kAsIs &&
         parts.front().right == KeyOp::kAsIs;
}

}  // namespace

#if !GPUJOIN_WITH_CUDA
ColumnView derive_on_gpu(base::Queue&, const ColumnView&, void*, int32_t, int32_t, int64_t,
                         std::shared_ptr<const void>*) {
  base::fail_without_cuda();
}
#endif

bool do_compare(const ColumnView& left, const ColumnView& right) {
  return compare_as_they_are(left, right) || keys::compare_by(left, right).has_value();
}

void make_comparable(base::Queue& queue, std::shared_ptr<const Relation>* left,
                     std::shared_ptr<const Relation>* right, columns::JoinSpec* spec) {
  auto const column = [](const Relation& relation, int32_t number) -> const ColumnView& {
    return relation.columns[static_cast<size_t>(number)];
  };
  bool all_plain = true;
  for (size_t i = 0; i < spec->left_keys.size(); ++i) {
    all_plain = all_plain && compare_as_they_are(column(**left, spec->left_keys[i]),
                                                 column(**right, spec->right_keys[i]));
  }
  if (all_plain) return;
  std::vector<std::vector<keys::KeyPart>> parts;
  bool any = false;
  size_t count = 0;
  for (size_t i = 0; i < spec->left_keys.size(); ++i) {
    parts.push_back(
        parts_of(column(**left, spec->left_keys[i]), column(**right, spec->right_keys[i])));
    any = any || !are_plain(parts.back());
    count += parts.back().size();
  }
  if (!any) return;
  if (count > static_cast<size_t>(columns::kMostKeys)) {
    base::fail(GPUJOIN_ERROR_UNSUPPORTED,
               "spec.key_count: the keys are compared as %zu columns of 8 bytes or less; this "
               "version joins on 1 to %d",
               count, columns::kMostKeys);
  }
  Extended extended_left(queue, *left);
  Extended extended_right(queue, *right);
  std::vector<int32_t> left_keys;
  std::vector<int32_t> right_keys;
  for (size_t i = 0; i < parts.size(); ++i) {
    for (keys::KeyPart const& part : parts[i]) {
      left_keys.push_back(extended_left.add(spec->left_keys[i], part.left, part.width));
      right_keys.push_back(extended_right.add(spec->right_keys[i], part.right, part.width));
    }
  }
  spec->left_keys = std::move(left_keys);
  spec->right_keys = std::move(right_keys);
  if (auto made = extended_left.take()) *left = std::move(made);
  if (auto made = extended_right.take()) *right = std::move(made);
  // Other queues may execute the plan.
  base::finish(queue);
}

}  // namespace gpujoin::execute
