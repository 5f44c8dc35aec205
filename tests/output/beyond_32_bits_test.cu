// beyond_32_bits_test.cu: more than 2^32 pairs into memory that grows.
#include "tests/output/beyond_32_bits.cuh"

namespace gpujoin::tests {
namespace {

TEST_F(Beyond32Bits, GrownPairs) {
  output::GrowingPairs pairs(queue(), 1 << 20);
  kernels::ResumePoint* resume = pairs.resume_points(kGrid);
  do {
    launch<kernels::BlockEmitter>(pairs.sink(), resume);
  } while (!pairs.collect(kUnits));
  EXPECT_GT(pairs.resumes(), 0);
  expect_all(pairs);
}

}  // namespace
}  // namespace gpujoin::tests
