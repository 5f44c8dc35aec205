// condition_columns.hpp: the columns that a condition names, where an executor reads them.
#pragma once

#include <memory>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/conditions/bound_condition.hpp"
#include "src/execute/column_work.hpp"

namespace gpujoin::conditions {
class DeviceCondition;
}

namespace gpujoin::execute {

// By the condition's numbers. Columns that the work's executor reads are taken as they lie, of the
// others copies, which `held` keeps. Waits for relations' events.
std::vector<columns::ColumnView> condition_columns(base::Queue& queue, ColumnWork& work,
                                                   const conditions::BoundCondition& bound,
                                                   const columns::Relation& left,
                                                   const columns::Relation& right, Held* held);

// Whether all columns that it reads are values as a GPU moves them.
bool reads_values(const conditions::BoundCondition& bound, const columns::Relation& left,
                  const columns::Relation& right);

// Rows of a side in another order: the row of the relation at each position, on the device.
struct PositionedRows {
  const uint32_t* numbers = nullptr;
  uint32_t count = 0;
};

// The condition on the device, where pairs name positions, not rows; of one that reads_values. Its
// columns are copied in the order of the positions. `left` and `right` outlive it, but no error
// names a row once the numbers are gone. Throws as device_condition.
std::shared_ptr<const conditions::DeviceCondition> positioned_condition(
    base::Queue& queue, const conditions::BoundCondition& bound, const columns::Relation& left,
    PositionedRows left_rows, const columns::Relation& right, PositionedRows right_rows);

// The condition on the device, with what it names. The relations outlive it. Throws NO_DEVICE in a
// build without CUDA.
std::shared_ptr<const conditions::DeviceCondition> device_condition(
    base::Queue& queue, std::shared_ptr<const conditions::BoundCondition> bound,
    const columns::Relation& left, const columns::Relation& right);

}  // namespace gpujoin::execute
