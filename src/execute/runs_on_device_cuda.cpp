#include "src/execute/runs_on_device.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "src/base/device.hpp"
#include "src/execute/moved_rows.hpp"
#include "src/transform/hash_partitions.hpp"

namespace gpujoin::execute {

namespace {

using base::Buffer;
using base::Memory;
using columns::ColumnView;
using columns::Layout;
using columns::Relation;

// From here on the link's engine takes runs faster than kernels read them, which take 34 GB/s and
// leave 34 to the other way. The engine takes runs of 32 KiB at 43, but a copy costs its driver 3
// to 4 us, of one thread at a time: where several read partitions, as many as there are runs.
constexpr uint64_t kLeastCopied = 96 << 10;

// Of a block, the bytes before a column in its runs; RowBlock::kNone: there are none, and all
// values are 1.
using Before = std::function<uint64_t(const RowBlock& block)>;

class RunReader {
 public:
  // tables: what kernels read, until the queue is finished.
  RunReader(base::Queue& queue, std::span<const RowRun> runs, std::vector<Buffer>* tables)
      : queue_(queue), runs_(runs), tables_(*tables) {
    uint64_t bytes = 0;
    for (RowRun const& run : runs) {
      rows_ += run.rows();
      bytes += run.bytes();
    }
    if (bytes >= kLeastCopied * runs.size()) copy();
  }

  uint64_t rows() const { return rows_; }

  void read(uint64_t width, const Before& before, void* target) {
    std::vector<kernels::RunPiece> pieces;
    uint64_t target_row = 0;
    for (size_t i = 0; i < runs_.size(); ++i) {
      RowRun const& run = runs_[i];
      uint64_t const place = before(*run.block);
      const uint8_t* const begin = i < copies_.size() ? copies_[i] : run.begin();
      add_pieces(place == RowBlock::kNone ? nullptr : begin + run.place(place), run.rows(), width,
                 target_row, &pieces);
      target_row += run.rows();
    }
    if (pieces.empty()) return;
    tables_.push_back(queue_.device_pool->allocate_rows<kernels::RunPiece>(
        Memory::kPinned, pieces.size(), "runs of a partition"));
    std::copy(pieces.begin(), pieces.end(), tables_.back().as<kernels::RunPiece>());
    transform::gather_runs(queue_, tables_.back().as<kernels::RunPiece>(),
                           static_cast<uint32_t>(pieces.size()), static_cast<int32_t>(width),
                           target);
  }

 private:
  // Those of page-locked memory, whole, one behind the other.
  void copy() {
    uint64_t bytes = 0;
    for (RowRun const& run : runs_) bytes += run.block->is_on_device() ? 0 : run.bytes();
    if (bytes == 0) return;
    copied_ = queue_.device_pool->allocate(Memory::kDevice, bytes, "runs of a partition");
    auto* target = copied_.as<uint8_t>();
    std::vector<void*> targets;
    std::vector<const void*> sources;
    std::vector<size_t> sizes;
    for (RowRun const& run : runs_) {
      if (run.block->is_on_device() || run.rows() == 0) {
        copies_.push_back(run.begin());
        continue;
      }
      copies_.push_back(target);
      targets.push_back(target);
      sources.push_back(run.begin());
      sizes.push_back(run.bytes());
      target += run.bytes();
    }
    cudaStream_t const stream = base::stream_of(queue_);
    cudaMemcpyAttributes attributes = {};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    size_t first = 0;
    cudaError_t const code = cudaMemcpyBatchAsync(targets.data(), sources.data(), sizes.data(),
                                                  sizes.size(), &attributes, &first, 1, stream);
    if (code != cudaErrorCallRequiresNewerDriver && code != cudaErrorNotSupported) {
      return base::check(code, "copying runs of rows");
    }
    cudaGetLastError();  // of a driver that has no batches of copies
    for (size_t i = 0; i < sizes.size(); ++i) {
      base::check(cudaMemcpyAsync(targets[i], sources[i], sizes[i], cudaMemcpyDefault, stream),
                  "copying a run of rows");
    }
  }

  static void add_pieces(const uint8_t* begin, uint64_t rows, uint64_t width, uint64_t target_row,
                         std::vector<kernels::RunPiece>* pieces) {
    for (uint64_t first = 0; first < rows; first += kernels::kPieceRows) {
      kernels::RunPiece piece;
      piece.source = begin == nullptr ? nullptr : begin + first * width;
      piece.rows = static_cast<uint32_t>(std::min<uint64_t>(kernels::kPieceRows, rows - first));
      piece.target_row = target_row + first;
      pieces->push_back(piece);
    }
  }

  base::Queue& queue_;
  std::span<const RowRun> runs_;
  uint64_t rows_ = 0;
  // Let go of when all is queued: who gets its memory is queued behind.
  Buffer copied_;
  std::vector<const uint8_t*> copies_;  // of each run; none: kernels read all where they lie
  std::vector<Buffer>& tables_;
};

// What a relation that was brought lives on.
struct Brought {
  std::vector<Buffer> buffers;
  std::vector<RowRun> runs;
};

}  // namespace

std::shared_ptr<const Relation> bring_runs(base::Queue& queue,
                                           const std::shared_ptr<base::Context>& context,
                                           const std::vector<ColumnView>& columns,
                                           std::span<const RowRun> runs) {
  auto made = std::make_shared<Relation>();
  auto brought = std::make_shared<Brought>();
  RunReader reader(queue, runs, &brought->buffers);
  uint64_t const rows = reader.rows();
  made->context = context;
  made->rows = static_cast<int64_t>(rows);
  brought->runs.assign(runs.begin(), runs.end());
  auto const allocate = [&](uint64_t bytes) {
    brought->buffers.push_back(
        queue.device_pool->allocate(Memory::kDevice, bytes, "rows of a partition"));
    return brought->buffers.back().data();
  };
  auto const read_bits = [&](const Before& before) -> const uint8_t* {
    Buffer const bytes =
        queue.device_pool->allocate(Memory::kDevice, rows, "truth values of a partition");
    reader.read(1, before, bytes.data());
    void* const words = allocate((rows + 31) / 32 * sizeof(uint32_t));
    transform::pack_bits(queue, bytes.as<uint8_t>(), rows, static_cast<uint32_t*>(words));
    return static_cast<const uint8_t*>(words);
  };
  for (size_t i = 0; i < columns.size(); ++i) {
    ColumnView column = columns[i];
    column.memory = Memory::kDevice;
    auto const values = [i](const RowBlock& block) { return block.values[i]; };
    auto const valid = [i](const RowBlock& block) { return block.valid[i]; };
    if (rows == 0) {
      column.data = nullptr;
    } else if (column.layout == Layout::kBits) {
      column.data = read_bits(values);
    } else {
      uint64_t const width = width_in_runs(column);
      void* const target = allocate(base::checked_bytes(rows, width));
      reader.read(width, values, target);
      column.data = target;
    }
    bool const has_nulls = std::any_of(runs.begin(), runs.end(), [&](RowRun const& run) {
      return valid(*run.block) != RowBlock::kNone;
    });
    if (has_nulls && rows != 0) column.validity = read_bits(valid);
    made->columns.push_back(std::move(column));
  }
  made->owner = std::move(brought);
  return made;
}

}  // namespace gpujoin::execute
