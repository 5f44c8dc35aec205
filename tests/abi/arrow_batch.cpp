#include "tests/abi/arrow_batch.hpp"

#include <utility>

namespace gpujoin_test {

namespace {

void release_schema(ArrowSchema* schema) {
  ++static_cast<ArrowBatch*>(schema->private_data)->schema_releases;
  schema->release = nullptr;
}
void release_array(ArrowArray* array) {
  ++static_cast<ArrowBatch*>(array->private_data)->array_releases;
  array->release = nullptr;
}
void release_child_schema(ArrowSchema* schema) { schema->release = nullptr; }
void release_child_array(ArrowArray* array) { array->release = nullptr; }

}  // namespace

ArrowBatch::ArrowBatch(std::vector<ArrowChild> children, int64_t length, int64_t offset)
    : children_(std::move(children)), schemas_(children_.size()), arrays_(children_.size()) {
  for (size_t i = 0; i < children_.size(); ++i) {
    ArrowChild& child = children_[i];
    schemas_[i].format = child.format.c_str();
    schemas_[i].name = child.name.c_str();
    schemas_[i].flags = ARROW_FLAG_NULLABLE;
    schemas_[i].release = release_child_schema;
    arrays_[i].length = child.length;
    arrays_[i].offset = child.offset;
    arrays_[i].null_count = child.null_count;
    arrays_[i].n_buffers = static_cast<int64_t>(child.buffers.size());
    arrays_[i].buffers = child.buffers.data();
    arrays_[i].release = release_child_array;
    if (child.has_dictionary) {
      dictionary_schema_.format = "u";
      schemas_[i].dictionary = &dictionary_schema_;
      arrays_[i].dictionary = &dictionary_array_;
    }
    schema_pointers_.push_back(&schemas_[i]);
    array_pointers_.push_back(&arrays_[i]);
  }
  schema.format = "+s";
  schema.name = "";
  schema.n_children = static_cast<int64_t>(children_.size());
  schema.children = schema_pointers_.data();
  schema.release = release_schema;
  schema.private_data = this;
  array.length = length;
  array.offset = offset;
  array.n_buffers = 1;
  array.buffers = struct_buffers_.data();
  array.n_children = schema.n_children;
  array.children = array_pointers_.data();
  array.release = release_array;
  array.private_data = this;
}

std::vector<uint8_t> bits_of(const std::vector<bool>& valid) {
  std::vector<uint8_t> bits((valid.size() + 7) / 8);
  for (size_t i = 0; i < valid.size(); ++i) {
    if (valid[i]) bits[i / 8] = static_cast<uint8_t>(bits[i / 8] | 1u << (i % 8));
  }
  return bits;
}

}  // namespace gpujoin_test
