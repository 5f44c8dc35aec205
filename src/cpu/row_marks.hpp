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

  void mark(const uint32_t* rows, uint64_t count) override;
  std::optional<uint32_t> mark_once(const uint32_t* rows, uint64_t count) override;
  uint32_t count() override;

 private:
  void mark_bits(const uint32_t* rows, uint64_t count);
  void mark_bytes(const uint32_t* rows, uint64_t count, uint8_t* bytes);
  Rows select(bool are_marked, uint32_t count) override;
  uint64_t words_count() const { return (uint64_t{rows()} + 31) / 32; }

  base::Queue& queue_;
  Workers workers_;
};

}  // namespace gpujoin::cpu
