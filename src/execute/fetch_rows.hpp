// fetch_rows.hpp: columns by row number, between the joins of a sequence and at its end.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/queue.hpp"
#include "src/base/traffic.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/execute/execute.hpp"
#include "src/execute/stage_clock.hpp"
#include "src/plan/choose_plan.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::execute {

// Columns of one relation where an executor reads them. On the GPU a host column goes to the device
// when it is first needed, once, and its copy is let go of after the last use that was announced;
// on the CPU a column of the device comes to the host, for results that a GPU left there.
class FetchedRelation {
 public:
  FetchedRelation(base::Queue& queue, std::shared_ptr<const columns::Relation> relation,
                  plan::Device device);

  void announce_use(int32_t column);
  void end_use(int32_t column);
  // The column as it is to be joined, as a relation of this one column, which holds what it needs.
  // A use.
  std::shared_ptr<columns::Relation> whole(int32_t column,
                                           std::vector<columns::StageStatistics>& stages);
  // target[i] = column[rows[i]] of each of the columns; rows lie where the executor runs, locality
  // says how. A use.
  std::vector<columns::ResultColumn> fetch(const char* stage, const std::vector<int32_t>& columns,
                                           const columns::Storage& rows, int64_t count,
                                           base::traffic::Locality locality,
                                           std::vector<columns::StageStatistics>& stages);
  // The same, among stages that are not waited for; but for columns that lie elsewhere, or that
  // joins do not move.
  std::vector<columns::ResultColumn> fetch(const char* stage, const std::vector<int32_t>& columns,
                                           const columns::Storage& rows, int64_t count,
                                           base::traffic::Locality locality, QueuedStages& queued);

  const columns::Relation& relation() const { return *relation_; }
  const columns::ColumnView& view(int32_t column) const {
    return relation_->columns[static_cast<size_t>(column)];
  }

 private:
  struct Copy {
    columns::ColumnView view;
    columns::Storage data;
    columns::Storage validity;
  };
  bool lies_elsewhere(int32_t column) const;
  void bring(int32_t column, std::vector<columns::StageStatistics>& stages);
  // The copy, or the caller's column.
  const columns::ColumnView& readable(int32_t column) const;

  base::Queue& queue_;
  std::shared_ptr<const columns::Relation> relation_;
  plan::Device device_;
  std::vector<int32_t> uses_;  // to come, of each column
  std::vector<std::shared_ptr<const Copy>> copies_;
};

// The output columns that were asked for, by the row numbers of both sides that the result has,
// behind the columns that it has.
void fetch_columns_of_pairs(base::Queue& queue, const PlannedJoin& join,
                            columns::JoinResult& result);

// 0, 1, 2 and so on, where the executor reads them. Queued on the stream.
columns::Storage number_rows(base::Queue& queue, plan::Device device, int64_t rows);

// The GPU's part, in fetch_rows_cuda.cpp; these throw NO_DEVICE in a build without CUDA.
// Copies a host column to the device. Queued on the stream.
columns::ColumnView copy_to_gpu(base::Queue& queue, const columns::ColumnView& column, int64_t rows,
                                void* ready_event, columns::Storage* data,
                                columns::Storage* validity);
// Copies a device column to host memory, and waits for it.
columns::ColumnView copy_to_cpu(base::Queue& queue, const columns::ColumnView& column, int64_t rows,
                                void* ready_event, columns::Storage* data,
                                columns::Storage* validity);
columns::Storage number_rows_on_gpu(base::Queue& queue, int64_t rows);
// wide[i] = rows[i], all on the device. Queued on the stream.
void widen_row_numbers_on_gpu(base::Queue& queue, const uint32_t* rows, uint64_t count,
                              int64_t* wide);
// target[i] = source[rows[i]]. ready_event: of the sources' relation.
std::vector<columns::ResultColumn> gather_on_gpu(
    base::Queue& queue, const std::vector<const columns::ColumnView*>& sources, void* ready_event,
    const uint32_t* rows, uint64_t count);

}  // namespace gpujoin::execute
