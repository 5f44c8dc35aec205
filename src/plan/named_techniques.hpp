// named_techniques.hpp: whether the caller names a technique, and joins that have one plan, of
// which none can be named.
#pragma once

#include "gpujoin.h"
#include "src/base/status.hpp"

namespace gpujoin::plan {

// By itself or with others, of any stage but the transfer.
inline bool names_technique(const gpujoin_plan_options& options) {
  return options.algorithm != 0 || options.transform != 0 || options.match != 0 ||
         options.gather != 0 || options.skew != 0 || options.output != 0 || options.filter != 0;
}

// The same, or the transfer, or how many partitions there are.
inline bool names_how(const gpujoin_plan_options& options) {
  return names_technique(options) || options.transfer != 0 || options.radix_bits != 0;
}

// Throws ILLEGAL_PLAN; `why` there is nothing to name.
inline void fail_if_technique_named(const gpujoin_plan_options& options, const char* why) {
  if (!names_how(options)) return;
  base::fail(GPUJOIN_ERROR_ILLEGAL_PLAN, "options: %s, so no technique can be named", why);
}

}  // namespace gpujoin::plan
