// gpu_side.hpp: one relation on its way through the GPU path, and the steps that need both.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/columns/device_column.hpp"
#include "src/columns/result.hpp"
#include "src/execute/side.hpp"
#include "src/keys/encoding.hpp"
#include "src/match/carried_columns.hpp"
#include "src/match/match.hpp"
#include "src/match/table_columns.hpp"
#include "src/materialize/materialize.hpp"
#include "src/plan/join_plan.hpp"
#include "src/plan/word_rule.hpp"
#include "src/transfer/transfer.hpp"
#include "src/transform/filter_keys.hpp"
#include "src/transform/move_to_parts.hpp"
#include "src/transform/radix_unordered.hpp"
#include "src/transform/stand_ins.hpp"
#include "src/transform/transform.hpp"

namespace gpujoin::execute {

// Result columns of one side with names and types, without values.
std::vector<columns::ResultColumn> empty_columns(const columns::Relation& relation,
                                                 const std::vector<int32_t>& output_columns);

class GpuSide final : public Side {
 public:
  GpuSide(base::Queue& queue, const columns::Relation& relation, const std::vector<int32_t>& keys,
          const std::vector<int32_t>& output_columns, const keys::KeyEncoding* encoding);

  // Forgets what an attempt before this one made of the columns, but which rows a filter left.
  // moves_payloads: as plan::moves_payloads says.
  void start(const plan::JoinPlan& plan, bool moves_payloads);

  // Brings the columns; the order of calls is the order on the link. The transport stays until the
  // join is over, and ends before the side. First what the transform reads: the keys, and the
  // payload that moves with them.
  void bring_transformed(transfer::Transport& transport);
  void bring_payloads(transfer::Transport& transport);

  // Keys as the plan's transform wants them: without NULLs, mixed for a radix partition, codes
  // where they are packed. The row multiset's stay in their columns.
  // in_place: rows with NULL keys are left out by the partitioning, by the pass to parts, or by the
  // one launch that joins few rows, which is told of them.
  void prepare(const plan::JoinPlan& plan, bool in_place = false);
  // Orders the keys with the first column that the plan moves along: row numbers, or the first
  // payload.
  void order(const plan::JoinPlan& plan, transform::KeyBits bits);
  // Moves the keys and all payloads that a match can write itself, or none of them
  // (gather=carried_rows), and row numbers where pairs are wanted or a payload is left: those that
  // are more than a launch moves, and narrow ones with NULLs, are gathered by row number
  // afterwards. packs: other narrow ones travel side by side, which nobody may ask for by itself.
  void carry(const plan::JoinPlan& plan, bool row_numbers, bool packs);
  // The keys alone, as it will move them.
  void prepare_to_carry(const plan::JoinPlan& plan);
  // The same columns where they are, for a table that knows its rows by their numbers. A payload
  // with NULLs is left.
  void carry_in_place(bool row_numbers);
  // The same, to be moved to parts, where narrow payloads are packed to words, a lone one, too.
  void carry_to_parts(bool row_numbers);
  match::CarriedSide carried_side() const;
  match::TableSide table_side() const;
  // What carry_in_place chose, as a table of this side takes it.
  std::vector<match::TableColumn> table_columns() const;
  // What carry_to_parts chose, in the order in which a match writes it.
  std::vector<transform::PartColumn> part_columns() const;
  // Not every row of the relation takes part.
  bool drops_rows() const {
    return prepared_.rows != relation_.rows || prepared_.present.bits != nullptr;
  }
  bool carries(size_t output_column) const { return carried(output_column) != nullptr; }
  bool carries_row_numbers() const { return carries(kRowIds); }
  // What stands for NULL in a payload that is carried; null: it has none.
  const transform::StandIn* stand_in(size_t output_column) const {
    auto const& found = stand_ins_[output_column];
    return found && found->has_nulls ? &*found : nullptr;
  }
  // Key columns go along as they are, to be verified behind the match and put out.
  bool carries_keys() const { return carried_keys_; }
  const void* carried_key(size_t key_number) const { return carried_data_[key_number]; }
  // An output column that is put out from them.
  bool is_carried_key(size_t output_column) const {
    return carried_keys_ && key_number(output_column) != kNoKey;
  }
  // In the order of the keys. Of row numbers in place null where rows are told by theirs.
  const void* carried_data(size_t output_column) const { return *carried(output_column); }
  // Words of which each is moved as a column, and their output columns.
  struct CarriedWord {
    std::vector<size_t> output_columns;  // the first in the lowest bits
    size_t place;                        // among what is carried
  };
  const std::vector<CarriedWord>& words() const { return words_; }
  bool is_in_word(size_t output_column) const;
  const void* word_data(const CarriedWord& word) const { return carried_data_[word.place]; }
  const void* carried_row_numbers() const { return *carried(kRowIds); }
  void request_left(columns::ResultColumn* targets,
                    std::vector<materialize::Request>* requests) const;
  void find_partitions(int32_t radix_bits);
  bool is_prepared() const { return is_prepared_; }
  // Leaves out rows of both sides that cannot match, for all attempts to come. False: the plan's
  // filter is not for such keys, and all are there. expected: of the keys, or null. build_within:
  // the part of the build rows whose keys lie in the probe side's range; 0: nobody counted.
  static bool filter(const plan::JoinPlan& plan, const transform::ExpectedRanges* expected,
                     double build_within, GpuSide& build, GpuSide& probe);
  bool is_filtered() const { return is_filtered_; }
  // For a side that is joined more than once: each payload is moved now and kept (gather
  // transformed), and so are row numbers when pairs are to be written; the columns as they came are
  // let go.
  void keep_moved(bool row_numbers);

