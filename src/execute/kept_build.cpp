#include "src/execute/kept_build.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/base/status.hpp"
#include "src/base/without_cuda.hpp"
#include "src/columns/join_kind.hpp"
#include "src/conditions/bind.hpp"
#include "src/execute/without_equality.hpp"
#include "src/plan/named_techniques.hpp"

namespace gpujoin::execute {

#if !GPUJOIN_WITH_CUDA
std::unique_ptr<const Built> keep_on_gpu(base::Queue&, const PlannedJoin&, const SeenKeys*) {
  base::fail_without_cuda();
}
#endif

namespace {

// A plan of sides without NULLs knows of no flags: to it a NULL that a later probe side has equals
// nothing, which is so, but is unknown, where NULL_EQUAL says that it is not.
bool may_mistake_nulls(const columns::JoinSpec& spec) {
  auto const is_told = [&](bool left) {
    columns::RowsOfSide const rows = columns::rows_of(spec.kind, left);
    return rows == columns::RowsOfSide::kMarked || rows == columns::RowsOfSide::kNotIn;
  };
  return (is_told(true) || is_told(false)) &&
         std::any_of(spec.key_flags.begin(), spec.key_flags.end(),
                     [](int32_t flags) { return (flags & columns::kNullEqual) != 0; });
}

// By what a plan of both sides became.
bool can_keep(const PlannedJoin& join, const columns::Relation* left,
              const columns::Relation* right) {
  return join.left.get() == left && join.right.get() == right && !join.picked &&
         !is_without_equality(join.asked());
}

// Tables of a GPU, in the order in which they are tried: keys as addresses, unique keys, any.
constexpr gpujoin_algorithm kTables[] = {GPUJOIN_ALGORITHM_DIRECT_CARRIED,
                                         GPUJOIN_ALGORITHM_NOP_CARRIED, GPUJOIN_ALGORITHM_NOP};

// Pairs take more launches than a join of few rows that makes its table anew: with 10^4 rows 68 us
// in the place of 42; with 10^6, and probes of as many, 140 in that of 190.
bool may_write_pairs(const columns::JoinSpec& spec, bool are_keys_made, int64_t build_rows) {
  constexpr int64_t kFewestRows = int64_t{1} << 19;
  bool const is_plain = !are_keys_made && spec.left_keys.size() == 1 && spec.residual == nullptr;
  return !is_plain || build_rows >= kFewestRows;
}

}  // namespace

bool KeptBuild::may_keep(const columns::JoinSpec& spec, const gpujoin_plan_options& options) {
  return !may_mistake_nulls(spec) && !plan::names_how(options) && !spec.left_keys.empty() &&
         !spec.asof && spec.aggregates.empty() && spec.kind != columns::JoinKind::kCross &&
         spec.bounds.promises == 0;
}

// A join as it is planned: its keys compare as they are.
struct KeptBuild::Sides {
  std::shared_ptr<const columns::Relation> left;
  std::shared_ptr<const columns::Relation> right;
  columns::JoinSpec spec;
  gpujoin_plan_options options;
  bool build_left = false;
  std::shared_ptr<const KeptKeys> keys;  // null: they did from the beginning
};

std::shared_ptr<const KeptBuild> KeptBuild::make(base::Queue& queue,
                                                 std::shared_ptr<const columns::Relation> left,
                                                 std::shared_ptr<const columns::Relation> right,
                                                 columns::JoinSpec spec,
                                                 const gpujoin_plan_options& options,
                                                 bool build_left, const SeenKeys* seen) {
  if (!may_keep(spec, options)) return nullptr;
  spec.of_kept = true;
  auto sides = std::make_shared<Sides>();
  sides->options = options;
  sides->options.build_side = build_left ? GPUJOIN_SIDE_LEFT : GPUJOIN_SIDE_RIGHT;
  sides->build_left = build_left;
  bool const on_gpu = queue.context.is_cuda() && options.device != GPUJOIN_DEVICE_CPU;
  if (!on_gpu && queue.context.is_cuda()) sides->options.device = GPUJOIN_DEVICE_CPU;
  sides->keys = KeptKeys::make(queue, on_gpu ? plan::Device::kCuda : plan::Device::kCpu, build_left,
                               &left, &right, &spec);
  sides->left = std::move(left);
  sides->right = std::move(right);
  sides->spec = std::move(spec);
  return make(queue, {std::move(sides), 0}, seen);
}

std::shared_ptr<const KeptBuild> KeptBuild::make(base::Queue& queue, const Next& next,
                                                 const SeenKeys* seen) {
  Sides const& sides = *next.sides;
  gpujoin_plan_options named = sides.options;
  bool const on_gpu = queue.context.is_cuda() && named.device != GPUJOIN_DEVICE_CPU;
  auto const& build = sides.build_left ? sides.left : sides.right;
  for (size_t table = next.table; table < std::size(kTables); ++table) {
    if (on_gpu) named.algorithm = kTables[table];
    if (on_gpu && kTables[table] == GPUJOIN_ALGORITHM_NOP &&
        !may_write_pairs(sides.spec, sides.keys != nullptr, build->rows)) {
      return nullptr;
    }
    std::shared_ptr<KeptBuild> kept(new KeptBuild);
    try {
      kept->join_ = make_plan(queue, sides.left, sides.right, sides.spec, named, false);
    } catch (const base::Error& error) {
      if (!on_gpu || error.status() != GPUJOIN_ERROR_ILLEGAL_PLAN) throw;
      continue;
    }
    if (!can_keep(kept->join_, sides.left.get(), sides.right.get())) return nullptr;
    kept->sides_ = next.sides;
    kept->table_ = table;
    kept->built_ = on_gpu ? keep_on_gpu(queue, kept->join_, seen) : keep_on_cpu(queue, kept->join_);
    if (kept->built_ != nullptr) return kept;
    if (!on_gpu) break;
  }
  return nullptr;
}

std::optional<PlannedJoin> KeptBuild::joined_with(
    base::Queue& queue, std::shared_ptr<const columns::Relation> probe) const {
  if (sides_->keys != nullptr) probe = sides_->keys->with_keys(queue, probe);
  if (probe == nullptr) return std::nullopt;
  PlannedJoin join = join_;
  bool const build_left = sides_->build_left;
  auto& side = build_left ? join.request.right : join.request.left;
  auto const expected = static_cast<double>(join.choice.plan().expected_rows) *
                        static_cast<double>(probe->rows) /
                        static_cast<double>(std::max<int64_t>(side.rows, 1));
  join.choice.attempts.front().plan.expected_rows = static_cast<int64_t>(expected) + 1;
  side.rows = probe->rows;
  (build_left ? join.right : join.left) = std::move(probe);
  if (join.residual != nullptr) {
    join.residual = conditions::bind(*join.asked().residual, *join.left, *join.right);
  }
  join.kept = shared_from_this();
  return join;
}

}  // namespace gpujoin::execute
