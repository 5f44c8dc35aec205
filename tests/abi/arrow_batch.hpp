// arrow_batch.hpp: record batches as a producer hands them over, their releases counted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpujoin.h"

namespace gpujoin_test {

// Buffers of one child. `data` and `validity` may point to any memory that outlives the batch.
struct ArrowChild {
  std::string name;
  std::string format;
  int64_t length = 0;
  int64_t offset = 0;
  int64_t null_count = 0;
  std::vector<const void*> buffers;  // validity, data
  bool has_dictionary = false;
};

// A struct array over the children. The structs may be moved out of `schema` and `array`; what they
// point to lives as long as this object.
class ArrowBatch {
 public:
  ArrowBatch(std::vector<ArrowChild> children, int64_t length, int64_t offset = 0);
  ArrowBatch(const ArrowBatch&) = delete;
  ArrowBatch& operator=(const ArrowBatch&) = delete;

  ArrowSchema schema{};
  ArrowArray array{};
  ArrowSchema* child_schema(size_t i) { return &schemas_[i]; }
  ArrowArray* child_array(size_t i) { return &arrays_[i]; }
  std::vector<const void*>* struct_buffers() { return &struct_buffers_; }

  int schema_releases = 0;
  int array_releases = 0;

 private:
  std::vector<ArrowChild> children_;
  std::vector<const void*> struct_buffers_ = {nullptr};
  std::vector<ArrowSchema> schemas_;
  std::vector<ArrowArray> arrays_;
  std::vector<ArrowSchema*> schema_pointers_;
  std::vector<ArrowArray*> array_pointers_;
  ArrowSchema dictionary_schema_{};
  ArrowArray dictionary_array_{};
};

// The bits of a validity buffer.
std::vector<uint8_t> bits_of(const std::vector<bool>& valid);

}  // namespace gpujoin_test
