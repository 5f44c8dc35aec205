#include "src/filters/extremes.hpp"

#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "kernels/bytes_column.hpp"
#include "kernels/keys/derived_key.hpp"
#include "src/keys/value_kinds.hpp"
#include "src/pieces/key_words.hpp"

namespace gpujoin::filters {

namespace {

using columns::ColumnView;
using columns::Layout;

template <typename Value>
struct Plain {
  using Held = Value;
  static bool counts(Value) { return true; }
  static Value as_kept(Value value) { return value; }
  static bool is_below(Value one, Value other) { return one < other; }
};

template <typename Value>
struct Float : Plain<Value> {
  static bool counts(Value value) { return !std::isnan(value); }
  static Value as_kept(Value value) { return value == 0 ? Value(0) : value; }
};

struct Half {
  using Held = uint16_t;
  static float wide(uint16_t half) {
    uint32_t const bits = kernels::bits_of_half(half);
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  static bool counts(uint16_t value) { return !std::isnan(wide(value)); }
  static uint16_t as_kept(uint16_t value) { return wide(value) == 0 ? uint16_t{0} : value; }
  static bool is_below(uint16_t one, uint16_t other) { return wide(one) < wide(other); }
};

template <int kWords>
struct Words {
  uint64_t words[kWords];
};
template <int kWords>
struct LongDecimal {
  using Held = Words<kWords>;
  static bool counts(const Held&) { return true; }
  static Held as_kept(const Held& value) { return value; }
  static bool is_below(const Held& one, const Held& other) {
    auto const top = [](const Held& value) {
      return static_cast<int64_t>(value.words[kWords - 1]);
    };
    if (top(one) != top(other)) return top(one) < top(other);
    for (int i = kWords - 2; i >= 0; --i) {
      if (one.words[i] != other.words[i]) return one.words[i] < other.words[i];
    }
    return false;
  }
};

std::string_view text_of(const kernels::ByteSpan& span) {
  return {reinterpret_cast<const char*>(span.data), span.count};
}

}  // namespace

// How a type's values are compared, and kept as bytes.
template <typename Type>
struct OfType {
  using Held = typename Type::Held;

  static Held held(const void* data) {
    Held value;
    std::memcpy(&value, data, sizeof(value));
    return value;
  }
  static std::string bytes(const Held& value) {
    return {reinterpret_cast<const char*>(&value), sizeof(value)};
  }
  static bool is_below(const std::string& one, const std::string& other) {
    return Type::is_below(held(one.data()), held(other.data()));
  }
  static void add(const ColumnView& column, int64_t first, int64_t count, Extremes* to) {
    kernels::ValidityBits const validity = {column.validity, column.validity_bit_offset};
    auto const* const data = static_cast<const std::byte*>(column.data);
    bool has_any = false;
    Held lowest = {}, highest = {};
    for (int64_t row = first; row < first + count; ++row) {
      if (!kernels::is_valid(validity, static_cast<uint64_t>(row))) continue;
      Held const given = held(data + row * static_cast<int64_t>(sizeof(Held)));
      if (!Type::counts(given)) continue;
      Held const value = Type::as_kept(given);
      if (!has_any || Type::is_below(value, lowest)) lowest = value;
      if (!has_any || Type::is_below(highest, value)) highest = value;
      has_any = true;
    }
    if (has_any) to->add(is_below, bytes(lowest), bytes(highest));
  }
  static void add_bits(const ColumnView& column, int64_t first, int64_t count, Extremes* to) {
    kernels::ValidityBits const validity = {column.validity, column.validity_bit_offset};
    auto const* const bits = static_cast<const uint8_t*>(column.data);
    bool seen[2] = {};
    for (int64_t row = first; row < first + count; ++row) {
      if (!kernels::is_valid(validity, static_cast<uint64_t>(row))) continue;
      int64_t const bit = column.parts->first_bit + row;
      seen[bits[bit / 8] >> (bit % 8) & 1] = true;
    }
    if (!seen[0] && !seen[1]) return;
    to->add(is_below, std::string(1, seen[0] ? '\0' : '\1'), std::string(1, seen[1] ? '\1' : '\0'));
  }
  static void add_bytes(const ColumnView& column, int64_t rows, int64_t first, int64_t count,
                        Extremes* to) {
    kernels::ValidityBits const validity = {column.validity, column.validity_bit_offset};
    kernels::BytesColumn const values = pieces::bytes_in_host(column, rows);
    bool has_any = false;
    std::string_view lowest, highest;  // compare as unsigned bytes
    for (int64_t row = first; row < first + count; ++row) {
      if (!kernels::is_valid(validity, static_cast<uint64_t>(row))) continue;
      auto const value = text_of(kernels::bytes_at(values, static_cast<uint64_t>(row)));
      if (!has_any || value < lowest) lowest = value;
      if (!has_any || highest < value) highest = value;
      has_any = true;
    }
    if (!has_any) return;
    to->add([](const std::string& one, const std::string& other) { return one < other; },
            std::string(lowest), std::string(highest));
  }
};

namespace {

template <bool kIsSigned>
void add_integers(const ColumnView& column, int64_t first, int64_t count, Extremes* to) {
  switch (column.width) {
    case 1:
      return OfType<Plain<std::conditional_t<kIsSigned, int8_t, uint8_t>>>::add(column, first,
                                                                                count, to);
    case 2:
      return OfType<Plain<std::conditional_t<kIsSigned, int16_t, uint16_t>>>::add(column, first,
                                                                                  count, to);
    case 4:
      return OfType<Plain<std::conditional_t<kIsSigned, int32_t, uint32_t>>>::add(column, first,
                                                                                  count, to);
    default:
      return OfType<Plain<std::conditional_t<kIsSigned, int64_t, uint64_t>>>::add(column, first,
                                                                                  count, to);
  }
}

}  // namespace

void Extremes::add(const ColumnView& column, int64_t rows, int64_t first, int64_t count) {
  if (count == 0 || column.layout == Layout::kNulls) return;
  if (keys::is_unsigned(column.type)) return add_integers<false>(column, first, count, this);
  if (keys::is_decimal(column) && column.width > 8) {
    return column.width == 16 ? OfType<LongDecimal<2>>::add(column, first, count, this)
                              : OfType<LongDecimal<4>>::add(column, first, count, this);
  }
  bool const is_time = keys::unit_of(column).clock != keys::Clock::kNone;
  if (keys::is_signed(column.type) || keys::is_decimal(column) || is_time) {
    return add_integers<true>(column, first, count, this);
  }
  if (keys::is_float(column.type)) {
    return column.width == 2   ? OfType<Half>::add(column, first, count, this)
           : column.width == 4 ? OfType<Float<float>>::add(column, first, count, this)
                               : OfType<Float<double>>::add(column, first, count, this);
  }
  if (column.layout == Layout::kBits) {
    return OfType<Plain<uint8_t>>::add_bits(column, first, count, this);
  }
  if (keys::is_text(column.type) || keys::is_binary(column)) {
    return OfType<Plain<uint8_t>>::add_bytes(column, rows, first, count, this);
  }
}

void Extremes::add(IsBelow is_below, std::string lowest, std::string highest) {
  is_below_ = is_below;
  if (!has_any_ || is_below(lowest, lowest_)) lowest_ = std::move(lowest);
  if (!has_any_ || is_below(highest_, highest)) highest_ = std::move(highest);
  has_any_ = true;
}

void Extremes::add(const Extremes& other) {
  if (other.has_any_) add(other.is_below_, other.lowest_, other.highest_);
}

}  // namespace gpujoin::filters
