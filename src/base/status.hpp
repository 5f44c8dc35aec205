// status.hpp: the one exception type inside the library. It carries the status that the shim
// answers with.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "gpujoin.h"

namespace gpujoin::base {

class Error : public std::runtime_error {
 public:
  Error(gpujoin_status status, const std::string& message, int32_t cuda_code = 0,
        bool sticky = false)
      : std::runtime_error(message), status_(status), cuda_code_(cuda_code), sticky_(sticky) {}
  gpujoin_status status() const { return status_; }
  int32_t cuda_code() const { return cuda_code_; }
  bool sticky() const { return sticky_; }

 private:
  gpujoin_status status_;
  int32_t cuda_code_;
  bool sticky_;
};

// Throws Error with a printf-formatted message.
[[noreturn]] __attribute__((format(printf, 2, 3))) void fail(gpujoin_status status,
                                                             const char* format, ...);

// Formats as printf does.
__attribute__((format(printf, 1, 2))) std::string text(const char* format, ...);

}  // namespace gpujoin::base
