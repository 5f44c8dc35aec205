#include "src/keys/derived_key.hpp"

#include <algorithm>

namespace gpujoin::keys {

namespace {

using kernels::KeyOp;

bool is_signed(gpujoin_type type) {
  return type >= GPUJOIN_TYPE_INT8 && type <= GPUJOIN_TYPE_INT64;
}
bool is_unsigned(gpujoin_type type) {
  return type >= GPUJOIN_TYPE_UINT8 && type <= GPUJOIN_TYPE_UINT64;
}
bool is_float(gpujoin_type type) {
  return type == GPUJOIN_TYPE_FLOAT16 || type == GPUJOIN_TYPE_FLOAT32 ||
         type == GPUJOIN_TYPE_FLOAT64;
}

// The column as it is where it is so wide already.
KeyOp extend(const columns::ColumnView& column, int32_t width) {
  if (column.width == width) return KeyOp::kAsIs;
  return is_signed(column.type) ? KeyOp::kSigned : KeyOp::kUnsigned;
}

std::vector<KeyPart> integers(const columns::ColumnView& left, const columns::ColumnView& right) {
  int32_t width = std::max({left.width, right.width, 4});
  if (is_signed(left.type) != is_signed(right.type)) {
    columns::ColumnView const& plain = is_signed(left.type) ? right : left;
    if (plain.width == 8) {
      KeyOp const beside_left = is_signed(left.type) ? KeyOp::kIsNegative : KeyOp::kZero;
      KeyOp const beside_right = is_signed(right.type) ? KeyOp::kIsNegative : KeyOp::kZero;
      return {{extend(left, 8), extend(right, 8), 8}, {beside_left, beside_right, 4}};
    }
    if (plain.width == 4) width = 8;
  }
  return {{extend(left, width), extend(right, width), width}};
}

}  // namespace

std::optional<std::vector<KeyPart>> compare_by(const columns::ColumnView& left,
                                               const columns::ColumnView& right) {
  auto const is_integer = [](const columns::ColumnView& column) {
    return is_signed(column.type) || is_unsigned(column.type);
  };
  if (is_integer(left) && is_integer(right)) return integers(left, right);
  if (is_float(left.type) && is_float(right.type)) {
    int32_t const width = std::max({left.width, right.width, 4});
    return {{{KeyOp::kFloat, KeyOp::kFloat, width}}};
  }
  if (left.type != right.type || left.type == 0 || left.width == 0) return std::nullopt;
  bool const has_unit = left.type == GPUJOIN_TYPE_BYTES16 || left.type == GPUJOIN_TYPE_TIME32 ||
                        left.type == GPUJOIN_TYPE_TIME64 || left.type == GPUJOIN_TYPE_DURATION;
  if (has_unit && left.arrow_format != right.arrow_format) return std::nullopt;
  if (left.width == 16) {
    return {{{KeyOp::kLow, KeyOp::kLow, 8}, {KeyOp::kHigh, KeyOp::kHigh, 8}}};
  }
  return {{{KeyOp::kAsIs, KeyOp::kAsIs, left.width}}};
}

}  // namespace gpujoin::keys
