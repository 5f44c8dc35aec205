// materialize.hpp: the materialize stage: output columns from pairs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/gathered.hpp"
#include "src/columns/result.hpp"

namespace gpujoin::materialize {

// Where the values of one output column come from.
struct Source {
  const void* data = nullptr;
  int32_t width = 0;
  const uint8_t* validity_bits = nullptr;  // of an original column
  int64_t validity_bit_offset = 0;
  const uint8_t* validity_bytes = nullptr;  // of a transformed column
  bool unmix = false;                       // a transformed key column that holds mixed keys
};

// One gather to queue: target's data, validity and null count are filled. Targets must outlive the
// call of finish_null_counts.
struct Request {
  Source source;
  columns::ResultColumn* target = nullptr;
};

// Queues target[i] = source[rows[i]] for every request; rows null = the identity. Sizes the targets
// exactly. null_counts: device counters, one a request with validity, in the order of the requests;
// see NullCounts.
class NullCounts {
 public:
  NullCounts(base::Queue& queue, size_t columns);
  unsigned long long* next(columns::ResultColumn* target);
  // Waits for the stream and writes null_count of every target; drops validity where it is zero.
  void finish();

 private:
  base::Queue& queue_;
  base::Buffer counters_;
  std::vector<columns::ResultColumn*> targets_;
};

void gather(base::Queue& queue, const uint32_t* rows, uint64_t pairs,
            const std::vector<Request>& requests, NullCounts& null_counts);

// Queues the target's validity bits, where a value stands for NULL in its data: see
// src/transform/stand_ins.hpp.
void find_nulls(base::Queue& queue, uint64_t rows, uint64_t stand_in, NullCounts& null_counts,
                columns::ResultColumn* target);

// [rows] uint32 0, 1, 2 and so on. Queued on the stream.
columns::Storage row_numbers(base::Queue& queue, uint64_t rows);

// Rows of both sides that are crossed: those of a list, or, null, all.
struct CrossedRows {
  const uint32_t* left = nullptr;
  const uint32_t* right = nullptr;
  uint32_t right_rows = 0;
};
// Row numbers of both sides of a cross join, from pair `first` on: of pair i left row
// i / right_rows and right row i % right_rows. Queued on the stream. expected: right_rows > 0 where
// rows > 0.
void cross_pairs(base::Queue& queue, const CrossedRows& crossed, uint64_t first, uint64_t rows,
                 uint32_t* left, uint32_t* right);

// Queues wide[i] = rows[i], as a caller asks for row numbers who says nothing of their type.
void widen_row_numbers(base::Queue& queue, const uint32_t* rows, uint64_t count, int64_t* wide);

// A part of a column of bits: from bit 0 on, or one value for all its rows.
struct Bits {
  const uint32_t* words = nullptr;  // null: `fill`
  uint64_t rows = 0;
  bool fill = false;
};
// The parts one after the other, in words of 32 bits. Queued on the stream. expected: at most 3.
columns::Storage append_bits(base::Queue& queue, std::span<const Bits> parts);

// Values of any number of bytes, and bits, by row number, among which GPUJOIN_NO_ROW is NULL; rows
// null = the identity. Row numbers and source lie on the device. Offsets have 8 bytes where the
// source's have, or where there are more than most_narrow_bytes; values of views come out with
// offsets. A call waits for the stream to say how many bytes and NULLs there are, and has 8 bytes a
// row beside what it makes, of 64-bit offsets and views 16.
columns::Gathered gather_bytes(base::Queue& queue, const columns::GatherSource& source,
                               const uint32_t* rows, uint64_t count);
columns::Gathered gather_bits(base::Queue& queue, const columns::BitsSource& source,
                              const uint32_t* rows, uint64_t count);

// Bytes that values of offsets have in such rows; rows as above. Waits for the stream.
uint64_t text_bytes(base::Queue& queue, const columns::GatherSource& source, const uint32_t* rows,
                    uint64_t count);

// Pairs by their first row number, then by the second, GPUJOIN_NO_ROW behind all others; nothing
// where they are in that order. A call waits for the stream to say so, and has 16 bytes a pair
// beside what it makes.
struct OrderedPairs {
  columns::Storage first;  // [count] uint32
  columns::Storage second;
};
std::optional<OrderedPairs> order_pairs(base::Queue& queue, const uint32_t* first,
                                        uint32_t first_rows, const uint32_t* second,
                                        uint32_t second_rows, uint64_t count);

}  // namespace gpujoin::materialize
