// side.hpp: one relation on its way, where its executor has it.
#pragma once

#include "src/base/status.hpp"

namespace gpujoin::execute {

// A GpuSide or a CpuSide.
class Side {
 public:
  Side() = default;
  virtual ~Side() = default;
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
};

// As the executor `OfExecutor` is of knows it. Throws INTERNAL when another one has it.
template <typename OfExecutor>
OfExecutor& side_as(Side& side) {
  auto* const known = dynamic_cast<OfExecutor*>(&side);
  if (known == nullptr) {
    base::fail(GPUJOIN_ERROR_INTERNAL, "a side is joined by an executor that does not have it");
  }
  return *known;
}

}  // namespace gpujoin::execute
