#include "src/execute/fetch_rows.hpp"

#include <numeric>
#include <utility>

#include "src/base/traffic.hpp"
#include "src/base/without_cuda.hpp"
#include "src/cpu/gather_rows.hpp"
#include "src/cpu/workers.hpp"
#include "src/execute/late_columns.hpp"
#include "src/plan/memory_of_device.hpp"

namespace gpujoin::execute {

namespace traffic = base::traffic;

#if !GPUJOIN_WITH_CUDA
columns::ColumnView copy_to_gpu(base::Queue&, const columns::ColumnView&, int64_t, void*,
                                columns::Storage*, columns::Storage*) {
  base::fail_without_cuda();
}
columns::ColumnView copy_to_cpu(base::Queue&, const columns::ColumnView&, int64_t, void*,
                                columns::Storage*, columns::Storage*) {
  base::fail_without_cuda();
}
columns::Storage number_rows_on_gpu(base::Queue&, int64_t) { base::fail_without_cuda(); }
void widen_row_numbers_on_gpu(base::Queue&, const uint32_t*, uint64_t, int64_t*) {
  base::fail_without_cuda();
}
std::vector<columns::ResultColumn> gather_on_gpu(base::Queue&,
                                                 const std::vector<const columns::ColumnView*>&,
                                                 void*, const uint32_t*, uint64_t) {
  base::fail_without_cuda();
}
#endif

FetchedRelation::FetchedRelation(base::Queue& queue,
                                 std::shared_ptr<const columns::Relation> relation,
                                 plan::Device device)
    : queue_(queue),
      relation_(std::move(relation)),
      device_(device),
      uses_(relation_->columns.size(), 0),
      copies_(relation_->columns.size()) {}

void FetchedRelation::announce_use(int32_t column) { ++uses_[static_cast<size_t>(column)]; }

bool FetchedRelation::lies_elsewhere(int32_t column) const {
  bool const is_on_device = view(column).memory == base::Memory::kDevice;
  return is_on_device != (device_ == plan::Device::kCuda);
}

void FetchedRelation::bring(int32_t column, std::vector<columns::StageStatistics>& stages) {
  auto& kept = copies_[static_cast<size_t>(column)];
  if (kept != nullptr || !lies_elsewhere(column) || relation_->rows == 0) return;
  columns::ColumnView const& source = view(column);
  auto copy = std::make_shared<Copy>();
  plan::StageCost cost;
  cost.stage = "transfer";
  cost.technique = plan::to_text(plan::Transfer::kExplicitCopies);
  cost.bytes = traffic::host_copy(static_cast<uint64_t>(relation_->rows),
                                  static_cast<uint64_t>(source.width))
                   .bytes();
  run_as_stage(queue_, device_, cost, stages, [&] {
    auto const copy_over = device_ == plan::Device::kCuda ? copy_to_gpu : copy_to_cpu;
    copy->view = copy_over(queue_, source, relation_->rows, relation_->ready_event, &copy->data,
                           &copy->validity);
  });
  kept = std::move(copy);
}

const columns::ColumnView& FetchedRelation::readable(int32_t column) const {
  auto const& kept = copies_[static_cast<size_t>(column)];
  return kept != nullptr ? kept->view : view(column);
}

void FetchedRelation::end_use(int32_t column) {
  if (--uses_[static_cast<size_t>(column)] <= 0) copies_[static_cast<size_t>(column)] = nullptr;
}

std::shared_ptr<columns::Relation> FetchedRelation::whole(
    int32_t column, std::vector<columns::StageStatistics>& stages) {
  auto alone = std::make_shared<columns::Relation>();
  alone->context = relation_->context;
  alone->rows = relation_->rows;
  alone->ready_event = relation_->ready_event;
  // Needed once only: the join transfers it, by the technique of its plan.
  bool const once = uses_[static_cast<size_t>(column)] == 1;
  if (!once) bring(column, stages);
  alone->columns = {readable(column)};
  struct Kept {
    std::shared_ptr<const columns::Relation> relation;
    std::shared_ptr<const Copy> copy;
  };
  alone->owner = std::make_shared<Kept>(Kept{relation_, copies_[static_cast<size_t>(column)]});
  end_use(column);
  return alone;
}

std::vector<columns::ResultColumn> FetchedRelation::fetch(
    const char* stage, const std::vector<int32_t>& columns, const columns::Storage& rows,
    int64_t count, traffic::Locality locality, std::vector<columns::StageStatistics>& stages) {
  QueuedStages queued(queue_, stages);
  auto targets = fetch(stage, columns, rows, count, locality, queued);
  queued.finish();
  return targets;
}

std::vector<columns::ResultColumn> FetchedRelation::fetch(const char* stage,
                                                          const std::vector<int32_t>& columns,
                                                          const columns::Storage& rows,
                                                          int64_t count, traffic::Locality locality,
                                                          QueuedStages& queued) {
  auto const* numbers = static_cast<const uint32_t*>(rows.get());
  auto const row_count = static_cast<uint64_t>(count);
  std::vector<columns::ResultColumn> targets;

  // Columns that lie where they are read are gathered in one go; of the others there is one copy at
  // a time.
  auto const is_early = [&](int32_t column) {
    return columns::is_moved_as_values(view(column).layout);
  };
  for (size_t first = 0; first < columns.size();) {
    size_t end = first + 1;
    if (!is_early(columns[first])) {
      base::Memory const memory = plan::memory_of(device_);
      queued.finish();
      targets.push_back(
          fetch_late(queue_, memory, *relation_, columns[first], rows, count, queued.stages()));
      end_use(columns[first]);
      ++first;
      continue;
    }
    bool const is_brought = lies_elsewhere(columns[first]);
    if (is_brought) queued.finish();
    if (!is_brought) {
      while (end < columns.size() && is_early(columns[end]) && !lies_elsewhere(columns[end])) ++end;
    }
    plan::StageCost cost;
    cost.stage = stage;
    cost.technique = "gather by row number";
    std::vector<const columns::ColumnView*> sources;
    for (size_t i = first; i < end; ++i) {
      bring(columns[i], queued.stages());
      sources.push_back(&readable(columns[i]));
      cost.bytes +=
          traffic::gather(row_count, static_cast<uint64_t>(sources.back()->width), locality)
              .bytes();
    }
    std::vector<columns::ResultColumn> gathered;
    if (device_ == plan::Device::kCuda) {
      queued.run(device_, cost, [&] {
        gathered = gather_on_gpu(queue_, sources, relation_->ready_event, numbers, row_count);
      });
    } else {
      cpu::Workers workers(queue_);
      queued.run(device_, cost, [&] {
        for (columns::ColumnView const* source : sources) {
          gathered.push_back(cpu::gather_rows(queue_, workers, stage, *source, numbers, row_count));
        }
      });
    }
    // Its copy goes with its last use.
    if (is_brought) queued.finish();
    for (columns::ResultColumn& column : gathered) targets.push_back(std::move(column));
    for (; first < end; ++first) end_use(columns[first]);
  }
  return targets;
}

columns::Storage number_rows(base::Queue& queue, plan::Device device, int64_t rows) {
  if (device == plan::Device::kCuda) return number_rows_on_gpu(queue, rows);
  auto numbers = queue.host_pool->allocate_rows<uint32_t>(
      base::Memory::kHost, static_cast<uint64_t>(rows), "row numbers");
  auto* const first = numbers.as<uint32_t>();
  cpu::Workers workers(queue);
  workers.for_each_range("number rows", static_cast<uint64_t>(rows), uint64_t{1} << 18,
                         [&](uint64_t from, uint64_t end) {
                           std::iota(first + from, first + end, static_cast<uint32_t>(from));
                         });
  return columns::make_storage(std::move(numbers));
}

void fetch_columns_of_pairs(base::Queue& queue, const PlannedJoin& join,
                            columns::JoinResult& result) {
  plan::Device const device = plan::device_of(result.memory);
  for (bool const left : {true, false}) {
    auto const& wanted = left ? join.asked().left_columns : join.asked().right_columns;
    if (wanted.empty()) continue;
    FetchedRelation fetched(queue, left ? join.left : join.right, device);
    for (columns::ResultColumn& column :
         fetched.fetch("materialize", wanted, left ? result.left_rows : result.right_rows,
                       result.rows, traffic::Locality::kClustered, result.statistics.stages)) {
      result.columns.push_back(std::move(column));
    }
  }
}

}  // namespace gpujoin::execute
