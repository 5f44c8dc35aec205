// derive_keys.hpp: relations whose keys compare by their bits.
#pragma once

#include <memory>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::execute {

// Whether keys of two columns can be held against each other.
bool do_compare(const columns::ColumnView& left, const columns::ColumnView& right);

// Where key columns do not compare as they are (src/keys/derived_key.hpp), gives their relation
// derived ones behind its own, made where the caller's lie, and names those in the spec. Waits for
// the stream where it has made any. Throws TYPE, UNSUPPORTED for keys of more columns than there
// may be.
void make_comparable(base::Queue& queue, std::shared_ptr<const columns::Relation>* left,
                     std::shared_ptr<const columns::Relation>* right, columns::JoinSpec* spec);

// The GPU's part, in derive_keys_cuda.cpp: a view of the values, which `held` keeps.
columns::ColumnView derive_on_gpu(base::Queue& queue, const columns::ColumnView& column,
                                  void* ready_event, int32_t op, int32_t width, int64_t rows,
                                  std::shared_ptr<const void>* held);

}  // namespace gpujoin::execute
