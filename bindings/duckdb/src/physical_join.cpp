// physical_join.cpp: GPUJOIN in a physical plan.
#include "bindings/duckdb/src/physical_join.hpp"

#include <duckdb/common/string_util.hpp>
#include <duckdb/parallel/task_scheduler.hpp>
#include <duckdb/storage/temporary_memory_manager.hpp>

#include "bindings/duckdb/src/contexts.hpp"
#include "bindings/duckdb/src/duckdb_versions.hpp"
#include "bindings/duckdb/src/shown_rows.hpp"

namespace gpujoin_duckdb {

namespace {

using duckdb::DataChunk;
using duckdb::ExecutionContext;

class SinkState final : public duckdb::GlobalSinkState {
 public:
  SinkState(duckdb::ClientContext& client, const PhysicalGpuJoin& join)
      : operation(std::make_unique<JoinOperation>(join.context(), join.layout())),
        memory(duckdb::TemporaryMemoryManager::Get(client).Register(client)),
        context_(join.context()),
        interrupts_(join.interrupts()) {
    auto const& pushdown = join.filter_pushdown;
    if (pushdown && !pushdown->probe_info.empty()) {
      filters = pushdown->GetGlobalState(client, join);
    }
    interrupts_->add(client, *operation);
  }

  ~SinkState() override {
    interrupts_->remove(*operation);
    finished_.clear();
    operation.reset();
    give_back_memory(context_);
  }

  // Probes whose rows have all come, and which have results left.
  void add_finished(Probe probe) {
    std::lock_guard<std::mutex> const guard(mutex_);
    finished_.push_back(std::move(probe));
  }
  Probe take_finished() {
    std::lock_guard<std::mutex> const guard(mutex_);
    if (finished_.empty()) return nullptr;
    Probe probe = std::move(finished_.back());
    finished_.pop_back();
    return probe;
  }

  std::unique_ptr<JoinOperation> operation;
  // From which DuckDB's operators see how much is left for them.
  duckdb::unique_ptr<duckdb::TemporaryMemoryState> memory;
  // Rows of the probe side may come all the same; none of their keys is to be computed.
  bool has_no_output = false;
  // Of DuckDB's filters on scans of the probe side; NULL = none.
  duckdb::unique_ptr<duckdb::JoinFilterGlobalState> filters;

 private:
  Context context_;
  std::shared_ptr<Interrupts> interrupts_;
  std::mutex mutex_;
  std::vector<Probe> finished_;
};

class LocalSink final : public duckdb::LocalSinkState {
 public:
  LocalSink(duckdb::ClientContext& client, const PhysicalGpuJoin& join, SinkState& sink)
      : rows(client, join.context(), join.layout().right) {
    if (!sink.filters) return;
    filters = join.filter_pushdown->GetLocalState(*sink.filters);
    duckdb::vector<duckdb::LogicalType> types;
    key_executor = duckdb::make_uniq<duckdb::ExpressionExecutor>(client);
    for (auto const& condition : join.conditions) {
      key_executor->AddExpression(right_of(condition));
      types.push_back(type_of(right_of(condition)));
    }
    keys.Initialize(client, types);
  }

  InputRows rows;
  duckdb::unique_ptr<duckdb::JoinFilterLocalState> filters;
  duckdb::unique_ptr<duckdb::ExpressionExecutor> key_executor;
  DataChunk keys;
};

class ProbeState final : public duckdb::CachingOperatorState {
 public:
  ProbeState(duckdb::ClientContext& client, const PhysicalGpuJoin& join, SinkState& sink)
      : join_(join),
        sink_(sink),
        rows_(client, join.context(), join.layout().left),
        shown_(client, join.layout()) {}

