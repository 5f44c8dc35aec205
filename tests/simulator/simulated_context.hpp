// simulated_context.hpp: a context of a simulated run: its allocator counts, and its spill folder
// is its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "tests/abi/counting_allocator.hpp"
#include "tests/abi/fixture.hpp"
#include "tests/simulator/draw.hpp"

namespace gpujoin_test {

class SimulatedContext {
 public:
  SimulatedContext(const RunDraw& draw, gpujoin_device device);
  ~SimulatedContext();
  SimulatedContext(const SimulatedContext&) = delete;
  SimulatedContext& operator=(const SimulatedContext&) = delete;

  gpujoin_context* get() const { return context_.get(); }
  CountingAllocator& allocator() { return counting_; }
  gpujoin_context_info info() const;
  // Empty, or what is still held of memory, files, or descriptors when no handle but the context
  // is left. Trims the context.
  std::string left_behind();
  // Destroys the context, and tells the same of all that it had.
  std::string left_in_the_end();

 private:
  CountingAllocator counting_;
  gpujoin_allocator allocator_ = GPUJOIN_ALLOCATOR_INIT;
  std::filesystem::path folder_;
  uint64_t host_limit_;
  Context context_;
  size_t blocks_before_ = 0;  // a queue's scratch
};

}  // namespace gpujoin_test
