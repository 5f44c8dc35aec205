#include <utility>

#include "src/execute/order_rows.hpp"
#include "src/materialize/materialize.hpp"

namespace gpujoin::execute {

bool order_pairs_on_gpu(base::Queue& queue, columns::Storage& first, int64_t first_rows,
                        columns::Storage& second, int64_t second_rows, int64_t count) {
  auto ordered = materialize::order_pairs(
      queue, static_cast<const uint32_t*>(first.get()), static_cast<uint32_t>(first_rows),
      static_cast<const uint32_t*>(second.get()), static_cast<uint32_t>(second_rows),
      static_cast<uint64_t>(count));
  if (!ordered) return false;
  first = std::move(ordered->first);
  second = std::move(ordered->second);
  return true;
}

}  // namespace gpujoin::execute
