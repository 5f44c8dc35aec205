// key_value_rows.hpp: rows of a key and a value, of which batches are relations.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/abi/fixture.hpp"

namespace gpujoin_test {

struct KeyValueRows {
  std::vector<int32_t> keys;
  std::vector<int64_t> values;

  Relation slice(const Context& context, int64_t first, int64_t rows) const {
    gpujoin_column columns[] = {GPUJOIN_COLUMN_INIT, GPUJOIN_COLUMN_INIT};
    columns[0].type = GPUJOIN_TYPE_INT32;
    columns[0].data = keys.data() + first;
    columns[1].type = GPUJOIN_TYPE_INT64;
    columns[1].data = values.data() + first;
    gpujoin_relation* made = nullptr;
    EXPECT_OK(call(gpujoin_relation_create, context.get(), rows, columns, 2, &made));
    return Relation(made);
  }
};

}  // namespace gpujoin_test
