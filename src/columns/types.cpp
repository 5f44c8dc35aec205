// types.cpp: the type table, by GPUJOIN_TYPE_* number.
#include "src/columns/types.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <system_error>

namespace gpujoin::columns {

namespace {

struct TypeFacts {
  const char* name;
  int32_t width;
  const char* arrow_format;
  bool is_key;
  Layout layout;
};

// Types whose unit is the Arrow format's (times, durations) have no unit when they come as plain
// columns; microseconds (milliseconds for 4 bytes) is what databases mean most often. Where a width
// or a scale is part of the format, it is a column's own.
constexpr std::array<TypeFacts, 39> kTypes = {{
    {"unsupported", 0, "", false, Layout::kOther},
    {"INT8", 1, "c", false, Layout::kValues},
    {"INT16", 2, "s", false, Layout::kValues},
    {"INT32", 4, "i", true, Layout::kValues},
    {"INT64", 8, "l", true, Layout::kValues},
    {"UINT8", 1, "C", false, Layout::kValues},
    {"UINT16", 2, "S", false, Layout::kValues},
    {"UINT32", 4, "I", true, Layout::kValues},
    {"UINT64", 8, "L", true, Layout::kValues},
    {"FLOAT32", 4, "f", false, Layout::kValues},
    {"FLOAT64", 8, "g", false, Layout::kValues},
    {"DATE32", 4, "tdD", true, Layout::kValues},
    {"DATE64", 8, "tdm", true, Layout::kValues},
    {"TIMESTAMP_S", 8, "tss:", true, Layout::kValues},
    {"TIMESTAMP_MS", 8, "tsm:", true, Layout::kValues},
    {"TIMESTAMP_US", 8, "tsu:", true, Layout::kValues},
    {"TIMESTAMP_NS", 8, "tsn:", true, Layout::kValues},
    {"BYTES16", 16, "w:16", false, Layout::kValues},
    {"FLOAT16", 2, "e", false, Layout::kValues},
    {"TIME32", 4, "ttm", false, Layout::kValues},
    {"TIME64", 8, "ttu", false, Layout::kValues},
    {"DURATION", 8, "tDu", false, Layout::kValues},
    {"BOOL", 0, "b", false, Layout::kBits},
    {"UTF8", 0, "u", false, Layout::kText},
    {"LARGE_UTF8", 0, "U", false, Layout::kText},
    {"UTF8_VIEW", 16, "vu", false, Layout::kViews},
    {"BINARY", 0, "z", false, Layout::kText},
    {"LARGE_BINARY", 0, "Z", false, Layout::kText},
    {"BINARY_VIEW", 16, "vz", false, Layout::kViews},
    {"FIXED_BINARY", 0, "w:", false, Layout::kWide},
    {"DECIMAL32", 4, "d:9,0,32", false, Layout::kValues},
    {"DECIMAL64", 8, "d:18,0,64", false, Layout::kValues},
    {"DECIMAL256", 32, "d:76,0,256", false, Layout::kWide},
    {"NULL", 0, "n", false, Layout::kNulls},
    {"INTERVAL_MONTHS", 4, "tiM", false, Layout::kValues},
    {"INTERVAL_DAY_TIME", 8, "tiD", false, Layout::kValues},
    {"INTERVAL_MONTH_DAY_NANO", 16, "tin", false, Layout::kValues},
    {"DICTIONARY", 0, "", false, Layout::kIndices},
    {"RUN_END_ENCODED", 0, "+r", false, Layout::kRuns},
}};

const TypeFacts& facts_of(gpujoin_type type) {
  bool const known = type > 0 && static_cast<size_t>(type) < kTypes.size();
  return kTypes[known ? static_cast<size_t>(type) : 0];
}

// All of the text as a number.
std::optional<int32_t> number_in(std::string_view text) {
  int32_t number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

ArrowType plain_type(gpujoin_type type) { return {type, width_of(type), layout_of(type), 0}; }

// "d:precision,scale" is 128 bits wide unless a third number says otherwise.
ArrowType decimal_in(std::string_view format) {
  size_t const scale_at = format.find(',');
  if (scale_at == std::string_view::npos) return {};
  size_t const bits_at = format.find(',', scale_at + 1);
  bool const has_bits = bits_at != std::string_view::npos;
  auto const scale = number_in(
      format.substr(scale_at + 1, has_bits ? bits_at - scale_at - 1 : std::string_view::npos));
  auto const bits = has_bits ? number_in(format.substr(bits_at + 1)) : std::optional<int32_t>(128);
  if (!scale || !bits) return {};
  ArrowType found;
  switch (*bits) {
    case 32:
      found = plain_type(GPUJOIN_TYPE_DECIMAL32);
      break;
    case 64:
      found = plain_type(GPUJOIN_TYPE_DECIMAL64);
      break;
    case 128:
      found = plain_type(GPUJOIN_TYPE_BYTES16);
      break;
    case 256:
      found = plain_type(GPUJOIN_TYPE_DECIMAL256);
      break;
    default:
      return {};
  }
  found.scale = *scale;
  return found;
}

ArrowType binary_in(std::string_view format) {
  auto const width = number_in(format.substr(2));
  if (!width || *width < 0) return {};
  if (*width == 16) return plain_type(GPUJOIN_TYPE_BYTES16);
  return {GPUJOIN_TYPE_FIXED_BINARY, *width, Layout::kWide, 0};
}

}  // namespace

int32_t width_of(gpujoin_type type) { return facts_of(type).width; }
const char* arrow_format_of(gpujoin_type type) { return facts_of(type).arrow_format; }
const char* name_of(gpujoin_type type) { return facts_of(type).name; }
bool is_key_type(gpujoin_type type) { return facts_of(type).is_key; }

std::pair<int64_t, int64_t> first_and_last_offset(const ColumnParts& parts, int64_t rows) {
  if (parts.offset_width == 8) {
    auto const* const offsets = static_cast<const int64_t*>(parts.offsets);
    return {offsets[0], offsets[rows]};
  }
  auto const* const offsets = static_cast<const int32_t*>(parts.offsets);
  return {offsets[0], offsets[rows]};
}

Layout layout_of(gpujoin_type type) { return facts_of(type).layout; }

ArrowType type_of_arrow_format(std::string_view format) {
  if (format.empty()) return {};
  if (format.starts_with("tss:")) return plain_type(GPUJOIN_TYPE_TIMESTAMP_S);
  if (format.starts_with("tsm:")) return plain_type(GPUJOIN_TYPE_TIMESTAMP_MS);
  if (format.starts_with("tsu:")) return plain_type(GPUJOIN_TYPE_TIMESTAMP_US);
  if (format.starts_with("tsn:")) return plain_type(GPUJOIN_TYPE_TIMESTAMP_NS);
  if (format == "tts" || format == "ttm") return plain_type(GPUJOIN_TYPE_TIME32);
  if (format == "ttu" || format == "ttn") return plain_type(GPUJOIN_TYPE_TIME64);
  if (format == "tDs" || format == "tDm" || format == "tDu" || format == "tDn") {
    return plain_type(GPUJOIN_TYPE_DURATION);
  }
  if (format.starts_with("d:")) return decimal_in(format);
  if (format.starts_with("w:")) return binary_in(format);
  for (size_t type = 1; type < kTypes.size(); ++type) {
    if (format == kTypes[type].arrow_format) return plain_type(static_cast<gpujoin_type>(type));
  }
  return {};
}

}  // namespace gpujoin::columns
