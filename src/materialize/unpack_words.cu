// unpack_words.cu: host side of columns out of words.
#include "src/materialize/unpack_words.hpp"

#include <algorithm>
#include <utility>

#include "kernels/materialize/unpack_words.cuh"
#include "src/base/launch.hpp"

namespace gpujoin::materialize {

void unpack_words(base::Queue& queue, std::span<const PackedColumns> packed, uint64_t rows,
                  uint64_t room) {
  while (!packed.empty()) {
    auto const of_launch = packed.first(std::min<size_t>(packed.size(), kernels::kUnpackedWords));
    packed = packed.subspan(of_launch.size());
    kernels::WordsToUnpack args{};
    args.rows = rows;
    for (size_t i = 0; i < of_launch.size(); ++i) {
      kernels::UnpackedWords& unpacked = args.words[i];
      unpacked.words = static_cast<const uint32_t*>(of_launch[i].words);
      for (PackedColumns::Part const& part : of_launch[i].parts) {
        base::Buffer column = queue.device_pool->allocate(
            base::Memory::kDevice, base::checked_bytes(room, static_cast<uint64_t>(part.width)),
            "a narrow output column");
        unpacked.parts.widths[unpacked.parts.count] = part.width;
        unpacked.parts.columns[unpacked.parts.count++] = column.data();
        *part.target = columns::make_storage(std::move(column));
      }
    }
    dim3 const grid(base::grid_of(rows, kernels::kStreamTile),
                    static_cast<unsigned>(of_launch.size()));
    kernels::unpack_words_kernel<<<grid, kernels::kStreamThreads, 0, base::stream_of(queue)>>>(
        args);
    base::check(cudaGetLastError(), "unpacking narrow columns");
  }
}

}  // namespace gpujoin::materialize
