#include "src/columns/result.hpp"

#include <utility>

namespace gpujoin::columns {

Storage make_storage(base::Buffer buffer) {
  auto owner = std::make_shared<base::Buffer>(std::move(buffer));
  const void* first_byte = owner->data();
  return Storage(std::move(owner), first_byte);
}

}  // namespace gpujoin::columns
