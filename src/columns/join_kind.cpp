#include "src/columns/join_kind.hpp"

namespace gpujoin::columns {

namespace {

struct Kind {
  const char* text;
  RowsOfSide left;
  RowsOfSide right;
};

const Kind& kind_of(JoinKind kind) {
  using enum RowsOfSide;
  static constexpr Kind kKinds[] = {
      {"inner", kPairs, kPairs},
      {"left", kUnmatched, kPairs},
      {"right", kPairs, kUnmatched},
      {"full", kUnmatched, kUnmatched},
      {"left_semi", kMatched, kNone},
      {"right_semi", kNone, kMatched},
      {"left_anti", kUnmatchedOnly, kNone},
      {"right_anti", kNone, kUnmatchedOnly},
      {"left_mark", kMarked, kNone},
      {"right_mark", kNone, kMarked},
      {"left_not_in", kNotIn, kNone},
      {"right_not_in", kNone, kNotIn},
      {"left_single", kSingle, kPairs},
      {"right_single", kPairs, kSingle},
      {"cross", kPairs, kPairs},
  };
  static_assert(sizeof(kKinds) / sizeof(kKinds[0]) == static_cast<size_t>(kLastJoinKind));
  return kKinds[static_cast<size_t>(kind) - 1];
}

}  // namespace

const char* to_text(JoinKind kind) { return kind_of(kind).text; }
RowsOfSide rows_of(JoinKind kind, bool left) {
  return left ? kind_of(kind).left : kind_of(kind).right;
}

bool comes_alone(JoinKind kind) {
  return comes_alone(rows_of(kind, true)) || comes_alone(rows_of(kind, false));
}

bool puts_out_unmatched(JoinKind kind) {
  auto const comes = [](RowsOfSide rows) {
    return comes_unmatched(rows) || rows == RowsOfSide::kUnmatchedOnly;
  };
  return comes(rows_of(kind, true)) || comes(rows_of(kind, false));
}

}  // namespace gpujoin::columns
