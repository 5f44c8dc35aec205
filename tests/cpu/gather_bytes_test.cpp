// gather_bytes_test.cpp: values of any number of bytes, and bits, by row number on the CPU.
#include "src/cpu/gather_bytes.hpp"

#include "src/base/status.hpp"
#include "src/cpu/gather_bits.hpp"
#include "tests/materialize/source_bits.hpp"
#include "tests/materialize/source_columns.hpp"
#include "tests/own_queue.hpp"

namespace gpujoin::test {
namespace {

using namespace tests;  // NOLINT: the columns, which both executors' tests have

columns::GatherSource source_of(const SourceColumn& column,
                                const std::vector<const uint8_t*>& buffers) {
  columns::GatherSource source;
  source.values.layout = column.layout;
  source.values.width = column.width;
  source.values.bytes = column.bytes.data() - column.lead;
  if (column.is_fixed()) source.values.bytes = column.bytes.data();
  source.values.first = column.bytes.data();
  source.values.end = column.bytes.data() + column.bytes.size();
  source.values.places = column.places.data();
  source.values.buffers = buffers.data();
  source.validity.bits = column.bits.empty() ? nullptr : column.bits.data();
  source.validity.offset = column.bit_offset;
  return source;
}

template <typename T>
std::vector<T> numbers_at(const columns::Storage& storage, size_t count) {
  auto const* const first = static_cast<const T*>(storage.get());
  return {first, first + (first == nullptr ? 0 : count)};
}

HostGathered host_copy(columns::Gathered gathered, size_t count, size_t data_bytes) {
  HostGathered host;
  host.data = numbers_at<uint8_t>(gathered.data, data_bytes);
  host.validity = numbers_at<uint8_t>(gathered.validity, (count + 63) / 64 * 8);
  if (gathered.offset_width == 8) host.offsets = numbers_at<int64_t>(gathered.offsets, count + 1);
  if (gathered.offset_width == 4) {
    std::vector<int32_t> const narrow = numbers_at<int32_t>(gathered.offsets, count + 1);
    host.offsets.assign(narrow.begin(), narrow.end());
  }
  host.gathered = std::move(gathered);
  return host;
}

class GatherOnCpu : public ::testing::Test {
 protected:
  void SetUp() override { open(0); }
  void TearDown() override { EXPECT_EQ(queue_->host_pool->in_use_bytes(), 0U); }
  void open(uint64_t limit) {
    gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
    options.device = GPUJOIN_DEVICE_CPU;
    options.cpu_threads = 2;
    options.memory_limit_bytes = limit;
    queue_ = OwnQueue(options);
  }
  HostGathered gather(const SourceColumn& column, const std::vector<uint32_t>* rows, size_t count,
                      uint64_t most_narrow_bytes = columns::kMostNarrowBytes) {
    cpu::Workers workers(*queue_);
    std::vector<const uint8_t*> buffers;
    for (auto const& buffer : column.buffers) buffers.push_back(buffer.data());
    columns::GatherSource source = source_of(column, buffers);
    source.most_narrow_bytes = most_narrow_bytes;
    columns::Gathered gathered = cpu::gather_bytes(*queue_, workers, "fetch", source,
                                                   rows == nullptr ? nullptr : rows->data(), count);
    size_t const bytes = gathered.bytes;
    return host_copy(std::move(gathered), count, bytes);
  }
  HostGathered gather_bits(const BitsColumn& column, const std::vector<uint32_t>* rows,
                           size_t count) {
    cpu::Workers workers(*queue_);
    columns::BitsSource source;
    source.bits = column.bits.data();
    source.offset = column.offset;
    source.validity.bits = column.validity.empty() ? nullptr : column.validity.data();
    source.validity.offset = column.validity_offset;
    return host_copy(cpu::gather_bits(*queue_, workers, "fetch", source,
                                      rows == nullptr ? nullptr : rows->data(), count),
                     count, (count + 63) / 64 * 8);
  }
  Gather gatherer() {
    return [this](auto&&... args) { return gather(args...); };
  }
  gpujoin_status status_of(const std::function<void()>& what) {
    try {
      what();
      return GPUJOIN_OK;
    } catch (const base::Error& error) {
      return error.status();
    }
  }
  OwnQueue queue_;
};

using GatherBytes = GatherOnCpu;
using GatherBitsOnCpu = GatherOnCpu;

TEST_F(GatherBytes, TakesTheNamedRowsOfEveryLayout) { takes_the_named_rows(gatherer(), 0, 0); }
TEST_F(GatherBytes, NullsAndMissingRowsHaveNoBytes) { takes_the_named_rows(gatherer(), 0.2, 11); }
TEST_F(GatherBytes, MissingRowsAloneMakeNulls) { takes_the_named_rows(gatherer(), 0, 11); }
TEST_F(GatherBytes, WithoutRowNumbersCopiesTheColumn) { takes_all_rows(gatherer()); }
TEST_F(GatherBytes, TakesSlicesOfLongerColumns) { takes_slices(gatherer()); }
TEST_F(GatherBytes, OfNothingMakesNullsAndOneOffset) { takes_nothing(gatherer()); }
TEST_F(GatherBytes, TakesValuesOfAnyLength) { takes_any_length(gatherer()); }
TEST_F(GatherBytes, OffsetsWidenWhereBytesAreMany) { widens_offsets(gatherer()); }
TEST_F(GatherBytes, ReadsNothingOutOfTheColumn) { keeps_within_the_bytes(gatherer()); }

TEST_F(GatherBytes, KeepsTheMemoryLimit) {
  for (Shape const& shape : every_shape()) {
    SourceColumn const column = make_column(shape, random_values(shape, 1000, 0.1, {30, 40}));
    std::vector<uint32_t> const rows = drawn_rows(100000, 1000, 5);
    for (uint64_t const limit : {1000, 10000, 30000, 100000, 500000}) {
      open(limit);
      gpujoin_status const status = status_of([&] { gather(column, &rows, rows.size()); });
      // Values of few bytes have room where there is most.
      if (shape.layout != BytesLayout::kFixed || shape.width > 5) {
        EXPECT_EQ(status, GPUJOIN_ERROR_MEMORY_LIMIT) << "limit " << limit;
      }
      EXPECT_EQ(queue_->host_pool->in_use_bytes(), 0U) << "limit " << limit;
    }
  }
}

TEST_F(GatherBytes, StopsWhenAskedTo) {
  for (Shape const& shape : every_shape()) {
    SourceColumn const column = make_column(shape, random_values(shape, 100, 0));
    std::vector<uint32_t> const rows = drawn_rows(200000, 100, 5);
    queue_->context.cancels.fetch_add(1);
    EXPECT_EQ(status_of([&] { gather(column, &rows, rows.size()); }), GPUJOIN_ERROR_CANCELLED);
    EXPECT_EQ(queue_->host_pool->in_use_bytes(), 0U);
  }
}

TEST_F(GatherBitsOnCpu, TakesTheNamedRows) {
  takes_bits([this](auto&&... args) { return gather_bits(args...); });
}

TEST_F(GatherBitsOnCpu, StopsWhenAskedTo) {
  BitsColumn const column = bits_column(100, 0.5, 0, 0);
  std::vector<uint32_t> const rows = drawn_rows(200000, 100, 5);
  queue_->context.cancels.fetch_add(1);
  EXPECT_EQ(status_of([&] { gather_bits(column, &rows, rows.size()); }), GPUJOIN_ERROR_CANCELLED);
}

}  // namespace
}  // namespace gpujoin::test
