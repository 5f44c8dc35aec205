#include "src/pieces/budget.hpp"

#include <algorithm>

#include "src/base/memory.hpp"
#include "src/base/status.hpp"
#include "src/base/traffic.hpp"

namespace gpujoin::pieces {

namespace {

// The rows of a block are copied while others come: as much as a link or a disk takes at once
// without a share of its time for beginning.
constexpr uint64_t kBlockBytes = uint64_t{8} << 20;
constexpr uint64_t kLeastBlockBytes = uint64_t{16} << 10;
// Each has a block that is open, all of them together half of what a store may keep, and what is
// written to a file at once is no less than a few pages.
constexpr uint32_t kPartitions = 128;
// A device reads a run of each block, which are the longer the fewer partitions there are: those of
// 16 KiB come at a third of the rate of 64.
constexpr uint32_t kPartitionsOfDevice = 64;
constexpr uint32_t kLeastPartitions = 4;
constexpr uint64_t kLeastOpenBytes = uint64_t{16} << 10;

// The builds and probes of a join are two stores, and what is joined needs as much as both.
constexpr uint64_t kStoreShare = 8;
// There are many probes.
constexpr uint64_t kWaitingShare = 64;
// A part, a table of it, a piece of the other side and what comes out of them; buffers that grow
// are there twice for a moment.
constexpr uint64_t kPartShare = 16;
// Of a device: its table takes three times its rows at most; pieces of the probe side are cut until
// they fit beside.
constexpr uint64_t kWholeShareOfDevice = 5;
// Where it is made once, and how large it is is known, both may take so many tenths of what the
// scratch of queues leaves: what comes twice over the link else, comes once.
constexpr uint64_t kTableTenthsOfDevice = 7;
constexpr uint64_t kScratchBytes = uint64_t{16} << 20;
// Who wants another one waits then.
constexpr uint64_t kResultShare = 6;
// Of a device: blocks that it partitions, of both sides one after the other.
constexpr uint64_t kMovingShare = 2;

// Of each side: what stays there goes over the link once, in the place of three times.
constexpr uint64_t kResidentShare = 5;

// While partitions of a build side stay: pieces of threads that meet them, and what comes of these.
constexpr uint64_t kMeetingEighths = 3;
// What blocks on their way take where the limit does not make them smaller: four in, four out.
constexpr uint64_t kMostMovingBytes = uint64_t{72} << 20;

// What threads gather, open blocks and the smallest pieces take, and a join of those.
constexpr uint64_t kLeastHostBytes = uint64_t{1} << 20;
constexpr uint64_t kLeastHostRows = 4096;
// A queue's scratch is a third of it.
constexpr uint64_t kLeastDeviceBytes = uint64_t{24} << 20;
// Pieces of sides so many times as large are dozens, and each of the build side's meets each of the
// other's: the link takes those as many times.
constexpr uint64_t kMostOfDevice = 4;

// 0: not known.
uint64_t device_bytes(const base::Context& context) {
  uint64_t const limit = context.device_account->limit_bytes();
  uint64_t const all = context.facts.memory_bytes;
  return limit == 0 || (all != 0 && all < limit) ? all : limit;
}

void check_least(const char* limit, uint64_t bytes, uint64_t least) {
  if (bytes == 0 || bytes >= least) return;
  base::fail(GPUJOIN_ERROR_MEMORY_LIMIT,
             "%s is %llu: builds and probes of such rows need at least %llu", limit,
             static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(least));
}

}  // namespace

void check_least_limits(const base::Context& context, bool on_gpu, const RowSchema& schema) {
  uint64_t const rows = base::checked_bytes(kLeastHostRows, bytes_of_row(schema));
  // Of a context of the CPU it is the smaller of both.
  char const* const host = context.is_cuda()
                               ? "options.host_limit_bytes"
                               : "options.memory_limit_bytes or host_limit_bytes of the context";
  check_least(host, context.host_account->limit_bytes(), std::max(kLeastHostBytes, rows));
  if (!on_gpu) return;
  check_least("options.memory_limit_bytes", context.device_account->limit_bytes(),
              kLeastDeviceBytes);
}

bool is_device_too_small(const base::Context& context, uint64_t bytes_of_sides) {
  uint64_t const device = device_bytes(context);
  return device != 0 && (device < kLeastDeviceBytes || bytes_of_sides / kMostOfDevice > device);
}

Budget budget_of(const base::Context& context, bool on_gpu) {
  Budget budget;
  uint64_t const host = context.host_account->limit_bytes();
  uint64_t const device = on_gpu ? device_bytes(context) : host;
  budget.store_bytes = host / kStoreShare;
  budget.part_bytes = device / kPartShare;
  budget.gathered_part_bytes = budget.part_bytes;
  if (on_gpu && host != 0) {
    budget.gathered_part_bytes = std::min(budget.part_bytes, host / kPartShare);
  }
  budget.whole_bytes = on_gpu ? device / kWholeShareOfDevice : budget.part_bytes;
  if (on_gpu) {
    budget.table_bytes = (device - std::min(device, kScratchBytes)) / 10 * kTableTenthsOfDevice;
    budget.moving_bytes = device / kMovingShare;
    budget.resident_bytes = device / kResidentShare;
    // Batches that go there as they come have to fit beside what is on its way to partitions when
    // one comes that does not.
    uint64_t const moving = std::min(budget.moving_bytes, kMostMovingBytes) + kScratchBytes;
    budget.arriving_bytes =
        std::max(budget.whole_bytes, device - std::min(device, moving + device / 8));
    budget.staying_bytes = device - std::min(device, moving + device / 8 * kMeetingEighths);
  }
  // What a join of them takes is four times as much: with both stores all of it.
  budget.rest_bytes = 3 * budget.part_bytes;
  budget.result_bytes = device / kResultShare;
  budget.waiting_bytes = host / kWaitingShare;
  uint64_t const least = std::min(host == 0 ? UINT64_MAX : host, device == 0 ? UINT64_MAX : device);
  budget.block_bytes = std::clamp(least / 128, kLeastBlockBytes, kBlockBytes);
  uint64_t const open = least / kStoreShare / 2 / kLeastOpenBytes;
  budget.partitions = static_cast<uint32_t>(
      std::clamp<uint64_t>(open, kLeastPartitions, on_gpu ? kPartitionsOfDevice : kPartitions));
  return budget;
}

bool Budget::joins_whole(uint64_t bytes, uint64_t rows, bool keeps_table) const {
  if (whole_bytes == 0 || bytes <= whole_bytes) return true;
  return keeps_table && joins_whole_with(bytes, base::traffic::global_table_bytes(rows));
}

bool Budget::joins_whole_with(uint64_t bytes, uint64_t table) const {
  return bytes <= table_bytes && table <= table_bytes - bytes;
}

Budget beside(Budget budget, uint64_t bytes) {
  // part_bytes is that share of all.
  uint64_t const all = budget.part_bytes * kPartShare;
  auto const less = [&](uint64_t share) { return share - share * std::min(bytes, all) / all; };
  if (all == 0) return budget;
  budget.part_bytes = less(budget.part_bytes);
  budget.gathered_part_bytes = std::min(budget.gathered_part_bytes, budget.part_bytes);
  budget.rest_bytes = less(budget.rest_bytes);
  budget.result_bytes = less(budget.result_bytes);
  return budget;
}

}  // namespace gpujoin::pieces
