// types.hpp: from Arrow's format strings to ours; the way back is in column.hpp.
#pragma once

#include <string_view>

#include "gpujoin.h"
#include "src/columns/column.hpp"

namespace gpujoin::columns {

struct ArrowType {
  gpujoin_type type = 0;  // 0: nested, or unknown
  int32_t width = 0;
  Layout layout = Layout::kOther;
  int32_t scale = 0;  // of a decimal
};
// Of a format string, without its dictionary.
ArrowType type_of_arrow_format(std::string_view format);

}  // namespace gpujoin::columns
