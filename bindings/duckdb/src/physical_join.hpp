// physical_join.hpp: GPUJOIN in a physical plan: the right side's rows go into a build, the left
// side's rows through probes, and what is known when all have come is a source behind them.
#pragma once

#include <duckdb/execution/operator/join/physical_comparison_join.hpp>

#include "bindings/duckdb/src/interrupts.hpp"
#include "bindings/duckdb/src/join_layout.hpp"
#include "bindings/duckdb/src/join_operation.hpp"
#include "bindings/duckdb/src/library.hpp"

namespace gpujoin_duckdb {

// What EXPLAIN shows of a join's plan.
struct Expectation {
  std::string executor;
  std::string plan;
  double milliseconds = 0;
};

class PhysicalGpuJoin final : public duckdb::PhysicalComparisonJoin {
 public:
  PhysicalGpuJoin(duckdb::PhysicalPlan& plan, duckdb::LogicalComparisonJoin& join,
                  duckdb::PhysicalOperator& left, duckdb::PhysicalOperator& right, Context context,
                  std::shared_ptr<Interrupts> interrupts, JoinLayout layout,
                  Expectation expectation);

  duckdb::string GetName() const override;
  duckdb::InsertionOrderPreservingMap<duckdb::string> ParamsToString() const override;

  // Sink: the build side.
  bool IsSink() const override { return true; }
  bool ParallelSink() const override { return true; }
  duckdb::unique_ptr<duckdb::GlobalSinkState> GetGlobalSinkState(
      duckdb::ClientContext& client) const override;
  duckdb::unique_ptr<duckdb::LocalSinkState> GetLocalSinkState(
      duckdb::ExecutionContext& execution) const override;
  duckdb::SinkResultType Sink(duckdb::ExecutionContext& execution, duckdb::DataChunk& chunk,
                              duckdb::OperatorSinkInput& input) const override;
  duckdb::SinkCombineResultType Combine(duckdb::ExecutionContext& execution,
                                        duckdb::OperatorSinkCombineInput& input) const override;
  duckdb::SinkFinalizeType Finalize(duckdb::Pipeline& pipeline, duckdb::Event& event,
                                    duckdb::ClientContext& client,
                                    duckdb::OperatorSinkFinalizeInput& input) const override;

  // Operator: the probe side.
  bool ParallelOperator() const override { return true; }
  duckdb::unique_ptr<duckdb::OperatorState> GetOperatorState(
      duckdb::ExecutionContext& execution) const override;

  // Source: what comes out when all rows of the probe side have come.
  bool IsSource() const override { return true; }
  bool ParallelSource() const override { return true; }
  duckdb::unique_ptr<duckdb::GlobalSourceState> GetGlobalSourceState(
      duckdb::ClientContext& client) const override;
  duckdb::unique_ptr<duckdb::LocalSourceState> GetLocalSourceState(
      duckdb::ExecutionContext& execution, duckdb::GlobalSourceState& state) const override;

  const JoinLayout& layout() const { return layout_; }
  const Context& context() const { return context_; }
  const std::shared_ptr<Interrupts>& interrupts() const { return interrupts_; }
  JoinMeasure& measure() const { return measure_; }

 protected:
  duckdb::OperatorResultType ExecuteInternal(duckdb::ExecutionContext& execution,
                                             duckdb::DataChunk& input, duckdb::DataChunk& chunk,
                                             duckdb::GlobalOperatorState& global_state,
                                             duckdb::OperatorState& state) const override;
  duckdb::SourceResultType GetDataInternal(duckdb::ExecutionContext& execution,
                                           duckdb::DataChunk& chunk,
                                           duckdb::OperatorSourceInput& input) const override;

 private:
  void show_measure(duckdb::ExecutionContext& execution) const;

  Context context_;
  std::shared_ptr<Interrupts> interrupts_;
  JoinLayout layout_;
  Expectation expectation_;
  mutable JoinMeasure measure_;
};

}  // namespace gpujoin_duckdb
