// machine_cuda.cu: tasks as kernels, and a clock of CUDA events
//
// Launch   a grid-stride loop over the rows, as many blocks as the device holds at one time
#include <cuda_runtime.h>

#include <cstdio>
#include <new>
#include <stdexcept>

#include "bench/machine.hpp"

namespace gpujoin::bench {

namespace {

constexpr int kThreadsPerBlock = 256;
constexpr std::align_val_t kHostAlignment{256};

void check(cudaError_t status, const char* doing) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string(doing) + ": " + cudaGetErrorString(status));
  }
}

// Where nothing can be thrown any more.
void complain(cudaError_t status, const char* doing) noexcept {
  if (status != cudaSuccess) std::fprintf(stderr, "%s: %s\n", doing, cudaGetErrorString(status));
}

__device__ void add_if_any(uint64_t* sum, uint64_t value) {
  using Sum = unsigned long long;
  if (value != 0) add_shared(reinterpret_cast<Sum*>(sum), Sum{value});
}

template <class EachRow>
__global__ void rows_kernel(EachRow each_row, uint64_t rows, Sums* total) {
  Sums sums;
  const uint64_t step = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t row = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < rows; row += step) {
    each_row(row, sums);
  }
  add_if_any(&total->rows, sums.rows);
  add_if_any(&total->hash, sums.hash);
  add_if_any(&total->errors, sums.errors);
}

class CudaMachine final : public Machine {
 public:
  CudaMachine() {
    check(cudaSetDevice(0), "choose the first CUDA device");
    check(cudaGetDeviceProperties(&properties_, 0), "read the device's properties");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create a stream");
    check(cudaEventCreate(&started_), "create an event");
    check(cudaEventCreate(&stopped_), "create an event");
    total_ = static_cast<Sums*>(allocate(sizeof(Sums), Residence::kMachine));
  }

  ~CudaMachine() override {
    release(total_, Residence::kMachine);
    complain(cudaEventDestroy(stopped_), "destroy an event");
    complain(cudaEventDestroy(started_), "destroy an event");
    complain(cudaStreamDestroy(stream_), "destroy a stream");
  }

  gpujoin_device device() const override { return GPUJOIN_DEVICE_CUDA; }
  gpujoin_memory memory(Residence residence) const override {
    switch (residence) {
      case Residence::kPinned:
        return GPUJOIN_MEMORY_PINNED;
      case Residence::kPageable:
        return GPUJOIN_MEMORY_HOST;
      default:
        return GPUJOIN_MEMORY_DEVICE;
    }
  }
  void* stream() const override { return stream_; }

  void* allocate(uint64_t bytes, Residence residence) final {
    void* pointer = nullptr;
    const uint64_t size = bytes == 0 ? 1 : bytes;
    switch (residence) {
      case Residence::kPinned:
        check(cudaMallocHost(&pointer, size), "allocate pinned memory");
        break;
      case Residence::kPageable:
        pointer = ::operator new(size, kHostAlignment);
        break;
      default:
        check(cudaMalloc(&pointer, size), "allocate device memory");
    }
    return pointer;
  }

  void release(void* pointer, Residence residence) noexcept final {
    switch (residence) {
      case Residence::kPinned:
        complain(cudaFreeHost(pointer), "free pinned memory");
        break;
      case Residence::kPageable:
        ::operator delete(pointer, kHostAlignment);
        break;
      default:
        complain(cudaFree(pointer), "free device memory");
    }
  }

  void zero(void* pointer, uint64_t bytes) override {
    check(cudaMemsetAsync(pointer, 0, bytes, stream_), "zero device memory");
  }

  void copy_to_host(void* to, const void* from, uint64_t bytes) override {
    copy_as(to, from, bytes, cudaMemcpyDeviceToHost);
    check(cudaStreamSynchronize(stream_), "copy to the host");
  }

  void copy_from_host(void* to, const void* from, uint64_t bytes) override {
    copy_as(to, from, bytes, cudaMemcpyHostToDevice);
    check(cudaStreamSynchronize(stream_), "copy to the device");
  }

  void copy(void* to, const void* from, uint64_t bytes) override {
    copy_as(to, from, bytes, cudaMemcpyDeviceToDevice);
  }

  Sums run(const Task& task, uint64_t rows) override {
    zero(total_, sizeof(Sums));
    if (rows > 0) {
      std::visit([&](const auto& each_row) { launch(each_row, rows); }, task);
    }
    Sums sums;
    copy_to_host(&sums, total_, sizeof(Sums));
    return sums;
  }

  void start_clock() override {
    check(cudaStreamSynchronize(stream_), "wait for the stream");
    check(cudaEventRecord(started_, stream_), "record the start");
  }

  double stop_clock() override {
    check(cudaEventRecord(stopped_, stream_), "record the end");
    check(cudaEventSynchronize(stopped_), "wait for the end");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, started_, stopped_), "read the clock");
    return milliseconds;
  }

  std::vector<std::pair<std::string, std::string>> describe() const override {
    int driver = 0, runtime = 0;
    check(cudaDriverGetVersion(&driver), "read the driver's version");
    check(cudaRuntimeGetVersion(&runtime), "read the runtime's version");
    const auto version = [](int number) {
      return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
    };
    return {{"device", properties_.name},
            {"multiprocessors", std::to_string(properties_.multiProcessorCount)},
            {"cuda_driver", version(driver)},
            {"cuda_runtime", version(runtime)}};
  }

 private:
  void copy_as(void* to, const void* from, uint64_t bytes, cudaMemcpyKind kind) {
    check(cudaMemcpyAsync(to, from, bytes, kind, stream_), "copy memory");
  }

  template <class EachRow>
  void launch(const EachRow& each_row, uint64_t rows) {
    int blocks_each = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, rows_kernel<EachRow>,
                                                        kThreadsPerBlock, 0),
          "ask for the occupancy");
    const uint64_t needed = (rows + kThreadsPerBlock - 1) / kThreadsPerBlock;
    const uint64_t held =
        static_cast<uint64_t>(blocks_each) * static_cast<uint64_t>(properties_.multiProcessorCount);
    const auto blocks = static_cast<unsigned>(needed < held ? needed : held);
    rows_kernel<<<blocks, kThreadsPerBlock, 0, stream_>>>(each_row, rows, total_);
    check(cudaGetLastError(), "launch a task");
  }

  cudaDeviceProp properties_{};
  cudaStream_t stream_ = nullptr;
  cudaEvent_t started_ = nullptr, stopped_ = nullptr;
  Sums* total_ = nullptr;
};

}  // namespace

std::unique_ptr<Machine> make_cuda_machine(std::string& why_not) {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    why_not = status != cudaSuccess ? cudaGetErrorString(status) : "there is none";
    return nullptr;
  }
  return std::make_unique<CudaMachine>();
}

}  // namespace gpujoin::bench
