// types.cpp: the type table, by GPUJOIN_TYPE_* number.
#include "src/columns/types.hpp"

#include <array>

namespace gpujoin::columns {

namespace {

struct TypeFacts {
  const char* name;
  int32_t width;
  const char* arrow_format;
  bool is_key;
};

// Types whose unit is the Arrow format's (times, durations) have no unit when they come as plain
// columns; microseconds (milliseconds for 4 bytes) is what databases mean most often.
constexpr std::array<TypeFacts, 23> kTypes = {{
    {"unsupported", 0, "", false},     {"INT8", 1, "c", false},
    {"INT16", 2, "s", false},          {"INT32", 4, "i", true},
    {"INT64", 8, "l", true},           {"UINT8", 1, "C", false},
    {"UINT16", 2, "S", false},         {"UINT32", 4, "I", true},
    {"UINT64", 8, "L", true},          {"FLOAT32", 4, "f", false},
    {"FLOAT64", 8, "g", false},        {"DATE32", 4, "tdD", true},
    {"DATE64", 8, "tdm", true},        {"TIMESTAMP_S", 8, "tss:", true},
    {"TIMESTAMP_MS", 8, "tsm:", true}, {"TIMESTAMP_US", 8, "tsu:", true},
    {"TIMESTAMP_NS", 8, "tsn:", true}, {"BYTES16", 16, "w:16", false},
    {"FLOAT16", 2, "e", false},        {"TIME32", 4, "ttm", false},
    {"TIME64", 8, "ttu", false},       {"DURATION", 8, "tDu", false},
    {"BOOL", 0, "b", false},
}};

const TypeFacts& facts_of(gpujoin_type type) {
  bool const known = type > 0 && static_cast<size_t>(type) < kTypes.size();
  return kTypes[known ? static_cast<size_t>(type) : 0];
}

// "d:precision,scale" is 128 bits wide unless a third number says otherwise.
bool is_decimal128(std::string_view format) {
  if (!format.starts_with("d:")) return false;
  size_t const scale = format.find(',');
  if (scale == std::string_view::npos) return false;
  size_t const bits = format.find(',', scale + 1);
  return bits == std::string_view::npos || format.substr(bits + 1) == "128";
}

}  // namespace

int32_t width_of(gpujoin_type type) { return facts_of(type).width; }
const char* arrow_format_of(gpujoin_type type) { return facts_of(type).arrow_format; }
const char* name_of(gpujoin_type type) { return facts_of(type).name; }
bool is_key_type(gpujoin_type type) { return facts_of(type).is_key; }

gpujoin_type type_of_arrow_format(std::string_view format) {
  if (format.empty()) return 0;
  if (format.starts_with("tss:")) return GPUJOIN_TYPE_TIMESTAMP_S;
  if (format.starts_with("tsm:")) return GPUJOIN_TYPE_TIMESTAMP_MS;
  if (format.starts_with("tsu:")) return GPUJOIN_TYPE_TIMESTAMP_US;
  if (format.starts_with("tsn:")) return GPUJOIN_TYPE_TIMESTAMP_NS;
  if (format == "tts" || format == "ttm") return GPUJOIN_TYPE_TIME32;
  if (format == "ttu" || format == "ttn") return GPUJOIN_TYPE_TIME64;
  if (format == "tDs" || format == "tDm" || format == "tDu" || format == "tDn") {
    return GPUJOIN_TYPE_DURATION;
  }
  if (is_decimal128(format)) return GPUJOIN_TYPE_BYTES16;
  for (size_t type = 1; type < kTypes.size(); ++type) {
    // Bits are in results only.
    if (kTypes[type].width == 0) continue;
    if (format == kTypes[type].arrow_format) return static_cast<gpujoin_type>(type);
  }
  return 0;
}

}  // namespace gpujoin::columns
