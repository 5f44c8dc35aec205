// encode_keys_cuda_test.cpp: codes on the device are those of the host, and columns come back from
// them.
#include "src/keys/encode_keys.hpp"

#include <cuda_runtime_api.h>  // what mix_key.cuh is marked with

#include "kernels/transform/mix_key.cuh"
#include "src/transform/radix_unordered.hpp"
#include "tests/keys/key_tables.hpp"

namespace gpujoin::tests {
namespace {

using EncodeKeys = GpuTest;
using keys::KeyEncoding;
using transform::PreparedKeys;
using Widths = std::vector<int32_t>;

struct Shape {
  Widths widths;
  int32_t bits;
};
std::vector<Shape> shapes() {
  return {{{8}, 20},    {{4, 4}, 12},    {{4, 4}, 32},
          {{8, 4}, 16}, {{8, 8, 4}, 21}, {{4, 8, 4, 8, 4}, 6}};
}

std::vector<KeyEncoding> encodings_of(base::Queue& queue, const KeyTable& table) {
  std::vector<KeyEncoding> found = {keys::hashed(queue.context)};
  std::vector<keys::ColumnRange> const ranges = table.ranges(table.valid_rows());
  for (auto const& encoding :
       {keys::pack(table.widths(), ranges), keys::pack_drawn(table.widths(), ranges)}) {
    if (encoding && !encoding->is_plain()) found.push_back(*encoding);
  }
  return found;
}

uint64_t mixed_code(uint64_t code, int32_t width) {
  return width == 8 ? kernels::mix_key(code) : kernels::mix_key(static_cast<uint32_t>(code));
}

TEST_F(EncodeKeys, CodesAreThoseOfTheHost) {
  for (Shape const& shape : shapes()) {
    for (size_t const rows : edge_sizes()) {
      for (double const nulls : {0.0, 0.2}) {
        KeyTable table = key_table(rows, shape.widths, shape.bits, rows + 1, nulls);
        table.place_all(queue(), rows % 3);
        std::vector<uint32_t> const valid = table.valid_rows();
        for (KeyEncoding const& encoding : encodings_of(queue(), table)) {
          for (bool const mixed : {false, true}) {
            SCOPED_TRACE(std::to_string(shape.widths.size()) + " columns, " + std::to_string(rows) +
                         " rows, NULLs " + std::to_string(nulls) +
                         (encoding.exact ? ", packed in " : ", hashed in ") +
                         std::to_string(encoding.width) + (mixed ? ", mixed" : ""));
            PreparedKeys const keys = transform::encode_keys(
                queue(), table.keys, static_cast<int64_t>(rows), encoding, mixed);
            ASSERT_EQ(keys.rows, valid.size());
            EXPECT_EQ(keys.key_width, encoding.width);
            EXPECT_EQ(keys.mixed, mixed);
            EXPECT_FALSE(keys.pending);
            EXPECT_EQ(static_cast<bool>(keys.keys_outside), encoding.assumed);
            bool is_outside = false;
            std::vector<uint64_t> expected = codes_of(encoding, table, valid, &is_outside);
            if (mixed) {
              for (uint64_t& code : expected) code = mixed_code(code, encoding.width);
            }
            EXPECT_TRUE(download_codes(queue(), keys.keys, encoding.width, keys.rows) == expected);
            EXPECT_FALSE(transform::lie_outside(queue(), keys, keys));
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST_F(EncodeKeys, APlainKeyIsReadWhereItLies) {
  for (int32_t const width : {4, 8}) {
    KeyTable table = key_table(1000, {width}, 20, 1);
    table.place_all(queue());
    KeyEncoding const plain = *keys::pack_unseen(table.widths());
    EXPECT_EQ(transform::encode_keys(queue(), table.keys, 1000, plain, false).keys,
              table.keys.front().data);
    PreparedKeys const later = transform::encode_later(queue(), table.keys, 1000, plain);
    EXPECT_EQ(later.keys, table.keys.front().data);
    EXPECT_FALSE(later.pending);
  }
}

TEST_F(EncodeKeys, ColumnsComeBackFromCodes) {
  for (Shape const& shape : shapes()) {
    for (size_t const rows : {size_t{1}, size_t{1025}, size_t{40000}}) {
      KeyTable table = key_table(rows, shape.widths, shape.bits, rows, 0);
      table.place_all(queue());
      for (KeyEncoding const& encoding : encodings_of(queue(), table)) {
        if (!encoding.exact) continue;
        std::vector<uint32_t> positions(rows);
        std::mt19937_64 random(rows);
        for (uint32_t& position : positions) position = static_cast<uint32_t>(random() % rows);
        base::Buffer const at = upload(queue(), positions);
        for (bool const mixed : {false, true}) {
          PreparedKeys const codes = transform::encode_keys(
              queue(), table.keys, static_cast<int64_t>(rows), encoding, mixed);
          for (size_t c = 0; c < table.hosts.size(); ++c) {
            HostColumn const& host = table.hosts[c];
            base::Buffer const target = pool().allocate(base::Memory::kDevice, host.data.size(),
                                                        "a decoded column of a test");
            keys::decode(queue(), encoding, c, codes.keys, nullptr, rows, mixed, target.data());
            EXPECT_TRUE(download<unsigned char>(queue(), target.data(), host.data.size()) ==
                        host.data);
            keys::decode(queue(), encoding, c, codes.keys, at.as<uint32_t>(), rows, mixed,
                         target.data());
            EXPECT_TRUE(download<unsigned char>(queue(), target.data(), host.data.size()) ==
                        bytes_of_rows(host, positions));
          }
          // In place, where the widths allow it.
          HostColumn const& last = table.hosts.back();
          if (last.width != encoding.width) continue;
          keys::decode(queue(), encoding, table.hosts.size() - 1, codes.keys, nullptr, rows, mixed,
                       codes.keys_copy.data());
          EXPECT_TRUE(download<unsigned char>(queue(), codes.keys, last.data.size()) == last.data);
        }
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(EncodeKeys, AValueOutsideIsToldAndANullIsNot) {
  for (size_t const rows : {size_t{33}, size_t{2048}, size_t{40001}}) {
    for (size_t const far : {size_t{0}, rows / 2, rows - 1}) {
      for (bool const is_null : {false, true}) {
        SCOPED_TRACE(std::to_string(rows) + " rows, outside " + std::to_string(far) +
                     (is_null ? ", NULL" : ""));
        KeyTable table = key_table(rows, {8, 8}, 10, 3, 0);
        KeyEncoding const assumed =
            *keys::pack_drawn(table.widths(), table.ranges(table.valid_rows()));
        ASSERT_TRUE(assumed.assumed);
        uint64_t const value = uint64_t{1} << 50;
        std::memcpy(&table.hosts[1].data[far * 8], &value, 8);
        if (is_null) {
          std::vector<unsigned char> valid(rows, 1);
          valid[far] = 0;
          set_valid(&table.hosts[0], valid, 5);
        }
        table.place_all(queue());
        KeyTable inside = key_table(rows, {8, 8}, 10, 4, 0);
        inside.place_all(queue());
        auto const count = static_cast<int64_t>(rows);
        PreparedKeys const left = transform::encode_keys(queue(), table.keys, count, assumed, true);
        PreparedKeys const right =
            transform::encode_keys(queue(), inside.keys, count, assumed, true);
        EXPECT_EQ(transform::lie_outside(queue(), left, right), !is_null);
        EXPECT_EQ(transform::lie_outside(queue(), right, left), !is_null);
        EXPECT_FALSE(transform::lie_outside(queue(), right, right));
      }
    }
  }
}

// Partitions of columns are those of the codes that were made before.
TEST_F(EncodeKeys, ThePartitioningEncodesAsItCounts) {
  for (Shape const& shape : shapes()) {
    for (size_t const rows : {size_t{0}, size_t{1}, size_t{8191}, size_t{8192}, size_t{100000},
                              (size_t{1} << 21) + 77}) {
      for (double const nulls : {0.0, 0.2}) {
        if (rows > 100000 && shape.widths.size() != 2) continue;
        KeyTable table = key_table(rows, shape.widths, shape.bits, rows + 5, nulls);
        table.place_all(queue());
        auto const count = static_cast<int64_t>(rows);
        for (KeyEncoding const& encoding : encodings_of(queue(), table)) {
          for (int32_t const passes : {1, 2}) {
            SCOPED_TRACE(std::to_string(shape.widths.size()) + " columns, " + std::to_string(rows) +
                         " rows, NULLs " + std::to_string(nulls) +
                         (encoding.exact ? ", packed in " : ", hashed in ") +
                         std::to_string(encoding.width) + ", passes " + std::to_string(passes));
            PreparedKeys const later =
                transform::encode_later(queue(), table.keys, count, encoding);
            PreparedKeys const now =
                transform::encode_keys(queue(), table.keys, count, encoding, false);
            ASSERT_TRUE(later.pending);
            EXPECT_EQ(later.keys, nullptr);
            ASSERT_EQ(later.rows, now.rows);
            transform::Order const order = {
                plan::Transform::kRadixUnordered, {0, passes == 1 ? 7 : 10}, passes};
            transform::PreparedColumn numbers;
            numbers.width = sizeof(uint32_t);
            auto const by_columns =
                transform::radix_unordered(queue(), later, {&numbers, 1}, order);
            auto const by_codes = transform::radix_unordered(queue(), now, {&numbers, 1}, order);
            size_t const bounds = (size_t{1} << order.bits.end) + 1;
            EXPECT_TRUE(download<uint32_t>(queue(), by_columns.offsets.data(), bounds) ==
                        download<uint32_t>(queue(), by_codes.offsets.data(), bounds));
            std::vector<uint64_t> const codes =
                download_codes(queue(), now.keys, encoding.width, now.rows);
            std::vector<uint64_t> const moved =
                download_codes(queue(), by_columns.keys.data(), encoding.width, now.rows);
            std::vector<uint32_t> const order_of =
                download<uint32_t>(queue(), by_columns.columns.front().data(), now.rows);
            std::vector<bool> seen(now.rows, false);
            for (size_t at = 0; at < moved.size(); ++at) {
              ASSERT_LT(order_of[at], now.rows);
              ASSERT_FALSE(seen[order_of[at]]);
              seen[order_of[at]] = true;
              ASSERT_EQ(moved[at], mixed_code(codes[order_of[at]], encoding.width)) << at;
            }
            EXPECT_FALSE(transform::lie_outside(queue(), later, now));
          }
        }
      }
    }
  }
}

TEST_F(EncodeKeys, ThePartitioningTellsWhatLiesOutside) {
  for (size_t const far : {size_t{0}, size_t{8192}, size_t{20000}}) {
    KeyTable table = key_table(20001, {8, 8}, 10, 3, 0);
    KeyEncoding const assumed = *keys::pack_drawn(table.widths(), table.ranges(table.valid_rows()));
    for (bool const is_outside : {false, true}) {
      uint64_t const value = is_outside ? uint64_t{1} << 50 : 1000;
      std::memcpy(&table.hosts[1].data[far * 8], &value, 8);
      table.keys.clear();
      table.place_all(queue());
      PreparedKeys const keys = transform::encode_later(queue(), table.keys, 20001, assumed);
      transform::PreparedColumn numbers;
      numbers.width = sizeof(uint32_t);
      transform::radix_unordered(queue(), keys, {&numbers, 1},
                                 {plan::Transform::kRadixUnordered, {0, 5}, 1});
      EXPECT_EQ(transform::lie_outside(queue(), keys, keys), is_outside);
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