  // Takes the input, or puts out rows that have to be taken before it can be.
  duckdb::OperatorResultType execute(DataChunk& input, DataChunk& chunk) {
    if (sink_.has_no_output) return duckdb::OperatorResultType::FINISHED;
    gpujoin_error error;
    if (!probe_) probe_ = sink_.operation->new_probe();
    if (batch_ == nullptr) batch_ = rows_.relation_of(input);
    for (;;) {
      while (!shown_.is_at_end()) {
        shown_.put_out(chunk);
        if (chunk.size() != 0) return duckdb::OperatorResultType::HAVE_MORE_OUTPUT;
      }
      shown_.release();
      auto const status = gpujoin_probe_append(probe_.get(), batch_, 0, &error);
      if (status == GPUJOIN_OK) {
        batch_ = nullptr;
        chunk.SetChildCardinality(0);
        return duckdb::OperatorResultType::NEED_MORE_INPUT;
      }
      if (status != GPUJOIN_ERROR_NOT_READY) check(status, error);
      take_result();
    }
  }

  void Finalize(const duckdb::PhysicalOperator&, ExecutionContext&) override {
    if (!probe_) return;
    gpujoin_error error;
    check(gpujoin_probe_finish(probe_.get(), &error), error);
    sink_.add_finished(std::move(probe_));
  }

 private:
  void take_result() {
    gpujoin_state state = GPUJOIN_STATE_NOT_READY;
    gpujoin_result* made = nullptr;
    gpujoin_error error;
    check(gpujoin_probe_next(probe_.get(), &state, &made, &error), error);
    if (made == nullptr) return;
    Result result(made);
    add_to(join_.measure(), result.get());
    shown_.begin(std::move(result));
  }

  const PhysicalGpuJoin& join_;
  SinkState& sink_;
  InputRows rows_;
  ShownRows shown_;
  Probe probe_;
  // The input that was not taken yet.
  const gpujoin_relation* batch_ = nullptr;
};

// Who takes results of the operation waits until those of all probes are taken.
class Draining final {
 public:
  enum class Turn { takes_probe, takes_operation, waits, is_done };

  Turn next(SinkState& sink, Probe& probe, const duckdb::InterruptState& interrupt) {
    std::lock_guard<std::mutex> const guard(mutex_);
    if (is_abandoned_) return Turn::is_done;
    if (is_closed_) return Turn::takes_operation;
    if (probe) {
      probe.reset();
      --at_work_;
    }
    probe = sink.take_finished();
    if (probe) {
      ++at_work_;
      return Turn::takes_probe;
    }
    if (at_work_ != 0) {
      waiting_.push_back(interrupt);
      return Turn::waits;
    }
    sink.operation->close();
    is_closed_ = true;
    wake_up();
    return Turn::takes_operation;
  }

  // Some rows will not be asked for, as there is a LIMIT: nobody is to wait for them.
  void abandon() {
    std::lock_guard<std::mutex> const guard(mutex_);
    is_abandoned_ = true;
    wake_up();
  }

 private:
  void wake_up() {
    for (auto& task : waiting_) task.Callback();
    waiting_.clear();
  }

  std::mutex mutex_;
  std::vector<duckdb::InterruptState> waiting_;
  // Threads that take results of a probe.
  size_t at_work_ = 0;
  bool is_closed_ = false;
  bool is_abandoned_ = false;
};

class SourceState final : public duckdb::GlobalSourceState {
 public:
  explicit SourceState(size_t threads) : threads_(threads) {}

  duckdb::idx_t MaxThreads() override { return threads_; }

  std::shared_ptr<Draining> const draining = std::make_shared<Draining>();

 private:
  size_t threads_;
};

class LocalSource final : public duckdb::LocalSourceState {
 public:
  LocalSource(duckdb::ClientContext& client, const PhysicalGpuJoin& join,
              std::shared_ptr<Draining> all)
      : shown(client, join.layout()), draining(std::move(all)) {}
  ~LocalSource() override {
    if (probe) draining->abandon();
  }

