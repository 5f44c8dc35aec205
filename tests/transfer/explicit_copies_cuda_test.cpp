// explicit_copies_cuda_test.cpp: columns where the device can read them.
#include "src/base/copy.hpp"
#include "src/transfer/transfer.hpp"
#include "tests/gpu_fixture.hpp"
#include "tests/own_queue.hpp"
#include "tests/transfer/host_views.hpp"

namespace gpujoin::tests {
namespace {

using Transfer = GpuTest;

TEST_F(Transfer, PageableColumnsArriveByteForByte) {
  for (int32_t width : {1, 2, 4, 8, 16}) {
    for (size_t rows : edge_sizes()) {
      SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(width) + " bytes");
      HostColumn const host = random_column(rows, width, rows + 1);
      columns::DeviceColumn const column = transfer::to_device(
          queue(), view_of(host, base::Memory::kHost), static_cast<int64_t>(rows));
      EXPECT_EQ(column.width, width);
      EXPECT_EQ(column.validity, nullptr);
      EXPECT_EQ(column.data_copy.bytes(), host.data.size());
      EXPECT_EQ(download<unsigned char>(queue(), column.data, host.data.size()), host.data);
    }
  }
}

TEST_F(Transfer, PinnedColumnsArriveByteForByte) {
  for (size_t rows : {size_t{1}, size_t{33}, size_t{1025}, size_t{100000}}) {
    HostColumn const host = random_column(rows, 8, rows);
    base::Buffer const pinned =
        pool().allocate(base::Memory::kPinned, host.data.size(), "a pinned column");
    std::memcpy(pinned.data(), host.data.data(), host.data.size());
    columns::ColumnView view = view_of(host, base::Memory::kPinned);
    view.data = pinned.data();
    columns::DeviceColumn const column =
        transfer::to_device(queue(), view, static_cast<int64_t>(rows));
    EXPECT_NE(column.data, pinned.data());
    EXPECT_EQ(column.data_copy.memory(), base::Memory::kDevice);
    EXPECT_EQ(download<unsigned char>(queue(), column.data, host.data.size()), host.data);
  }
}

TEST_F(Transfer, DeviceColumnsPassThroughWithoutACopy) {
  HostColumn host = random_column(1000, 4, 1);
  set_valid(&host, random_valid(1000, 0.3, 2), 21);
  columns::DeviceColumn const placed = place(queue(), host);
  columns::ColumnView view = view_of(host, base::Memory::kDevice);
  view.data = placed.data;
  view.validity = placed.validity;
  uint64_t const in_use = pool().in_use_bytes();
  columns::DeviceColumn const column = transfer::to_device(queue(), view, 1000);
  EXPECT_EQ(column.data, placed.data);
  EXPECT_EQ(column.validity, placed.validity);
  EXPECT_EQ(column.validity_bit_offset, 21);
  EXPECT_EQ(column.width, 4);
  EXPECT_FALSE(column.data_copy);
  EXPECT_FALSE(column.validity_copy);
  EXPECT_EQ(pool().in_use_bytes(), in_use);
}

TEST_F(Transfer, ValidityArrivesFromEveryBitOffset) {
  for (int64_t offset : {0, 1, 5, 7, 8, 9, 13, 64, 1001}) {
    for (size_t rows : {size_t{1}, size_t{7}, size_t{8}, size_t{31}, size_t{33}, size_t{1025}}) {
      SCOPED_TRACE(std::to_string(rows) + " rows from bit " + std::to_string(offset));
      HostColumn host = random_column(rows, 2, rows);
      set_valid(&host, random_valid(rows, 0.5, rows + static_cast<size_t>(offset)), offset);
      columns::DeviceColumn const column = transfer::to_device(
          queue(), view_of(host, base::Memory::kHost), static_cast<int64_t>(rows));
      EXPECT_EQ(valid_rows(queue(), column, rows), host.valid);
      // Only the bytes that hold bits of the rows travel: nothing beyond them need be readable.
      EXPECT_EQ(column.validity_copy.bytes(),
                (static_cast<size_t>(column.validity_bit_offset) + rows + 7) / 8);
      EXPECT_LE(column.validity_copy.bytes(), (rows + 7) / 8 + 1);
    }
  }
}

TEST_F(Transfer, NoRowsNeedNoMemory) {
  HostColumn const host = random_column(0, 8, 1);
  uint64_t const in_use = pool().in_use_bytes();
  columns::ColumnView view = view_of(host, base::Memory::kHost);
  view.data = nullptr;
  columns::DeviceColumn const column = transfer::to_device(queue(), view, 0);
  EXPECT_FALSE(column.data_copy);
  EXPECT_EQ(column.width, 8);
  EXPECT_EQ(pool().in_use_bytes(), in_use);
}

TEST_F(Transfer, TheColumnThatDoesNotFitIsNamed) {
  gpujoin_context_options options = cuda_options();
  options.memory_limit_bytes = 1 << 20;
  auto const small = OwnQueue(options);
  uint64_t const in_use = small->device_pool->in_use_bytes();
  HostColumn const host = random_column(1 << 20, 4, 1);
  try {
    transfer::to_device(*small, view_of(host, base::Memory::kHost), 1 << 20);
    FAIL() << "4 MiB were found below a limit of 1 MiB";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), GPUJOIN_ERROR_MEMORY_LIMIT);
    EXPECT_NE(std::string(error.what()).find("price"), std::string::npos) << error.what();
  }
  EXPECT_EQ(small->device_pool->in_use_bytes(), in_use);
}

// Through page-locked pieces, or where these have no room by CUDA's own copies.
TEST_F(Transfer, LargePageableColumnsComeAndGoWhole) {
  for (uint64_t const pinned : {uint64_t{0}, uint64_t{1} << 20, uint64_t{3} << 20}) {
    gpujoin_context_options options = cuda_options();
    options.pinned_limit_bytes = pinned;
    auto const own = OwnQueue(options);
    std::vector<std::vector<uint32_t>> sent;
    std::vector<std::vector<uint32_t>> back;
    std::vector<base::Buffer> there;
    std::vector<base::Copy> to;
    std::vector<base::Copy> from;
    for (size_t const rows : {size_t{(2 << 20) / 4}, size_t{5'000'003}, size_t{10}}) {
      std::vector<uint32_t> values(rows);
      for (size_t i = 0; i < rows; ++i) values[i] = static_cast<uint32_t>(i * 2654435761U + rows);
      sent.push_back(std::move(values));
      back.emplace_back(rows);
      there.push_back(own->device_pool->allocate(base::Memory::kDevice, rows * 4, "a column"));
    }
    for (size_t i = 0; i < sent.size(); ++i) {
      uint64_t const bytes = sent[i].size() * 4;
      to.push_back(
          {there[i].data(), base::Memory::kDevice, sent[i].data(), base::Memory::kHost, bytes});
      from.push_back(
          {back[i].data(), base::Memory::kHost, there[i].data(), base::Memory::kDevice, bytes});
    }
    base::copy(*own, to);
    base::copy(*own, from);
    base::finish(*own);
    EXPECT_TRUE(sent == back) << "within " << pinned << " bytes of pinned memory";
  }
}

}  // namespace
}  // namespace gpujoin::tests
