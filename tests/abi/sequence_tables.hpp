// sequence_tables.hpp: star schemas for the tests of sequences of joins, and a reference that
// follows each fact row through all dimensions.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/abi/fixture.hpp"

namespace gpujoin_test {

using Value = std::optional<int64_t>;
using Values = std::vector<Value>;
using Rows = std::vector<Values>;

// A table of integer columns, as numbers and as the library takes it.
struct Numbers {
  struct Named {
    std::string name;
    gpujoin_type type;
    Values values;
  };
  std::vector<Named> columns;
  Table table;

  int64_t rows() const { return static_cast<int64_t>(columns.front().values.size()); }
  void add(const std::string& name, gpujoin_type type, const Values& values);
};

struct Step {
  const Numbers* dimension = nullptr;
  int32_t fact_key = 0;
  int32_t dimension_key = 0;
  std::vector<int32_t> columns;
};

// A specification that owns its lists.
struct Wish {
  std::vector<int32_t> fact_columns;
  std::vector<Step> steps;
  int32_t output = GPUJOIN_OUTPUT_COLUMNS | GPUJOIN_OUTPUT_PAIRS;
  gpujoin_materialize materialize = GPUJOIN_MATERIALIZE_AUTOMATIC;

  bool has_row_numbers() const { return output == 0 || (output & GPUJOIN_OUTPUT_PAIRS) != 0; }
  // relations: of each step. The list of steps is the caller's to keep.
  gpujoin_sequence_spec get(const std::vector<const gpujoin_relation*>& relations,
                            std::vector<gpujoin_sequence_step>* list) const;
};

// What a sequence must answer: the row numbers, then the columns; sorted.
Rows reference(const Numbers& fact, const Wish& wish);
// Of a result's rows the fact rows, 0, or the rows of the dimension of step relation - 1.
std::vector<uint32_t> row_numbers_of(const Result& result, size_t relation);
// The rows of a result, sorted as the reference's are.
Rows rows_of(const Result& result, const Numbers& fact, const Wish& wish);

// Random keys below `distinct`, each tenth NULL when `nulls`.
Values random_keys(int64_t rows, int64_t distinct, bool nulls, std::mt19937& random);
// first, first + 1 ...; each `null_each`-th NULL, from the first on.
Values counted(int64_t rows, int64_t first, int64_t null_each = 0);

// A fact table with a key for each of `steps` dimensions, of 4 and 8 bytes in turn, and payloads.
// Dimension keys come twice now and then, miss some foreign keys and are NULL now and then.
struct Star {
  Numbers fact;
  std::vector<Numbers> dimensions;
  Wish wish;

  Star(int steps, int64_t fact_rows, int64_t dimension_rows, uint32_t seed);
  Star(const Star&) = delete;  // the wish points to the dimensions
  Star& operator=(const Star&) = delete;
};

class SequenceTest : public DeviceTest {
 protected:
  void SetUp() override;

  // Where the columns of a run lie. Mixed: those of the first, third ... dimension on the device.
  enum class Place { kHost, kDevice, kMixed };
  std::vector<Place> places() const;

  Answer run(const Numbers& fact, const Wish& wish, const gpujoin_plan_options* options,
             Place place, Result* result);
  void expect_reference(const Numbers& fact, const Wish& wish,
                        const gpujoin_plan_options* options = nullptr, Place place = Place::kHost);

  Context context;
};

std::vector<gpujoin_stage_statistics> stages_of(const Result& result);
bool has_stage(const Result& result, const std::string& name);

}  // namespace gpujoin_test
