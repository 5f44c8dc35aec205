// gather_bytes_cuda_test.cpp: values of any number of bytes, and bits, by row number on the GPU.
#include "src/materialize/materialize.hpp"
#include "tests/gpu_fixture.hpp"
#include "tests/materialize/source_bits.hpp"
#include "tests/materialize/source_columns.hpp"

namespace gpujoin::tests {
namespace {

// A column in device memory.
struct PlacedColumn {
  base::Buffer bytes, places, bits, buffer_list;
  std::vector<base::Buffer> buffers;
  columns::GatherSource source;
};

// Its first byte lies `shift` bytes beyond an aligned address.
PlacedColumn place(base::Queue& queue, const SourceColumn& column, size_t shift) {
  PlacedColumn placed;
  std::vector<uint8_t> bytes(shift + 1, 0xee);
  bytes.insert(bytes.end() - 1, column.bytes.begin(), column.bytes.end());
  placed.bytes = upload(queue, bytes);
  placed.places = upload(queue, column.places);
  placed.bits = upload(queue, column.bits);
  std::vector<const uint8_t*> list;
  for (auto const& buffer : column.buffers) {
    placed.buffers.push_back(upload(queue, buffer));
    list.push_back(placed.buffers.back().as<uint8_t>());
  }
  placed.buffer_list = upload(queue, list);
  kernels::BytesColumn& values = placed.source.values;
  values.layout = column.layout;
  values.width = column.width;
  values.first = placed.bytes.as<uint8_t>() + shift;
  values.end = values.first + column.bytes.size();
  values.bytes = column.is_fixed() ? values.first : values.first - column.lead;
  values.places = placed.places.data();
  values.buffers = placed.buffer_list.as<const uint8_t*>();
  placed.source.validity = {placed.bits.as<uint8_t>(), column.bit_offset};
  return placed;
}

HostGathered host_copy(base::Queue& queue, columns::Gathered gathered, size_t count,
                       size_t data_bytes) {
  HostGathered host;
  if (gathered.data != nullptr) {
    host.data = download<uint8_t>(queue, gathered.data.get(), data_bytes);
  }
  if (gathered.validity != nullptr) {
    host.validity = download<uint8_t>(queue, gathered.validity.get(), (count + 31) / 32 * 4);
  }
  if (gathered.offset_width == 8) {
    host.offsets = download<int64_t>(queue, gathered.offsets.get(), count + 1);
  }
  if (gathered.offset_width == 4) {
    auto const narrow = download<int32_t>(queue, gathered.offsets.get(), count + 1);
    host.offsets.assign(narrow.begin(), narrow.end());
  }
  host.gathered = std::move(gathered);
  return host;
}

// Of a kernel that reads row numbers, there is something to read where there is no row, too.
base::Buffer upload_rows(base::Queue& queue, std::vector<uint32_t> rows) {
  if (rows.empty()) rows.push_back(0);
  return upload(queue, rows);
}

class GatherOnGpu : public GpuTest {
 protected:
  HostGathered gather(const SourceColumn& column, const std::vector<uint32_t>* rows, size_t count,
                      uint64_t most_narrow_bytes) {
    PlacedColumn placed = place(queue(), column, next_shift_++ % 16);
    placed.source.most_narrow_bytes = most_narrow_bytes;
    base::Buffer const numbers = rows == nullptr ? base::Buffer() : upload_rows(queue(), *rows);
    columns::Gathered gathered =
        materialize::gather_bytes(queue(), placed.source, numbers.as<uint32_t>(), count);
    size_t const bytes = gathered.bytes;
    return host_copy(queue(), std::move(gathered), count, bytes);
  }
  HostGathered gather_bits(const BitsColumn& column, const std::vector<uint32_t>* rows,
                           size_t count) {
    base::Buffer const bits = upload(queue(), column.bits);
    base::Buffer const validity = upload(queue(), column.validity);
    base::Buffer const numbers = rows == nullptr ? base::Buffer() : upload_rows(queue(), *rows);
    columns::BitsSource const source = {
        bits.as<uint8_t>(), column.offset, {validity.as<uint8_t>(), column.validity_offset}};
    return host_copy(queue(),
                     materialize::gather_bits(queue(), source, numbers.as<uint32_t>(), count),
                     count, (count + 31) / 32 * 4);
  }
  Gather gatherer() {
    return [this](auto&&... args) { return gather(args...); };
  }

