#include "bindings/c/arguments.hpp"

#include <algorithm>
#include <utility>

namespace gpujoin::shim {

using base::fail;

namespace {

// No struct of this interface comes near it; what claims more was never initialized, and its tail
// must not be read.
constexpr uint32_t kLargestStruct = 4096;

}  // namespace

void check_given(const void* argument, const char* name) {
  if (argument == nullptr) fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s is NULL", name);
}

void check_list(const int32_t* argument, const char* name) {
  check_given(argument, name);
  if (reinterpret_cast<uintptr_t>(argument) % alignof(int32_t) != 0) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s is not aligned to %zu bytes", name, alignof(int32_t));
  }
}

void check_range(int64_t value, int64_t lowest, int64_t highest, const char* name) {
  if (value >= lowest && value <= highest) return;
  if (lowest == highest) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s is %lld, allowed is %lld", name,
         static_cast<long long>(value), static_cast<long long>(lowest));
  }
  if (highest == INT32_MAX) {  // no bound but that of the type
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s is %lld, allowed are %lld or more", name,
         static_cast<long long>(value), static_cast<long long>(lowest));
  }
  fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s is %lld, allowed are %lld to %lld", name,
       static_cast<long long>(value), static_cast<long long>(lowest),
       static_cast<long long>(highest));
}

void give_text(const std::string& text, char* buffer, size_t* length) {
  check_given(length, "length");
  if (*length > 0) check_given(buffer, "buffer");
  size_t const needed = text.size() + 1;
  size_t const room = std::exchange(*length, needed);
  if (room < needed) {
    fail(GPUJOIN_ERROR_BUFFER_TOO_SMALL, "buffer has %zu bytes and the text needs %zu", room,
         needed);
  }
  std::memcpy(buffer, text.c_str(), needed);
}

void check_reserved(int64_t value, const char* name) {
  if (value != 0) fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s is reserved and not zero", name);
}

void check_struct_size(const void* given, uint32_t struct_size, size_t first_size,
                       size_t known_size, const char* name) {
  if (struct_size < first_size || struct_size > kLargestStruct) {
    fail(GPUJOIN_ERROR_ABI_MISMATCH,
         "%s.struct_size is %u; the first version of the struct has %zu bytes (set it with the "
         "*_INIT macro)",
         name, struct_size, first_size);
  }
  if (struct_size % alignof(int64_t) != 0) {
    fail(GPUJOIN_ERROR_ABI_MISMATCH,
         "%s.struct_size is %u, and every struct's is a multiple of %zu", name, struct_size,
         alignof(int64_t));
  }
  if (struct_size <= known_size) return;
  const auto* bytes = static_cast<const std::byte*>(given);
  if (!std::all_of(bytes + known_size, bytes + struct_size,
                   [](std::byte byte) { return byte == std::byte{0}; })) {
    fail(GPUJOIN_ERROR_ABI_MISMATCH,
         "%s: a field after byte %zu is set, and this library does not know it", name, known_size);
  }
}

}  // namespace gpujoin::shim
