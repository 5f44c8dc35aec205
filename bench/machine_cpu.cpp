#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include "bench/machine.hpp"

namespace gpujoin::bench {

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

class CpuMachine final : public Machine {
 public:
  gpujoin_device device() const override { return GPUJOIN_DEVICE_CPU; }
  gpujoin_memory memory(Residence) const override { return GPUJOIN_MEMORY_HOST; }
  void* stream() const override { return nullptr; }

  void* allocate(uint64_t bytes, Residence) override {
    void* pointer = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
    if (pointer == nullptr) throw std::bad_alloc();
    return pointer;
  }

  void release(void* pointer, Residence) noexcept override { std::free(pointer); }

  void zero(void* pointer, uint64_t bytes) override { std::memset(pointer, 0, bytes); }

  void copy_to_host(void* to, const void* from, uint64_t bytes) override { copy(to, from, bytes); }

  void copy_from_host(void* to, const void* from, uint64_t bytes) override {
    copy(to, from, bytes);
  }

  void copy(void* to, const void* from, uint64_t bytes) override {
    in_parallel(bytes, [&](uint64_t begin, uint64_t end, Sums&) {
      std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                  end - begin);
    });
  }

  Sums run(const Task& task, uint64_t rows) override {
    return std::visit(
        [&](const auto& each_row) {
          return in_parallel(rows, [&](uint64_t begin, uint64_t end, Sums& sums) {
            for (uint64_t row = begin; row < end; ++row) each_row(row, sums);
          });
        },
        task);
  }

  void start_clock() override { started_ = Clock::now(); }
  double stop_clock() override { return milliseconds_since(started_); }

  std::vector<std::pair<std::string, std::string>> describe() const override {
    return {{"device", "CPU"}, {"hardware_threads", std::to_string(threads_)}};
  }

 private:
  static constexpr uint64_t kAlignment = 256;
  static constexpr uint64_t kFewestEach = 1 << 15;  // below, a thread costs more than it saves

  // One contiguous piece for each thread; the sums of all.
  template <class Piece>
  Sums in_parallel(uint64_t size, const Piece& piece) {
    const uint64_t pieces = std::clamp<uint64_t>(size / kFewestEach, 1, threads_);
    std::vector<Sums> sums(pieces);
    {
      std::vector<std::jthread> workers;
      for (uint64_t i = 0; i < pieces; ++i) {
        workers.emplace_back(
            [&, i] { piece(size * i / pieces, size * (i + 1) / pieces, sums[i]); });
      }
    }
    Sums total;
    for (const Sums& sum : sums) total.add(sum);
    return total;
  }

  uint64_t threads_ = std::max(1U, std::thread::hardware_concurrency());
  Clock::time_point started_{};
};

}  // namespace

std::unique_ptr<Machine> make_cpu_machine() { return std::make_unique<CpuMachine>(); }

#if !GPUJOIN_WITH_CUDA
std::unique_ptr<Machine> make_cuda_machine(std::string& why_not) {
  why_not = "built for the CPU only";
  return nullptr;
}
#endif

double measure_copy_bandwidth(Machine& machine) {
  constexpr uint64_t kBytes = uint64_t{1} << 30;
  constexpr int kTries = 10;
  constexpr int kCopies = 4;  // in a row, so that starting them does not show
  const Memory from(machine, kBytes), to(machine, kBytes);
  machine.zero(from.data(), kBytes);
  machine.copy(to.data(), from.data(), kBytes);  // the first touch
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    machine.start_clock();
    for (int copy = 0; copy < kCopies; ++copy) machine.copy(to.data(), from.data(), kBytes);
    best = std::max(best, 2e-6 * kCopies * static_cast<double>(kBytes) / machine.stop_clock());
  }
  return best;
}

}  // namespace gpujoin::bench
