#include "bindings/c/guard.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>

#include "src/base/forks.hpp"

namespace gpujoin::shim {

namespace {

// As much of the message as fits, cut between characters: callers decode it as UTF-8.
void copy_message(const char* message, char* out, size_t room) {
  size_t length = std::min(std::strlen(message), room - 1);
  if (message[length] != '\0') {
    while (length > 0 && (static_cast<unsigned char>(message[length]) & 0xC0) == 0x80) --length;
  }
  std::memcpy(out, message, length);
  out[length] = '\0';
}

}  // namespace

gpujoin_status answer(gpujoin_status status, const char* message, int32_t cuda_code, bool sticky,
                      gpujoin_error* error) noexcept {
  if (error == nullptr) return status;
  *error = gpujoin_error{};
  copy_message(message, error->message, sizeof(error->message));
  error->status = status;
  error->cuda_code = cuda_code;
  error->is_sticky = sticky || status == GPUJOIN_ERROR_DEVICE_LOST ? 1 : 0;
  return status;
}

gpujoin_status answer_exception(base::Context* context, gpujoin_error* error) noexcept {
  try {
    throw;
  } catch (const base::Error& caught) {
    if (caught.sticky() && context != nullptr) context->device_lost.store(true);
    return answer(caught.status(), caught.what(), caught.cuda_code(), caught.sticky(), error);
  } catch (const std::bad_alloc&) {
    return answer(GPUJOIN_ERROR_OUT_OF_MEMORY, "the process has no memory left", 0, false, error);
  } catch (const std::exception& caught) {
    return answer(GPUJOIN_ERROR_INTERNAL, caught.what(), 0, false, error);
  } catch (...) {
    return answer(GPUJOIN_ERROR_INTERNAL, "an exception of an unknown type", 0, false, error);
  }
}

void check_same_process(const base::Context& context) {
  if (context.pid != base::process_id()) context.check_usable();
}

bool can_call_cuda(const base::Context& context) noexcept {
  return context.is_cuda() && context.pid == base::process_id() && !context.device_lost.load();
}

}  // namespace gpujoin::shim
