// pair_sink.hpp: what host and device share about the output of a match: where pairs go, how far
// they got, where blocks stopped.
//
// Each technique of the output stage has a sink, passed to the kernel by value, and an emitter,
// which writes through it:
//
//   template <int kThreads> class Emitter {
//     struct Shared;                             its part of the block's shared memory
//     static constexpr bool kResumes;            whether emit can refuse
//     Emitter(const Sink&, Shared&);             all threads of the block, as everything below
//     void begin(unsigned long long unit);       pairs that follow belong to this work unit
//     bool emit(uint32_t count, Next next);      next(&build, &probe) gives the thread's next pair;
//     false: refused, nothing of the
//                                                batch was written; the block notes its ResumePoint
//                                                and stops
//     void finish();                             once, when the block stops, refused or not
//   };
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

constexpr unsigned long long kNoUnit = ~0ULL;

// What the sinks of all techniques have.
struct PairTarget {
  uint32_t* build_out;
  uint32_t* probe_out;
  // Original row of each build and probe position, or null: positions are written.
  const uint32_t* build_row_ids;
  const uint32_t* probe_row_ids;
  unsigned long long* taken;  // work units given out
  // The launch does the units below this one. A block that holds a later one notes it in its
  // ResumePoint and stops.
  unsigned long long end_unit = kNoUnit;
};

struct PairCounters {
  unsigned long long reserved;  // pairs reserved so far, refused ones included
  unsigned long long filled;    // lowest refused base; ~0: nothing was refused
  unsigned long long taken;     // work units given out
};

// Of BlockEmitter: Output::kGrown.
struct PairSink : PairTarget {
  uint64_t capacity;  // pairs
  PairCounters* counters;
};

struct PageCounters {
  unsigned long long pages;  // given out, those beyond the end included
  unsigned long long tails;  // pages that their owner left partly filled
  unsigned long long holes;  // places left empty in them
  unsigned long long taken;  // work units given out
};

// Of ThreadPageEmitter and BlockChunkEmitter: page i is the places [i * page_pairs, (i + 1) *
// page_pairs).
struct PageSink : PairTarget {
  uint64_t capacity;  // places, a multiple of page_pairs; pages beyond are counted and not written
  uint32_t page_pairs;
  PageCounters* counters;
  unsigned long long* tails;  // [tail_capacity] first empty place of each page left partly filled
  uint64_t tail_capacity;     // tails beyond are counted and not written
};

// Of CountingEmitter and PlacingEmitter: Output::kTwoPasses.
struct UnitSink : PairTarget {
  // [units] first pass: pairs of each work unit so far; second pass: where its next pair goes.
  unsigned long long* units;
};

struct GroupCounters {
  PairCounters pairs;          // reserved and filled of this launch, taken of all launches
  unsigned long long done;     // work units finished, in all launches
  unsigned long long stopped;  // not 0: an overflow came, or was foreseen
};

// Of GroupEmitter: Output::kEstimatedGroups.
struct GroupSink : PairTarget {
  uint64_t capacity;  // pairs that the group's buffer holds
  GroupCounters* counters;
  unsigned long long done_before;  // work units finished before this launch
};

// Where a block of a persistent grid stopped; the next launch takes it up there.
struct ResumePoint {
  unsigned long long unit;  // kNoUnit: take a new one
  uint32_t batch;           // of probe rows
  uint32_t build_chunk;     // that the batch is joined with
};

}  // namespace gpujoin::kernels
