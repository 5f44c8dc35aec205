// column_work.hpp: what an executor makes of columns before a join, and of a join's row numbers
// behind it: keys that compare by their bits, and values of layouts that joins do not move.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/keys/derived_key.hpp"
#include "kernels/keys/positions.hpp"
#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/columns/gathered.hpp"
#include "src/columns/result.hpp"
#include "src/columns/selection.hpp"
#include "src/keys/interned_side.hpp"
#include "src/keys/ordered_key.hpp"
#include "src/keys/sorted_rows.hpp"

namespace gpujoin::execute {

using Held = std::vector<std::shared_ptr<const void>>;  // what a view's memory lies in

// Of one executor: all pointers are to its memory. Results are queued on the queue's stream.
class ColumnWork {
 public:
  virtual ~ColumnWork() = default;

  // The stream waits for an imported relation's event.
  virtual void await(void* ready_event) = 0;
  // See src/cpu/derive_keys.hpp.
  virtual void derive(const kernels::DerivedKey& key, int32_t width, uint64_t rows, uint64_t stride,
                      void* values) = 0;
  // See kernels/keys/positions.hpp. [rows] uint32.
  virtual columns::Storage positions(const kernels::Indices& source, uint64_t rows) = 0;
  virtual columns::Storage positions(const kernels::Runs& source, uint64_t rows) = 0;
  virtual columns::Storage positions(const kernels::Composed& source, uint64_t rows) = 0;
  // See src/cpu/gather_bytes.hpp. A row number that is GPUJOIN_NO_ROW: NULL.
  virtual columns::Gathered gather(const columns::GatherSource& source, const uint32_t* rows,
                                   uint64_t count) = 0;
  virtual columns::Gathered gather(const columns::BitsSource& source, const uint32_t* rows,
                                   uint64_t count) = 0;
  // See src/cpu/text_bytes.hpp.
  virtual uint64_t text_bytes(const columns::GatherSource& source, const uint32_t* rows,
                              uint64_t count) = 0;
  // See src/cpu/intern.hpp.
  virtual keys::Interned intern(const keys::InternedSide& table) = 0;
  virtual base::Buffer codes_by(const keys::ValueTable& table, const keys::InternedSide& other) = 0;
  // See src/cpu/ordered_keys.hpp.
  virtual void order(const kernels::OrderedKey& key, uint64_t rows, uint64_t* codes) = 0;
  virtual keys::Extremes extremes(const kernels::OrderedKey& key, uint64_t rows) = 0;
  virtual keys::Ranks rank(const kernels::OrderedKey& left, uint64_t left_rows,
                           const kernels::OrderedKey& right, uint64_t right_rows) = 0;
  // Rows that are picked: see src/cpu/pick_rows.hpp.
  virtual columns::PickedCount count_picked(const columns::RowBits& picked) = 0;
  virtual void pick_rows(const columns::RowBits& picked, uint64_t count,
                         const std::vector<columns::PickedColumn>& columns, uint32_t* numbers) = 0;
  virtual std::optional<uint64_t> find_wrong_number(const void* numbers, int32_t width,
                                                    uint64_t count, uint64_t rows,
                                                    uint32_t* narrow) = 0;
  virtual columns::Storage mask_rows(const columns::RowBits& picked,
                                     const columns::RowBits& valid) = 0;
  // See src/keys/sorted_rows.hpp.
  virtual keys::SortedFindings find_steps(const kernels::SortedColumns& columns, uint64_t rows) = 0;
  // What the CPU does faster than codes; null and false elsewhere. See src/cpu/pack_values.hpp and
  // src/cpu/positions.hpp.
  struct PackedValues {
    columns::Storage of_left;
    columns::Storage of_right;
  };
  virtual PackedValues pack_values(const keys::InternedSide&, const keys::InternedSide&, bool,
                                   bool) {
    return {};
  }
  virtual bool are_positions(const kernels::Indices&, uint64_t) { return false; }

  base::Memory memory() const { return memory_; }
  columns::Storage allocate(uint64_t bytes, const char* what);
  // Bytes from anywhere that the host or the executor reads.
  columns::Storage copy(const void* source, base::Memory source_memory, uint64_t bytes,
                        const char* what);

 protected:
  ColumnWork(base::Queue& queue, base::Memory memory) : queue_(queue), memory_(memory) {}
  base::Queue& queue_;
  base::Memory memory_;
};

std::unique_ptr<ColumnWork> column_work_on_cpu(base::Queue& queue);
// Throws NO_DEVICE in a build without CUDA.
std::unique_ptr<ColumnWork> column_work_on_gpu(base::Queue& queue);
// Of the executor that reads the memory.
std::unique_ptr<ColumnWork> make_column_work(base::Queue& queue, base::Memory memory);

// The column where the executor reads it: as it is, or copies that `held` keeps. Of dictionaries
// and runs what they name, too.
columns::ColumnView bring_column(base::Queue& queue, ColumnWork& work,
                                 const columns::ColumnView& column, int64_t rows, Held* held);

// A copy of it there, wherever it lies.
columns::ColumnView copy_column(base::Queue& queue, ColumnWork& work,
                                const columns::ColumnView& column, int64_t rows, Held* held);
// Where text of `rows` rows begins and ends, wherever its offsets lie.
std::pair<int64_t, int64_t> text_bounds(base::Queue& queue, const columns::ColumnView& column,
                                        int64_t rows);

// Bits of rows of the caller's where the executor reads them: as they lie, or copies that `held`
// keeps. Queued on the stream. expected: rows.
columns::RowBits bring_bits(ColumnWork& work, const uint8_t* bits, int64_t first_bit,
                            base::Memory memory, int64_t rows, Held* held);

// A column whose values are bytes, where the executor has it: of text, views, and fixed widths.
kernels::BytesColumn bytes_of(base::Queue& queue, ColumnWork& work,
                              const columns::ColumnView& column, int64_t rows, Held* held);

// Which run each row of a column of runs lies in. The column lies where the executor reads it.
columns::Storage run_positions(ColumnWork& work, const columns::ColumnView& column, int64_t rows);

// Which value each row of a dictionary or of runs has, as row numbers of values_of(column); null of
// other layouts. The column lies where the executor reads it.
columns::Storage positions_in(ColumnWork& work, const columns::ColumnView& column, int64_t rows);

inline kernels::ValidityBits validity_of(const columns::ColumnView& column) {
  return {column.validity, column.validity_bit_offset};
}

}  // namespace gpujoin::execute
