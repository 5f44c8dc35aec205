// unpack_words_cuda_test.cpp: narrow columns out of words.
#include "src/materialize/unpack_words.hpp"

#include <random>
#include <string>

#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using UnpackWords = GpuTest;
using materialize::PackedColumns;

// Bytes of a column of `width` that begins at byte `first` of each word.
std::vector<uint8_t> column_of(const std::vector<uint32_t>& words, int32_t first, int32_t width) {
  std::vector<uint8_t> bytes;
  for (uint32_t const word : words) {
    for (int32_t i = first; i < first + width; ++i) {
      bytes.push_back(static_cast<uint8_t>(word >> 8 * i));
    }
  }
  return bytes;
}

void expect_columns(base::Queue& queue, size_t rows, size_t columns_of_words,
                    const std::vector<int32_t>& widths) {
  SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(columns_of_words) +
               " columns of words");
  std::mt19937 random(static_cast<uint32_t>(rows));
  std::vector<std::vector<uint32_t>> words(columns_of_words, std::vector<uint32_t>(rows));
  std::vector<base::Buffer> placed;
  std::vector<std::vector<columns::Storage>> made(columns_of_words);
  std::vector<PackedColumns> packed(columns_of_words);
  for (size_t i = 0; i < columns_of_words; ++i) {
    for (uint32_t& word : words[i]) word = static_cast<uint32_t>(random());
    placed.push_back(upload(queue, words[i]));
    packed[i].words = placed.back().data();
    made[i].resize(widths.size());
    for (size_t part = 0; part < widths.size(); ++part) {
      packed[i].parts.push_back({widths[part], &made[i][part]});
    }
  }
  materialize::unpack_words(queue, packed, rows, rows + 5);
  for (size_t i = 0; i < columns_of_words; ++i) {
    int32_t first = 0;
    for (size_t part = 0; part < widths.size(); ++part) {
      std::vector<uint8_t> const expected = column_of(words[i], first, widths[part]);
      ASSERT_TRUE(download<uint8_t>(queue, made[i][part].get(), expected.size()) == expected)
          << "part " << part << " of word " << i;
      first += widths[part];
    }
  }
}

TEST_F(UnpackWords, MakesEveryColumnOfEveryWord) {
  for (size_t const rows : {1, 3, 4, 5, 1023, 1024, 1025, 100003}) {
    for (std::vector<int32_t> const& widths :
         {std::vector<int32_t>{1, 1}, {1, 1, 1}, {1, 1, 1, 1}, {2, 1}, {2, 2}, {2, 1, 1}}) {
      expect_columns(queue(), rows, 1, widths);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(UnpackWords, TakesMoreWordsThanALaunch) {
  for (size_t const words : {15, 16, 17, 33}) {
    expect_columns(queue(), 5000, words, {2, 1, 1});
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace gpujoin::tests
