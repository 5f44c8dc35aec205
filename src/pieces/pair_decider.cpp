#include "src/pieces/pair_decider.hpp"

#include <algorithm>
#include <vector>

#include "src/columns/arrow_export.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/execute/decide.hpp"
#include "src/execute/late_columns.hpp"

namespace gpujoin::pieces {

namespace {

using columns::JoinResult;
using columns::PairSides;
using columns::Relation;
using columns::Storage;

// What the caller calls the rows, where it gave them numbers, and the columns that it reads.
JoinResult shown(base::Queue& queue, const JoinOfPieces& join, const Relation& left,
                 const Relation& right, const JoinResult& candidates) {
  JoinResult result;
  result.context = candidates.context;
  result.memory = candidates.memory;
  result.rows = candidates.rows;
  result.has_pairs = join.has_left_numbers || join.has_right_numbers;
  if (!join.has_right_numbers) result.pair_sides = PairSides::kLeft;
  if (!join.has_left_numbers) result.pair_sides = PairSides::kRight;
  for (bool const of_left : {true, false}) {
    Relation const& relation = of_left ? left : right;
    Storage const& rows = of_left ? candidates.left_rows : candidates.right_rows;
    auto const fetch = [&](int32_t column) {
      return execute::fetch_late(queue, candidates.memory, relation, column, rows, candidates.rows,
                                 result.statistics.stages);
    };
    if (of_left ? join.has_left_numbers : join.has_right_numbers) {
      (of_left ? result.left_rows : result.right_rows) = rows;
      auto const last = static_cast<int32_t>(relation.columns.size()) - 1;
      (of_left ? result.left_numbers : result.right_numbers) = fetch(last).data;
    }
    for (int32_t const column :
         of_left ? join.decider->left_columns : join.decider->right_columns) {
      result.columns.push_back(fetch(column));
    }
  }
  return result;
}

// A page in host memory.
struct Page {
  ArrowSchema schema{};
  ArrowArray array{};

  Page(base::Queue& queue, const JoinResult& result, int64_t first, int64_t rows) {
    gpujoin_page window = GPUJOIN_PAGE_INIT;
    window.first_row = first;
    window.max_rows = rows;
    columns::export_page(queue, result, window, schema, array);
  }
  ~Page() {
    if (array.release != nullptr) array.release(&array);
    if (schema.release != nullptr) schema.release(&schema);
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
};

// Bits of the candidates that match, in whole 4-byte words.
std::vector<uint8_t> matches_among(base::Queue& queue, const JoinOfPieces& join,
                                   const Relation& left, const Relation& right,
                                   const JoinResult& candidates) {
  std::vector<uint8_t> bits(columns::bitmap_words_bytes(candidates.rows), 0);
  if (candidates.rows == 0) return bits;
  JoinResult const pairs = shown(queue, join, left, right, candidates);
  std::vector<uint8_t> matches;
  for (int64_t first = 0; first < pairs.rows; first += kDecidedAtOnce) {
    queue.check_cancelled();
    int64_t const rows = std::min(kDecidedAtOnce, pairs.rows - first);
    matches.assign(static_cast<size_t>(rows), 0);
    Page page(queue, pairs, first, rows);
    join.decider->decide(rows, page.schema, page.array, matches.data());
    for (int64_t i = 0; i < rows; ++i) {
      auto const bit = static_cast<size_t>(first + i);
      if (matches[static_cast<size_t>(i)] == 0) continue;
      bits[bit / 8] = static_cast<uint8_t>(bits[bit / 8] | 1U << bit % 8);
    }
  }
  return bits;
}

}  // namespace

std::unique_ptr<JoinResult> execute_decided(base::Queue& queue, const JoinOfPieces& join,
                                            const execute::PlannedJoin& planned,
                                            const Relation& left, const Relation& right) {
  auto result = execute::execute(queue, planned);
  if (result->undecided == nullptr) return result;
  return execute::decide(queue, *result, matches_among(queue, join, left, right, *result));
}

}  // namespace gpujoin::pieces
