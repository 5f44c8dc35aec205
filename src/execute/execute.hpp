// execute.hpp: the door to both executors. on_gpu_cuda.cpp and on_cpu.cpp are the path, one call a
// stage.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/columns/selection.hpp"
#include "src/conditions/bound_condition.hpp"
#include "src/keys/encoding.hpp"
#include "src/plan/choose_plan.hpp"
#include "src/plan/join_plan.hpp"
#include "src/plan/key_sample.hpp"

namespace gpujoin::execute {

class JoinGroups;
class KeptBuild;

// An output column of text that is a key: the other side's key has the same bytes in each row.
struct LateTwin {
  bool of_left = false;  // the output column
  int32_t column = 0;
  int32_t other = 0;  // the column of the other side, which is fetched in its place
};

// Of sides of which some rows are read: see selected.hpp.
struct PickedSides {
  int64_t left_rows = 0;  // as the caller counts them
  int64_t right_rows = 0;
  // What the rows are picked of; null: all rows are read.
  std::shared_ptr<const columns::Relation> of_left;
  std::shared_ptr<const columns::Relation> of_right;
  // By which row numbers become those of the relations as registered; null: they are.
  std::shared_ptr<const columns::Origin> left;
  std::shared_ptr<const columns::Origin> right;
  std::vector<columns::StageStatistics> stages;
  std::string note;  // what was done, for explain
  // Of pairs that the caller decides on: rows of the relations that were joined.
  columns::Storage left_candidates;
  columns::Storage right_candidates;
};

// A join as the caller gave it.
struct GivenJoin {
  std::shared_ptr<const columns::Relation> left;
  std::shared_ptr<const columns::Relation> right;
  columns::JoinSpec spec;
  gpujoin_plan_options options;
};

// A planned join. Holds both relations.
struct PlannedJoin {
  std::shared_ptr<base::Context> context;
  std::shared_ptr<const columns::Relation> left;
  std::shared_ptr<const columns::Relation> right;
  columns::JoinSpec spec;  // what the executors see: of a kind, the inner join that it is made of
  std::optional<columns::JoinSpec> of_kind;  // what was asked for, where that is another
  // What was asked for, where output columns come late: asked() then is without them.
  std::optional<columns::JoinSpec> late;
  std::vector<LateTwin> late_twins;
  std::optional<columns::JoinSpec> promised;  // with the caller's keys, where it promises something
  std::optional<PickedSides> picked;          // where rows of a side are picked
  // What was asked for, where aggregates stand in the place of rows; asked() is of the rows.
  std::optional<columns::JoinSpec> grouped;
  bool adds_in_match = false;  // grouped: matches are added up where they are found
  bool adds_columns = false;   // grouped: they are by columns that the match writes
  // grouped by rows of a side: partitions of the device add them up where they meet, and groups
  // come with their columns.
  bool adds_in_partitions = false;
  columns::Bounds bounds;  // what was asked for; those of `spec` are what executors keep to
  std::optional<keys::KeyEncoding> encoding;  // by which plans of packed or hashed keys encode
  std::shared_ptr<const conditions::BoundCondition> residual;  // null: none
  plan::PlanRequest request;
  plan::PlanChoice choice;
  // Of plans that are explained (see count_output.hpp), and of groups.
  std::shared_ptr<const GivenJoin> given;
  std::shared_ptr<const KeptBuild> kept;  // with which the other side is joined; null: none
  // What ends an execution.
  std::shared_ptr<base::Interrupt> interrupt;
  int64_t timeout_milliseconds = 0;

  const columns::JoinSpec& asked() const { return of_kind ? *of_kind : spec; }
  // What the caller asked for, with all output columns; its keys are those that are compared.
  const columns::JoinSpec& wanted() const { return late ? *late : asked(); }
  // Another of the choice's candidates, with what follows it.
  void take(const plan::Candidate& candidate);
};

// What the planner knows of one side of a join.
plan::SideStatistics describe_side(const columns::Relation& relation,
                                   const std::vector<int32_t>& keys,
                                   const std::vector<int32_t>& output_columns, bool materialize);

// Plans: fills the request from the relations, samples when the planner wants it, chooses. Throws.
// is_explained: false leaves the candidates out where that saves time. in_partitions: groups may be
// added up so.
PlannedJoin make_plan(base::Queue& queue, std::shared_ptr<const columns::Relation> left,
                      std::shared_ptr<const columns::Relation> right, columns::JoinSpec spec,
                      const gpujoin_plan_options& options, bool is_explained = true,
                      bool in_partitions = true);

// Whether the CPU may join what the device has no room for: nobody asked for the device or named a
// technique, and the columns are not the device's.
bool may_leave_device(const base::Context& context, const GivenJoin& given);

// Tells whoever listens which plan it is and why.
void log_choice(const base::Context& context, const plan::PlanChoice& choice);

// Why it is that plan: a text that is made when it is asked for.
std::function<std::string()> why_planned(const PlannedJoin& join);

// The text of gpujoin_plan_explain.
std::string explain(const PlannedJoin& join);

// Executes the plan on the executor that it names, with statistics. Throws; then nothing is left
// behind.
std::unique_ptr<columns::JoinResult> execute(base::Queue& queue, const PlannedJoin& join);

// Row numbers of the relations that were joined as those of the relations as registered.
void name_registered_rows(base::Queue& queue, const PickedSides& sides,
                          columns::JoinResult& result);

// From the rows of the kind that was asked for to the result: limits, order, late columns.
void put_out_rows(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result);

// The executors. expected: the plan is legal and the spec was validated against the relations.
// groups: of a join that adds_in_match or adds_in_partitions, else null.
void on_cpu(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result,
            const JoinGroups* groups = nullptr);
// Throws NO_DEVICE in a build without CUDA.
void on_gpu(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result,
            const JoinGroups* groups = nullptr);

// Between which values the keys of several columns lie, as a part of the rows says, where all key
// columns are on the device; an encoding that holds them, if 8 bytes do.
std::optional<keys::KeyEncoding> look_at_keys_on_gpu(base::Queue& queue, const PlannedJoin& join);
// By all keys of the side that options name as the build side, alone. By their types where they are
// in host memory.
std::optional<keys::KeyEncoding> look_at_build_keys_on_gpu(base::Queue& queue,
                                                           const PlannedJoin& join);

// What a sample of both sides says, whose first keys lie where the device reads them. make_plan
// asks when plan::sample_effort says so.
plan::SampleStatistics sample_sides(base::Queue& queue, const PlannedJoin& join,
                                    plan::Device device, plan::SampleEffort effort);

// Key sampling where the keys are, by the rule in src/plan/key_sample.hpp, with build and probe as
// plan::build_side_of says; plan::statistics_of makes statistics of the findings.
// effort: kPositions leaves step 2 of the rule out.
plan::SampleFindings sample_on_gpu(base::Queue& queue, const columns::Relation& build,
                                   int32_t build_key, const columns::Relation& probe,
                                   int32_t probe_key, plan::SampleEffort effort);
plan::SampleFindings sample_on_cpu(base::Queue& queue, const columns::Relation& build,
                                   int32_t build_key, const columns::Relation& probe,
                                   int32_t probe_key);

}  // namespace gpujoin::execute
