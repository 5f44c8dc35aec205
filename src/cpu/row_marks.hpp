// row_marks.hpp: marks of rows on the CPU.
#pragma once

#include <cstdint>
#include <optional>

#include "src/base/queue.hpp"
#include "src/columns/row_marks.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

class RowMarks final : public columns::RowMarks {
 public:
  // Of rows 0, 1, ... rows - 1, none of which is marked.
  RowMarks(base::Queue& queue, uint32_t rows);
  // Those whose bit is 1.
  RowMarks(base::Queue& queue, base::Buffer bits, uint32_t rows);

  // Bytes by which rows are marked from several threads at once, all 0.
  static base::Buffer clear_bytes(base::Queue& queue, Workers& workers, uint32_t rows);
  // Sets the bytes of rows to 1. looks: only where they are not.
  static void mark_in(uint8_t* bytes, const uint32_t* rows, uint64_t count, bool looks);
  // Whether a row is marked so often that looking first is faster.
  static bool come_again(uint64_t rows, uint64_t marks) { return marks / 16 >= rows; }

  void mark(const uint32_t* rows, uint64_t count) override;
  // Rows whose byte is 1, of clear_bytes.
  void mark_bytes(const uint8_t* bytes);
  std::optional<uint32_t> mark_once(const uint32_t* rows, uint64_t count) override;
  uint32_t count() override;

 private:
  void mark_bits(const uint32_t* rows, uint64_t count);
  Rows select(bool are_marked, uint32_t count) override;
  uint64_t words_count() const { return (uint64_t{rows()} + 31) / 32; }

  base::Queue& queue_;
  Workers workers_;
};

}  // namespace gpujoin::cpu
