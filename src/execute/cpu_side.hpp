// cpu_side.hpp: one relation on its way through the CPU path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/cpu/batch_values.hpp"
#include "src/cpu/key_bits.hpp"
#include "src/cpu/key_columns.hpp"
#include "src/cpu/key_spans.hpp"
#include "src/cpu/match_sorted.hpp"
#include "src/cpu/radix_partition.hpp"
#include "src/cpu/streamed_probe.hpp"
#include "src/cpu/workers.hpp"
#include "src/execute/side.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::execute {

class CpuSide final : public Side {
 public:
  // queue, workers: by which the side is partitioned and, of a probe side, joined. Probes of a
  // build side bring their own.
  CpuSide(base::Queue& queue, cpu::Workers& workers, const columns::Relation& relation,
          const std::vector<int32_t>& keys, const std::vector<int32_t>& output_columns);
  // Of the same relation, keys and columns, not laid out.
  CpuSide(base::Queue& queue, cpu::Workers& workers, const CpuSide& like)
      : CpuSide(queue, workers, like.relation_, like.keys_, like.output_columns_) {}

  // Chooses what a row carries, and hashes keys of several columns. row_numbers: they are put out.
  void lay_out(plan::Gather gather, bool row_numbers);
  // Lets rows of hashed keys carry the key columns, too, by which they are verified. expected: it
  // is laid out.
  void carry_keys();
  uint64_t row_bytes_with_keys() const;  // if they did
  // Groups the rows of all sides by the same bits, in one call, so that no thread waits between the
  // sides. expected: they are laid out; their workers are the first one's.
  static void partition(std::span<CpuSide* const> sides, uint32_t radix_bits);
  // Rows without a match on the other side are not moved, if they are many. expected: both sides
  // are laid out.
  bool leave_out_unmatched(const CpuSide& other);
  // All rows as one partition, for a probe side that is looked up where it lies.
  void pack();
  // Keeps the keys alone, as bits, with their rows where those are asked for; whether they can be.
  // may_be_large: as in cpu::KeyBits.
  bool keep_key_bits(bool with_rows, bool may_be_large);
  // Keeps the keys so, and rows with all that is put out at the number of each; whether they can
  // be. most_bytes: that they may take. row_numbers: as of lay_out, which this does, too.
  bool place_rows(bool row_numbers, uint64_t most_bytes);
  // Keeps the keys alone where they may repeat, of which no row is asked.
  bool keep_set_bits();
  // Of a row that is placed.
  uint64_t place_bytes(bool row_numbers) const;
  // What partitions would hold of the side.
  uint64_t moved_bytes(bool row_numbers) const;
  // Whether columns are put out besides the key.
  bool puts_out_others() const;
  const std::optional<cpu::KeyBits>& key_bits() const { return key_bits_; }
  // Of a build side: whether both sides' rows lie in the order of their keys.
  bool find_key_order(const CpuSide& probe);
  const std::optional<cpu::KeyOrder>& key_order() const { return key_order_; }
  // Of partitioned rows: looked up by any number of probe sides. expected: the side is laid out by
  // plan::Gather::kUntransformed, with row numbers.
  void make_tables();
  const cpu::KeptTables* tables() const { return tables_.get(); }  // null: none were made
  // Rows stay where they are. expected: the side is laid out by plan::Gather::kUntransformed.
  void stream();
  bool is_partitioned() const { return !rows_.begin.empty(); }
  const cpu::PartitionedRows& rows() const { return rows_; }
  // The side is not partitioned any more.
  void let_go_of_rows();

  cpu::Workers& workers() { return workers_; }
  const columns::Relation& relation() const { return relation_; }
  uint64_t input_rows() const { return static_cast<uint64_t>(relation_.rows); }
  size_t key_count() const { return keys_.size(); }
  const columns::ColumnView& key(size_t number) const { return column(keys_[number]); }
  // What matches read of a row that key bits list: its number and the columns that are put out, but
  // for the keys.
  uint64_t bytes_read() const;
  // Whether that of so many rows stays in a cache.
  bool may_be_read(uint64_t rows) const {
    return rows <= cpu::KeyBits::kMostReadBytes / bytes_read();
  }
  // As in cpu/key_spans.hpp, of the first key.
  uint64_t usual_window_span() const { return cpu::usual_window_span(key(0), input_rows()); }
  // Rows with NULL keys are left out, where there are any.
  bool may_drop_rows() const;
  // Of a side that is kept: no row has the key of another; false: it is not known.
  bool has_unique_keys() const {
    return tables_ != nullptr ? tables_->are_keys_unique() : key_bits_.has_value();
  }
  // What is joined is the hash of several columns: equal hashes may be of unequal keys.
  bool is_hashed() const { return keys_.size() > 1; }

  // Where values of the output come from, once the side is laid out. is_build: which side it is.
  cpu::OutputSource row_numbers_source(bool is_build) const;
  void add_column_sources(bool is_build, std::vector<cpu::OutputSource>* sources) const;

 private:
  const columns::ColumnView& column(int32_t number) const {
    return relation_.columns[static_cast<size_t>(number)];
  }

  cpu::RowLayout layout_with_keys() const;

  base::Queue& queue_;
  cpu::Workers& workers_;
  const columns::Relation& relation_;
  const std::vector<int32_t>& keys_;
  const std::vector<int32_t>& output_columns_;
  cpu::HashedKeys hashed_;  // of several keys, until the rows are moved
  // Of the rows that are moved, where not all are.
  columns::ColumnView moved_key_;
  base::Buffer moved_bits_;
  cpu::PartitionedRows rows_;
  std::optional<cpu::KeyBits> key_bits_;
  std::optional<cpu::KeyOrder> key_order_;
  std::unique_ptr<const cpu::KeptTables> tables_;
};

// Key columns of both sides, where the key is their hash.
std::vector<cpu::ComparedColumns> columns_to_verify(const CpuSide& build, const CpuSide& probe);

}  // namespace gpujoin::execute
