// column_work_cuda.cpp: the GPU's part, through the stages' own code.
#include <utility>

#include "src/base/device.hpp"
#include "src/execute/column_work.hpp"
#include "src/keys/derive_keys.hpp"
#include "src/keys/intern.hpp"
#include "src/keys/ordered_keys.hpp"
#include "src/keys/positions.hpp"
#include "src/materialize/materialize.hpp"
#include "src/transform/pick_rows.hpp"

namespace gpujoin::execute {

namespace {

using columns::Storage;

class OnGpu final : public ColumnWork {
 public:
  explicit OnGpu(base::Queue& queue) : ColumnWork(queue, base::Memory::kDevice) {}

  void await(void* ready_event) override { base::await(queue_, ready_event); }
  void derive(const kernels::DerivedKey& key, int32_t width, uint64_t rows, uint64_t stride,
              void* values) override {
    keys::derive_key(queue_, key, width, rows, stride, values);
  }
  Storage positions(const kernels::Indices& source, uint64_t rows) override {
    return columns::make_storage(keys::positions(queue_, source, rows));
  }
  Storage positions(const kernels::Runs& source, uint64_t rows) override {
    return columns::make_storage(keys::positions(queue_, source, rows));
  }
  Storage positions(const kernels::Composed& source, uint64_t rows) override {
    return columns::make_storage(keys::positions(queue_, source, rows));
  }
  columns::Gathered gather(const columns::GatherSource& source, const uint32_t* rows,
                           uint64_t count) override {
    return materialize::gather_bytes(queue_, source, rows, count);
  }
  columns::Gathered gather(const columns::BitsSource& source, const uint32_t* rows,
                           uint64_t count) override {
    return materialize::gather_bits(queue_, source, rows, count);
  }
  uint64_t text_bytes(const columns::GatherSource& source, const uint32_t* rows,
                      uint64_t count) override {
    return materialize::text_bytes(queue_, source, rows, count);
  }
  keys::Interned intern(const keys::InternedSide& table) override {
    return keys::intern(queue_, table);
  }
  base::Buffer codes_by(const keys::ValueTable& table, const keys::InternedSide& other) override {
    return keys::codes_by(queue_, table, other);
  }
  void order(const kernels::OrderedKey& key, uint64_t rows, uint64_t* codes) override {
    keys::order_keys(queue_, key, rows, codes);
  }
  keys::Extremes extremes(const kernels::OrderedKey& key, uint64_t rows) override {
    return keys::extremes(queue_, key, rows);
  }
  keys::Ranks rank(const kernels::OrderedKey& left, uint64_t left_rows,
                   const kernels::OrderedKey& right, uint64_t right_rows) override {
    return keys::rank_keys(queue_, left, left_rows, right, right_rows);
  }
  keys::SortedFindings find_steps(const kernels::SortedColumns& columns, uint64_t rows) override {
    return keys::find_steps(queue_, columns, rows);
  }
  columns::PickedCount count_picked(const columns::RowBits& picked) override {
    return transform::count_picked(queue_, picked);
  }
  void pick_rows(const columns::RowBits& picked, uint64_t count,
                 const std::vector<columns::PickedColumn>& columns, uint32_t* numbers) override {
    transform::pick_rows(queue_, picked, count, columns, numbers);
  }
  std::optional<uint64_t> find_wrong_number(const void* numbers, int32_t width, uint64_t count,
                                            uint64_t rows, uint32_t* narrow) override {
    return transform::find_wrong_number(queue_, numbers, width, count, rows, narrow);
  }
  Storage mask_rows(const columns::RowBits& picked, const columns::RowBits& valid) override {
    return columns::make_storage(transform::mask_rows(queue_, picked, valid));
  }
};

}  // namespace

std::unique_ptr<ColumnWork> column_work_on_gpu(base::Queue& queue) {
  return std::make_unique<OnGpu>(queue);
}

}  // namespace gpujoin::execute