  // Nothing of it is on its way any more, as this side's queue sees it.
  void await_all() const;

  const columns::Relation& relation() const { return relation_; }
  uint32_t input_rows() const { return static_cast<uint32_t>(relation_.rows); }
  // That take part, as far as is known.
  uint32_t rows() const {
    return is_prepared_ ? prepared_.rows : static_cast<uint32_t>(relation_.rows);
  }
  // As attempts are planned for them: those with NULL keys count, also where they were left out.
  uint32_t planned_rows() const { return is_filtered_ ? rows() : input_rows(); }
  // Of what is joined: the key column's, or a code's.
  int32_t key_width() const { return encoding_ ? encoding_->width : keys_.front().width; }
  // By which the attempt's keys are codes; null: they are plain.
  const keys::KeyEncoding* encoding() const { return encoding_; }
  const transform::PreparedKeys& prepared() const { return prepared_; }
  // by_position: the match is to write transformed positions, not row numbers of the input.
  match::MatchSide match_side(bool by_position) const;
  // For the match that compares keys in their columns.
  match::KeyRows key_rows() const;
  kernels::PartitionView partitions() const;

  std::vector<columns::ResultColumn> empty_columns() const {
    return execute::empty_columns(relation_, output_columns_);
  }
  size_t output_column_count() const { return output_columns_.size(); }
  // What the null counters are sized by.
  size_t nullable_columns() const;
  static constexpr size_t kNoKey = SIZE_MAX;
  // Which key column an output column is, or kNoKey.
  size_t key_number(size_t output_column) const;
  // What is joined tells its values. A hash does not: then it is a payload like any other.
  bool is_key(size_t output_column) const {
    return !is_hashed() && key_number(output_column) != kNoKey;
  }
  // Equal codes may be of unequal keys.
  bool is_hashed() const { return encoding_ != nullptr && !encoding_->exact; }
  // What is joined tells the values of rows without a match, too.
  bool tells_all_keys() const {
    return encoding_ == nullptr || (encoding_->exact && !encoding_->of_one_side);
  }
  // As they came.
  const std::vector<columns::DeviceColumn>& keys() const { return keys_; }

  // Gathers of the payloads by row number in the input.
  void request_untransformed(columns::ResultColumn* targets,
                             std::vector<materialize::Request>* requests) const;
  // Gathers the payloads by transformed position. Each further payload is moved by the same keys
  // just before its gather, and let go after it (Wu et al. 2024, Algorithm 1). requests: what to
  // gather along with the first. queue: of the probe, here and below.
  void gather_transformed(base::Queue& queue, const uint32_t* positions, uint64_t pairs,
                          materialize::NullCounts& null_counts, columns::ResultColumn* targets,
                          std::vector<materialize::Request> requests) const;
  // Row numbers in the input of transformed positions: [pairs] uint32.
  columns::Storage row_numbers(base::Queue& queue, const uint32_t* positions, uint64_t pairs) const;
  // Where a key output column comes from: the transformed keys, or the input column.
  materialize::Source key_source(bool by_position, size_t key_number) const;
  // The same where transformed keys are codes: the column's values at those positions.
  columns::Storage decode_key(base::Queue& queue, size_t key_number, const uint32_t* positions,
                              uint64_t pairs) const;
  bool has_key_output() const { return count_key_outputs() != 0; }
  // Payloads travel with the keys and are fetched by transformed position; see
  // plan::moves_payloads.
  bool moves_payloads() const { return moves_payloads_; }
  bool has_payloads() const { return count_key_outputs() != output_columns_.size(); }

