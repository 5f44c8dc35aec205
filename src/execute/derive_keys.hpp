// derive_keys.hpp: relations whose keys compare by their bits.
#pragma once

#include <cstdint>
#include <memory>

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

}  // namespace gpujoin::execute
