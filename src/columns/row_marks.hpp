// row_marks.hpp: one bit a row of a side: whether it had a match. What the kinds of joins are made
// of; each executor has its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "src/base/memory.hpp"

namespace gpujoin::columns {

class RowMarks {
 public:
  // Numbers of rows, ascending, where the executor runs.
  struct Rows {
    base::Buffer numbers;  // [count] uint32
    uint32_t count = 0;
  };

  virtual ~RowMarks() = default;
  RowMarks(const RowMarks&) = delete;
  RowMarks& operator=(const RowMarks&) = delete;

  // rows: [count] where the executor runs, in any order, any number of times.
  virtual void mark(const uint32_t* rows, uint64_t count) = 0;
  // The same, and the lowest of those rows that now is marked for at least the second time.
  virtual std::optional<uint32_t> mark_once(const uint32_t* rows, uint64_t count) = 0;

  // How many rows are marked.
  virtual uint32_t count() = 0;
  // Those that are marked, and those that are not.
  Rows marked() { return select(true, count()); }
  Rows unmarked() { return select(false, rows_ - count()); }

  // Bit row % 32 of word row / 32. Those beyond the rows are 0.
  const uint32_t* words() const { return words_->as<uint32_t>(); }
  // The same, to be kept.
  const std::shared_ptr<const base::Buffer>& bits() const { return words_; }
  uint32_t rows() const { return rows_; }

 protected:
  RowMarks(base::Buffer words, uint32_t rows)
      : rows_(rows), words_(std::make_shared<const base::Buffer>(std::move(words))) {}
  uint32_t* mutable_words() { return words_->as<uint32_t>(); }

 private:
  virtual Rows select(bool are_marked, uint32_t count) = 0;

  uint32_t rows_;
  std::shared_ptr<const base::Buffer> words_;
};

}  // namespace gpujoin::columns
