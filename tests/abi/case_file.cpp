#include "tests/abi/case_file.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace gpujoin_test {

namespace {

using Words = std::vector<std::string>;

enum class Kind { kSigned, kUnsigned, kFloat, kDecimal, kText, kHex, kBool, kNull };

struct TypeFacts {
  gpujoin_type type;
  size_t width;  // of a value; 0: text, bits, nothing
  Kind kind;
};

const std::map<std::string, TypeFacts>& types() {
  static const std::map<std::string, TypeFacts> kTypes = {
      {"int8", {GPUJOIN_TYPE_INT8, 1, Kind::kSigned}},
      {"int16", {GPUJOIN_TYPE_INT16, 2, Kind::kSigned}},
      {"int32", {GPUJOIN_TYPE_INT32, 4, Kind::kSigned}},
      {"int64", {GPUJOIN_TYPE_INT64, 8, Kind::kSigned}},
      {"uint8", {GPUJOIN_TYPE_UINT8, 1, Kind::kUnsigned}},
      {"uint16", {GPUJOIN_TYPE_UINT16, 2, Kind::kUnsigned}},
      {"uint32", {GPUJOIN_TYPE_UINT32, 4, Kind::kUnsigned}},
      {"uint64", {GPUJOIN_TYPE_UINT64, 8, Kind::kUnsigned}},
      {"float16", {GPUJOIN_TYPE_FLOAT16, 2, Kind::kFloat}},
      {"float32", {GPUJOIN_TYPE_FLOAT32, 4, Kind::kFloat}},
      {"float64", {GPUJOIN_TYPE_FLOAT64, 8, Kind::kFloat}},
      {"date32", {GPUJOIN_TYPE_DATE32, 4, Kind::kSigned}},
      {"date64", {GPUJOIN_TYPE_DATE64, 8, Kind::kSigned}},
      {"timestamp_s", {GPUJOIN_TYPE_TIMESTAMP_S, 8, Kind::kSigned}},
      {"timestamp_ms", {GPUJOIN_TYPE_TIMESTAMP_MS, 8, Kind::kSigned}},
      {"timestamp_us", {GPUJOIN_TYPE_TIMESTAMP_US, 8, Kind::kSigned}},
      {"timestamp_ns", {GPUJOIN_TYPE_TIMESTAMP_NS, 8, Kind::kSigned}},
      {"time32", {GPUJOIN_TYPE_TIME32, 4, Kind::kSigned}},
      {"time64", {GPUJOIN_TYPE_TIME64, 8, Kind::kSigned}},
      {"duration", {GPUJOIN_TYPE_DURATION, 8, Kind::kSigned}},
      {"bytes16", {GPUJOIN_TYPE_BYTES16, 16, Kind::kHex}},
      {"bool", {GPUJOIN_TYPE_BOOL, 0, Kind::kBool}},
      {"utf8", {GPUJOIN_TYPE_UTF8, 0, Kind::kText}},
      {"large_utf8", {GPUJOIN_TYPE_LARGE_UTF8, 0, Kind::kText}},
      {"binary", {GPUJOIN_TYPE_BINARY, 0, Kind::kHex}},
      {"large_binary", {GPUJOIN_TYPE_LARGE_BINARY, 0, Kind::kHex}},
      {"fixed_binary", {GPUJOIN_TYPE_FIXED_BINARY, 0, Kind::kHex}},
      {"decimal32", {GPUJOIN_TYPE_DECIMAL32, 4, Kind::kDecimal}},
      {"decimal64", {GPUJOIN_TYPE_DECIMAL64, 8, Kind::kDecimal}},
      {"decimal128", {GPUJOIN_TYPE_BYTES16, 16, Kind::kDecimal}},
      {"decimal256", {GPUJOIN_TYPE_DECIMAL256, 32, Kind::kDecimal}},
      {"null", {GPUJOIN_TYPE_NULL, 0, Kind::kNull}},
  };
  return kTypes;
}

Kind kind_of(const CaseColumn& column) {
  if (column.precision != 0) return Kind::kDecimal;
  for (auto const& [name, facts] : types()) {
    if (facts.type == column.type && facts.kind != Kind::kDecimal) return facts.kind;
  }
  throw std::runtime_error("no kind of values");
}

gpujoin_join_kind join_kind_of(const std::string& name) {
  static const std::map<std::string, gpujoin_join_kind> kKinds = {
      {"inner", GPUJOIN_JOIN_INNER},
      {"left", GPUJOIN_JOIN_LEFT},
      {"right", GPUJOIN_JOIN_RIGHT},
      {"full", GPUJOIN_JOIN_FULL},
      {"left_semi", GPUJOIN_JOIN_LEFT_SEMI},
      {"right_semi", GPUJOIN_JOIN_RIGHT_SEMI},
      {"left_anti", GPUJOIN_JOIN_LEFT_ANTI},
      {"right_anti", GPUJOIN_JOIN_RIGHT_ANTI},
      {"left_mark", GPUJOIN_JOIN_LEFT_MARK},
      {"right_mark", GPUJOIN_JOIN_RIGHT_MARK},
      {"left_not_in", GPUJOIN_JOIN_LEFT_NOT_IN},
      {"right_not_in", GPUJOIN_JOIN_RIGHT_NOT_IN},
      {"left_single", GPUJOIN_JOIN_LEFT_SINGLE},
      {"right_single", GPUJOIN_JOIN_RIGHT_SINGLE},
      {"cross", GPUJOIN_JOIN_CROSS},
  };
  auto const found = kKinds.find(name);
  if (found == kKinds.end()) throw std::runtime_error("no kind is called " + name);
  return found->second;
}

gpujoin_status error_of(const std::string& name) {
  if (name == "type") return GPUJOIN_ERROR_TYPE;
  if (name == "several_matches") return GPUJOIN_ERROR_SEVERAL_MATCHES;
  if (name == "evaluation") return GPUJOIN_ERROR_EVALUATION;
  if (name == "broken_promise") return GPUJOIN_ERROR_BROKEN_PROMISE;
  throw std::runtime_error("no error is called " + name);
}

Words words_of(const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

void add_table_line(const Words& words, CaseTable* table) {
  if (table->columns.empty()) {
    for (const std::string& word : words) table->columns.push_back(case_column(word));
    return;
  }
  if (words.size() != table->columns.size()) throw std::runtime_error("a row of another length");
  table->rows.push_back(words);
}

// left_column right_column direction [strict] [within N]
void add_asof_line(const Words& words, JoinCase* join) {
  static const std::map<std::string, gpujoin_direction> kDirections = {
      {"backward", GPUJOIN_DIRECTION_BACKWARD},
      {"forward", GPUJOIN_DIRECTION_FORWARD},
      {"nearest", GPUJOIN_DIRECTION_NEAREST}};
  gpujoin_asof asof = GPUJOIN_ASOF_INIT;
  asof.left_column = join->left.position_of(words[1]);
  asof.right_column = join->right.position_of(words[2]);
  asof.direction = kDirections.at(words[3]);
  for (size_t i = 4; i < words.size(); ++i) {
    if (words[i] == "strict") {
      asof.flags |= GPUJOIN_ASOF_STRICT;
    } else if (words[i] == "within" && i + 1 < words.size()) {
      asof.flags |= GPUJOIN_ASOF_TOLERANCE;
      auto const column = static_cast<size_t>(asof.left_column);
      bool const is_float = kind_of(join->left.columns[column]) == Kind::kFloat;
      ++i;
      if (is_float) asof.tolerance_float = std::stod(words[i]);
      if (!is_float) asof.tolerance = std::stoll(words[i]);
    } else {
      throw std::runtime_error(words[i] + " of an ASOF join");
    }
  }
  join->asof = asof;
}

// count, exists, sum(left.a)
gpujoin_aggregate aggregate_of(const std::string& word, const JoinCase& join) {
  static const std::map<std::string, gpujoin_function> kFunctions = {
      {"count", GPUJOIN_FUNCTION_COUNT}, {"sum", GPUJOIN_FUNCTION_SUM},
      {"min", GPUJOIN_FUNCTION_MIN},     {"max", GPUJOIN_FUNCTION_MAX},
      {"avg", GPUJOIN_FUNCTION_AVG},     {"any", GPUJOIN_FUNCTION_ANY}};
  gpujoin_aggregate made = GPUJOIN_AGGREGATE_INIT;
  made.function = word == "count" ? GPUJOIN_FUNCTION_COUNT_ROWS : GPUJOIN_FUNCTION_EXISTS;
  size_t const bracket = word.find('(');
  size_t const point = word.find('.');
  if (bracket == std::string::npos) {
    if (word == "count" || word == "exists") return made;
  } else if (point != std::string::npos && word.back() == ')') {
    bool const of_left = word.substr(bracket + 1, point - bracket - 1) == "left";
    std::string const column = word.substr(point + 1, word.size() - point - 2);
    made.function = kFunctions.at(word.substr(0, bracket));
    made.side = of_left ? GPUJOIN_SIDE_LEFT : GPUJOIN_SIDE_RIGHT;
    made.column = (of_left ? join.left : join.right).position_of(column);
    return made;
  }
  throw std::runtime_error(word + " is no aggregate");
}

int32_t promise_of(const std::string& name) {
  static const std::map<std::string, int32_t> kPromises = {
      {"left_unique", GPUJOIN_PROMISE_LEFT_UNIQUE},
      {"right_unique", GPUJOIN_PROMISE_RIGHT_UNIQUE},
      {"left_sorted", GPUJOIN_PROMISE_LEFT_SORTED},
      {"right_sorted", GPUJOIN_PROMISE_RIGHT_SORTED},
  };
  return kPromises.at(name);
}

void add_join_line(const Words& words, JoinCase* join) {
  if (words[0] == "on" && words.size() >= 3) {
    join->left_keys.push_back(join->left.position_of(words[1]));
    join->right_keys.push_back(join->right.position_of(words[2]));
    join->key_flags.push_back(0);
    for (size_t i = 3; i < words.size(); ++i) {
      bool const is_ieee = words[i] == "ieee";
      if (!is_ieee && words[i] != "null_equal") throw std::runtime_error(words[i] + " of a key");
      join->key_flags.back() |= is_ieee ? GPUJOIN_KEY_IEEE_FLOAT : GPUJOIN_KEY_NULL_EQUAL;
    }
  } else if (words[0] == "asof" && words.size() >= 4) {
    add_asof_line(words, join);
  } else if (words[0] == "kind" && words.size() == 2) {
    join->kind = join_kind_of(words[1]);
  } else if (words[0] == "residual") {
    std::string text;
    for (size_t i = 1; i < words.size(); ++i) text += words[i] + " ";
    join->residual = condition_of(text, join->left, join->right);
  } else if (words[0] == "error" && words.size() == 2) {
    join->error = error_of(words[1]);
  } else if (words[0] == "left_rows" || words[0] == "right_rows") {
    JoinCase::Rows& rows = words[0] == "left_rows" ? join->left_rows : join->right_rows;
    rows.by_numbers = true;
    for (size_t i = 1; i < words.size(); ++i) rows.numbers.push_back(std::stoll(words[i]));
  } else if ((words[0] == "left_bits" || words[0] == "right_bits") && words.size() == 2) {
    JoinCase::Rows& rows = words[0] == "left_bits" ? join->left_rows : join->right_rows;
    rows.by_bits = true;
    for (char const digit : words[1]) rows.bits.push_back(digit == '1');
  } else if (words[0] == "promise") {
    for (size_t i = 1; i < words.size(); ++i) join->promises |= promise_of(words[i]);
  } else if (words[0] == "pairs" && words.size() == 1) {
    join->pairs = true;
  } else if (words[0] == "by" && words.size() == 2) {
    join->by = words[1] == "left" ? GPUJOIN_SIDE_LEFT : GPUJOIN_SIDE_RIGHT;
  } else if (words[0] == "aggregates") {
    for (size_t i = 1; i < words.size(); ++i) {
      join->aggregates.push_back(aggregate_of(words[i], *join));
    }
  } else if (words[0] == "order" && words.size() == 2) {
    join->order = words[1] == "left" ? GPUJOIN_ORDER_LEFT : GPUJOIN_ORDER_RIGHT;
  } else if (words[0] == "output") {
    for (size_t i = 1; i < words.size(); ++i) {
      if (words[i].rfind("left.", 0) == 0 && join->right_output.empty()) {
        join->left_output.push_back(join->left.position_of(words[i].substr(5)));
      } else if (words[i].rfind("right.", 0) == 0) {
        join->right_output.push_back(join->right.position_of(words[i].substr(6)));
      } else if (words[i] == "mark" && i + 1 == words.size()) {
        join->mark = true;
      } else {
        throw std::runtime_error(words[i] + " is no output column");
      }
    }
  } else {
    throw std::runtime_error(words[0] + " says nothing about a join");
  }
}

void add_expected_line(const Words& words, JoinCase* join) {
  std::vector<CaseColumn> columns = join->output_columns();
  if (join->pairs) {
    size_t const sides = size_t{join->puts_out_left()} + size_t{join->puts_out_right()};
    columns.insert(columns.begin(), sides, CaseColumn{"row", GPUJOIN_TYPE_INT64, 8});
  }
  if (words.size() != columns.size()) throw std::runtime_error("a row of another length");
  Row row;
  for (size_t i = 0; i < columns.size(); ++i) {
    std::string bytes;
    bool const valid = encode(columns[i], words[i], &bytes);
    append_value(valid, bytes, &row);
  }
  join->expected.push_back(row);
}

// The low bytes of a value: x86-64 and everything else that runs CUDA is little-endian.
template <typename Value>
std::string low_bytes(Value value, size_t width) {
  return {reinterpret_cast<const char*>(&value), width};
}

// Of a number that 16 bits hold exactly, infinity or NaN.
uint16_t half_of(double value) {
  auto const sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  double const size = std::fabs(value);
  auto const with_sign = [&](double bits) {
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(bits));
  };
  if (std::isnan(value)) return with_sign(0x7E00);
  if (std::isinf(value)) return with_sign(0x7C00);
  if (size < std::ldexp(1, -14)) return with_sign(std::ldexp(size, 24));
  int exponent = 0;
  double const fraction = std::frexp(size, &exponent);
  return with_sign((exponent + 13) * 1024 + std::ldexp(fraction, 11));
}

std::string float_bytes(const std::string& word, size_t width) {
  size_t used = 0;
  std::string bytes;
  if (width == 4) {
    bytes = low_bytes(std::stof(word, &used), width);
  } else {
    double const value = std::stod(word, &used);
    bytes = width == 8 ? low_bytes(value, width) : low_bytes(half_of(value), width);
  }
  if (used != word.size()) throw std::runtime_error(word + " is not a float");
  return bytes;
}

// value * 10 + digit, of a value whose lowest byte is the first.
void append_digit(int digit, std::string* bytes) {
  for (char& byte : *bytes) {
    digit += static_cast<uint8_t>(byte) * 10;
    byte = static_cast<char>(digit & 0xFF);
    digit >>= 8;
  }
  if (digit != 0) throw std::runtime_error("a decimal of too many digits");
}

// A decimal fraction as an integer times 10^-scale.
std::string decimal_bytes(const std::string& word, const CaseColumn& column) {
  bool const is_negative = word[0] == '-';
  size_t const point = std::min(word.find('.'), word.size());
  std::string digits = word.substr(is_negative ? 1 : 0, point - (is_negative ? 1 : 0));
  std::string const fraction = point == word.size() ? "" : word.substr(point + 1);
  digits += fraction;
  int const zeros = column.scale - static_cast<int>(fraction.size());
  if (zeros >= 0) digits.append(static_cast<size_t>(zeros), '0');
  for (int i = zeros; i < 0; ++i) {
    if (digits.back() != '0') throw std::runtime_error(word + " has no such scale");
    if (digits.size() > 1) digits.pop_back();
  }
  std::string bytes(column.width, '\0');
  for (char const digit : digits) {
    if (digit < '0' || digit > '9') throw std::runtime_error(word + " is not a decimal");
    append_digit(digit - '0', &bytes);
  }
  int carry = is_negative ? 1 : 0;
  for (size_t i = 0; is_negative && i < bytes.size(); ++i) {  // two's complement
    carry += static_cast<uint8_t>(~bytes[i]);
    bytes[i] = static_cast<char>(carry & 0xFF);
    carry >>= 8;
  }
  return bytes;
}

std::string hex_bytes(const std::string& word, size_t width) {
  if (word.size() % 2 != 0 || (width != 0 && word.size() != 2 * width)) {
    throw std::runtime_error(word + " has not as many digits");
  }
  std::string bytes;
  for (size_t i = 0; i < word.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(word.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

}  // namespace

// name:type, name:type(width) or name:type(precision,scale)
CaseColumn case_column(const std::string& word) {
  size_t const colon = word.find(':');
  if (colon == std::string::npos) throw std::runtime_error(word + " is not name:type");
  size_t const bracket = std::min(word.find('(', colon), word.size());
  auto const found = types().find(word.substr(colon + 1, bracket - colon - 1));
  if (found == types().end()) throw std::runtime_error("no type of " + word);
  CaseColumn column = {word.substr(0, colon), found->second.type, found->second.width};
  bool const has_width = column.type == GPUJOIN_TYPE_FIXED_BINARY;
  bool const is_decimal = found->second.kind == Kind::kDecimal;
  if ((has_width || is_decimal) != (bracket != word.size())) {
    throw std::runtime_error(word + ": too many or too few brackets");
  }
  if (has_width) column.width = std::stoul(word.substr(bracket + 1));
  if (is_decimal) {
    column.precision = std::stoi(word.substr(bracket + 1));
    column.scale = std::stoi(word.substr(word.find(',', bracket) + 1));
  }
  return column;
}

int32_t CaseTable::position_of(const std::string& name) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return static_cast<int32_t>(i);
  }
  throw std::runtime_error("no column is called " + name);
}

std::vector<CaseColumn> JoinCase::output_columns() const {
  std::vector<CaseColumn> columns;
  for (int32_t const i : left_output) columns.push_back(left.columns[static_cast<size_t>(i)]);
  for (int32_t const i : right_output) columns.push_back(right.columns[static_cast<size_t>(i)]);
  if (mark) columns.push_back({"mark", GPUJOIN_TYPE_BOOL, 0});
  for (gpujoin_aggregate const& aggregate : aggregates) columns.push_back(column_of(aggregate));
  return columns;
}

CaseColumn JoinCase::column_of(const gpujoin_aggregate& aggregate) const {
  CaseTable const& table = aggregate.side == GPUJOIN_SIDE_LEFT ? left : right;
  auto const column = [&] { return table.columns[static_cast<size_t>(aggregate.column)]; };
  switch (aggregate.function) {
    case GPUJOIN_FUNCTION_COUNT_ROWS:
    case GPUJOIN_FUNCTION_COUNT:
      return {"count", GPUJOIN_TYPE_INT64, 8};
    case GPUJOIN_FUNCTION_EXISTS:
      return {"exists", GPUJOIN_TYPE_BOOL, 0};
    case GPUJOIN_FUNCTION_AVG:
      return {"avg", GPUJOIN_TYPE_FLOAT64, 8};
    case GPUJOIN_FUNCTION_SUM:
      switch (kind_of(column())) {
        case Kind::kDecimal:
          return {"sum", GPUJOIN_TYPE_BYTES16, 16, 38, column().scale};
        case Kind::kFloat:
          return {"sum", GPUJOIN_TYPE_FLOAT64, 8};
        case Kind::kUnsigned:
          return {"sum", GPUJOIN_TYPE_UINT64, 8};
        default:
          return {"sum", GPUJOIN_TYPE_INT64, 8};
      }
    default:
      return column();
  }
}

bool JoinCase::puts_out_left() const {
  if (by != 0) return by == GPUJOIN_SIDE_LEFT;
  return kind != GPUJOIN_JOIN_RIGHT_SEMI && kind != GPUJOIN_JOIN_RIGHT_ANTI &&
         kind != GPUJOIN_JOIN_RIGHT_MARK && kind != GPUJOIN_JOIN_RIGHT_NOT_IN;
}

bool JoinCase::puts_out_right() const {
  if (by != 0) return by == GPUJOIN_SIDE_RIGHT;
  return kind != GPUJOIN_JOIN_LEFT_SEMI && kind != GPUJOIN_JOIN_LEFT_ANTI &&
         kind != GPUJOIN_JOIN_LEFT_MARK && kind != GPUJOIN_JOIN_LEFT_NOT_IN;
}

bool encode(const CaseColumn& column, const std::string& word, std::string* bytes) {
  bytes->clear();
  if (word == "NULL") return false;
  size_t used = word.size();
  switch (kind_of(column)) {
    case Kind::kSigned:
      *bytes = low_bytes(std::stoll(word, &used), column.width);
      break;
    case Kind::kUnsigned:
      *bytes = low_bytes(std::stoull(word, &used), column.width);
      break;
    case Kind::kFloat:
      *bytes = float_bytes(word, column.width);
      break;
    case Kind::kDecimal:
      *bytes = decimal_bytes(word, column);
      break;
    case Kind::kText:
      if (word != "\"\"") *bytes = word;
      break;
    case Kind::kHex:
      if (word != "\"\"") *bytes = hex_bytes(word, column.width);
      break;
    case Kind::kBool:
      if (word != "true" && word != "false") throw std::runtime_error(word + " is no truth value");
      *bytes = low_bytes(word == "true", 1);
      break;
    case Kind::kNull:
      throw std::runtime_error(word + " of a column that is NULL");
  }
  if (used != word.size()) throw std::runtime_error(word + " is not a value");
  return true;
}

void append_value(bool valid, std::string_view value, Row* row) {
  row->push_back(valid ? 'v' : '-');
  if (!valid) return;
  row->append(std::to_string(value.size())).append(":").append(value);
}

std::vector<JoinCase> read_cases(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  JoinCase tables;
  std::vector<JoinCase> joins;
  std::string section;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    Words const words = words_of(line);
    if (words.empty() || words[0][0] == '#') continue;
    try {
      if (words.size() == 1 && (words[0] == "left" || words[0] == "right" || words[0] == "join" ||
                                words[0] == "expect")) {
        section = words[0];
        if (section == "join") joins.push_back(tables);
      } else if (section == "left") {
        add_table_line(words, &tables.left);
      } else if (section == "right") {
        add_table_line(words, &tables.right);
      } else if (section == "join") {
        add_join_line(words, &joins.back());
      } else if (section == "expect" && !joins.empty()) {
        add_expected_line(words, &joins.back());
      } else {
        throw std::runtime_error("a line before the first section");
      }
    } catch (const std::exception& error) {
      throw std::runtime_error(path + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  if (section != "expect") throw std::runtime_error(path + ": incomplete");
  for (JoinCase& join : joins) {
    if (join.order == GPUJOIN_ORDER_NONE) std::sort(join.expected.begin(), join.expected.end());
  }
  return joins;
}

}  // namespace gpujoin_test
