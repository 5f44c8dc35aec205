// spare_blocks.hpp: large blocks of host memory that queries gave back, for the next that asks for
// as much.
//
// The system zeroes each page before a query writes to it: 0.1 of 1.0 s of the processor's time of
// a join of 2^22 and 2^24 rows. DuckDB's own allocator keeps pages for that reason, too. Those of
// spare blocks are the system's, which takes them when it has no others (MADV_FREE), and nobody
// counts them.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>

namespace gpujoin_duckdb {

class SpareBlocks {
 public:
  // Of the process. Never goes: a result may outlive all that has an end.
  static SpareBlocks& all();

  static constexpr uint64_t huge_page = uint64_t{2} << 20;
  // Memory of whole huge pages for at least so many, whose contents are whatever they are; NULL:
  // there is none.
  void* take(uint64_t bytes);
  // What take() gave for as many. The oldest are let go of where they are too many.
  void give_back(void* pointer, uint64_t bytes);

 private:
  static constexpr uint64_t most_bytes = uint64_t{512} << 20;
  struct Block {
    void* pointer;
    uint64_t bytes;
  };

  std::mutex mutex_;
  std::deque<Block> blocks_;
  uint64_t bytes_ = 0;  // of all
};

}  // namespace gpujoin_duckdb
