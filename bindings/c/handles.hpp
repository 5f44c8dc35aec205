// handles.hpp: what the incomplete types of gpujoin.h stand for.
//
// A handle is no address: it is a number that this process gives out once, and its object lies in a
// table under it. So a call that comes while another thread destroys its handle, or after it, finds
// either the object, of which it takes a share, or nothing. Finding costs 30 ns.
#pragma once

#include <memory>
#include <utility>

#include "gpujoin.h"
#include "src/base/context.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/execute/execute.hpp"
#include "src/filters/filter.hpp"
#include "src/pieces/build.hpp"
#include "src/pieces/operation.hpp"
#include "src/pieces/probe.hpp"

namespace gpujoin::shim {

template <typename Handle>
struct HandleFacts;
template <>
struct HandleFacts<gpujoin_context> {
  using Object = base::Context;
  static constexpr unsigned kKind = 1;
};
template <>
struct HandleFacts<gpujoin_relation> {
  using Object = const columns::Relation;
  static constexpr unsigned kKind = 2;
};
template <>
struct HandleFacts<gpujoin_plan> {
  using Object = const execute::PlannedJoin;
  static constexpr unsigned kKind = 3;
};
template <>
struct HandleFacts<gpujoin_result> {
  using Object = const columns::JoinResult;
  static constexpr unsigned kKind = 4;
};
template <>
struct HandleFacts<gpujoin_build> {
  using Object = pieces::Build;
  static constexpr unsigned kKind = 5;
};
template <>
struct HandleFacts<gpujoin_operation> {
  using Object = pieces::Operation;
  static constexpr unsigned kKind = 6;
};
template <>
struct HandleFacts<gpujoin_probe> {
  using Object = pieces::Probe;
  static constexpr unsigned kKind = 7;
};
template <>
struct HandleFacts<gpujoin_key_filter> {
  using Object = const filters::Filter;
  static constexpr unsigned kKind = 8;
};

template <typename Handle>
using Share = std::shared_ptr<typename HandleFacts<Handle>::Object>;

// The table. A handle without an object is made first, because that is what may fail; kind is 1 to
// 15 and a part of the handle, so that one of another type is not found.
using AnyShare = std::shared_ptr<const void>;
const void* make_handle(unsigned kind);
void set_object(const void* handle, AnyShare object) noexcept;
AnyShare find_object(const void* handle, unsigned kind) noexcept;
// Lets go of the object, whoever else has a share of it. In a child process an object of the parent
// is forgotten, not touched: its pool may be locked by a thread that the child does not have, and
// its memory is the parent's, too.
void drop_handle(const void* handle, unsigned kind) noexcept;

// What a handle stands for; null for NULL, for what was destroyed and for what is no handle.
template <typename Handle>
Share<Handle> object_of(const Handle* handle) noexcept {
  using Object = typename HandleFacts<Handle>::Object;
  AnyShare found = find_object(handle, HandleFacts<Handle>::kKind);
  auto* const object = static_cast<Object*>(const_cast<void*>(found.get()));
  return Share<Handle>(std::move(found), object);
}

// Throws INVALID_ARGUMENT, naming the argument, where object_of found nothing.
void check_found(const void* object, const void* handle, const char* name);

template <typename Handle>
Share<Handle> checked_object(const Handle* handle, const char* name) {
  Share<Handle> object = object_of(handle);
  check_found(object.get(), handle, name);
  return object;
}

// A handle on its way to the caller.
template <typename Handle>
class NewHandle {
 public:
  NewHandle() : handle_(make_handle(HandleFacts<Handle>::kKind)) {}
  ~NewHandle() {
    if (handle_ != nullptr) drop_handle(handle_, HandleFacts<Handle>::kKind);
  }
  NewHandle(const NewHandle&) = delete;
  NewHandle& operator=(const NewHandle&) = delete;

  Handle* give(Share<Handle> object) noexcept {
    set_object(handle_, std::move(object));
    return static_cast<Handle*>(const_cast<void*>(std::exchange(handle_, nullptr)));
  }

 private:
  const void* handle_;
};

// The context behind an object, which may be null; null then. A call keeps its context alive
// whatever is destroyed meanwhile.
inline std::shared_ptr<base::Context> context_of(const std::shared_ptr<base::Context>& context) {
  return context;
}
template <typename Object>
std::shared_ptr<base::Context> context_of(const std::shared_ptr<Object>& object) {
  return object == nullptr ? nullptr : object->context;
}

// Nothing for NULL, and for what was destroyed before.
template <typename Handle>
void destroy_handle(Handle* handle) noexcept {
  drop_handle(handle, HandleFacts<Handle>::kKind);
}

}  // namespace gpujoin::shim
