// machine.hpp: where the data lies and who runs the tasks: a GPU, or the CPU
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/cells.hpp"
#include "bench/tasks.hpp"
#include "include/gpujoin.h"

namespace gpujoin::bench {

class Machine {
 public:
  virtual ~Machine() = default;
  virtual gpujoin_device device() const = 0;
  virtual gpujoin_memory memory(Residence residence = Residence::kMachine) const = 0;
  virtual void* stream() const = 0;  // for the library's context; nullptr on the CPU

  // Throws when there is none. Memory is not initialized. Tasks, zero and copy are of kMachine.
  virtual void* allocate(uint64_t bytes, Residence residence) = 0;
  virtual void release(void* pointer, Residence residence) noexcept = 0;
  virtual void zero(void* pointer, uint64_t bytes) = 0;
  virtual void copy_to_host(void* to, const void* from, uint64_t bytes) = 0;
  virtual void copy_from_host(void* to, const void* from, uint64_t bytes) = 0;
  virtual void copy(void* to, const void* from, uint64_t bytes) = 0;  // within the machine

  // Calls the task for rows 0 .. rows - 1.
  virtual Sums run(const Task& task, uint64_t rows) = 0;

  // The machine's own clock: what the stream sees between the two calls, in milliseconds.
  virtual void start_clock() = 0;
  virtual double stop_clock() = 0;

  // Names and values for the report: device, versions.
  virtual std::vector<std::pair<std::string, std::string>> describe() const = 0;
};

// nullptr when no CUDA device can be used; why_not then says why.
std::unique_ptr<Machine> make_cuda_machine(std::string& why_not);
std::unique_ptr<Machine> make_cpu_machine();

// Memory of a machine.
class Memory {
 public:
  Memory() = default;
  Memory(Machine& machine, uint64_t bytes, Residence residence = Residence::kMachine)
      : machine_(&machine), residence_(residence), data_(machine.allocate(bytes, residence)) {}
  Memory(Memory&& other) noexcept
      : machine_(other.machine_), residence_(other.residence_), data_(other.data_) {
    other.data_ = nullptr;
  }
  Memory& operator=(Memory&& other) noexcept {
    std::swap(machine_, other.machine_);
    std::swap(residence_, other.residence_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~Memory() {
    if (data_ != nullptr) machine_->release(data_, residence_);
  }
  void* data() const { return data_; }

 private:
  Machine* machine_ = nullptr;
  Residence residence_ = Residence::kMachine;
  void* data_ = nullptr;
};

// Gigabytes a second, read and written, of the machine's own copy; the best of a few.
double measure_copy_bandwidth(Machine& machine);

}  // namespace gpujoin::bench
