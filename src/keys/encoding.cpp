#include "src/keys/encoding.hpp"

#include <algorithm>
#include <bit>

#include "src/base/status.hpp"
#include "src/keys/column_hash.hpp"

namespace gpujoin::keys {

namespace {

constexpr int32_t kWordBits = 64;

uint64_t low_bits(int32_t bits) { return bits == 0 ? 0 : ~uint64_t{0} >> (kWordBits - bits); }

int32_t bits_of(int32_t width) { return 8 * width; }

int32_t sum_of_bits(const std::vector<KeyField>& fields) {
  int32_t sum = 0;
  for (KeyField const& field : fields) sum += field.bits;
  return sum;
}

// A column without a value is as good as one of zeros.
uint64_t span_of(const ColumnRange& range) {
  return range.low > range.high ? 0 : range.high - range.low;
}

// As wide as the ranges are.
std::vector<KeyField> tight_fields(std::span<const int32_t> widths,
                                   std::span<const ColumnRange> ranges) {
  std::vector<KeyField> fields;
  for (size_t c = 0; c < widths.size(); ++c) {
    KeyField field;
    field.width = widths[c];
    field.low = ranges[c].low > ranges[c].high ? 0 : ranges[c].low;
    field.bits = static_cast<int32_t>(std::bit_width(span_of(ranges[c])));
    fields.push_back(field);
  }
  return fields;
}

// The code of fields that fit 8 bytes. A column that would be its own code, less a number, is left
// as it is, and nobody copies it.
KeyEncoding in_place(std::vector<KeyField> fields) {
  KeyEncoding encoding;
  encoding.width = sum_of_bits(fields) <= 32 ? 4 : 8;
  if (fields.size() == 1 && fields.front().width <= encoding.width) {
    encoding.width = fields.front().width;
    return encoding;
  }
  // Sorts want a bit to go by.
  if (sum_of_bits(fields) == 0) fields.front().bits = 1;
  int32_t shift = 0;
  for (KeyField& field : fields) {
    // A field of no bits at the end of the code has no place to be shifted to.
    field.shift = field.bits == 0 ? 0 : shift;
    shift += field.bits;
  }
  encoding.fields = std::move(fields);
  return encoding;
}

bool is_whole(const KeyField& field) { return field.bits == bits_of(field.width); }

// Gives the fields all of the code's bits, one a field in turn, as far as their columns have any.
// False: not each field gets one.
bool widen(std::vector<KeyField>& fields, int32_t code_bits) {
  int32_t left = code_bits - sum_of_bits(fields);
  for (bool first = true;; first = false) {
    bool grew = false;
    for (KeyField& field : fields) {
      if (is_whole(field)) continue;
      if (left <= 0) return !first && left == 0;
      ++field.bits;
      --left;
      grew = true;
    }
    if (!grew) return left >= 0;
  }
}

// Puts the range in the middle of the field, as far as the column's type has values there. Of the
// field with the code's sign in the middle of its lower half, if it fits: places of codes go by
// their order as signed numbers, in which those on both sides of the sign are the farthest apart.
void centre(KeyField& field, const ColumnRange& range, bool has_sign) {
  uint64_t const highest = low_bits(bits_of(field.width));
  uint64_t const span = low_bits(field.bits);
  uint64_t const half = span / 2;
  uint64_t const room = has_sign && span_of(range) <= half ? half : span;
  uint64_t const below = (room - span_of(range)) / 2;
  field.low = field.low > below ? field.low - below : 0;
  field.low = std::min(field.low, highest - span);
}

}  // namespace

int32_t KeyEncoding::bits() const { return fields.empty() ? bits_of(width) : sum_of_bits(fields); }

ColumnRange united(const ColumnRange& left, const ColumnRange& right) {
  return {std::min(left.low, right.low), std::max(left.high, right.high)};
}

std::optional<KeyEncoding> pack(std::span<const int32_t> widths,
                                std::span<const ColumnRange> ranges) {
  std::vector<KeyField> fields = tight_fields(widths, ranges);
  if (sum_of_bits(fields) > kWordBits) return std::nullopt;
  return in_place(std::move(fields));
}

std::optional<KeyEncoding> pack_drawn(std::span<const int32_t> widths,
                                      std::span<const ColumnRange> ranges) {
  for (int32_t const code_bits : {32, kWordBits}) {
    std::vector<KeyField> fields = tight_fields(widths, ranges);
    if (!widen(fields, code_bits)) continue;
    for (size_t c = 0; c < fields.size(); ++c) {
      centre(fields[c], ranges[c], c + 1 == fields.size());
    }
    bool const assumed = !std::all_of(fields.begin(), fields.end(), is_whole);
    KeyEncoding encoding = in_place(std::move(fields));
    encoding.assumed = assumed && !encoding.is_plain();
    return encoding;
  }
  return std::nullopt;
}

std::optional<KeyEncoding> pack_unseen(std::span<const int32_t> widths) {
  std::vector<ColumnRange> whole;
  for (int32_t const width : widths) whole.push_back({0, low_bits(bits_of(width))});
  return pack(widths, whole);
}

std::optional<KeyEncoding> pack_side(std::span<const int32_t> widths,
                                     std::span<const ColumnRange> ranges) {
  std::vector<KeyField> fields = tight_fields(widths, ranges);
  for (size_t c = 0; c < fields.size(); ++c) {
    // The field's last code is for what lies outside, unless nothing can.
    bool const is_full = span_of(ranges[c]) == low_bits(fields[c].bits);
    if (is_full && !is_whole(fields[c])) ++fields[c].bits;
  }
  if (sum_of_bits(fields) > kWordBits) return std::nullopt;
  KeyEncoding encoding = in_place(std::move(fields));
  encoding.of_one_side = true;
  return encoding;
}

KeyEncoding hashed(const base::Context& context) {
  KeyEncoding encoding;
  encoding.width = 8;
  encoding.exact = false;
  encoding.hash_seed = context.hash_seed;
  encoding.hash_ones = context.hash_ones;
  return encoding;
}

kernels::EncodedColumn encoded_column(const KeyField& field) {
  return {nullptr, field.low, low_bits(field.bits), field.width, field.shift};
}

kernels::EncodedColumns encoded_columns(const KeyEncoding& encoding,
                                        std::span<const columns::DeviceColumn> keys) {
  bool const fits = keys.size() <= kernels::kMostKeyColumns && !encoding.is_plain() &&
                    (!encoding.exact || keys.size() == encoding.fields.size());
  if (!fits) {
    base::fail(GPUJOIN_ERROR_INTERNAL, "%zu key columns for a code of %zu fields", keys.size(),
               encoding.fields.size());
  }
  kernels::EncodedColumns encoded{};
  encoded.count = static_cast<int32_t>(keys.size());
  encoded.code_width = encoding.width;
  encoded.hashed = !encoding.exact;
  if (encoded.hashed) encoded.hash = column_hash(encoding.hash_seed, encoding.hash_ones);
  for (size_t c = 0; c < keys.size(); ++c) {
    kernels::EncodedColumn& column = encoded.columns[c];
    if (!encoded.hashed) column = encoded_column(encoding.fields[c]);
    column.data = keys[c].data;
    column.width = keys[c].width;
  }
  return encoded;
}

}  // namespace gpujoin::keys
