// key_codes.hpp: keys of any number of bytes as codes of 4, by which both sides' are equal exactly
// where the values are (src/cpu/intern.hpp). Joins are by codes then, in every family. On the CPU
// short values become integers of 8 bytes instead (src/cpu/pack_values.hpp).
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/execute/column_work.hpp"
#include "src/keys/interned_side.hpp"
#include "src/plan/join_plan.hpp"
#include "src/plan/memory_of_device.hpp"

namespace gpujoin::execute {

// One of each executor, made when it is first asked for.
class Works {
 public:
  explicit Works(base::Queue& queue) : queue_(queue) {}
  // Of the executor that reads the memory, behind the relation's event.
  ColumnWork& of(base::Memory memory, void* ready_event);

 private:
  base::Queue& queue_;
  std::unique_ptr<ColumnWork> on_cpu_;
  std::unique_ptr<ColumnWork> on_gpu_;
};

// What is made for a side is kept in `held`.
struct CodedSide {
  const columns::Relation& relation;
  const columns::ColumnView&
      column;  // of text, views, fixed widths; or a dictionary or runs of them
  Held* held;
};
// Columns of 4 or 8 bytes, together; NULL are rows in which the first one is.
struct CodedRows {
  const columns::Relation& relation;
  std::vector<columns::ColumnView> columns;
  Held* held;
};

// What text that few bytes tell apart may become besides codes: eight bytes beside other keys cost
// more rows their place in one code, and rows that are grouped by their keys have dense codes in
// fewer passes.
enum class TextKey { kGrouped, kBesideOthers, kAlone };

// Columns of codes, with the validity of what they are made of. On the device, unless the join runs
// on the CPU or all lies in host memory and is little.
std::pair<columns::ColumnView, columns::ColumnView> code_keys(base::Queue& queue, Works& works,
                                                              plan::Device device, TextKey text,
                                                              const CodedSide& left,
                                                              const CodedSide& right);
std::pair<columns::ColumnView, columns::ColumnView> code_rows(base::Queue& queue, Works& works,
                                                              plan::Device device,
                                                              const CodedRows& left,
                                                              const CodedRows& right);

// The values of a build side that is kept, by which those of any probe side get codes. Const once
// it is made; any number of queues at a time. What the build side lies in is to stay.
class KeptCodes {
 public:
  // Side: CodedSide or CodedRows, the same for both. codes: the build side's own.
  template <typename Side>
  static std::shared_ptr<const KeptCodes> make(base::Queue& queue, Works& works,
                                               plan::Device device, const Side& build,
                                               columns::ColumnView* codes);
  template <typename Side>
  columns::ColumnView codes_of(base::Queue& queue, Works& works, const Side& probe) const;

 private:
  explicit KeptCodes(plan::Device device) : memory_(plan::memory_of(device)) {}

  base::Memory memory_;
  Held held_;  // what the table's values lie in
  keys::ValueTable table_;
};

// A column of integers without a sign, of 4 or 8 bytes, without NULLs.
columns::ColumnView made_view(const void* data, int32_t width, base::Memory memory);
// Of keys::values_of a column of `rows` rows.
int64_t value_rows_of(const columns::ColumnView& column, int64_t rows);

// A column of values by position, kept. A position that names none, or a NULL: NULL, over zeros.
columns::ColumnView keep_gathered(ColumnWork& work, Held& held, const columns::GatherSource& source,
                                  const columns::Storage& positions, int64_t rows, int32_t width);

}  // namespace gpujoin::execute
