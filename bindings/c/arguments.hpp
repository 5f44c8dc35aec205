// arguments.hpp: what every function asks of its arguments. All of it throws base::Error and names
// the argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "gpujoin.h"
#include "src/base/status.hpp"

namespace gpujoin::shim {

// Throws INVALID_ARGUMENT for NULL.
void check_given(const void* argument, const char* name);

// The same, and for a list of numbers that does not lie where numbers may.
void check_list(const int32_t* argument, const char* name);

// Throws INVALID_ARGUMENT unless lowest <= value <= highest.
void check_range(int64_t value, int64_t lowest, int64_t highest, const char* name);

// Writes a text of an explain call, or what it needs. Throws INVALID_ARGUMENT, BUFFER_TOO_SMALL.
void give_text(const std::string& text, char* buffer, size_t* length);

// Throws INVALID_ARGUMENT unless the reserved field is zero.
void check_reserved(int64_t value, const char* name);

// Throws ABI_MISMATCH for a struct smaller than its first version, for one of a size that no
// compiler gives it, or for a larger one whose tail, unknown here, asks for something.
void check_struct_size(const void* given, uint32_t struct_size, size_t first_size,
                       size_t known_size, const char* name);

// The caller's struct_size, which opens every struct; the struct itself may be shorter than ours.
inline uint32_t struct_size_of(const void* given) {
  uint32_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  return size;
}

// Bytes of a struct's first version, which is the smallest that a caller may have.
template <typename Struct>
inline constexpr size_t kFirstSize = sizeof(Struct);
template <>
inline constexpr size_t kFirstSize<gpujoin_column> = offsetof(gpujoin_column, offsets);
template <>
inline constexpr size_t kFirstSize<gpujoin_join_spec> = offsetof(gpujoin_join_spec, key_flags);
template <>
inline constexpr size_t kFirstSize<gpujoin_sequence_step> = offsetof(gpujoin_sequence_step,
                                                                     key_flags);
template <>
inline constexpr size_t kFirstSize<gpujoin_context_options> = offsetof(gpujoin_context_options,
                                                                       host_limit_bytes);
template <>
inline constexpr size_t kFirstSize<gpujoin_context_info> = offsetof(gpujoin_context_info,
                                                                    host_limit_bytes);
template <>
inline constexpr size_t kFirstSize<gpujoin_plan_options> = offsetof(gpujoin_plan_options,
                                                                    timeout_milliseconds);
template <>
inline constexpr size_t kFirstSize<gpujoin_operation_options> = offsetof(gpujoin_operation_options,
                                                                         filters);
template <>
inline constexpr size_t kFirstSize<gpujoin_progress> = offsetof(gpujoin_progress, rows_dropped);
template <>
inline constexpr size_t kFirstSize<gpujoin_fetch> = offsetof(gpujoin_fetch, offsets);

// Copies the caller's struct. Fields that an older caller does not have read zero.
template <typename Struct>
Struct read_struct(const Struct* given, const char* name) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  check_given(given, name);
  uint32_t const size = struct_size_of(given);
  check_struct_size(given, size, kFirstSize<Struct>, sizeof(Struct), name);
  Struct known{};
  std::memcpy(&known, given, size < sizeof(Struct) ? size : sizeof(Struct));
  return known;
}

// Writes outputs back, the caller's struct_size kept.
template <typename Struct>
void write_struct(const Struct& known, Struct* given) {
  uint32_t const size = struct_size_of(given);
  std::memcpy(reinterpret_cast<std::byte*>(given) + sizeof(size),
              reinterpret_cast<const std::byte*>(&known) + sizeof(size),
              (size < sizeof(Struct) ? size : sizeof(Struct)) - sizeof(size));
}

// Element `index` of a caller's array, whose stride is the struct_size of its first element.
template <typename Struct>
Struct* element_of(Struct* first, int32_t index) {
  using Byte = std::conditional_t<std::is_const_v<Struct>, const std::byte, std::byte>;
  return reinterpret_cast<Struct*>(reinterpret_cast<Byte*>(first) +
                                   static_cast<size_t>(index) * struct_size_of(first));
}

// Copies a caller's array of structs; all must give the same struct_size.
template <typename Struct>
std::vector<Struct> read_array(const Struct* first, int32_t count, const char* name,
                               const char* count_name) {
  check_range(count, 0, INT32_MAX, count_name);
  std::vector<Struct> known;
  if (count == 0) return known;
  check_given(first, name);
  known.reserve(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) {
    const Struct* element = element_of(first, i);
    uint32_t const size = struct_size_of(element);
    if (size == sizeof(Struct) && size == struct_size_of(first)) {
      known.push_back(*element);  // mostly: no text of what might be wrong is made
      continue;
    }
    std::string const element_name = std::string(name) + "[" + std::to_string(i) + "]";
    if (size != struct_size_of(first)) {
      base::fail(GPUJOIN_ERROR_ABI_MISMATCH,
                 "%s.struct_size is %u and that of %s[0] is %u: they must be equal",
                 element_name.c_str(), size, name, struct_size_of(first));
    }
    known.push_back(read_struct(element, element_name.c_str()));
  }
  return known;
}

}  // namespace gpujoin::shim
