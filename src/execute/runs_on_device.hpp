// runs_on_device.hpp: runs of blocks in page-locked memory as a relation of the device.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "src/execute/partitioned_rows.hpp"

namespace gpujoin::execute {

// See RowPartitioner::bring. columns: of the blocks, without data.
std::shared_ptr<const columns::Relation> bring_runs(base::Queue& queue,
                                                    const std::shared_ptr<base::Context>& context,
                                                    const std::vector<columns::ColumnView>& columns,
                                                    std::span<const RowRun> runs);

}  // namespace gpujoin::execute
