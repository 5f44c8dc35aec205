#include "src/cpu/batch_writer.hpp"

namespace gpujoin::cpu {

template <typename Key>
void BatchWriter<Key>::write_at(const OutputRows::Place& place, const Key* keys,
                                const SideMatches<Key>& of_build,
                                const SideMatches<Key>& of_probe) {
  values_.start_batch();
  for (size_t column = 0; column < sources_.size(); ++column) {
    OutputSource const& source = sources_[column];
    SideMatches<Key> const& matches = source.from_build ? of_build : of_probe;
    output_.write_values(place, column, values_.values(source, keys, matches));
    if (source.nullable()) output_.write_bits(place, column, values_.bits(source, matches));
  }
}

template <typename Key>
void BatchWriter<Key>::write(const MatchBatch<Key>& batch, const PartitionRows& build,
                             const PartitionRows& probe, SharedRows /*shared*/) {
  for (uint32_t done = 0; done < batch.rows;) {
    OutputRows::Place const place = output_.claim(batch.rows - done);
    write_at(place, batch.keys + done, {&build, batch.build + done, place.rows},
             {&probe, batch.probe + done, place.rows});
    done += place.rows;
  }
}

template class BatchWriter<uint32_t>;
template class BatchWriter<uint64_t>;

}  // namespace gpujoin::cpu
