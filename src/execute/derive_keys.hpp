// derive_keys.hpp: relations whose keys compare by their bits.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::execute {

// Whether keys of two columns can be held against each other.
bool do_compare(const columns::ColumnView& left, const columns::ColumnView& right);

// Where key columns do not compare as they are (src/keys/derived_key.hpp), gives their relation
// derived ones behind its own, and names those in the spec: values of fixed widths where the
// caller's lie, codes of others where the device reads. Waits for the stream where it has made any.
// Behind it the spec's key_flags are empty, and keys have at most `most_columns`. expected: keys
// that compare, which the device can read, no more of them than that.
void make_comparable(base::Queue& queue, plan::Device device,
                     std::shared_ptr<const columns::Relation>* left,
                     std::shared_ptr<const columns::Relation>* right, columns::JoinSpec* spec,
                     int32_t most_columns = columns::kMostKeys);

// What the keys of a build side that is kept became, by which those of any probe side become the
// same. Const once it is made; any number of queues at a time.
class KeptKeys {
 public:
  // As make_comparable, with one of the probe sides to come: codes are of the build side's values
  // alone. Null: the keys compare as they are. Throws.
  static std::shared_ptr<const KeptKeys> make(base::Queue& queue, plan::Device device,
                                              bool build_left,
                                              std::shared_ptr<const columns::Relation>* left,
                                              std::shared_ptr<const columns::Relation>* right,
                                              columns::JoinSpec* spec);
  ~KeptKeys();

  // Another one, with its keys where the first one has them; null: it has them elsewhere. Waits for
  // the stream. Throws.
  std::shared_ptr<const columns::Relation> with_keys(
      base::Queue& queue, const std::shared_ptr<const columns::Relation>& probe) const;

  struct KeptValues;

 private:
  KeptKeys(plan::Device device, std::shared_ptr<const columns::Relation> build,
           columns::JoinSpec spec);

  plan::Device device_;
  std::shared_ptr<const columns::Relation> build_;  // as it was
  columns::JoinSpec spec_;                          // with the caller's keys
  std::vector<int32_t> probe_keys_;                 // that were made
  std::unique_ptr<KeptValues> values_;
};

}  // namespace gpujoin::execute
