#include "src/cpu/key_columns.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "src/base/prefetch.hpp"
#include "src/cpu/pack_rows.hpp"
#include "src/cpu/valid_rows.hpp"
#include "src/cpu/value_width.hpp"
#include "src/keys/column_hash.hpp"
#include "src/plan/sample_rule.hpp"

namespace gpujoin::cpu {

namespace {

using base::Memory;

// Rows of one task.
constexpr uint64_t kPieceRows = uint64_t{1} << 16;

// The sums of so many rows lie in the first cache while the columns are added, one by one.
constexpr uint64_t kSummedRows = 512;

// One column more in the sums of rows first, first + 1 ...
void add_column(const kernels::ColumnHash& hash, int number, const columns::ColumnView& column,
                uint64_t first, std::span<kernels::HashSum> sums) {
  with_key_width(column.width, [&](auto zero) {
    auto const* values = static_cast<const decltype(zero)*>(column.data) + first;
    for (size_t i = 0; i < sums.size(); ++i) hash.add(&sums[i], number, values[i]);
  });
}

// Mixed, because the partition takes bits of them.
uint64_t hash_of_sum(const kernels::ColumnHash& hash, kernels::HashSum sum) {
  return plan::mix64(hash.of(sum)) | hash.ones;
}

// Of two columns, which most keys that are hashed have: sums that no memory holds.
void hash_two_columns(const kernels::ColumnHash& hash, const columns::ColumnView& one,
                      const columns::ColumnView& other, uint64_t first, uint64_t last,
                      uint64_t* hashes) {
  with_key_width(one.width, [&](auto of_one) {
    with_key_width(other.width, [&](auto of_other) {
      kernels::ColumnHash const by = hash;
      auto const* const ones = static_cast<const decltype(of_one)*>(one.data);
      auto const* const others = static_cast<const decltype(of_other)*>(other.data);
      for (uint64_t row = first; row < last; ++row) {
        kernels::HashSum sum = by.start;
        by.add(&sum, 0, ones[row]);
        by.add(&sum, 1, others[row]);
        hashes[row] = hash_of_sum(by, sum);
      }
    });
  });
}

void hash_rows(const kernels::ColumnHash& hash, const columns::Relation& relation,
               std::span<const int32_t> keys, uint64_t first, uint64_t last, uint64_t* hashes) {
  auto const column_of = [&](int32_t key) -> const columns::ColumnView& {
    return relation.columns[static_cast<size_t>(key)];
  };
  if (keys.size() == 2) {
    return hash_two_columns(hash, column_of(keys[0]), column_of(keys[1]), first, last, hashes);
  }
  std::array<kernels::HashSum, kSummedRows> summed;
  for (; first < last; first += kSummedRows) {
    std::span const sums(summed.data(), std::min(kSummedRows, last - first));
    std::fill(sums.begin(), sums.end(), hash.start);
    int number = 0;
    for (int32_t const key : keys) {
      add_column(hash, number++, column_of(key), first, sums);
    }
    for (size_t i = 0; i < sums.size(); ++i) hashes[first + i] = hash_of_sum(hash, sums[i]);
  }
}

// same[i] &= whether match i is equal in this column. Row numbers are the matches' low halves.
void compare_column(const ComparedColumns& column, const MatchBatch<uint64_t>& batch,
                    uint8_t* same) {
  with_key_width(column.build->width, [&](auto zero) {
    auto const* build = static_cast<const decltype(zero)*>(column.build->data);
    auto const* probe = static_cast<const decltype(zero)*>(column.probe->data);
    auto const row_of = [](uint64_t rest) { return static_cast<uint32_t>(rest); };
    for (uint32_t i = 0; i < batch.rows; ++i) {
      uint32_t const ahead = std::min(i + base::kRowsAhead, batch.rows - 1);
      base::ask_for(build + row_of(batch.build[ahead]));
      base::ask_for(probe + row_of(batch.probe[ahead]));
      bool const equal = build[row_of(batch.build[i])] == probe[row_of(batch.probe[i])];
      same[i] = static_cast<uint8_t>(same[i] & static_cast<uint8_t>(equal));
    }
  });
}

// The same of rows that carry it.
void compare_carried(const PartitionRows& build, uint32_t build_offset, const PartitionRows& probe,
                     uint32_t probe_offset, int32_t width, const MatchBatch<uint64_t>& batch,
                     uint8_t* same) {
  with_key_width(width, [&](auto zero) {
    using Value = decltype(zero);
    std::array<Value, kBatchRows> of_build;
    std::array<Value, kBatchRows> of_probe;
    copy_fields<Value>(build.rows + build_offset, build.layout->row_bytes, batch.build, batch.rows,
                       reinterpret_cast<std::byte*>(of_build.data()));
    copy_fields<Value>(probe.rows + probe_offset, probe.layout->row_bytes, batch.probe, batch.rows,
                       reinterpret_cast<std::byte*>(of_probe.data()));
    for (uint32_t i = 0; i < batch.rows; ++i) {
      same[i] = static_cast<uint8_t>(same[i] & static_cast<uint8_t>(of_build[i] == of_probe[i]));
    }
  });
}

}  // namespace

HashedKeys hash_keys(base::Queue& queue, Workers& workers, const columns::Relation& relation,
                     std::span<const int32_t> keys) {
  auto const rows = static_cast<uint64_t>(relation.rows);
  auto const column_of = [&](int32_t key) -> const columns::ColumnView& {
    return relation.columns[static_cast<size_t>(key)];
  };
  std::vector<kernels::ValidityBits> nullable;
  for (int32_t const key : keys) {
    columns::ColumnView const& column = column_of(key);
    if (column.validity != nullptr) {
      nullable.push_back({column.validity, column.validity_bit_offset});
    }
  }
  HashedKeys hashed;
  hashed.hashes =
      queue.host_pool->allocate_rows<uint64_t>(Memory::kHost, rows, "hashes of the keys");
  kernels::ColumnHash const hash = keys::column_hash(queue.context);
  auto* const hashes = hashed.hashes.as<uint64_t>();
  workers.for_each_range("transform", rows, kPieceRows, [&](uint64_t first, uint64_t last) {
    hash_rows(hash, relation, keys, first, last, hashes);
  });
  if (!nullable.empty()) {
    hashed.valid_bits = queue.host_pool->allocate_rows<uint64_t>(Memory::kHost, (rows + 63) / 64,
                                                                 "validity of the keys");
    valid_in_all(workers, "transform", nullable, rows, hashed.valid_bits.as<uint64_t>());
  }
  hashed.view.type = GPUJOIN_TYPE_UINT64;
  hashed.view.width = sizeof(uint64_t);
  hashed.view.data = hashes;
  hashed.view.validity = hashed.valid_bits.as<uint8_t>();
  return hashed;
}

void drop_unequal(std::span<const ComparedColumns> keys, const PartitionRows& build,
                  const PartitionRows& probe, MatchBatch<uint64_t>& batch) {
  std::array<uint8_t, kBatchRows> same;
  std::fill_n(same.begin(), batch.rows, uint8_t{1});
  for (ComparedColumns const& column : keys) {
    CarriedColumn const* const of_build = build.layout->find(column.build);
    CarriedColumn const* const of_probe = probe.layout->find(column.probe);
    if (of_build != nullptr && of_probe != nullptr) {
      compare_carried(build, of_build->offset, probe, of_probe->offset, column.build->width, batch,
                      same.data());
    } else {
      compare_column(column, batch, same.data());
    }
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i < batch.rows; ++i) {
    batch.keys[kept] = batch.keys[i];
    batch.build[kept] = batch.build[i];
    batch.probe[kept] = batch.probe[i];
    kept += same[i];
  }
  batch.rows = kept;
}

}  // namespace gpujoin::cpu
