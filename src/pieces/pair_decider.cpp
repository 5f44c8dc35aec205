#include "src/pieces/pair_decider.hpp"

#include <algorithm>
#include <vector>

#include "src/base/status.hpp"
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

Storage from(const Storage& rows, int64_t first) {
  return {rows, static_cast<const uint32_t*>(rows.get()) + first};
}

// Of some candidates what the caller calls the rows, where it gave them numbers, and the columns
// that it reads: those of all candidates may be more than memory has.
JoinResult shown(base::Queue& queue, const JoinOfPieces& join, const Relation& left,
                 const Relation& right, const JoinResult& candidates, int64_t first,
                 int64_t count) {
  JoinResult result;
  result.context = candidates.context;
  result.memory = candidates.memory;
  result.rows = count;
  result.has_pairs = join.has_left_numbers || join.has_right_numbers;
  if (!join.has_right_numbers) result.pair_sides = PairSides::kLeft;
  if (!join.has_left_numbers) result.pair_sides = PairSides::kRight;
  for (bool const of_left : {true, false}) {
    Relation const& relation = of_left ? left : right;
    Storage const rows = from(of_left ? candidates.left_rows : candidates.right_rows, first);
    auto const fetch = [&](int32_t column) {
      return execute::fetch_late(queue, candidates.memory, relation, column, rows, count,
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

// In host memory.
struct Exported {
  ArrowSchema schema{};
  ArrowArray array{};

  Exported(base::Queue& queue, const JoinResult& result) {
    gpujoin_page whole = GPUJOIN_PAGE_INIT;
    columns::export_page(queue, result, whole, schema, array);
  }
  ~Exported() {
    if (array.release != nullptr) array.release(&array);
    if (schema.release != nullptr) schema.release(&schema);
  }
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;
};

// Bits of the candidates that match, in whole 4-byte words.
std::vector<uint8_t> matches_among(base::Queue& queue, const JoinOfPieces& join,
                                   const Relation& left, const Relation& right,
                                   const JoinResult& candidates) {
  std::vector<uint8_t> bits(columns::bitmap_words_bytes(candidates.rows), 0);
  std::vector<uint8_t> matches;
  for (int64_t first = 0; first < candidates.rows; first += kDecidedAtOnce) {
    queue.check_cancelled();
    int64_t const rows = std::min(kDecidedAtOnce, candidates.rows - first);
    matches.assign(static_cast<size_t>(rows), 0);
    Exported pairs(queue, shown(queue, join, left, right, candidates, first, rows));
    join.decider->decide(rows, pairs.schema, pairs.array, matches.data());
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
  // The piece is cut, as where memory has no room.
  if (result->rows >= int64_t{UINT32_MAX}) {
    base::fail(GPUJOIN_ERROR_OUT_OF_MEMORY, "%lld pairs of a piece to be decided: 2^32 - 2 at once",
               static_cast<long long>(result->rows));
  }
  return execute::decide(queue, *result, matches_among(queue, join, left, right, *result));
}

}  // namespace gpujoin::pieces
