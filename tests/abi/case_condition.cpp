#include "tests/abi/case_condition.hpp"

#include <map>
#include <stdexcept>

namespace gpujoin_test {

namespace {

const std::map<std::string, gpujoin_operator>& operators() {
  static const std::map<std::string, gpujoin_operator> kOperators = {
      {"=", GPUJOIN_OPERATOR_EQUAL},
      {"<>", GPUJOIN_OPERATOR_NOT_EQUAL},
      {"<", GPUJOIN_OPERATOR_LESS},
      {"<=", GPUJOIN_OPERATOR_LESS_EQUAL},
      {">", GPUJOIN_OPERATOR_GREATER},
      {">=", GPUJOIN_OPERATOR_GREATER_EQUAL},
      {"distinct", GPUJOIN_OPERATOR_DISTINCT},
      {"not_distinct", GPUJOIN_OPERATOR_NOT_DISTINCT},
      {"between", GPUJOIN_OPERATOR_BETWEEN},
      {"in", GPUJOIN_OPERATOR_IN},
      {"and", GPUJOIN_OPERATOR_AND},
      {"or", GPUJOIN_OPERATOR_OR},
      {"not", GPUJOIN_OPERATOR_NOT},
      {"is_null", GPUJOIN_OPERATOR_IS_NULL},
      {"is_not_null", GPUJOIN_OPERATOR_IS_NOT_NULL},
      {"is_true", GPUJOIN_OPERATOR_IS_TRUE},
      {"is_false", GPUJOIN_OPERATOR_IS_FALSE},
      {"starts_with", GPUJOIN_OPERATOR_STARTS_WITH},
      {"case", GPUJOIN_OPERATOR_CASE},
      {"coalesce", GPUJOIN_OPERATOR_COALESCE},
      {"+", GPUJOIN_OPERATOR_ADD},
      {"-", GPUJOIN_OPERATOR_SUBTRACT},
      {"*", GPUJOIN_OPERATOR_MULTIPLY},
      {"/", GPUJOIN_OPERATOR_DIVIDE},
      {"//", GPUJOIN_OPERATOR_QUOTIENT},
      {"%", GPUJOIN_OPERATOR_MODULO},
      {"negate", GPUJOIN_OPERATOR_NEGATE},
      {"abs", GPUJOIN_OPERATOR_ABSOLUTE},
  };
  return kOperators;
}

// Brackets, and words between them; a bracket within a word is a type's: "1.5:decimal64(3,2)".
std::vector<std::string> tokens_of(const std::string& text) {
  std::vector<std::string> tokens;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == ' ') {
      ++i;
      continue;
    }
    size_t end = i + 1;
    if (text[i] != '(' && text[i] != ')') {
      bool is_open = false;
      while (end < text.size() && text[end] != ' ' && (is_open || text[end] != ')')) {
        is_open = text[end] == '(' || (is_open && text[end] != ')');
        ++end;
      }
    }
    tokens.push_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

class Reader {
 public:
  Reader(std::vector<std::string> tokens, const CaseTable& left, const CaseTable& right)
      : tokens_(std::move(tokens)), left_(left), right_(right) {}

  std::vector<CaseNode> read() {
    expression();
    if (next_ != tokens_.size()) throw std::runtime_error("a condition goes on behind its end");
    return nodes_;
  }

 private:
  const std::string& take() {
    if (next_ == tokens_.size()) throw std::runtime_error("a condition without an end");
    return tokens_[next_++];
  }

  void expression() {
    const std::string& word = take();
    CaseNode node;
    if (word == "(") {
      node = call();
    } else if (word.rfind("left.", 0) == 0) {
      node = {GPUJOIN_OPERATOR_COLUMN, 0, GPUJOIN_SIDE_LEFT, left_.position_of(word.substr(5)), {}};
    } else if (word.rfind("right.", 0) == 0) {
      int32_t const column = right_.position_of(word.substr(6));
      node = {GPUJOIN_OPERATOR_COLUMN, 0, GPUJOIN_SIDE_RIGHT, column, {}};
    } else {
      size_t const colon = word.rfind(':');
      if (colon == std::string::npos) throw std::runtime_error(word + " is not value:type");
      node.operation = GPUJOIN_OPERATOR_CONSTANT;
      node.values.columns = {case_column("value" + word.substr(colon))};
      node.values.rows = {{word.substr(0, colon)}};
    }
    nodes_.push_back(node);
  }

  // Behind an opening bracket.
  CaseNode call() {
    const std::string& name = take();
    auto const found = operators().find(name);
    if (found == operators().end()) throw std::runtime_error("no operator is called " + name);
    CaseNode node;
    node.operation = found->second;
    bool const is_in = node.operation == GPUJOIN_OPERATOR_IN;
    while (next_ < tokens_.size() && tokens_[next_] != ")" &&
           !(is_in && node.argument_count == 1)) {
      expression();
      ++node.argument_count;
    }
    if (is_in) {
      node.values.columns = {case_column("value:" + take())};
      while (next_ < tokens_.size() && tokens_[next_] != ")") node.values.rows.push_back({take()});
    }
    take();
    return node;
  }

  std::vector<std::string> const tokens_;
  const CaseTable& left_;
  const CaseTable& right_;
  size_t next_ = 0;
  std::vector<CaseNode> nodes_;
};

}  // namespace

std::vector<CaseNode> condition_of(const std::string& text, const CaseTable& left,
                                   const CaseTable& right) {
  return Reader(tokens_of(text), left, right).read();
}

}  // namespace gpujoin_test
