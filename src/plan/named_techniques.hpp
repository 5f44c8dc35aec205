// named_techniques.hpp: joins that have one plan, of which no technique can be named.
#pragma once

#include "gpujoin.h"
#include "src/base/status.hpp"

namespace gpujoin::plan {

// Throws ILLEGAL_PLAN; `why` there is nothing to name.
inline void fail_if_technique_named(const gpujoin_plan_options& options, const char* why) {
  bool const names_technique = options.algorithm != 0 || options.transform != 0 ||
                               options.match != 0 || options.gather != 0 || options.skew != 0 ||
                               options.output != 0 || options.filter != 0 ||
                               options.transfer != 0 || options.radix_bits != 0;
  if (!names_technique) return;
  base::fail(GPUJOIN_ERROR_ILLEGAL_PLAN, "options: %s, so no technique can be named", why);
}

}  // namespace gpujoin::plan
