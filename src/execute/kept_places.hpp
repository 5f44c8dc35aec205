// kept_places.hpp: rows of a build side that is kept on the CPU, at their keys' numbers.
//
// A list of rows by their keys' numbers is made of any build side in no time, and each probe row
// reads it and then every column where it lies. Rows at those numbers are one read, but all of them
// are moved for that (decision 50), which pays once a fourth as many rows have asked: two threads
// of an AMD EPYC, 2^20 rows with a payload of 8 bytes, 2000 probe rows 2.3 ms by the list and 4.4
// placed, 2^18 of them 5.8 and 5.6. How many will come nobody says.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "src/execute/built.hpp"
#include "src/execute/cpu_side.hpp"

namespace gpujoin::execute {

class KeptPlaces {
 public:
  // side: lists its rows by key bits; outlives this. numbers: as of CpuSide::place_rows.
  KeptPlaces(const CpuSide& side, bool numbers) : side_(side), numbers_(numbers) {}

  // What so many probe rows of a queue look up: the side as it is, or its rows placed. Any number
  // of threads at a time, one of which places them. Throws what stops the call.
  const CpuSide& rows_for(const JoinStep& step, cpu::Workers& workers, uint64_t probe_rows);

 private:
  bool have_asked_enough(uint64_t probe_rows);

  const CpuSide& side_;
  bool numbers_;
  std::atomic<uint64_t> asked_{0};
  std::atomic<bool> is_tried_{false};
  std::unique_ptr<CpuSide> placed_;
  std::atomic<const CpuSide*> ready_{nullptr};  // placed_, when it is whole
};

}  // namespace gpujoin::execute
