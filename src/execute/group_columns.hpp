// group_columns.hpp: columns as aggregates read them: where an executor does, dictionaries and runs
// as their values.
#pragma once

#include <vector>

#include "kernels/aggregate/states.hpp"
#include "src/columns/column.hpp"
#include "src/execute/column_work.hpp"

namespace gpujoin::execute {

class GroupColumns {
 public:
  GroupColumns(base::Queue& queue, base::Memory memory);

  // What a state of the kind reads of the column, which `held` keeps.
  kernels::GroupState state_of(kernels::StateKind kind, const columns::Relation& relation,
                               int32_t column);

 private:
  columns::ColumnView readable(const columns::Relation& relation, int32_t column);

  base::Queue& queue_;
  std::unique_ptr<ColumnWork> work_;
  struct Read {
    const columns::Relation* relation = nullptr;
    int32_t column = 0;
    columns::ColumnView view;
  };
  std::vector<Read> read_;
  Held held_;
};

}  // namespace gpujoin::execute
