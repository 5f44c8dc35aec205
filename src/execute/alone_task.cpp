#include "src/execute/alone_task.hpp"

namespace gpujoin::execute {

using columns::RowsOfSide;

std::optional<AloneTask> alone_task(const columns::JoinSpec& spec, bool left, bool drops_rows) {
  bool const asked = !spec.pairs_for_marks;
  switch (rows_of(spec, left)) {
    case RowsOfSide::kMatched:
      return AloneTask{true, asked};
    case RowsOfSide::kUnmatchedOnly:
      // Of rows that are not there marks tell, of those that have a match.
      if (drops_rows) return AloneTask{true, true};
      return AloneTask{false, asked};
    case RowsOfSide::kMarked:
    case RowsOfSide::kNotIn:
      return AloneTask{true, true};
    case RowsOfSide::kUnmatched:
      if (drops_rows) return std::nullopt;
      return AloneTask{false, asked};
    default:
      return std::nullopt;
  }
}

}  // namespace gpujoin::execute
