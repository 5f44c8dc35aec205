// types.hpp: from Arrow's format strings to ours; the way back is in column.hpp.
#pragma once

#include <string_view>

#include "gpujoin.h"
#include "src/columns/column.hpp"

namespace gpujoin::columns {

// 0 for a format whose values this version cannot gather: strings, booleans, nested types ...
gpujoin_type type_of_arrow_format(std::string_view format);

}  // namespace gpujoin::columns
