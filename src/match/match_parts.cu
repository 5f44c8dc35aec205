// match_parts.cu: host side of the join of parts.
#include "src/match/match_parts.hpp"

#include <algorithm>

#include "kernels/match/clustered_part.cuh"
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
    case 3:
      return kernels::match_parts_kernel<Table, 3>;
    default:
      return kernels::match_parts_kernel<Table, 4>;
  }
}

template <template <int> typename Table>
Kernel kernel_of(int32_t build_words, int32_t probe_words) {
  switch (build_words) {
    case 1:
      return kernel_of<Table<1>>(probe_words);
    case 2:
      return kernel_of<Table<2>>(probe_words);
    case 3:
      return kernel_of<Table<3>>(probe_words);
    default:
      return kernel_of<Table<4>>(probe_words);
  }
}

Kernel clustered_kernel_of(int32_t build_words, int32_t probe_words) {
  switch (build_words) {
    case 2:
      return kernel_of<kernels::ClusteredPart<2>>(probe_words);
    case 3:
      return kernel_of<kernels::ClusteredPart<3>>(probe_words);
    default:
      return kernel_of<kernels::ClusteredPart<4>>(probe_words);
  }
}

// The kernel that joins parts, and how it is launched.
struct Launch {
  Kernel kernel;
  uint64_t shared_bytes;
  uint32_t blocks;  // 0: the device has no room for a cluster
  uint32_t cluster;

  Launch(base::Queue& queue, const kernels::PlaceParts& parts, uint32_t room, int32_t build_words,
         int32_t probe_words)
      : cluster(parts.blocks) {
    constexpr const char* kAsking = "asking for shared memory of a part";
    if (cluster > 1) {
      kernel = clustered_kernel_of(build_words, probe_words);
      shared_bytes = kernels::join_clustered_bytes(room, build_words);
      blocks = base::resident_in_clusters(queue, kernel, cluster, kernels::kPartThreads,
                                          shared_bytes, kAsking);
      return;
    }
    kernel = parts.are_hashed ? kernel_of<kernels::HashedPart>(build_words, probe_words)
                              : kernel_of<kernels::DirectPart>(build_words, probe_words);
    shared_bytes = parts.are_hashed ? kernels::join_hashed_bytes(room, build_words)
                                    : kernels::join_parts_bytes(room, build_words);
    base::allow_shared(queue, kernel, kAsking);
    blocks = static_cast<uint32_t>(queue.context.facts.sm_count);
  }
  void operator()(base::Queue& queue, const kernels::PartsJoin& join) const {
    constexpr const char* kLaunching = "joining parts";
    if (cluster > 1) {
      base::launch_in_clusters(queue, kernel, blocks, cluster, kernels::kPartThreads, shared_bytes,
                               kLaunching, join);
      return;
    }
    kernel<<<blocks, kernels::kPartThreads, shared_bytes, base::stream_of(queue)>>>(join);
    base::check(cudaGetLastError(), kLaunching);
  }
};

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

bool has_room_for_parts(base::Queue& queue, const kernels::PlaceParts& parts, uint32_t room,
                        int32_t build_words, int32_t probe_words) {
  return Launch(queue, parts, room, build_words, probe_words).blocks != 0;
}

std::optional<WrittenRows> match_parts(base::Queue& queue, const Parts& parts,
                                       int64_t expected_rows,
                                       const std::vector<CarriedOutput>& outputs) {
  base::Buffer const flag =
      queue.device_pool->allocate_rows<uint32_t>(base::Memory::kDevice, 1, "the duplicates flag");
  base::check(cudaMemsetAsync(flag.data(), 0, flag.bytes(), base::stream_of(queue)),
              "clearing the duplicates flag");
  Launch const launch(queue, parts.parts, parts.room, parts.build.words, parts.probe.words);
  uint32_t const blocks = launch.blocks;
  kernels::PartsJoin join = join_of(parts, flag.as<uint32_t>());
  ChunkedColumns columns(queue, outputs);
  columns.expect(static_cast<uint64_t>(std::max<int64_t>(expected_rows, 0)), blocks);
  for (;;) {
    queue.check_cancelled();
    columns.start(&join);
    name_targets(&join);
    columns.add_launch(blocks);
    launch(queue, join);
    bool const done = columns.collect();
    if (base::read_back(queue, static_cast<const uint32_t*>(flag.data())) != 0) {
      return std::nullopt;
    }
    if (done) return columns.finish();
    columns.require(blocks);
  }
}

}  // namespace gpujoin::match
