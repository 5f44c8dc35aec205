// random_conditions.hpp: conditions of any operators, and tables with a column of each type, at
// random: what one executor answers of them another one has to.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/status.hpp"
#include "src/conditions/bind.hpp"
#include "tests/conditions/condition_tables.hpp"

namespace gpujoin::tests {

class RandomConditions {
 public:
  explicit RandomConditions(uint64_t seed) : random_(seed) {}

  ArrowTable table(size_t rows) {
    ArrowTable made;
    for (char const* const format : {"c", "s", "i", "l", "C", "S", "I", "L"}) {
      made.columns.push_back(integers(format, some_integers(format, rows)));
    }
    for (char const* const format : {"e", "f", "g"}) {
      made.columns.push_back(floats(format, some_floats(rows)));
    }
    for (char const* const format : {"d:9,2,32", "d:18,4,64", "d:38,3", "d:38,0", "d:76,2,256"}) {
      made.columns.push_back(integers(format, some_integers(format, rows)));
    }
    for (char const* const format :
         {"tdD", "tdm", "tss:", "tsn:", "tsu:UTC", "tsm:UTC", "ttm", "ttn", "tDs", "tDn", "b"}) {
      made.columns.push_back(integers(format, some_integers(format, rows)));
    }
    for (char const* const format : {"u", "U", "vu", "z", "vz", "w:16", "w:3"}) {
      made.columns.push_back(texts(format, some_texts(rows)));
    }
    made.columns.push_back(nulls());
    // The same integers without a NULL, of which conjunctions are.
    for (char const* const format : {"i", "l", "L"}) {
      Integers values = some_integers(format, rows);
      for (auto& value : values) value = value.value_or(3);
      made.columns.push_back(integers(format, values));
    }
    made.columns.push_back(dictionary(texts("u", some_texts(9)), 9, some_integers("c", rows)));
    made.columns.push_back(
        dictionary(integers("l", some_integers("l", 5)), 5, some_integers("c", rows)));
    std::vector<int32_t> ends;
    for (size_t end = 4; end < rows + 20; end += 1 + random_() % 9) {
      ends.push_back(static_cast<int32_t>(end));
    }
    ends.push_back(static_cast<int32_t>(rows) + 30);
    made.columns.push_back(runs(integers("i", some_integers("i", ends.size())), ends, 2));
    return made;
  }

  // One that binds.
  std::pair<Written, std::shared_ptr<const conditions::BoundCondition>> condition(
      const ArrowTable& left, const ArrowTable& right, int64_t rows) {
    for (;;) {
      Written written;
      left_ = &left;
      truth(&written, 1 + static_cast<int>(random_() % 4));
      try {
        auto bound = conditions::bind(written, *left.relation(rows), *right.relation(rows));
        return {written, std::move(bound)};
      } catch (const base::Error& error) {
        if (error.status() != GPUJOIN_ERROR_TYPE) throw;
      }
    }
  }

 private:
  bool chance(int of_100) { return static_cast<int>(random_() % 100) < of_100; }

