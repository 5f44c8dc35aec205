// match_sink.hpp: where batches of verified matches go: to rows of output columns, or to states of
// groups.
#pragma once

#include <cstdint>
#include <memory>

#include "src/cpu/packed_field.hpp"
#include "src/cpu/probe_partition.hpp"

namespace gpujoin::cpu {

// Rows whose matches other workers have, too.
enum class SharedRows { kNone, kOfBuild, kOfBoth };

// Not thread-safe: one for each worker.
template <typename Key>
class MatchSink {
 public:
  virtual ~MatchSink() = default;
  virtual void write(const MatchBatch<Key>& batch, const PartitionRows& build,
                     const PartitionRows& probe, SharedRows shared) = 0;
};

class MatchSinks {
 public:
  virtual ~MatchSinks() = default;
  virtual std::unique_ptr<MatchSink<uint32_t>> make_narrow(int32_t worker) = 0;
  virtual std::unique_ptr<MatchSink<uint64_t>> make_wide(int32_t worker) = 0;

  template <typename Key>
  std::unique_ptr<MatchSink<Key>> make(int32_t worker) {
    if constexpr (sizeof(Key) == sizeof(uint32_t)) {
      return make_narrow(worker);
    } else {
      return make_wide(worker);
    }
  }
};

}  // namespace gpujoin::cpu
