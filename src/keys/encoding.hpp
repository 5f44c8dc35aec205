// encoding.hpp: how a key of one or several columns becomes one code of 4 or 8 bytes. Equal keys
// have equal codes.
//
//   packed   the bits that vary fit: each column's value, less its lowest, has a field of the code.
//            Equal codes are equal keys.
//   hashed   they do not: the code is a hash of all columns, and what is joined by it is verified.
//
//   code     | 0 ... | column 1 - low | column 0 - low |
//
// Values are compared with their sign bit turned, so that a signed column of a few values around 0
// has a small range; an unsigned one has a small range unless it lies around 2^31 or 2^63.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/keys/encoded_columns.hpp"
#include "src/base/context.hpp"
#include "src/columns/device_column.hpp"

namespace gpujoin::keys {

// Of a column's values with their sign bit turned. low > high: there is none.
struct ColumnRange {
  uint64_t low = ~uint64_t{0};
  uint64_t high = 0;
  bool operator==(const ColumnRange&) const = default;
};
// Both sides' codes are made alike, by the range of both.
ColumnRange united(const ColumnRange& left, const ColumnRange& right);

// Where a column lies in a packed code.
struct KeyField {
  int32_t width = 0;  // bytes of the column's values
  uint64_t low = 0;   // sign turned
  int32_t bits = 0;
  int32_t shift = 0;
  bool operator==(const KeyField&) const = default;
};

struct KeyEncoding {
  int32_t width = 0;  // bytes of a code
  // Equal codes are equal keys: nothing is verified.
  bool exact = true;
  // Packed by ranges of which a part of the rows was asked: whoever encodes says whether a value
  // lay outside, whose code is any.
  bool assumed = false;
  // Packed by the ranges of one side: of another side's value that lies outside the code tells that
  // it is none of that side's, and no more.
  bool of_one_side = false;
  // Of packed codes, one a column. None, with exact: the key's one column is the code as it is.
  std::vector<KeyField> fields;
  // Of hashed codes; see base::Context.
  uint64_t hash_seed = 0;
  uint64_t hash_ones = 0;

  bool is_plain() const { return exact && fields.empty(); }
  // Two codes differ in the lowest so many bits alone.
  int32_t bits() const;
};

// Packed or plain, in as few bytes as hold it; nothing when 8 do not.
// widths: of the columns' values, 4 or 8. ranges: of all values of both sides.
std::optional<KeyEncoding> pack(std::span<const int32_t> widths,
                                std::span<const ColumnRange> ranges);

// The same where ranges are of rows that were drawn. Each field has a bit more than what was drawn
// needs, and then all bits that are left in 4 or 8 bytes, as many below as above, so that a value
// hardly lies outside. Not `assumed` where none can.
std::optional<KeyEncoding> pack_drawn(std::span<const int32_t> widths,
                                      std::span<const ColumnRange> ranges);

// The same without a look at the keys: the columns' widths add up to 8 bytes at most.
std::optional<KeyEncoding> pack_unseen(std::span<const int32_t> widths);

// The same where values of one side alone are told from each other: a value that lies in no range
// has a code that none of that side's has. ranges: of all of its values.
std::optional<KeyEncoding> pack_side(std::span<const int32_t> widths,
                                     std::span<const ColumnRange> ranges);

// By the context's hash, in 8 bytes.
KeyEncoding hashed(const base::Context& context);

// As kernels take it. Without data.
kernels::EncodedColumn encoded_column(const KeyField& field);
// As kernels take it, of all rows and without a flag. expected: not plain, as many columns as
// fields.
kernels::EncodedColumns encoded_columns(const KeyEncoding& encoding,
                                        std::span<const columns::DeviceColumn> keys);

}  // namespace gpujoin::keys
