#include "tests/abi/case_file.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace gpujoin_test {

namespace {

using Words = std::vector<std::string>;

enum class Kind { kSigned, kUnsigned, kFloat32, kFloat64, kBytes, kBool };

struct TypeFacts {
  gpujoin_type type;
  size_t width;
  Kind kind;
};

const TypeFacts& facts_of(const std::string& name) {
  static const std::map<std::string, TypeFacts> kTypes = {
      {"int8", {GPUJOIN_TYPE_INT8, 1, Kind::kSigned}},
      {"int16", {GPUJOIN_TYPE_INT16, 2, Kind::kSigned}},
      {"int32", {GPUJOIN_TYPE_INT32, 4, Kind::kSigned}},
      {"int64", {GPUJOIN_TYPE_INT64, 8, Kind::kSigned}},
      {"uint8", {GPUJOIN_TYPE_UINT8, 1, Kind::kUnsigned}},
      {"uint16", {GPUJOIN_TYPE_UINT16, 2, Kind::kUnsigned}},
      {"uint32", {GPUJOIN_TYPE_UINT32, 4, Kind::kUnsigned}},
      {"uint64", {GPUJOIN_TYPE_UINT64, 8, Kind::kUnsigned}},
      {"float32", {GPUJOIN_TYPE_FLOAT32, 4, Kind::kFloat32}},
      {"float64", {GPUJOIN_TYPE_FLOAT64, 8, Kind::kFloat64}},
      {"date32", {GPUJOIN_TYPE_DATE32, 4, Kind::kSigned}},
      {"date64", {GPUJOIN_TYPE_DATE64, 8, Kind::kSigned}},
      {"timestamp_s", {GPUJOIN_TYPE_TIMESTAMP_S, 8, Kind::kSigned}},
      {"timestamp_ms", {GPUJOIN_TYPE_TIMESTAMP_MS, 8, Kind::kSigned}},
      {"timestamp_us", {GPUJOIN_TYPE_TIMESTAMP_US, 8, Kind::kSigned}},
      {"timestamp_ns", {GPUJOIN_TYPE_TIMESTAMP_NS, 8, Kind::kSigned}},
      {"time32", {GPUJOIN_TYPE_TIME32, 4, Kind::kSigned}},
      {"time64", {GPUJOIN_TYPE_TIME64, 8, Kind::kSigned}},
      {"duration", {GPUJOIN_TYPE_DURATION, 8, Kind::kSigned}},
      {"bytes16", {GPUJOIN_TYPE_BYTES16, 16, Kind::kBytes}},
  };
  auto const found = kTypes.find(name);
  if (found == kTypes.end()) throw std::runtime_error("no type is called " + name);
  return found->second;
}

Kind kind_of(gpujoin_type type) {
  switch (type) {
    case GPUJOIN_TYPE_UINT8:
    case GPUJOIN_TYPE_UINT16:
    case GPUJOIN_TYPE_UINT32:
    case GPUJOIN_TYPE_UINT64:
      return Kind::kUnsigned;
    case GPUJOIN_TYPE_FLOAT32:
      return Kind::kFloat32;
    case GPUJOIN_TYPE_FLOAT64:
      return Kind::kFloat64;
    case GPUJOIN_TYPE_BYTES16:
      return Kind::kBytes;
    case GPUJOIN_TYPE_BOOL:
      return Kind::kBool;
    default:
      return Kind::kSigned;
  }
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

Words words_of(const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

CaseColumn column_of(const std::string& word) {
  size_t const colon = word.find(':');
  if (colon == std::string::npos) throw std::runtime_error(word + " is not name:type");
  const TypeFacts& facts = facts_of(word.substr(colon + 1));
  return {word.substr(0, colon), facts.type, facts.width};
}

void add_table_line(const Words& words, CaseTable* table) {
  if (table->columns.empty()) {
    for (const std::string& word : words) table->columns.push_back(column_of(word));
    return;
  }
  if (words.size() != table->columns.size()) throw std::runtime_error("a row of another length");
  table->rows.push_back(words);
}

void add_join_line(const Words& words, JoinCase* join) {
  if (words[0] == "on" && words.size() == 3) {
    join->left_keys.push_back(join->left.position_of(words[1]));
    join->right_keys.push_back(join->right.position_of(words[2]));
  } else if (words[0] == "kind" && words.size() == 2) {
    join->kind = join_kind_of(words[1]);
  } else if (words[0] == "pairs" && words.size() == 1) {
    join->pairs = true;
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
    append_value(valid, bytes.data(), columns[i].width, &row);
  }
  join->expected.push_back(row);
}

// The low bytes of an integer: x86-64 and everything else that runs CUDA is little-endian.
std::string low_bytes(uint64_t value, size_t width) {
  return {reinterpret_cast<const char*>(&value), width};
}

}  // namespace

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
  if (mark) columns.push_back({"mark", GPUJOIN_TYPE_BOOL, 1});
  return columns;
}

bool JoinCase::puts_out_left() const {
  return kind != GPUJOIN_JOIN_RIGHT_SEMI && kind != GPUJOIN_JOIN_RIGHT_ANTI &&
         kind != GPUJOIN_JOIN_RIGHT_MARK && kind != GPUJOIN_JOIN_RIGHT_NOT_IN;
}

bool JoinCase::puts_out_right() const {
  return kind != GPUJOIN_JOIN_LEFT_SEMI && kind != GPUJOIN_JOIN_LEFT_ANTI &&
         kind != GPUJOIN_JOIN_LEFT_MARK && kind != GPUJOIN_JOIN_LEFT_NOT_IN;
}

bool encode(const CaseColumn& column, const std::string& word, std::string* bytes) {
  bytes->assign(column.width, '\0');
  if (word == "NULL") return false;
  size_t used = 0;
  switch (kind_of(column.type)) {
    case Kind::kSigned:
      *bytes = low_bytes(static_cast<uint64_t>(std::stoll(word, &used)), column.width);
      break;
    case Kind::kUnsigned:
      *bytes = low_bytes(std::stoull(word, &used), column.width);
      break;
    case Kind::kBool:
      if (word != "true" && word != "false") throw std::runtime_error(word + " is no truth value");
      (*bytes)[0] = word == "true" ? 1 : 0;
      used = word.size();
      break;
    case Kind::kFloat32: {
      float const value = std::stof(word, &used);
      bytes->assign(reinterpret_cast<const char*>(&value), sizeof(value));
      break;
    }
    case Kind::kFloat64: {
      double const value = std::stod(word, &used);
      bytes->assign(reinterpret_cast<const char*>(&value), sizeof(value));
      break;
    }
    case Kind::kBytes:
      if (word.size() != 2 * column.width) throw std::runtime_error(word + " is not 32 digits");
      for (size_t i = 0; i < column.width; ++i) {
        (*bytes)[i] = static_cast<char>(std::stoi(word.substr(2 * i, 2), nullptr, 16));
      }
      used = word.size();
      break;
  }
  if (used != word.size()) throw std::runtime_error(word + " is not a value");
  return true;
}

void append_value(bool valid, const void* value, size_t width, Row* row) {
  row->push_back(valid ? 'v' : '-');
  if (valid) {
    row->append(static_cast<const char*>(value), width);
  } else {
    row->append(width, '\0');
  }
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
  for (JoinCase& join : joins) std::sort(join.expected.begin(), join.expected.end());
  return joins;
}

}  // namespace gpujoin_test
