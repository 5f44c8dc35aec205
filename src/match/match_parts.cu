// match_parts.cu: host side of the join of parts.
#include "src/match/match_parts.hpp"

#include <algorithm>

#include "kernels/match/match_parts.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::match {

namespace {

using Kernel = void (*)(kernels::PartsJoin);

template <typename Table>
Kernel kernel_of(int32_t probe_words) {
  switch (probe_words) {
    case 1:
      return kernels::match_parts_kernel<Table, 1>;
    case 2:
      return kernels::match_parts_kernel<Table, 2>;
    default:
      return kernels::match_parts_kernel<Table, 3>;
  }
}

template <template <int> typename Table>
Kernel kernel_of(int32_t build_words, int32_t probe_words) {
  switch (build_words) {
    case 1:
      return kernel_of<Table<1>>(probe_words);
    case 2:
      return kernel_of<Table<2>>(probe_words);
    default:
      return kernel_of<Table<3>>(probe_words);
  }
}

kernels::PartsJoin join_of(const Parts& parts, uint32_t* has_duplicates) {
  kernels::PartsJoin join{};
  join.parts = parts.parts;
  join.room = parts.room;
  join.steps = {parts.places.low, parts.places.shift};
  join.build_rows = parts.build.rows.as<uint32_t>();
  join.build_offsets = parts.build.offsets.as<uint32_t>();
  join.probe_rows = parts.probe.rows.as<uint32_t>();
  join.probe_offsets = parts.probe.offsets.as<uint32_t>();
  join.units_before = parts.probe.units_before.as<uint32_t>();
  join.unit_rows = parts.probe.unit_rows;
  join.has_duplicates = has_duplicates;
  return join;
}

// Words of a side in the order of its columns.
void name_targets(kernels::PartsJoin* join) {
  int32_t build_word = 0;
  int32_t probe_word = 0;
  for (int32_t i = 0; i < join->column_count; ++i) {
    kernels::CarriedColumn const& column = join->columns[i];
    if (column.from == kernels::CarriedFrom::kKey) {
      join->key_target = column.target;
      join->key_width = column.width;
      continue;
    }
    bool const of_build = column.from == kernels::CarriedFrom::kBuild;
    int32_t& word = of_build ? build_word : probe_word;
    (of_build ? join->build_targets : join->probe_targets)[word] = {column.target, column.width};
    word += column.width / 4;
  }
}

}  // namespace

std::optional<WrittenRows> match_parts(base::Queue& queue, const Parts& parts,
                                       int64_t expected_rows,
                                       const std::vector<CarriedOutput>& outputs) {
  base::Buffer const flag =
      queue.device_pool->allocate_rows<uint32_t>(base::Memory::kDevice, 1, "the duplicates flag");
  base::check(cudaMemsetAsync(flag.data(), 0, flag.bytes(), base::stream_of(queue)),
              "clearing the duplicates flag");
  int32_t const words = parts.build.words;
  bool const hashed = parts.parts.are_hashed;
  auto const kernel = hashed ? kernel_of<kernels::HashedPart>(words, parts.probe.words)
                             : kernel_of<kernels::DirectPart>(words, parts.probe.words);
  base::allow_shared(queue, kernel, "asking for shared memory of a part");
  uint64_t const shared = hashed ? kernels::join_hashed_bytes(parts.room, words)
                                 : kernels::join_parts_bytes(parts.room, words);
  auto const blocks = static_cast<uint32_t>(queue.context.facts.sm_count);
  kernels::PartsJoin join = join_of(parts, flag.as<uint32_t>());
  ChunkedColumns columns(queue, outputs);
  columns.expect(static_cast<uint64_t>(std::max<int64_t>(expected_rows, 0)), blocks);
  for (;;) {
    queue.check_cancelled();
    columns.start(&join);
    name_targets(&join);
    columns.add_launch(blocks);
    kernel<<<blocks, kernels::kPartThreads, shared, base::stream_of(queue)>>>(join);
    base::check(cudaGetLastError(), "joining parts");
    bool const done = columns.collect();
    if (base::read_back(queue, static_cast<const uint32_t*>(flag.data())) != 0) {
      return std::nullopt;
    }
    if (done) return columns.finish();
    columns.require(blocks);
  }
}

}  // namespace gpujoin::match
