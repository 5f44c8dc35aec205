#include "src/execute/decide.hpp"

#include <cstring>
#include <utility>
#include <vector>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/execute/fetch_rows.hpp"
#include "src/execute/host_bits.hpp"
#include "src/execute/kinds.hpp"
#include "src/execute/promises.hpp"
#include "src/execute/row_marks.hpp"
#include "src/execute/travellers.hpp"
#include "src/plan/memory_of_device.hpp"

namespace gpujoin::execute {

namespace {

using base::Memory;
using columns::ColumnView;
using columns::JoinResult;
using columns::Relation;
using columns::Storage;

// Bits of the candidates whose answer is true.
std::vector<uint8_t> true_bits(base::Queue& queue, const Relation& answers) {
  ColumnView const& column = answers.columns.front();
  HostBits const given = bits_on_host(queue, static_cast<const uint8_t*>(column.data),
                                      column.parts->first_bit, column.memory, answers.rows);
  std::vector<uint8_t> bits = columns::rebased(given.bits, given.first_bit, answers.rows);
  if (column.validity != nullptr) {
    HostBits const validity = validity_on_host(queue, column, answers.rows);
    std::vector<uint8_t> const valid =
        columns::rebased(validity.bits, validity.first_bit, answers.rows);
    for (size_t i = 0; i < bits.size(); ++i) bits[i] &= valid[i];
  }
  return bits;
}

// The same in the memory of the pairs.
base::Buffer sent(base::Queue& queue, const std::vector<uint8_t>& bits, Memory memory) {
  base::Pool& pool = memory == Memory::kDevice ? *queue.device_pool : *queue.host_pool;
  base::Buffer words = pool.allocate(memory, bits.size(), "answers of the caller");
  base::copy(queue, words.data(), memory, bits.data(), Memory::kHost, bits.size());
  base::finish(queue);
  return words;
}

void check_answers(const JoinResult& candidates, const Relation& answers) {
  if (candidates.undecided == nullptr) {
    base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
               "candidates: the result is of a join whose residual is not the caller's");
  }
  if (answers.columns.size() != 1 || answers.columns.front().type != GPUJOIN_TYPE_BOOL) {
    base::fail(GPUJOIN_ERROR_TYPE, "answers: a relation of one BOOL column is needed, not of %zu%s",
               answers.columns.size(), answers.columns.size() == 1 ? " of another type" : "");
  }
  if (answers.rows != candidates.rows) {
    base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
               "answers has %lld rows and there are %lld candidates",
               static_cast<long long>(answers.rows), static_cast<long long>(candidates.rows));
  }
  if (answers.rows >= int64_t{UINT32_MAX}) {
    base::fail(GPUJOIN_ERROR_TOO_MANY_ROWS,
               "answers has %lld rows: 2^32 - 2 can be decided at once",
               static_cast<long long>(answers.rows));
  }
  if (answers.ready_event != nullptr) {
    base::fail(GPUJOIN_ERROR_UNSUPPORTED, "answers: of a device array with a sync_event");
  }
}

// Pairs of the candidates whose answer is true.
void keep_true(base::Queue& queue, const JoinResult& candidates, const std::vector<uint8_t>& bits,
               JoinResult& result) {
  Memory const memory = candidates.memory;
  auto pairs = std::make_shared<Relation>();
  pairs->context = candidates.context;
  pairs->rows = candidates.rows;
  auto const& picked = candidates.undecided->picked;
  Storage const& left = picked ? picked->left_candidates : candidates.left_rows;
  Storage const& right = picked ? picked->right_candidates : candidates.right_rows;
  pairs->columns = {view_of(row_numbers_of(left), memory), view_of(row_numbers_of(right), memory)};
  columns::RowMarks::Rows kept =
      row_marks_of(queue, memory, sent(queue, bits, memory), candidates.rows)->marked();
  result.rows = kept.count;
  FetchedRelation fetched(queue, std::move(pairs), plan::device_of(memory));
  std::vector<columns::ResultColumn> rows =
      fetched.fetch("decide", {0, 1}, columns::make_storage(std::move(kept.numbers)), result.rows,
                    base::traffic::Locality::kClustered, result.statistics.stages);
  result.left_rows = std::move(rows[0].data);
  result.right_rows = std::move(rows[1].data);
}

}  // namespace

columns::JoinSpec candidates_of(const columns::JoinSpec& asked) {
  columns::JoinSpec spec = asked;
  spec.kind = columns::JoinKind::kInner;
  spec.pairs = true;
  spec.pair_sides = columns::PairSides::kBoth;
  spec.materialize = false;
  spec.left_columns.clear();
  spec.right_columns.clear();
  return spec;
}

std::unique_ptr<JoinResult> decide(base::Queue& queue, const JoinResult& candidates,
                                   const Relation& answers) {
  check_answers(candidates, answers);
  return decide(queue, candidates, true_bits(queue, answers));
}

std::unique_ptr<JoinResult> decide(base::Queue& queue, const JoinResult& candidates,
                                   const std::vector<uint8_t>& bits) {
  PlannedJoin const& join = *candidates.undecided;
  auto result = std::make_unique<JoinResult>();
  result->context = candidates.context;
  result->memory = candidates.memory;
  result->statistics = candidates.statistics;
  result->has_pairs = true;
  if (candidates.rows != 0) keep_true(queue, candidates, bits, *result);
  if (!columns::comes_alone(join.asked().kind)) fetch_columns_of_pairs(queue, join, *result);
  if (is_policy(join.asked().kind)) {
    put_out_kind(queue, join, *result);
  } else if (!join.asked().pairs) {
    result->has_pairs = false;
    result->left_rows = result->right_rows = nullptr;
  }
  put_out_rows(queue, join, *result);
  if (join.picked) name_registered_rows(queue, *join.picked, *result);
  check_promised_rows(join, *result);
  return result;
}

}  // namespace gpujoin::execute
