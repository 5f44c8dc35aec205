#include "src/execute/inequalities.hpp"

#include <algorithm>
#include <optional>

#include "src/execute/ordered_keys.hpp"

namespace gpujoin::execute {

namespace {

using columns::Condition;
using columns::ConditionNode;
using columns::Relation;

class Conjunction {
 public:
  Conjunction(const Condition& condition, const Relation& left, const Relation& right)
      : nodes_(condition.nodes), left_(left), right_(right) {
    std::vector<size_t> waiting;  // nodes whose value no node has taken yet
    arguments_.resize(nodes_.size());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      auto const count = static_cast<size_t>(nodes_[i].argument_count);
      arguments_[i].assign(waiting.end() - static_cast<ptrdiff_t>(count), waiting.end());
      waiting.resize(waiting.size() - count);
      waiting.push_back(i);
    }
    // A conjunction of conjunctions may be as deep as there are nodes.
    std::vector<size_t> open = {root_not_false()};
    while (!open.empty()) {
      size_t const node = open.back();
      open.pop_back();
      if (nodes_[node].operation == GPUJOIN_OPERATOR_AND) {
        open.insert(open.end(), arguments_[node].rbegin(), arguments_[node].rend());
      } else {
        add_part(node);
      }
    }
  }

  Inequalities choose() const {
    Inequalities chosen;
    for (size_t i = 0; i < found_.size() && chosen.taken.empty(); ++i) {
      for (size_t k = i + 1; k < found_.size() && chosen.taken.empty(); ++k) {
        if (bound_one_column(found_[i], found_[k])) chosen.taken = {found_[i], found_[k]};
      }
    }
    if (chosen.taken.empty()) {
      chosen.taken.assign(found_.begin(), found_.begin() + std::min<ptrdiff_t>(count(), 2));
    }
    chosen.is_all = !has_others_ && found_.size() == chosen.taken.size();
    chosen.with_unknown = is_not_false_ || has_arithmetic();
    return chosen;
  }

 private:
  using Found = std::optional<ColumnInequality>;

  ptrdiff_t count() const { return static_cast<ptrdiff_t>(found_.size()); }

  // From above and from below: a range that has both ends.
  static bool bound_one_column(const ColumnInequality& one, const ColumnInequality& other) {
    return one.left_is_less != other.left_is_less &&
           (one.left == other.left || one.right == other.right);
  }

  // Of "x IS FALSE, NOT" x, which is what tells where a condition is not false.
  size_t root_not_false() {
    size_t const root = nodes_.size() - 1;
    if (nodes_[root].operation != GPUJOIN_OPERATOR_NOT) return root;
    size_t const is_false = arguments_[root].front();
    if (nodes_[is_false].operation != GPUJOIN_OPERATOR_IS_FALSE) return root;
    is_not_false_ = true;
    return arguments_[is_false].front();
  }

  // NULL AND no value is no value.
  bool has_arithmetic() const {
    return std::any_of(nodes_.begin(), nodes_.end(), [](const ConditionNode& node) {
      return node.operation >= GPUJOIN_OPERATOR_ADD && node.operation <= GPUJOIN_OPERATOR_ABSOLUTE;
    });
  }

  void add_part(size_t node) {
    auto const add = [&](const Found& inequality) {
      if (inequality) found_.push_back(*inequality);
      has_others_ |= !inequality;
    };
    std::vector<size_t> const& arguments = arguments_[node];
    switch (nodes_[node].operation) {
      case GPUJOIN_OPERATOR_LESS:
        return add(inequality_of(arguments[0], arguments[1], false));
      case GPUJOIN_OPERATOR_LESS_EQUAL:
        return add(inequality_of(arguments[0], arguments[1], true));
      case GPUJOIN_OPERATOR_GREATER:
        return add(inequality_of(arguments[1], arguments[0], false));
      case GPUJOIN_OPERATOR_GREATER_EQUAL:
        return add(inequality_of(arguments[1], arguments[0], true));
      case GPUJOIN_OPERATOR_EQUAL:
        add(inequality_of(arguments[0], arguments[1], true));
        return add(inequality_of(arguments[1], arguments[0], true));
      case GPUJOIN_OPERATOR_BETWEEN:
        add(inequality_of(arguments[1], arguments[0], true));
        return add(inequality_of(arguments[0], arguments[2], true));
      default:
        return add(std::nullopt);
    }
  }

  // lesser < greater, or <=, of two nodes.
  Found inequality_of(size_t lesser, size_t greater, bool or_equal) const {
    ConditionNode const& less = nodes_[lesser];
    ConditionNode const& more = nodes_[greater];
    if (less.operation != GPUJOIN_OPERATOR_COLUMN || more.operation != GPUJOIN_OPERATOR_COLUMN ||
        less.of_left == more.of_left) {
      return std::nullopt;
    }
    ColumnInequality made;
    made.left = less.of_left ? less.column : more.column;
    made.right = less.of_left ? more.column : less.column;
    made.left_is_less = less.of_left;
    made.or_equal = or_equal;
    if (!have_order(left_.columns[static_cast<size_t>(made.left)],
                    right_.columns[static_cast<size_t>(made.right)])) {
      return std::nullopt;
    }
    return made;
  }

  const std::vector<ConditionNode>& nodes_;
  const Relation& left_;
  const Relation& right_;
  std::vector<std::vector<size_t>> arguments_;  // of each node
  std::vector<ColumnInequality> found_;
  bool has_others_ = false;
  bool is_not_false_ = false;
};

}  // namespace

Inequalities inequalities_of(const Condition& condition, const Relation& left,
                             const Relation& right) {
  return Conjunction(condition, left, right).choose();
}

std::string text_of(const Inequalities& inequalities, const Relation& left, const Relation& right) {
  auto const name_of = [](const Relation& relation, int32_t column) {
    std::string const& name = relation.columns[static_cast<size_t>(column)].name;
    return name.empty() ? std::to_string(column) : name;
  };
  std::string text;
  for (ColumnInequality const& taken : inequalities.taken) {
    if (!text.empty()) text += " and ";
    text += "left." + name_of(left, taken.left);
    text += taken.left_is_less ? " <" : " >";
    text += taken.or_equal ? "= " : " ";
    text += "right." + name_of(right, taken.right);
  }
  return text;
}

}  // namespace gpujoin::execute
