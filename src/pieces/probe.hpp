// probe.hpp: rows of the probe side of an operation, of one thread or stream.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/execute/sent_rows.hpp"
#include "src/pieces/operation.hpp"

namespace gpujoin::pieces {

class Probe {
 public:
  explicit Probe(std::shared_ptr<Operation> operation);
  ~Probe();

  // Copies the rows; false: pieces wait to be joined, and none was taken. Throws.
  bool append(const std::shared_ptr<const columns::Relation>& batch, int64_t first_row);
  // What is gathered becomes a piece, however little.
  void flush();
  // Joins what waits until there is a result. Throws; then the probe is worth nothing, and its
  // operation incomplete.
  Found next(std::unique_ptr<columns::JoinResult>* result);
  // No batch will come.
  void finish();
  // A call failed before it came here: what follows answers so, as after one that failed here.
  void lose(int32_t status) noexcept;

  // A share of its own, as what follows: calls on other probes do not meet those on this one.
  const std::shared_ptr<base::Context> context;

 private:
  template <typename Call>
  auto guarded(const Call& call);
  void gather(const std::shared_ptr<const columns::Relation>& batch, int64_t first_row,
              const base::CallEnd& end);
  void take_pieces();
  void take_slices(const std::shared_ptr<const columns::Relation>& batch);
  void take_piece(RowStore::TakenBlock rows);
  RowStore::TakenBlock sent(RowStore::TakenBlock rows);
  void leave(bool is_complete) noexcept;

  std::shared_ptr<Operation> operation_;
  std::shared_ptr<const base::Interrupt> interrupt_;
  std::mutex mutex_;
  std::unique_ptr<RowStore> gathered_;
  std::deque<RowStore::TakenBlock> waiting_;  // of gathered_
  std::optional<PieceJoin> current_;
  int64_t joined_rows_ = 0;                     // of the piece that it joins
  int64_t results_ = 0;                         // that came of it so far
  std::unique_ptr<execute::RowSender> sender_;  // of pieces to the device; null: none was sent
  uint64_t bytes_ = 0;                          // gathered, of those that were reported
  bool is_finished_ = false;
  bool has_ended_ = false;
  std::exception_ptr failed_;
};

}  // namespace gpujoin::pieces
