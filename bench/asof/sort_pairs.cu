// sort_pairs.cu: what CUB takes to sort the rows of both sides of an ASOF join: 8-byte keys with
// row numbers. Built by time_asof.py.
#include <cub/device/device_radix_sort.cuh>

#include <cstdint>

// The storage's bytes where storage is null. Answers a cudaError_t.
extern "C" int sort_pairs(void* storage, size_t* bytes, const uint64_t* keys, uint64_t* keys_out,
                          const uint32_t* rows, uint32_t* rows_out, uint32_t count, int bits,
                          void* stream) {
  return cub::DeviceRadixSort::SortPairs(storage, *bytes, keys, keys_out, rows, rows_out, count, 0,
                                         bits, static_cast<cudaStream_t>(stream));
}
