// memory_of_device.hpp: the memory that an executor's columns lie in, and the way back.
#pragma once

#include "src/base/memory.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::plan {

constexpr base::Memory memory_of(Device device) {
  return device == Device::kCuda ? base::Memory::kDevice : base::Memory::kHost;
}
constexpr Device device_of(base::Memory memory) {
  return memory == base::Memory::kDevice ? Device::kCuda : Device::kCpu;
}

}  // namespace gpujoin::plan
