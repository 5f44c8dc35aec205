// finished_build.hpp: a build to which all rows have come
#pragma once

#include "bindings/c/handles.hpp"
#include "src/base/status.hpp"

namespace gpujoin::shim {

// Throws INVALID_ARGUMENT where object_of found no build, or rows may come yet; what a context that
// is not usable throws.
inline void check_finished(const pieces::Build* build, const gpujoin_build* handle) {
  check_found(build, handle, "build");
  build->context->check_usable();
  if (build->is_finished()) return;
  base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "build is not finished");
}

}  // namespace gpujoin::shim
