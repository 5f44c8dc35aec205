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

// Whether other contexts run at the same time: then descriptors of the process are not this one's
// alone, and those of its spill folder are counted.
enum class Beside { kNone, kOthers };

class SimulatedContext {
 public:
  SimulatedContext(const RunDraw& draw, gpujoin_device device, Beside beside = Beside::kNone);
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
  std::string counted_;  // how the files begin whose descriptors are counted
  int descriptors_before_;
  uint64_t host_limit_;
  Context context_;
  size_t blocks_before_ = 0;  // a queue's scratch
};

// Of the process, of files whose path begins so, removed ones among them.
int open_descriptors(const std::string& prefix = "");

}  // namespace gpujoin_test