  ShownRows shown;
  Probe probe;
  std::shared_ptr<Draining> const draining;
};

// NULL = it has no more.
Result next_of(const Probe& probe) {
  gpujoin_state state = GPUJOIN_STATE_NOT_READY;
  gpujoin_result* made = nullptr;
  gpujoin_error error;
  check(gpujoin_probe_next(probe.get(), &state, &made, &error), error);
  return Result(made);
}

}  // namespace

PhysicalGpuJoin::PhysicalGpuJoin(duckdb::PhysicalPlan& plan, duckdb::LogicalComparisonJoin& join,
                                 duckdb::PhysicalOperator& left, duckdb::PhysicalOperator& right,
                                 Context context, std::shared_ptr<Interrupts> interrupts,
                                 JoinLayout layout, Expectation expectation)
    : PhysicalComparisonJoin(plan, join, duckdb::PhysicalOperatorType::EXTENSION,
                             std::move(join.conditions), join.join_type,
                             join.estimated_cardinality),
      context_(std::move(context)),
      interrupts_(std::move(interrupts)),
      layout_(std::move(layout)),
      expectation_(std::move(expectation)) {
  filter_pushdown = std::move(join.filter_pushdown);
  caching_supported = false;  // the library's results are large already
  children.push_back(left);
  children.push_back(right);
}

duckdb::string PhysicalGpuJoin::GetName() const { return "GPUJOIN"; }

duckdb::InsertionOrderPreservingMap<duckdb::string> PhysicalGpuJoin::ParamsToString() const {
  duckdb::InsertionOrderPreservingMap<duckdb::string> shown;
  shown["Joined By"] = "GPUJOIN";  // EXPLAIN ANALYZE has the operator's type for a name
  auto const of_join = PhysicalComparisonJoin::ParamsToString();
  for (auto const& entry : of_join) shown[entry.first] = entry.second;
  std::lock_guard<std::mutex> const lock(measure_.mutex);
  bool const has_run = !measure_.executor.empty();
  shown["Executor"] = has_run ? measure_.executor : expectation_.executor;
  shown["Plan"] = has_run ? measure_.plan : expectation_.plan;
  shown["Expected"] = duckdb::StringUtil::Format("%.2f ms", expectation_.milliseconds);
  if (!has_run) return shown;
  shown["Joined In"] = duckdb::StringUtil::Format("%.2f ms", measure_.milliseconds);
  shown["Build Rows"] = std::to_string(measure_.build_rows);
  if (measure_.spilled_bytes != 0) {
    shown["Spilled"] = duckdb::StringUtil::BytesToHumanReadableString(measure_.spilled_bytes);
  }
  return shown;
}

duckdb::unique_ptr<duckdb::GlobalSinkState> PhysicalGpuJoin::GetGlobalSinkState(
    duckdb::ClientContext& client) const {
  return duckdb::make_uniq<SinkState>(client, *this);
}

duckdb::unique_ptr<duckdb::LocalSinkState> PhysicalGpuJoin::GetLocalSinkState(
    ExecutionContext& execution) const {
  return duckdb::make_uniq<LocalSink>(execution.client, *this, sink_state->Cast<SinkState>());
}

duckdb::SinkResultType PhysicalGpuJoin::Sink(ExecutionContext&, DataChunk& chunk,
                                             duckdb::OperatorSinkInput& input) const {
  auto& sink = input.global_state.Cast<SinkState>();
  auto& local = input.local_state.Cast<LocalSink>();
  if (sink.filters) {
    local.keys.Reset();
    local.key_executor->Execute(chunk, local.keys);
    filter_pushdown->Sink(local.keys, *local.filters);
  }
  sink.operation->append(local.rows.relation_of(chunk));
  return duckdb::SinkResultType::NEED_MORE_INPUT;
}

duckdb::SinkCombineResultType PhysicalGpuJoin::Combine(
    ExecutionContext&, duckdb::OperatorSinkCombineInput& input) const {
  auto& sink = input.global_state.Cast<SinkState>();
  auto& local = input.local_state.Cast<LocalSink>();
  if (sink.filters) filter_pushdown->Combine(*sink.filters, *local.filters);
  return duckdb::SinkCombineResultType::FINISHED;
}

duckdb::SinkFinalizeType PhysicalGpuJoin::Finalize(duckdb::Pipeline&, duckdb::Event&,
                                                   duckdb::ClientContext& client,
                                                   duckdb::OperatorSinkFinalizeInput& input) const {
  auto& sink = input.global_state.Cast<SinkState>();
  gpujoin_build_info const build = sink.operation->finish_build();
  sink.operation->add_to(measure_);
  uint64_t const held = build.bytes - build.spilled_bytes;
  sink.memory->SetRemainingSizeAndUpdateReservation(client, std::max<uint64_t>(held, 1));
  if (build.rows == 0 && EmptyResultIfRHSIsEmpty()) {
    sink.has_no_output = true;
    return duckdb::SinkFinalizeType::NO_OUTPUT_POSSIBLE;
  }
  if (sink.filters && build.rows != 0) finish_filters(client, *this, *sink.filters);
  return duckdb::SinkFinalizeType::READY;
}

duckdb::unique_ptr<duckdb::OperatorState> PhysicalGpuJoin::GetOperatorState(
    ExecutionContext& execution) const {
  return duckdb::make_uniq<ProbeState>(execution.client, *this, sink_state->Cast<SinkState>());
}

duckdb::OperatorResultType PhysicalGpuJoin::ExecuteInternal(ExecutionContext&, DataChunk& input,
                                                            DataChunk& chunk,
                                                            duckdb::GlobalOperatorState&,
                                                            duckdb::OperatorState& state) const {
  return state.Cast<ProbeState>().execute(input, chunk);
}

duckdb::unique_ptr<duckdb::GlobalSourceState> PhysicalGpuJoin::GetGlobalSourceState(
    duckdb::ClientContext& client) const {
  return duckdb::make_uniq<SourceState>(
      duckdb::TaskScheduler::GetScheduler(client).NumberOfThreads());
}

duckdb::unique_ptr<duckdb::LocalSourceState> PhysicalGpuJoin::GetLocalSourceState(
    ExecutionContext& execution, duckdb::GlobalSourceState& state) const {
  return duckdb::make_uniq<LocalSource>(execution.client, *this,
                                        state.Cast<SourceState>().draining);
}

// DuckDB asked for what EXPLAIN ANALYZE shows before there was anything to show.
void PhysicalGpuJoin::show_measure(ExecutionContext& execution) const {
  if (!duckdb::QueryProfiler::Get(execution.client).IsEnabled()) return;
  show_in_profile(execution, *this, ParamsToString());
}

duckdb::SourceResultType PhysicalGpuJoin::GetDataInternal(
    ExecutionContext& execution, DataChunk& chunk, duckdb::OperatorSourceInput& input) const {
  auto& sink = sink_state->Cast<SinkState>();
  auto& local = input.local_state.Cast<LocalSource>();
  for (;;) {
    while (!local.shown.is_at_end()) {
      local.shown.put_out(chunk);
      if (chunk.size() != 0) return duckdb::SourceResultType::HAVE_MORE_OUTPUT;
    }
    check_interrupt(execution.client);
    local.shown.release();
    Result result = local.probe ? next_of(local.probe) : nullptr;
    if (!result) {
      Draining::Turn const turn = local.draining->next(sink, local.probe, input.interrupt_state);
      if (turn == Draining::Turn::takes_probe) continue;
      if (turn == Draining::Turn::waits) return duckdb::SourceResultType::BLOCKED;
      if (turn == Draining::Turn::is_done) return duckdb::SourceResultType::FINISHED;
      result = sink.operation->next();
      if (!result) {
        sink.operation->add_to(measure_);
        show_measure(execution);
        chunk.SetChildCardinality(0);
        return duckdb::SourceResultType::FINISHED;
      }
    }
    add_to(measure_, result.get());
    local.shown.begin(std::move(result));
  }
}

}  // namespace gpujoin_duckdb
