// marks.hpp: marks of rows on the GPU.
#pragma once

#include <cstdint>
#include <optional>

#include "src/base/queue.hpp"
#include "src/columns/row_marks.hpp"

namespace gpujoin::keys {

class RowMarks final : public columns::RowMarks {
 public:
  // Of rows 0, 1, ... rows - 1, none of which is marked.
  RowMarks(base::Queue& queue, uint32_t rows);
  // Those whose bit is 1.
  RowMarks(base::Queue& queue, base::Buffer bits, uint32_t rows);

  // Queued on the stream.
  void mark(const uint32_t* rows, uint64_t count) override { mark_kept(rows, nullptr, count); }
  // Of them those whose bit in `kept` is 1, bit i % 32 of word i / 32; null: all.
  void mark_kept(const uint32_t* numbers, const uint32_t* kept, uint64_t count);
  // Of rows that come once each those whose byte is not 0. rows: null: 0, 1, ... count - 1.
  void mark_flagged(const uint32_t* rows, const uint8_t* flags, uint64_t count);
  // These wait for the stream.
  std::optional<uint32_t> mark_once(const uint32_t* rows, uint64_t count) override;
  uint32_t count() override;

 private:
  Rows select(bool are_marked, uint32_t count) override;

  base::Queue& queue_;
};

}  // namespace gpujoin::keys
