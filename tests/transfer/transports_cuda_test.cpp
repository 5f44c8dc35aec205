// transports_cuda_test.cpp: every technique brings the same bytes, whatever memory they lie in;
// kernels read them.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <numeric>

#include "kernels/tuning.hpp"
#include "src/materialize/materialize.hpp"
#include "src/transfer/transfer.hpp"
#include "tests/own_queue.hpp"
#include "tests/transfer/host_views.hpp"

namespace gpujoin::tests {
namespace {

constexpr plan::Transfer kTechniques[] = {
    plan::Transfer::kExplicitCopies, plan::Transfer::kOverlappedCopies, plan::Transfer::kManaged,
    plan::Transfer::kManagedPrefetch, plan::Transfer::kZeroCopy};

// Numbers that differ from row to row and from column to column.
HostColumn counting_column(size_t rows, uint64_t first) {
  HostColumn host;
  host.width = 8;
  host.data.resize(rows * 8);
  auto* const values = reinterpret_cast<uint64_t*>(host.data.data());
  std::iota(values, values + rows, first);
  return host;
}

// Large enough to be registered.
constexpr size_t kLargeRows = (kernels::kLeastRegisteredBytes / 8) + 1001;

class Transports : public GpuTest {
 protected:
  bool has_managed_memory() {
    if (!plan::has_papers()) return false;
    int concurrent = 0;
    cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0);
    return concurrent != 0;
  }
  std::vector<plan::Transfer> techniques() {
    std::vector<plan::Transfer> usable;
    for (plan::Transfer technique : kTechniques) {
      bool const managed =
          technique == plan::Transfer::kManaged || technique == plan::Transfer::kManagedPrefetch;
      if (!plan::has_papers() && plan::is_of_papers(technique)) continue;
      if (!managed || has_managed_memory()) usable.push_back(technique);
    }
    return usable;
  }

  // What a kernel reads, through the gather.
  void expect_read(const columns::DeviceColumn& column, const HostColumn& host, size_t rows) {
    columns::ResultColumn target;
    materialize::NullCounts nulls(queue(), 1);
    materialize::Request request;
    request.source.data = column.data;
    request.source.width = column.width;
    request.source.validity_bits = column.validity;
    request.source.validity_bit_offset = column.validity_bit_offset;
    request.target = &target;
    materialize::gather(queue(), nullptr, rows, {request}, nulls);
    nulls.finish();
    if (rows == 0) return;
    ASSERT_EQ(download<unsigned char>(queue(), target.data.get(), host.data.size()), host.data);
    if (host.valid.empty()) return;
    int64_t const null_rows =
        static_cast<int64_t>(std::count(host.valid.begin(), host.valid.end(), 0));
    ASSERT_EQ(target.null_count, null_rows);
    if (null_rows == 0) return;
    std::vector<uint8_t> const bits =
        download<uint8_t>(queue(), target.validity.get(), (rows + 7) / 8);
    for (size_t row = 0; row < rows; ++row) {
      ASSERT_EQ(bits[row / 8] >> (row % 8) & 1, host.valid[row]) << row;
    }
  }

