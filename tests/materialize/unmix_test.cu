// unmix_test.cu: output keys from a transformed column that holds mixed keys.
#include "kernels/transform/mix_key.cuh"
#include "src/materialize/materialize.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using GatherMixedKeys = GpuTest;

template <typename Key>
void expect_unmixed(base::Queue& queue, size_t pairs) {
  constexpr size_t kRows = 2000;
  std::mt19937_64 random(pairs);
  std::vector<Key> keys(kRows);
  std::vector<Key> mixed(kRows);
  for (size_t i = 0; i < kRows; ++i) {
    keys[i] = static_cast<Key>(random());
    mixed[i] = kernels::mix_key(keys[i]);
  }
  std::vector<uint32_t> rows(pairs);
  for (uint32_t& row : rows) row = static_cast<uint32_t>(random() % kRows);
  base::Buffer const device_keys = upload(queue, mixed);
  base::Buffer const device_rows = upload(queue, rows);

  // The same column twice: unmixed, and as it is.
  std::vector<columns::ResultColumn> targets(2);
  std::vector<materialize::Request> requests(2);
  for (size_t i = 0; i < 2; ++i) {
    requests[i].source.data = device_keys.data();
    requests[i].source.width = sizeof(Key);
    requests[i].source.unmix = i == 0;
    requests[i].target = &targets[i];
  }
  materialize::NullCounts null_counts(queue, 0);
  materialize::gather(queue, device_rows.as<uint32_t>(), pairs, requests, null_counts);
  null_counts.finish();
  std::vector<Key> const unmixed = download<Key>(queue, targets[0].data.get(), pairs);
  std::vector<Key> const as_it_is = download<Key>(queue, targets[1].data.get(), pairs);
  for (size_t i = 0; i < pairs; ++i) {
    ASSERT_EQ(unmixed[i], keys[rows[i]]) << i;
    ASSERT_EQ(as_it_is[i], mixed[rows[i]]) << i;
  }
}

TEST_F(GatherMixedKeys, GivesTheKeysThatWereMixed) {
  for (size_t pairs : edge_sizes()) {
    if (pairs == 0) continue;
    SCOPED_TRACE(pairs);
    expect_unmixed<uint32_t>(queue(), pairs);
    expect_unmixed<uint64_t>(queue(), pairs);
  }
}

}  // namespace
}  // namespace gpujoin::tests
