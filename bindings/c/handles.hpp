// handles.hpp: what the incomplete types of gpujoin.h are. Each holds a share of what it needs, so
// that handles may be destroyed in any order.
#pragma once

#include <memory>

#include "gpujoin.h"
#include "src/base/context.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/execute/execute.hpp"

struct gpujoin_context {
  std::shared_ptr<gpujoin::base::Context> context;
};

struct gpujoin_relation {
  std::shared_ptr<const gpujoin::columns::Relation> relation;
};

struct gpujoin_plan {
  std::shared_ptr<const gpujoin::execute::PlannedJoin> join;
};

struct gpujoin_result {
  std::shared_ptr<const gpujoin::columns::JoinResult> result;
};

namespace gpujoin::shim {

// The context behind a handle, which may be NULL; null then. A share of its own: a call keeps its
// context alive whatever is destroyed meanwhile.
inline std::shared_ptr<base::Context> context_of(const gpujoin_context* handle) {
  return handle == nullptr ? nullptr : handle->context;
}
inline std::shared_ptr<base::Context> context_of(const gpujoin_relation* handle) {
  return handle == nullptr ? nullptr : handle->relation->context;
}
inline std::shared_ptr<base::Context> context_of(const gpujoin_plan* handle) {
  return handle == nullptr ? nullptr : handle->join->context;
}
inline std::shared_ptr<base::Context> context_of(const gpujoin_result* handle) {
  return handle == nullptr ? nullptr : handle->result->context;
}

}  // namespace gpujoin::shim