  Integers some_integers(const std::string& format, size_t rows) {
    columns::ArrowType const type = columns::type_of_arrow_format(format);
    int const bits = type.layout == columns::Layout::kBits ? 1 : std::min(type.width * 8, 126);
    bool const is_unsigned = format == "C" || format == "S" || format == "I" || format == "L";
    Integers values;
    for (size_t i = 0; i < rows; ++i) {
      Integer value = static_cast<Integer>(random_() % 7) - (is_unsigned ? 0 : 3);
      if (bits == 1) value = static_cast<Integer>(random_() % 2);
      if (bits > 1 && chance(20)) {
        // At the ends.
        Integer const most = (Integer{1} << (bits - (is_unsigned ? 0 : 1))) - 1;
        value = chance(50)
                    ? most - static_cast<Integer>(random_() % 3)
                    : (is_unsigned ? Integer{0} : -most - 1) + static_cast<Integer>(random_() % 3);
      } else if (bits > 8 && chance(20)) {
        value = value * static_cast<Integer>(random_() % 100 * (bits > 16 ? 100'000 : 1));
      }
      values.push_back(chance(12) ? std::nullopt : std::optional(value));
    }
    return values;
  }
  Floats some_floats(size_t rows) {
    double const odd[] = {
        std::numeric_limits<double>::quiet_NaN(), -0.0, 0.0, INFINITY, -INFINITY, 0.1, 1e300};
    Floats values;
    for (size_t i = 0; i < rows; ++i) {
      double value = static_cast<double>(random_() % 9) / 2 - 2;
      if (chance(25)) value = odd[random_() % 7];
      values.push_back(chance(12) ? std::nullopt : std::optional(value));
    }
    return values;
  }
  Texts some_texts(size_t rows) {
    Texts values;
    for (size_t i = 0; i < rows; ++i) {
      std::string value(random_() % (chance(20) ? 40 : 5), 'a');
      for (char& letter : value) letter = "ab\0\xff"[random_() % 4];
      values.push_back(chance(12) ? std::nullopt : std::optional(value));
    }
    return values;
  }

  void leaf(Written* to) {
    auto const count = static_cast<uint64_t>(left_->columns.size());
    auto const column = static_cast<int32_t>(near_ >= 0 && chance(75) ? static_cast<uint64_t>(near_)
                                                                      : random_() % count);
    near_ = column;
    if (chance(20)) {
      ArrowColumn const& like = *left_->columns[static_cast<size_t>(column)];
      if (like.view.layout == columns::Layout::kValues && like.view.width <= 8 &&
          like.view.type <= GPUJOIN_TYPE_UINT64) {
        to->constant(integers(like.view.arrow_format, some_integers(like.view.arrow_format, 1)));
        return;
      }
      auto copy = std::make_shared<ArrowColumn>();
      copy->view = like.view;
      copy->children.push_back(left_->columns[static_cast<size_t>(column)]);
      to->constant(copy);
    } else if (chance(50)) {
      to->left(column);
    } else {
      to->right(column);
    }
  }

  void value(Written* to, int depth) {
    int const what = static_cast<int>(random_() % 12);
    if (depth <= 0 || what < 4) return leaf(to);
    if (what < 9) {
      value(to, depth - 1);
      value(to, depth - 1);
      to->of(GPUJOIN_OPERATOR_ADD + static_cast<int32_t>(random_() % 6), 2);
    } else if (what < 10) {
      value(to, depth - 1);
      to->of(chance(50) ? GPUJOIN_OPERATOR_NEGATE : GPUJOIN_OPERATOR_ABSOLUTE, 1);
    } else if (what < 11) {
      int32_t const count = 2 + static_cast<int32_t>(random_() % 4);
      for (int32_t i = 0; i < count; ++i) {
        if (i % 2 == 0 && i + 1 < count) {
          truth(to, depth - 1);
        } else {
          value(to, depth - 1);
        }
      }
      to->of(GPUJOIN_OPERATOR_CASE, count);
    } else {
      int32_t const count = 1 + static_cast<int32_t>(random_() % 3);
      for (int32_t i = 0; i < count; ++i) value(to, depth - 1);
      to->of(GPUJOIN_OPERATOR_COALESCE, count);
    }
  }

  void truth(Written* to, int depth) {
    int const what = static_cast<int>(random_() % 20);
    if (depth > 1 && what < 7) {
      int32_t const count = 1 + static_cast<int32_t>(random_() % 3);
      for (int32_t i = 0; i < count; ++i) truth(to, depth - 1);
      to->of(chance(60) ? GPUJOIN_OPERATOR_AND : GPUJOIN_OPERATOR_OR, count);
      return;
    }
    near_ = -1;
    if (depth > 1 && what < 9) {
      truth(to, depth - 1);
      gpujoin_operator const of[] = {GPUJOIN_OPERATOR_NOT, GPUJOIN_OPERATOR_IS_TRUE,
                                     GPUJOIN_OPERATOR_IS_FALSE, GPUJOIN_OPERATOR_IS_NULL};
      to->of(of[random_() % 4], 1);
    } else if (what < 10) {
      value(to, depth - 1);
      to->of(chance(50) ? GPUJOIN_OPERATOR_IS_NULL : GPUJOIN_OPERATOR_IS_NOT_NULL, 1);
    } else if (what < 11) {
      leaf(to);
      leaf(to);
      to->of(GPUJOIN_OPERATOR_STARTS_WITH, 2);
    } else if (what < 12) {
      for (int i = 0; i < 3; ++i) value(to, depth - 1);
      to->of(GPUJOIN_OPERATOR_BETWEEN, 3);
    } else if (what < 13) {
      leaf(to);
      auto const& columns = left_->columns;
      auto copy = std::make_shared<ArrowColumn>();
      auto const of = static_cast<size_t>(near_);
      copy->view = columns[of]->view;
      copy->children.push_back(columns[of]);
      to->in(copy, static_cast<int64_t>(random_() % 5));
    } else {
      value(to, depth - 1);
      value(to, depth - 1);
      to->of(GPUJOIN_OPERATOR_EQUAL + static_cast<int32_t>(random_() % 8), 2);
    }
  }

  std::mt19937_64 random_;
  const ArrowTable* left_ = nullptr;
  int32_t near_ = -1;  // the last column: the next is often of its type
};

}  // namespace gpujoin::tests
