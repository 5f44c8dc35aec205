#include "src/pieces/nearest_rows.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/base/copy.hpp"
#include "src/execute/execute.hpp"

namespace gpujoin::pieces {

using columns::Relation;

NearestRows::NearestRows(const JoinOfPieces& join, std::shared_ptr<const Relation> probe,
                         std::shared_ptr<const RowSchema> schema)
    : join_(join),
      probe_(std::move(probe)),
      schema_(std::move(schema)),
      memory_{std::make_shared<base::Pool>(join.context->host_account), base::Memory::kHost},
      candidates_(schema_, memory_) {}

std::vector<uint32_t> NearestRows::nearest(base::Queue& queue, const Relation& rows) const {
  columns::JoinSpec spec = join_.spec;
  spec.kind = columns::JoinKind::kInner;
  spec.pairs = true;
  spec.materialize = false;
  spec.left_columns.clear();
  spec.right_columns.clear();
  spec.bounds = columns::Bounds();
  // It lives as long as the call.
  std::shared_ptr<const Relation> const part(std::shared_ptr<void>(), &rows);
  queue.check_cancelled();
  auto const result = execute::execute(
      queue, execute::make_plan(queue, probe_, part, std::move(spec), join_.options, false));
  std::vector<uint32_t> found(static_cast<size_t>(result->rows));
  base::copy(queue, found.data(), base::Memory::kHost, result->right_rows.get(), result->memory,
             found.size() * sizeof(uint32_t));
  base::finish(queue);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void NearestRows::meet(base::Queue& queue, const Relation& part, uint32_t number) {
  std::vector<uint32_t> const found = nearest(queue, part);
  // Twice as many as there are in the end: reducing them is a join, too.
  auto const most = 3 * std::max<int64_t>(probe_->rows, 64);
  if (candidates_.rows() + static_cast<int64_t>(found.size()) > most) reduce(queue);
  candidates_.append_rows(part, found, std::nullopt);
  for (uint32_t const row : found) origins_.push_back({number, row});
}

void NearestRows::reduce(base::Queue& queue) {
  Relation const all = candidates_.view(join_.context);
  std::vector<uint32_t> const found = nearest(queue, all);
  GatheredRows fewer(schema_, memory_);
  fewer.append_rows(all, found, std::nullopt);
  for (size_t i = 0; i < found.size(); ++i) origins_[i] = origins_[found[i]];
  origins_.resize(found.size());
  candidates_ = std::move(fewer);
}

std::shared_ptr<const Relation> NearestRows::take() { return candidates_.take(join_.context); }

}  // namespace gpujoin::pieces
