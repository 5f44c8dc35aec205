// filter.hpp: columns that a filter tests, checked against its keys.
#pragma once

#include <cstdint>
#include <vector>

#include "src/columns/column.hpp"
#include "src/filters/filter.hpp"

namespace gpujoin::shim {

// Throws INVALID_ARGUMENT, TYPE or UNSUPPORTED.
std::vector<int32_t> checked_filter_columns(const filters::Filter& filter,
                                            const columns::Relation& relation,
                                            const int32_t* columns, int32_t count,
                                            const char* argument);

}  // namespace gpujoin::shim
