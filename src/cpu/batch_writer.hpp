// batch_writer.hpp: a batch of matches to rows of the output columns.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/cpu/batch_values.hpp"
#include "src/cpu/match_sink.hpp"
#include "src/cpu/output_rows.hpp"

namespace gpujoin::cpu {

// Not thread-safe: one for each worker.
template <typename Key>
class BatchWriter final : public MatchSink<Key> {
 public:
  BatchWriter(const std::vector<OutputSource>& sources, OutputRows& output)
      : sources_(sources), output_(output) {}

  void write(const MatchBatch<Key>& batch, const PartitionRows& build, const PartitionRows& probe,
             SharedRows shared) override;
  // Matches with the place that was claimed for them. of_build, of_probe: of place.rows rows.
  void write_at(const OutputRows::Place& place, const Key* keys, const SideMatches<Key>& of_build,
                const SideMatches<Key>& of_probe);

 private:
  const std::vector<OutputSource>& sources_;
  OutputRows& output_;
  BatchValues<Key> values_;
};

extern template class BatchWriter<uint32_t>;
extern template class BatchWriter<uint64_t>;

// sources, output: outlive the sinks.
class BatchWriters final : public MatchSinks {
 public:
  BatchWriters(const std::vector<OutputSource>& sources, OutputRows& output)
      : sources_(sources), output_(output) {}
  std::unique_ptr<MatchSink<uint32_t>> make_narrow(int32_t) override {
    return std::make_unique<BatchWriter<uint32_t>>(sources_, output_);
  }
  std::unique_ptr<MatchSink<uint64_t>> make_wide(int32_t) override {
    return std::make_unique<BatchWriter<uint64_t>>(sources_, output_);
  }

 private:
  const std::vector<OutputSource>& sources_;
  OutputRows& output_;
};

}  // namespace gpujoin::cpu