  // The column in pinned memory; the view points there.
  base::Buffer pin(columns::ColumnView* view, uint64_t bytes) {
    base::Buffer pinned = pool().allocate(base::Memory::kPinned, bytes, "a pinned column");
    if (bytes != 0) std::memcpy(pinned.data(), view->data, bytes);
    view->data = pinned.data();
    view->memory = base::Memory::kPinned;
    return pinned;
  }
};

TEST_F(Transports, BringEveryWidthFromPageableAndFromPinnedMemory) {
  for (plan::Transfer technique : techniques()) {
    for (bool pinned : {false, true}) {
      for (int32_t width : {1, 2, 4, 8, 16}) {
        for (size_t rows : {size_t{0}, size_t{1}, size_t{31}, size_t{33}, size_t{1025}}) {
          SCOPED_TRACE(std::string(plan::to_text(technique)) + (pinned ? ", pinned, " : ", ") +
                       std::to_string(rows) + " rows of " + std::to_string(width));
          HostColumn const host = random_column(rows, width, rows + 1);
          columns::ColumnView view = view_of(host, base::Memory::kHost);
          base::Buffer memory;
          if (pinned) memory = pin(&view, host.data.size());
          columns::DeviceColumn column;
          auto const transport = transfer::make_transport(queue(), technique);
          column = transport->bring(view, static_cast<int64_t>(rows));
          transport->await(column);
          transport->await(column);  // costs nothing
          EXPECT_EQ(column.width, width);
          EXPECT_EQ(column.validity, nullptr);
          expect_read(column, host, rows);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_F(Transports, BringValidityFromEveryBitOffset) {
  for (plan::Transfer technique : techniques()) {
    for (int64_t offset : {0, 1, 7, 8, 13, 64, 1001}) {
      for (size_t rows : {size_t{1}, size_t{8}, size_t{33}, size_t{1025}}) {
        SCOPED_TRACE(std::string(plan::to_text(technique)) + ", " + std::to_string(rows) +
                     " rows from bit " + std::to_string(offset));
        HostColumn host = random_column(rows, 4, rows);
        set_valid(&host, random_valid(rows, 0.5, rows + static_cast<size_t>(offset)), offset);
        columns::DeviceColumn column;
        auto const transport = transfer::make_transport(queue(), technique);
        column = transport->bring(view_of(host, base::Memory::kHost), static_cast<int64_t>(rows));
        transport->await(column);
        expect_read(column, host, rows);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Many pieces of page-locked memory, several threads, a last piece that is not full, columns
// awaited out of order.
TEST_F(Transports, BringLargePageableColumns) {
  for (plan::Transfer technique : techniques()) {
    SCOPED_TRACE(plan::to_text(technique));
    constexpr size_t kRows = (40 << 20) / 8 + 12345;
    std::vector<HostColumn> hosts;
    for (uint64_t seed : {1, 2, 3}) hosts.push_back(counting_column(kRows, seed << 40));
    std::vector<columns::DeviceColumn> columns(hosts.size());
    auto const transport = transfer::make_transport(queue(), technique);
    for (size_t i = 0; i < hosts.size(); ++i) {
      columns[i] = transport->bring(view_of(hosts[i], base::Memory::kHost), int64_t{kRows});
    }
    for (size_t i : {size_t{1}, size_t{0}, size_t{2}}) {
      transport->await(columns[i]);
      expect_read(columns[i], hosts[i], kRows);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(Transports, LetDeviceColumnsPass) {
  HostColumn host = random_column(1000, 4, 1);
  set_valid(&host, random_valid(1000, 0.3, 2), 21);
  columns::DeviceColumn const placed = place(queue(), host);
  columns::ColumnView view = view_of(host, base::Memory::kDevice);
  view.data = placed.data;
  view.validity = placed.validity;
  for (plan::Transfer technique : techniques()) {
    uint64_t const in_use = pool().in_use_bytes();
    columns::DeviceColumn column;
    auto const transport = transfer::make_transport(queue(), technique);
    column = transport->bring(view, 1000);
    transport->await(column);
    EXPECT_EQ(column.data, placed.data);
    EXPECT_EQ(column.validity, placed.validity);
    EXPECT_EQ(column.validity_bit_offset, 21);
    EXPECT_EQ(pool().in_use_bytes(), in_use);
  }
}

// A join that fails leaves columns behind that nobody awaited.
TEST_F(Transports, MayBeLeftInTheMiddle) {
  HostColumn const host = random_column(5 << 20, 16, 1);
  for (plan::Transfer technique : techniques()) {
    for (bool pinned : {false, true}) {
      columns::ColumnView view = view_of(host, base::Memory::kHost);
      base::Buffer memory;
      if (pinned) memory = pin(&view, host.data.size());
      uint64_t const in_use = pool().in_use_bytes();
      {
        std::vector<columns::DeviceColumn> columns(4);
        auto const transport = transfer::make_transport(queue(), technique);
        for (columns::DeviceColumn& column : columns) column = transport->bring(view, 5 << 20);
      }
      EXPECT_EQ(pool().in_use_bytes(), in_use) << plan::to_text(technique);
    }
  }
}

// The copy stream must not write to a block before the work that used it is over.
TEST_F(Transports, OverlappedCopiesWaitForTheBlocksEarlierUsers) {
  constexpr size_t kBytes = 64 << 20;
  HostColumn const host = random_column(kBytes, 1, 3);
  columns::ColumnView view = view_of(host, base::Memory::kHost);
  base::Buffer const pinned = pin(&view, kBytes);
  for (int round = 0; round < 4; ++round) {
    base::Buffer kept = pool().allocate(base::Memory::kDevice, kBytes, "a copy");
    columns::DeviceColumn column;
    {
      base::Buffer used = pool().allocate(base::Memory::kDevice, kBytes, "a block");
      base::check(cudaMemsetAsync(used.data(), 0x5a, kBytes, base::stream_of(queue())), "filling");
      for (int i = 0; i < 20; ++i) {
        base::check(cudaMemcpyAsync(kept.data(), used.data(), kBytes, cudaMemcpyDeviceToDevice,
                                    base::stream_of(queue())),
                    "copying");
      }
    }  // the block is free while the copies are queued
    auto const transport = transfer::make_transport(queue(), plan::Transfer::kOverlappedCopies);
    column = transport->bring(view, int64_t{kBytes});
    transport->await(column);
    EXPECT_EQ(download<unsigned char>(queue(), kept.data(), kBytes),
              std::vector<unsigned char>(kBytes, 0x5a));
    EXPECT_EQ(download<unsigned char>(queue(), column.data, kBytes), host.data);
  }
}

TEST_F(Transports, NameTheColumnThatDoesNotFit) {
  gpujoin_context_options options = cuda_options();
  options.memory_limit_bytes = 1 << 20;
  auto const small = OwnQueue(options);
  uint64_t const in_use = small->device_pool->in_use_bytes();
  HostColumn const host = random_column(1 << 20, 4, 1);
  for (plan::Transfer technique : techniques()) {
    if (technique == plan::Transfer::kZeroCopy) continue;  // takes no device memory
    auto const transport = transfer::make_transport(*small, technique);
    try {
      transport->bring(view_of(host, base::Memory::kHost), 1 << 20);
      ADD_FAILURE() << plan::to_text(technique) << ": 4 MiB were found below a limit of 1 MiB";
    } catch (const base::Error& error) {
      EXPECT_EQ(error.status(), GPUJOIN_ERROR_MEMORY_LIMIT);
      EXPECT_NE(std::string(error.what()).find("price"), std::string::npos) << error.what();
    }
    EXPECT_EQ(small->device_pool->in_use_bytes(), in_use);
  }
}

TEST_F(Transports, UseManagedColumnsInPlace) {
  if (!has_managed_memory()) GTEST_SKIP() << "no managed memory";
  HostColumn host = random_column(100000, 4, 1);
  void* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, host.data.size()), cudaSuccess);
  std::memcpy(managed, host.data.data(), host.data.size());
  for (base::Memory declared : {base::Memory::kHost, base::Memory::kDevice}) {
    for (plan::Transfer technique : {plan::Transfer::kManaged, plan::Transfer::kManagedPrefetch}) {
      columns::ColumnView view = view_of(host, declared);
      view.data = managed;
      columns::DeviceColumn column;
      auto const transport = transfer::make_transport(queue(), technique);
      column = transport->bring(view, 100000);
      EXPECT_EQ(column.data, managed);
      transport->await(column);
      expect_read(column, host, 100000);
    }
  }
  base::finish(queue());
  cudaFree(managed);
}

TEST_F(Transports, ManagedMemoryIsNeverMoreThanTheDeviceHas) {
  if (!has_managed_memory()) GTEST_SKIP() << "no managed memory";
  HostColumn const host = random_column(16, 16, 1);
  for (plan::Transfer technique : {plan::Transfer::kManaged, plan::Transfer::kManagedPrefetch}) {
    auto const transport = transfer::make_transport(queue(), technique);
    try {
      transport->bring(view_of(host, base::Memory::kHost), int64_t{1} << 38);
      ADD_FAILURE() << "4 TiB were found";
    } catch (const base::Error& error) {
      EXPECT_EQ(error.status(), GPUJOIN_ERROR_OUT_OF_MEMORY);
    }
  }
}

// The pool gives the blocks of one join to the next, with their pages wherever they were last.
TEST_F(Transports, ManagedBlocksAreUsedAgain) {
  if (!has_managed_memory()) GTEST_SKIP() << "no managed memory";
  for (uint64_t round = 0; round < 6; ++round) {
    auto const technique =
        round % 2 == 0 ? plan::Transfer::kManaged : plan::Transfer::kManagedPrefetch;
    HostColumn const host = counting_column(300000, round << 32);
    columns::DeviceColumn column;
    auto const transport = transfer::make_transport(queue(), technique);
    column = transport->bring(view_of(host, base::Memory::kHost), 300000);
    transport->await(column);
    expect_read(column, host, 300000);
    if (HasFatalFailure()) return;
  }
}

// Columns side by side share pages; a column may be named twice.
TEST_F(Transports, ZeroCopyReadsColumnsThatSharePages) {
  if (!plan::has_papers()) GTEST_SKIP() << "built without the papers' techniques";
  HostColumn const whole = counting_column(3 * kLargeRows, 1);
  std::vector<HostColumn> parts(3);
  std::vector<columns::DeviceColumn> columns(6);
  {
    auto const transport = transfer::make_transport(queue(), plan::Transfer::kZeroCopy);
    for (size_t i = 0; i < 6; ++i) {
      HostColumn& part = parts[i % 3];
      unsigned char const* const first = &whole.data[(i % 3) * kLargeRows * 8];
      part.width = 8;
      part.data.assign(first, first + kLargeRows * 8);
      columns::ColumnView view = view_of(part, base::Memory::kHost);
      view.data = first;
      columns[i] = transport->bring(view, kLargeRows);
      EXPECT_EQ(columns[i].data, view.data) << "it was copied";
      expect_read(columns[i], part, kLargeRows);
    }
  }
  columns.clear();
  // All of it is let go: the caller may register the memory now.
  void* const first = const_cast<unsigned char*>(whole.data.data());
  EXPECT_EQ(cudaHostRegister(first, whole.data.size(), cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(first), cudaSuccess);
}

// The caller has registered the middle of the column: it can be neither read as it is nor
// registered.
TEST_F(Transports, ZeroCopyStagesWhatCannotBeRegistered) {
  if (!plan::has_papers()) GTEST_SKIP() << "built without the papers' techniques";
  constexpr size_t kRows = kLargeRows;
  HostColumn const host = counting_column(kRows, 1);
  auto* const middle = const_cast<unsigned char*>(&host.data[host.data.size() / 2]);
  ASSERT_EQ(cudaHostRegister(middle, 100000, cudaHostRegisterDefault), cudaSuccess);
  {
    columns::DeviceColumn column;
    auto const transport = transfer::make_transport(queue(), plan::Transfer::kZeroCopy);
    column = transport->bring(view_of(host, base::Memory::kHost), kRows);
    EXPECT_NE(column.data, host.data.data());
    expect_read(column, host, kRows);
  }
  // The overlapped copies meet the same column.
  {
    columns::DeviceColumn column;
    auto const transport = transfer::make_transport(queue(), plan::Transfer::kOverlappedCopies);
    column = transport->bring(view_of(host, base::Memory::kHost), kRows);
    transport->await(column);
    expect_read(column, host, kRows);
  }
  EXPECT_EQ(cudaHostUnregister(middle), cudaSuccess);
}

// Two contexts read one column: the first to finish must not take the pages from the other.
TEST_F(Transports, ZeroCopySharesPagesWithOtherContexts) {
  if (!plan::has_papers()) GTEST_SKIP() << "built without the papers' techniques";
  constexpr size_t kRows = kLargeRows;
  HostColumn const host = counting_column(kRows, 1);
  columns::ColumnView const view = view_of(host, base::Memory::kHost);
  auto const other = OwnQueue(cuda_options());
  columns::DeviceColumn column;
  auto const transport = transfer::make_transport(queue(), plan::Transfer::kZeroCopy);
  {
    columns::DeviceColumn earlier;
    auto const ends_first = transfer::make_transport(*other, plan::Transfer::kZeroCopy);
    earlier = ends_first->bring(view, kRows);
    EXPECT_EQ(earlier.data, host.data.data());
    column = transport->bring(view, kRows);
    EXPECT_EQ(column.data, host.data.data());
  }
  expect_read(column, host, kRows);
}

}  // namespace
}  // namespace gpujoin::tests
