#include "src/base/status.hpp"

#include <cstdarg>
#include <cstdio>

namespace gpujoin::base {

namespace {

__attribute__((format(printf, 1, 0))) std::string formatted(const char* format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int const length = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
  // The string's terminator is the byte that vsnprintf ends with.
  std::vsnprintf(text.data(), text.size() + 1, format, arguments);
  return text;
}

}  // namespace

void fail(gpujoin_status status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string message = formatted(format, arguments);
  va_end(arguments);
  throw Error(status, message);
}

std::string text(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string result = formatted(format, arguments);
  va_end(arguments);
  return result;
}

}  // namespace gpujoin::base
