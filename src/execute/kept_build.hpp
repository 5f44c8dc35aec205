// kept_build.hpp: a build side that is made ready once, and joined with any number of probe sides.
//
// in      a build side and one of the probe sides to come, which says how they are planned
// out     joins with probe sides that have the same columns, on any number of queues at a time
// keeps   tables: on the CPU of all partitions, on a GPU one of all rows. A probe side may have any
//         number of rows, and partitions of few rows cost more than looking them up. Keys that
//         become others are made of either side by itself, by what the build side has.
// not     for selections, groups, ASOF joins, joins without keys
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/execute/built.hpp"
#include "src/execute/derive_keys.hpp"
#include "src/execute/execute.hpp"
#include "src/execute/seen_keys.hpp"

namespace gpujoin::execute {

class KeptBuild : public std::enable_shared_from_this<KeptBuild> {
 public:
  // left, right: the build side and such a probe side. seen: of keys that may be the build side's;
  // null: nothing is known. Null where no plan keeps the build side. What is made may still be on
  // its way: probes come behind it. Throws.
  static std::shared_ptr<const KeptBuild> make(base::Queue& queue,
                                               std::shared_ptr<const columns::Relation> left,
                                               std::shared_ptr<const columns::Relation> right,
                                               columns::JoinSpec spec,
                                               const gpujoin_plan_options& options, bool build_left,
                                               const SeenKeys* seen = nullptr);
  // Of the same build side by the techniques that follow. Keeps nothing that this one has built.
  struct Sides;
  struct Next {
    std::shared_ptr<const Sides> sides;
    size_t table = 0;
  };
  Next next() const { return {sides_, table_ + 1}; }
  static std::shared_ptr<const KeptBuild> make(base::Queue& queue, const Next& next,
                                               const SeenKeys* seen = nullptr);

  // Whether joins of such a kind can be, whatever the keys.
  static bool may_keep(const columns::JoinSpec& spec, const gpujoin_plan_options& options);

  // To be executed as any other. Nothing: the probe side's keys became others than those of the one
  // that it was made with. Throws.
  std::optional<PlannedJoin> joined_with(base::Queue& queue,
                                         std::shared_ptr<const columns::Relation> probe) const;

  const Built& built() const { return *built_; }
  // A probe found that the keys do not suit the plan.
  void give_up() const { is_good_ = false; }
  bool is_good() const { return is_good_; }

 private:
  KeptBuild() = default;

  std::shared_ptr<const Sides> sides_;
  PlannedJoin join_;  // to be given a probe side; the side that is built refers to it
  size_t table_ = 0;  // which of those that are tried
  std::unique_ptr<const Built> built_;
  mutable std::atomic<bool> is_good_{true};
};

// In on_cpu.cpp and on_gpu_cuda.cpp. join outlives what is answered. Null: not with these keys.
std::unique_ptr<const Built> keep_on_cpu(base::Queue& queue, const PlannedJoin& join);
std::unique_ptr<const Built> keep_on_gpu(base::Queue& queue, const PlannedJoin& join,
                                         const SeenKeys* seen);

}  // namespace gpujoin::execute
