// squeeze_pages.hpp: the columns whose holes are filled, as host and device both see them.
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

struct SqueezedColumn {
  void* data;
  int32_t width;
};
struct SqueezedColumns {
  int32_t count;
  SqueezedColumn columns[kCarriedColumns];
};

}  // namespace gpujoin::kernels
