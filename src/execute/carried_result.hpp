// carried_result.hpp: a result whose columns the match writes itself.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "src/columns/result.hpp"
#include "src/execute/alone_task.hpp"
#include "src/execute/built.hpp"
#include "src/execute/gpu_side.hpp"
#include "src/match/chunked_columns.hpp"

namespace gpujoin::execute {

// What a match writes, and row numbers that it writes for the columns that are fetched afterwards.
class CarriedResult {
 public:
  CarriedResult(const GpuSide& build, const GpuSide& probe, bool build_left,
                columns::JoinResult& result);
  // Of one side alone, the probe side of what writes it, in the result as the left one.
  CarriedResult(const GpuSide& side, columns::JoinResult& result);

  const std::vector<match::CarriedOutput>& outputs() const { return outputs_; }
  // Row numbers that the match wrote, where both sides carry them.
  uint32_t* build_rows() const { return numbers(build_left_ ? left_rows_ : right_rows_); }
  uint32_t* probe_rows() const { return numbers(build_left_ ? right_rows_ : left_rows_); }
  // The match has written its columns: verifies hashed keys, fetches the other columns. kJoined or
  // kKeysCollide.
  plan::Finding finish(const JoinStep& step, const match::WrittenRows& written);

 private:
  static uint32_t* numbers(const columns::Storage& storage) {
    return static_cast<uint32_t*>(const_cast<void*>(storage.get()));
  }
  columns::ResultColumn* left_targets() { return result_.columns.data(); }
  columns::ResultColumn* right_targets() { return result_.columns.data() + left_columns_; }
  void add_outputs(const GpuSide& side, kernels::CarriedFrom from, columns::ResultColumn* targets,
                   size_t count, columns::Storage* row_numbers);

  bool build_left_;
  const GpuSide& left_;
  const GpuSide* right_;  // null: there is the left one alone
  columns::JoinResult& result_;
  size_t left_columns_;
  columns::Storage left_rows_;
  columns::Storage right_rows_;
  // A key column that is put out: which of the key's columns, and where to.
  struct KeyTarget {
    size_t number;
    columns::Storage* target;
  };
  void add_key(const GpuSide& side);
  void hand_out_keys(base::Queue& queue, uint64_t rows);
  // Of columns that the match wrote itself.
  void note_room(uint64_t room);

  // Key columns that a side carries because its code is a hash: written for both sides.
  struct KeyColumns {
    std::vector<columns::DeviceColumn> views;
    std::vector<columns::Storage> data;
  };
  void add_key_columns(const GpuSide& side, kernels::CarriedFrom from, KeyColumns& written);
  bool keys_are_equal(const JoinStep& step, uint64_t rows);
  KeyColumns left_keys_;
  KeyColumns right_keys_;

  // Output columns in which a value stands for NULL.
  struct Nullable {
    columns::ResultColumn* target;
    uint64_t stand_in;
  };
  std::vector<Nullable> nullable_;

  // Words that the match writes for narrow columns, and what is unpacked of each.
  struct Word {
    columns::Storage data;
    std::vector<columns::ResultColumn*> columns;
  };
  std::deque<Word> words_;
  void unpack(base::Queue& queue, const match::WrittenRows& written);

  // Both sides' keys are the same in a row of the result: they are written once, however often they
  // are put out. Codes of several columns are told apart afterwards.
  columns::Storage keys_;
  std::vector<KeyTarget> key_targets_;
  std::vector<match::CarriedOutput> outputs_;
};

// Rows of one side, which are written without the other's.
class AloneResult {
 public:
  AloneResult(const AloneTask& task, const GpuSide& side);

  const std::vector<match::CarriedOutput>& outputs() const { return columns_->outputs(); }
  // of: the join's, whose statistics count what was written anew.
  columns::RowsAlone finish(const JoinStep& step, const match::WrittenRows& written,
                            columns::JoinResult& of);

 private:
  bool with_match_;
  std::unique_ptr<columns::JoinResult> found_ = std::make_unique<columns::JoinResult>();
  std::unique_ptr<CarriedResult> columns_;
};

}  // namespace gpujoin::execute
