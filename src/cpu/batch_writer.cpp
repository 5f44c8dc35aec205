#include "src/cpu/batch_writer.hpp"

namespace gpujoin::cpu {

template <typename Key>
void BatchWriter<Key>::write(const MatchBatch<Key>& batch, const PartitionRows& build,
                             const PartitionRows& probe, SharedRows /*shared*/) {
  for (uint32_t done = 0; done < batch.rows;) {
    OutputRows::Place const place = output_.claim(batch.rows - done);
    values_.start_batch();
    SideMatches<Key> const of_build{&build, batch.build + done, place.rows};
    SideMatches<Key> const of_probe{&probe, batch.probe + done, place.rows};
    for (size_t column = 0; column < sources_.size(); ++column) {
      OutputSource const& source = sources_[column];
      SideMatches<Key> const& matches = source.from_build ? of_build : of_probe;
      output_.write_values(place, column, values_.values(source, batch.keys + done, matches));
      if (source.nullable()) output_.write_bits(place, column, values_.bits(source, matches));
    }
    done += place.rows;
  }
}

template class BatchWriter<uint32_t>;
template class BatchWriter<uint64_t>;

}  // namespace gpujoin::cpu