 private:
  // What the first moved column is when it is not a payload. Key columns that are carried come
  // before all payloads, in their order.
  static constexpr size_t kRowIds = SIZE_MAX;
  static constexpr size_t kKeyColumn = SIZE_MAX - 1;
  static constexpr size_t kWord = SIZE_MAX - 2;

  // An output column in transformed order.
  struct Moved {
    transform::Transformed values;
    transform::Transformed validity;
  };

  // Columns that a match can write itself. payloads false: row numbers in the place of them.
  // nullable: those with NULLs, too, where a value can stand for these. packs: as of carry.
  void choose_carried(bool row_numbers, bool payloads, bool nullable,
                      std::optional<plan::AloneInWord> packs);
  void choose_words(plan::AloneInWord alone);
  void keep_in_place(bool row_numbers, std::optional<plan::AloneInWord> packs);
  transform::PreparedColumn prepare_word(const CarriedWord& word) const;
  // Output columns that are carried with a value for NULL, drawn where none is known: the source of
  // a column does not change between attempts.
  std::vector<size_t> draw_stand_ins();
  // What moving them told; true: valid rows have the value of one, and another was found.
  bool are_taken(const std::vector<size_t>& nullable, const uint32_t* seen);
  void move_carried(uint32_t* seen);
  const columns::DeviceColumn& carried_column(size_t place) const;
  const void* const* carried(size_t output_column) const;
  void await(const columns::DeviceColumn& column) const;
  // Payloads that a filter is to move along with the keys of about so many rows.
  void move_along(double kept);
  materialize::Request request_untransformed(size_t output_column,
                                             columns::ResultColumn* target) const;
  size_t count_key_outputs() const;
  transform::Transformed move(base::Queue& queue, const transform::PreparedColumn& column) const;
  Moved move_payload(base::Queue& queue, size_t output_column) const;
  transform::Transformed move_row_ids(base::Queue& queue) const;

  base::Queue& queue_;  // that brings, prepares and moves the columns
  const columns::Relation& relation_;
  const std::vector<int32_t>& key_indices_;
  const std::vector<int32_t>& output_columns_;
  const keys::KeyEncoding* join_encoding_;
  const keys::KeyEncoding* encoding_ = nullptr;
  const keys::KeyEncoding* prepared_encoding_ = nullptr;  // of prepared_
  transfer::Transport* transport_ = nullptr;
  std::vector<columns::DeviceColumn> keys_;
  std::vector<columns::DeviceColumn> payloads_;  // one an output column; empty for a key's
  transform::PreparedKeys prepared_;
  transform::Order order_;
  transform::Transformed ordered_;  // keys, and the first moved column
  bool moves_payloads_ = false;
  size_t first_moved_ = kRowIds;  // which output column that is
  bool is_used_ = false;          // by an attempt
  bool is_prepared_ = false;
  bool is_filtered_ = false;
  // Output column of each; kRowIds: row numbers; kKeyColumn: the key column of that place; kWord:
  // the next of the words.
  std::vector<size_t> carried_columns_;
  std::vector<CarriedWord> words_;
  // One an output column, of those that were looked at.
  std::vector<std::optional<transform::StandIn>> stand_ins_;
  bool carried_keys_ = false;
  std::vector<const void*> carried_data_;
  transform::UnorderedRows moved_;                        // carried through a partitioning
  std::vector<transform::PreparedColumn> kept_in_place_;  // or not
  // One an output column, when moved columns are kept; the first moved is in ordered_.
  std::vector<Moved> kept_;
  transform::Transformed kept_row_ids_;
};

// A key column of the output, from codes: keys::decode into memory of its own.
columns::Storage decoded_column(base::Queue& queue, const keys::KeyEncoding& encoding,
                                size_t key_number, const void* codes, const uint32_t* positions,
                                uint64_t count, bool mixed);

// A side's keys as the match wants them. bits: of a sort.
void transform_side(const plan::JoinPlan& plan, transform::KeyBits bits, GpuSide& side);
// Every bit of a key: what both sides are sorted by when only one is there, or when looking is
// dear.
transform::KeyBits all_bits(const GpuSide& side);

// The result's columns, left ones first, without values. Returns how many are left ones.
size_t start_columns(const GpuSide& left, const GpuSide& right, columns::JoinResult& result);

}  // namespace gpujoin::execute
