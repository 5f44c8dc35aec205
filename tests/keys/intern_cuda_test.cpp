// intern_cuda_test.cpp: codes of byte strings on the GPU are equal exactly where the values are.
#include "src/keys/intern.hpp"

#include "tests/gpu_fixture.hpp"
#include "tests/keys/byte_values.hpp"

namespace gpujoin::tests {
namespace {

using Intern = GpuTest;

// A column's buffers on the device.
struct OnDevice {
  base::Buffer bytes;
  base::Buffer places;
  std::vector<base::Buffer> buffers;
  base::Buffer buffer_pointers;
  base::Buffer bits;
  keys::InternedSide side;

  OnDevice(base::Queue& queue, const ByteColumn& column) {
    bytes = upload(queue, column.bytes);
    auto const* const first = static_cast<const uint8_t*>(column.places());
    places = upload(queue, std::vector<uint8_t>(first, first + column.place_bytes()));
    std::vector<const uint8_t*> pointers;
    for (std::vector<uint8_t> const& buffer : column.buffers) {
      buffers.push_back(upload(queue, buffer));
      pointers.push_back(buffers.back().as<const uint8_t>());
    }
    buffer_pointers = upload(queue, pointers);
    bits = upload(queue, column.bits);
    side = column.side(bytes.as<const uint8_t>(), places.data(),
                       buffer_pointers.as<const uint8_t*>(), bits.as<const uint8_t>());
  }
};

struct Codes {
  base::Buffer of_table;
  base::Buffer of_other;
};

Codes intern(base::Queue& queue, const keys::InternedSide& table, const keys::InternedSide& other) {
  keys::Interned made = keys::intern(queue, table);
  return {std::move(made.codes), keys::codes_by(queue, made.table, other)};
}

void expect_interned(base::Queue& queue, const ByteColumn& table, const ByteColumn& other) {
  OnDevice const table_there(queue, table);
  OnDevice const other_there(queue, other);
  Codes const codes = intern(queue, table_there.side, other_there.side);
  expect_codes(table.values, other.values,
               download<uint32_t>(queue, codes.of_table.data(), table.values.size()),
               download<uint32_t>(queue, codes.of_other.data(), other.values.size()));
}

void expect_all_cases(base::Queue& queue) {
  for (InternCase const& of : intern_cases()) {
    SCOPED_TRACE(of.name);
    expect_interned(queue, of.table, of.other);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_F(Intern, GivesEqualCodesExactlyToEqualValues) { expect_all_cases(queue()); }

// All values share their hash, or each of 16 hashes is that of many: what differs in the bytes
// differs in its code.
TEST_F(Intern, TellsValuesApartThatShareTheirHash) {
  for (uint64_t const ones : {~uint64_t{0}, ~uint64_t{0xf}, ~(uint64_t{0xf} << 60)}) {
    queue().context.hash_ones = ones;
    expect_all_cases(queue());
  }
}

TEST_F(Intern, TakesManyRows) {
  constexpr size_t kRows = 200000;
  for (BytesLayout const layout : layouts_of_any_length()) {
    SCOPED_TRACE(static_cast<int>(layout));
    ByteColumn const distinct = byte_column(layout, counted(0, kRows), 7);
    expect_interned(queue(), distinct, byte_column(layout, counted(kRows / 2, kRows)));
    ByteColumn const repeated = byte_column(layout, drawn(counted(0, 50), kRows, 1, 0.1));
    expect_interned(queue(), repeated, distinct);
    expect_interned(queue(), distinct, repeated);
    ByteColumn const equal = byte_column(layout, Values(kRows, "the only value there is"));
    expect_interned(queue(), equal, equal);
    expect_interned(queue(), equal, repeated);
    if (HasFailure()) return;
  }
}

TEST_F(Intern, OfNoColumnAtAll) {
  Codes const codes = intern(queue(), {}, {});
  EXPECT_EQ(codes.of_table.data(), nullptr);
  EXPECT_EQ(codes.of_other.data(), nullptr);
}

// Whichever buffer is refused, what was taken before it goes back.
TEST_F(Intern, KeepsTheMemoryLimit) {
  // Nothing is read where nothing is launched.
  keys::InternedSide table;
  table.rows = 4000000;
  keys::InternedSide other;
  other.rows = 2000000;
  for (uint64_t const megabytes : {10, 20, 40}) {
    OwnQueue const limited = limited_queue(megabytes << 20);
    uint64_t const before = limited->device_pool->in_use_bytes();
    EXPECT_EQ(status_of([&] { intern(limited, table, other); }), GPUJOIN_ERROR_MEMORY_LIMIT);
    EXPECT_EQ(limited->device_pool->in_use_bytes(), before);
  }
}

}  // namespace
}  // namespace gpujoin::tests
