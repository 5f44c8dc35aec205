#include <algorithm>
#include <array>
#include <map>

#include "tests/simulator/joined_rows.hpp"

namespace gpujoin_test {

namespace {

using Key = std::array<int64_t, 2>;

// One side of a kind that may be of either: L is the side whose rows it is about.
struct Sides {
  const SideTable& mine;
  const SideTable& other;
  bool is_left;

  JoinedRow row(int64_t mine_row, int64_t other_row) const {
    int64_t const number = mine_row < 0 ? GPUJOIN_NO_ROW_INT64 : mine.first() + mine_row;
    int64_t const theirs = other_row < 0 ? GPUJOIN_NO_ROW_INT64 : other.first() + other_row;
    return is_left ? JoinedRow{number, theirs} : JoinedRow{theirs, number};
  }
};

bool has_null(const Key& key) { return key[0] == kNullKey || key[1] == kNullKey; }

bool may_be_equal(const Key& a, const Key& b) {
  for (size_t i = 0; i < 2; ++i) {
    if (a[i] != b[i] && a[i] != kNullKey && b[i] != kNullKey) return false;
  }
  return true;
}

class MapJoin {
 public:
  MapJoin(const Sides& sides, bool null_equal) : sides_(sides), null_equal_(null_equal) {
    for (int64_t row = 0; row < sides.other.rows(); ++row) {
      Key const& key = sides.other.key(row);
      if (has_null(key) && !null_equal) nulls_.push_back(row);
      if (!has_null(key) || null_equal) by_key_[key].push_back(row);
    }
  }

  const std::vector<int64_t>& matches(int64_t row) const {
    Key const& key = sides_.mine.key(row);
    if (has_null(key) && !null_equal_) return none_;
    auto const found = by_key_.find(key);
    return found == by_key_.end() ? none_ : found->second;
  }

  Mark mark(int64_t row) const {
    if (!matches(row).empty()) return Mark::kTrue;
    Key const& key = sides_.mine.key(row);
    if (null_equal_) return Mark::kFalse;
    auto const is_unknown = [&](int64_t other) {
      return may_be_equal(key, sides_.other.key(other));
    };
    if (std::any_of(nulls_.begin(), nulls_.end(), is_unknown)) return Mark::kNull;
    if (!has_null(key)) return Mark::kFalse;
    for (int64_t other = 0; other < sides_.other.rows(); ++other) {
      if (is_unknown(other)) return Mark::kNull;
    }
    return Mark::kFalse;
  }

 private:
  const Sides& sides_;
  bool null_equal_;
  std::map<Key, std::vector<int64_t>> by_key_;
  std::vector<int64_t> nulls_;  // rows whose key equals nothing
  std::vector<int64_t> none_;
};

void join_pairs(gpujoin_join_kind kind, const Sides& sides, const MapJoin& join, Reference* out) {
  bool const is_single = kind == GPUJOIN_JOIN_LEFT_SINGLE || kind == GPUJOIN_JOIN_RIGHT_SINGLE;
  bool const is_outer = kind != GPUJOIN_JOIN_INNER && kind != GPUJOIN_JOIN_CROSS;
  std::vector<bool> has_match(static_cast<size_t>(sides.other.rows()));
  for (int64_t row = 0; row < sides.mine.rows(); ++row) {
    auto const& matches = join.matches(row);
    if (is_single && matches.size() > 1) out->has_several = true;
    for (int64_t const match : matches) {
      out->rows.push_back(sides.row(row, match));
      has_match[static_cast<size_t>(match)] = true;
    }
    if (matches.empty() && is_outer) out->rows.push_back(sides.row(row, -1));
  }
  for (int64_t row = 0; kind == GPUJOIN_JOIN_FULL && row < sides.other.rows(); ++row) {
    if (!has_match[static_cast<size_t>(row)]) out->rows.push_back(sides.row(-1, row));
  }
}

void join_alone(gpujoin_join_kind kind, const Sides& sides, const MapJoin& join, Reference* out) {
  for (int64_t row = 0; row < sides.mine.rows(); ++row) {
    JoinedRow made = sides.row(row, -1);
    bool const matches = !join.matches(row).empty();
    switch (kind) {
      case GPUJOIN_JOIN_LEFT_SEMI:
      case GPUJOIN_JOIN_RIGHT_SEMI:
        if (matches) out->rows.push_back(made);
        break;
      case GPUJOIN_JOIN_LEFT_ANTI:
      case GPUJOIN_JOIN_RIGHT_ANTI:
        if (!matches) out->rows.push_back(made);
        break;
      case GPUJOIN_JOIN_LEFT_NOT_IN:
      case GPUJOIN_JOIN_RIGHT_NOT_IN:
        if (join.mark(row) == Mark::kFalse) out->rows.push_back(made);
        break;
      default:
        made.mark = join.mark(row);
        out->rows.push_back(made);
    }
  }
}

bool is_of_right(gpujoin_join_kind kind) {
  return kind == GPUJOIN_JOIN_RIGHT || kind == GPUJOIN_JOIN_RIGHT_SEMI ||
         kind == GPUJOIN_JOIN_RIGHT_ANTI || kind == GPUJOIN_JOIN_RIGHT_MARK ||
         kind == GPUJOIN_JOIN_RIGHT_NOT_IN || kind == GPUJOIN_JOIN_RIGHT_SINGLE;
}

bool is_of_one_side(gpujoin_join_kind kind) {
  return kind >= GPUJOIN_JOIN_LEFT_SEMI && kind <= GPUJOIN_JOIN_RIGHT_NOT_IN;
}

}  // namespace

bool puts_out(gpujoin_join_kind kind, bool left) {
  return !is_of_one_side(kind) || is_of_right(kind) != left;
}

bool is_mark(gpujoin_join_kind kind) {
  return kind == GPUJOIN_JOIN_LEFT_MARK || kind == GPUJOIN_JOIN_RIGHT_MARK;
}

Reference join_by_map(gpujoin_join_kind kind, const SideTable& left, const SideTable& right,
                      bool null_equal) {
  bool const of_right = is_of_right(kind);
  Sides const sides{of_right ? right : left, of_right ? left : right, !of_right};
  MapJoin const join(sides, null_equal);
  Reference out;
  if (is_of_one_side(kind)) {
    join_alone(kind, sides, join, &out);
  } else {
    join_pairs(kind, sides, join, &out);
  }
  if (out.has_several) out.rows.clear();
  std::sort(out.rows.begin(), out.rows.end());
  return out;
}

}  // namespace gpujoin_test
