// operator_names.hpp: GPUJOIN_OPERATOR_* in messages, and how many arguments each takes.
#pragma once

#include "gpujoin.h"

namespace gpujoin::conditions {

// "LESS"; of no operator "unknown".
const char* name_of_operator(gpujoin_operator operation);

}  // namespace gpujoin::conditions