 private:
  size_t next_shift_ = 0;
};

using GatherBytes = GatherOnGpu;
using GatherBits = GatherOnGpu;

TEST_F(GatherBytes, TakesTheNamedRowsOfEveryLayout) { takes_the_named_rows(gatherer(), 0, 0); }
TEST_F(GatherBytes, NullsAndMissingRowsHaveNoBytes) { takes_the_named_rows(gatherer(), 0.2, 11); }
TEST_F(GatherBytes, MissingRowsAloneMakeNulls) { takes_the_named_rows(gatherer(), 0, 11); }
TEST_F(GatherBytes, WithoutRowNumbersCopiesTheColumn) { takes_all_rows(gatherer()); }
TEST_F(GatherBytes, TakesSlicesOfLongerColumns) { takes_slices(gatherer()); }
TEST_F(GatherBytes, OfNothingMakesNullsAndOneOffset) { takes_nothing(gatherer()); }
TEST_F(GatherBytes, TakesValuesOfAnyLength) { takes_any_length(gatherer()); }
TEST_F(GatherBytes, OffsetsWidenWhereBytesAreMany) { widens_offsets(gatherer()); }
TEST_F(GatherBytes, ReadsNothingOutOfTheColumn) { keeps_within_the_bytes(gatherer()); }

// 40000 times 64 KB, beyond what 4 bytes count.
TEST_F(GatherBytes, MakesMoreThanTwoGigabytes) {
  constexpr size_t kCount = 40000;
  constexpr size_t kLength = 65536 + 1;
  Values values(1, std::string(kLength, '\0'));
  for (size_t i = 0; i < kLength; ++i) (*values[0])[i] = static_cast<char>(i * 7 % 251);
  std::string const& value = *values[0];
  PlacedColumn const placed = place(queue(), make_column({}, values), 3);
  base::Buffer const rows = upload(queue(), std::vector<uint32_t>(kCount, 0));
  columns::Gathered const gathered =
      materialize::gather_bytes(queue(), placed.source, rows.as<uint32_t>(), kCount);
  ASSERT_EQ(gathered.bytes, uint64_t{kCount} * kLength);
  ASSERT_EQ(gathered.offset_width, 8);
  EXPECT_EQ(gathered.validity, nullptr);
  std::vector<int64_t> const offsets =
      download<int64_t>(queue(), gathered.offsets.get(), kCount + 1);
  for (size_t i = 0; i <= kCount; ++i) ASSERT_EQ(offsets[i], static_cast<int64_t>(i * kLength));
  for (size_t const i : {size_t{0}, size_t{1023}, size_t{1024}, size_t{32767}, kCount - 1}) {
    auto const* const first = static_cast<const char*>(gathered.data.get()) + i * kLength;
    std::vector<char> const found = download<char>(queue(), first, kLength);
    ASSERT_EQ(std::string(found.begin(), found.end()), value) << "value " << i;
  }
}

TEST_F(GatherBytes, KeepsTheMemoryLimit) {
  for (Shape const& shape : every_shape()) {
    SourceColumn const column = make_column(shape, random_values(shape, 1000, 0.1, {30, 40}));
    std::vector<uint32_t> const rows = drawn_rows(500000, 1000, 5);
    for (uint64_t const limit : {3 << 20, 4 << 20, 6 << 20, 10 << 20}) {
      OwnQueue const limited = limited_queue(limit);
      base::Pool& held = *limited->device_pool;
      PlacedColumn const placed = place(*limited, column, 0);
      base::Buffer const numbers = upload(*limited, rows);
      uint64_t const before = held.in_use_bytes();
      gpujoin_status const status = status_of([&] {
        materialize::gather_bytes(*limited, placed.source, numbers.as<uint32_t>(), rows.size());
      });
      // Values of few bytes have room.
      if (shape.layout != BytesLayout::kFixed || shape.width > 16) {
        EXPECT_EQ(status, GPUJOIN_ERROR_MEMORY_LIMIT) << "limit " << limit;
      }
      EXPECT_EQ(held.in_use_bytes(), before) << "limit " << limit;
    }
  }
}

TEST_F(GatherBits, TakesTheNamedRows) {
  takes_bits([this](auto&&... args) { return gather_bits(args...); });
}

}  // namespace
}  // namespace gpujoin::tests
