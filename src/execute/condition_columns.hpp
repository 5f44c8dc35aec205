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

// The condition on the device, with what it names. The relations outlive it. Throws NO_DEVICE in a
// build without CUDA.
std::shared_ptr<const conditions::DeviceCondition> device_condition(
    base::Queue& queue, std::shared_ptr<const conditions::BoundCondition> bound,
    const columns::Relation& left, const columns::Relation& right);

}  // namespace gpujoin::execute
