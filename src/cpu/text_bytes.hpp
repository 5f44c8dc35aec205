// text_bytes.hpp: how many bytes text has in some rows.
#pragma once

#include <cstdint>

#include "src/columns/gathered.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// rows: null = the identity; GPUJOIN_NO_ROW and NULLs have none. expected: values of offsets.
uint64_t text_bytes(Workers& workers, const columns::GatherSource& source, const uint32_t* rows,
                    uint64_t count);

}  // namespace gpujoin::cpu
