// guard.hpp: the one place where exceptions become statuses.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "gpujoin.h"
#include "src/base/context.hpp"
#include "src/base/status.hpp"

namespace gpujoin::shim {

// Called in a catch block: answers with the status of the exception in flight and describes it in
// `error`, which may be NULL. A sticky CUDA error marks the context, which may be null, as lost.
gpujoin_status answer_exception(base::Context* context, gpujoin_error* error) noexcept;

// Fills `error`, which may be NULL, and answers with the status.
gpujoin_status answer(gpujoin_status status, const char* message, int32_t cuda_code, bool sticky,
                      gpujoin_error* error) noexcept;

// False in a child process and on a lost device, where no CUDA call may be made, not even to ask.
bool can_call_cuda(const base::Context& context) noexcept;

// For calls that a lost device does not hinder, because they only read what the host knows. A child
// process must not even take the pool's lock, which a thread of the parent may have held. Throws
// FORKED.
void check_same_process(const base::Context& context);

// Runs the body of an ABI function. On the way out the thread's current CUDA device is what it was.
template <typename Body>
gpujoin_status guard(const std::shared_ptr<base::Context>& context, gpujoin_error* error,
                     Body&& body) noexcept {
  try {
    std::optional<base::CurrentDevice> current;
    if (context != nullptr && can_call_cuda(*context)) current.emplace(*context);
    std::forward<Body>(body)();
    return GPUJOIN_OK;
  } catch (...) {
    return answer_exception(context.get(), error);
  }
}

// The same of a call on an object that is worth nothing after one that failed for want of memory or
// of its device: also where the call did not come to it, so that nobody goes on without its rows.
template <typename Object, typename Body>
gpujoin_status guard_or_lose(const std::shared_ptr<Object>& object, gpujoin_error* error,
                             Body&& body) noexcept {
  auto const context = object != nullptr ? object->context : nullptr;
  gpujoin_status const status = guard(context, error, std::forward<Body>(body));
  bool const is_lost = status == GPUJOIN_ERROR_OUT_OF_MEMORY || status == GPUJOIN_ERROR_CUDA ||
                       status == GPUJOIN_ERROR_DEVICE_LOST;
  if (is_lost && object != nullptr) object->lose(status);
  return status;
}

}  // namespace gpujoin::shim
