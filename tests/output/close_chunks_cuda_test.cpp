// close_chunks_cuda_test.cpp: columns whose chunks are partly filled become contiguous, all in the
// same way, and the host is told how many rows there are.
#include "src/output/close_chunks.hpp"

#include <algorithm>

#include "tests/output/numbered_columns.hpp"

namespace gpujoin::tests {
namespace {

using CloseChunks = GpuTest;

constexpr uint32_t kChunk = kernels::kCarriedChunk;

struct Case {
  std::vector<uint32_t> filled;  // rows of each chunk
  uint32_t most_tails = 3000;
  uint64_t missing_chunks = 0;  // of the room
  uint64_t left = 0;
};

// Partitions of the first `count` numbers into chunks, of which a part is partly filled.
std::vector<uint32_t> random_chunks(size_t count, double partly, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::bernoulli_distribution is_partly(partly);
  std::vector<uint32_t> filled;
  for (size_t chunk = 0; chunk < count; ++chunk) {
    auto const some = static_cast<uint32_t>(1 + random() % (kChunk - 1));
    filled.push_back(is_partly(random) ? some : kChunk);
  }
  return filled;
}

void expect_closed(base::Queue& queue, const Case& chunks) {
  uint64_t const places = uint64_t{kChunk} * chunks.filled.size();
  uint64_t const room = places - chunks.missing_chunks * kChunk;
  std::vector<unsigned long long> tails;
  std::vector<uint32_t> numbers(places, kHole);
  uint64_t rows = 0;
  for (size_t chunk = 0; chunk < chunks.filled.size(); ++chunk) {
    uint64_t const first = chunk * kChunk;
    for (uint64_t i = first; i < first + chunks.filled[chunk]; ++i) {
      numbers[i] = static_cast<uint32_t>(i);
    }
    if (chunks.filled[chunk] != kChunk) tails.push_back(first + chunks.filled[chunk]);
    rows += chunks.filled[chunk];
  }
  std::shuffle(tails.begin(), tails.end(), std::mt19937_64(tails.size()));  // as blocks note them
  SCOPED_TRACE(::testing::Message() << chunks.filled.size() << " chunks, " << tails.size()
                                    << " partly filled, " << rows << " rows");
  kernels::CarriedCounters counters{};
  counters.chunks = chunks.filled.size();
  counters.tails = tails.size();
  counters.holes = places - rows;
  counters.missed = 17;
  counters.left = chunks.left;
  base::Buffer const device_counters =
      upload(queue, std::vector<kernels::CarriedCounters>{counters});
  std::vector<unsigned long long> all_tails = tails;
  all_tails.resize(chunks.most_tails, 12345);  // room for more, with anything in it
  base::Buffer const device_tails = upload(queue, all_tails);

  NumberedColumns const columns(queue, std::move(numbers), rows);
  kernels::CarriedCounters const told =
      output::close_chunks(queue,
                           {device_counters.as<kernels::CarriedCounters>(),
                            device_tails.as<unsigned long long>(), chunks.most_tails, kChunk, room},
                           columns.columns());
  EXPECT_EQ(told.chunks, counters.chunks);
  EXPECT_EQ(told.tails, counters.tails);
  EXPECT_EQ(told.holes, counters.holes);
  EXPECT_EQ(told.missed, counters.missed);
  EXPECT_EQ(told.left, counters.left);

  if (chunks.left != 0 || chunks.missing_chunks != 0) {
    columns.expect_untouched();
  } else {
    columns.expect_filled();
  }
}

TEST_F(CloseChunks, HoldEveryRowOnceAndInTheSameOrder) {
  expect_closed(queue(), {random_chunks(50, 0.5, 1)});
  expect_closed(queue(), {random_chunks(300, 0.02, 2)});
  expect_closed(queue(), {random_chunks(300, 0.98, 3)});
  expect_closed(queue(), {random_chunks(1, 1, 4)});
  expect_closed(queue(), {random_chunks(2, 1, 5)});
  expect_closed(queue(), {random_chunks(7, 0, 6)});
  expect_closed(queue(), {{}});
}

TEST_F(CloseChunks, OfMoreTailsThanTheBlockHasThreads) {
  expect_closed(queue(), {random_chunks(2600, 0.999, 7)});
  // Whose shared memory has to be asked for beside the static.
  expect_closed(queue(), {random_chunks(1500, 1, 8), 9000});
  expect_closed(queue(), {random_chunks(1500, 1, 9), 15000});
}

TEST_F(CloseChunks, OfLittleFilledAndNearlyFilledChunks) {
  expect_closed(queue(), {std::vector<uint32_t>(40, 1)});
  expect_closed(queue(), {std::vector<uint32_t>(40, kChunk - 1)});
  // The last row ends a chunk; it lies in a full chunk; in one that is a tail, before and behind
  // where that ends.
  expect_closed(queue(), {{kChunk / 2, kChunk / 2, kChunk, kChunk}});
  expect_closed(queue(), {{kChunk / 2, kChunk, kChunk, kChunk}});
  expect_closed(queue(), {{kChunk, 10, 20, kChunk / 2}});
  expect_closed(queue(), {{kChunk / 2, kChunk, 4000, 3000, 100}});
  expect_closed(queue(), {{1, kChunk}});
  expect_closed(queue(), {{kChunk, 1}});
}

TEST_F(CloseChunks, AreLeftAloneWithoutRoomAndForAnotherLaunch) {
  Case no_room = {random_chunks(30, 0.5, 9)};
  no_room.missing_chunks = 1;
  expect_closed(queue(), no_room);
  Case left = {random_chunks(30, 0.5, 10)};
  left.left = 1;
  expect_closed(queue(), left);
}

}  // namespace
}  // namespace gpujoin::tests
