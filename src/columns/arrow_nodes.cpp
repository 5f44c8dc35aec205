#include "src/columns/arrow_nodes.hpp"

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace gpujoin::columns {

namespace {

// What private_data points to. The structs of children and dictionary live in their parent's node.
struct SchemaNode {
  std::string format;
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> child_pointers;
  ArrowSchema dictionary{};
  std::shared_ptr<const void> owner;  // of what an importer gave and is given on
};

struct ArrayNode {
  Storage validity;
  Storage offsets;
  Storage data;
  std::vector<const void*> buffers;
  std::vector<int64_t> sizes;  // of a column of views
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> child_pointers;
  ArrowArray dictionary{};
  std::shared_ptr<const void> owner;
};

// Releases the children that are still there, as the interface demands of a parent.
template <typename Node, typename Struct>
void release(Struct* released) {
  if (released == nullptr || released->release == nullptr) return;
  auto* node = static_cast<Node*>(released->private_data);
  for (Struct& child : node->children) {
    if (child.release != nullptr) child.release(&child);
  }
  if (node->dictionary.release != nullptr) node->dictionary.release(&node->dictionary);
  delete node;
  released->private_data = nullptr;
  released->release = nullptr;
}

void release_schema(ArrowSchema* schema) { release<SchemaNode>(schema); }
void release_array(ArrowArray* array) { release<ArrayNode>(array); }

// Room for the children, whose release members stay NULL until they are made.
template <typename Node>
void make_room(size_t count, Node& node) {
  node.children.resize(count);
  node.child_pointers.reserve(count);
  for (auto& child : node.children) node.child_pointers.push_back(&child);
}

void fill_schema(std::unique_ptr<SchemaNode> node, bool nullable, ArrowSchema& schema) {
  schema = ArrowSchema{};
  schema.format = node->format.c_str();
  schema.name = node->name.c_str();
  schema.flags = nullable ? ARROW_FLAG_NULLABLE : 0;
  schema.n_children = static_cast<int64_t>(node->child_pointers.size());
  schema.children = node->child_pointers.empty() ? nullptr : node->child_pointers.data();
  schema.release = release_schema;
  schema.private_data = node.release();
}

// Releases what was made so far when making the rest throws.
template <typename Struct>
struct Unfinished {
  Struct value{};
  Unfinished() = default;
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished() {
    if (value.release != nullptr) value.release(&value);
  }
  void hand_over(Struct& out) {
    out = value;
    value.release = nullptr;
  }
};

// A struct that an importer gave, given on: with a callback of its own, and what it points to is
// held.
template <typename Node, typename Struct>
void share(const Struct& given, const std::shared_ptr<const void>& owner, Struct& shared) {
  auto node = std::make_unique<Node>();
  make_room(static_cast<size_t>(given.n_children), *node);
  node->owner = owner;
  Node& kept = *node;
  Unfinished<Struct> made;
  made.value = given;
  made.value.children = kept.child_pointers.empty() ? nullptr : kept.child_pointers.data();
  made.value.dictionary = given.dictionary == nullptr ? nullptr : &kept.dictionary;
  made.value.release = release<Node, Struct>;
  made.value.private_data = node.release();
  for (size_t i = 0; i < kept.children.size(); ++i) {
    share<Node>(*given.children[i], owner, kept.children[i]);
  }
  if (given.dictionary != nullptr) share<Node>(*given.dictionary, owner, kept.dictionary);
  made.hand_over(shared);
}

void make_column_schema(const ExportedColumn& column, ArrowSchema& schema) {
  auto node = std::make_unique<SchemaNode>();
  node->format = column.arrow_format;
  node->name = column.name;
  SchemaNode& kept = *node;
  Unfinished<ArrowSchema> made;
  fill_schema(std::move(node), column.nullable, made.value);
  if (column.layout == Layout::kIndices) {
    if (column.parts->is_ordered) made.value.flags |= ARROW_FLAG_DICTIONARY_ORDERED;
    share<SchemaNode>(*column.parts->dictionary_schema, column.parts->owner, kept.dictionary);
    made.value.dictionary = &kept.dictionary;
  }
  made.hand_over(schema);
}

}  // namespace

void make_column_array(const ExportedColumn& column, int64_t rows, ArrowArray& array) {
  // Consumers expect a data buffer even when there is nothing in it.
  alignas(64) static const std::array<uint64_t, 8> kNothing{};
  auto const given = [&](const Storage& buffer) {
    return buffer != nullptr ? buffer.get() : kNothing.data();
  };
  auto node = std::make_unique<ArrayNode>();
  node->validity = column.validity;
  node->offsets = column.offsets;
  node->data = column.data;
  if (column.layout != Layout::kNulls) node->buffers.push_back(column.validity.get());
  if (column.layout == Layout::kText) node->buffers.push_back(given(column.offsets));
  if (column.layout != Layout::kNulls) node->buffers.push_back(given(column.data));
  if (column.layout == Layout::kViews) {
    node->owner = column.parts->owner;
    node->sizes = column.parts->buffer_bytes;
    node->buffers.insert(node->buffers.end(), column.parts->buffers.begin(),
                         column.parts->buffers.end());
    node->buffers.push_back(node->sizes.empty() ? static_cast<const void*>(kNothing.data())
                                                : node->sizes.data());
  }
  ArrayNode& kept = *node;
  Unfinished<ArrowArray> made;
  made.value.length = rows;
  made.value.null_count = column.null_count;
  made.value.offset = column.offset;
  made.value.n_buffers = static_cast<int64_t>(kept.buffers.size());
  made.value.buffers = kept.buffers.empty() ? nullptr : kept.buffers.data();
  made.value.release = release_array;
  made.value.private_data = node.release();
  if (column.layout == Layout::kIndices) {
    share<ArrayNode>(*column.parts->dictionary_array, column.parts->owner, kept.dictionary);
    made.value.dictionary = &kept.dictionary;
  }
  made.hand_over(array);
}

void make_struct_schema(const std::vector<ExportedColumn>& columns, ArrowSchema& schema) {
  auto node = std::make_unique<SchemaNode>();
  node->format = "+s";
  make_room(columns.size(), *node);
  std::vector<ArrowSchema>& children = node->children;
  Unfinished<ArrowSchema> parent;
  fill_schema(std::move(node), false, parent.value);
  for (size_t i = 0; i < columns.size(); ++i) make_column_schema(columns[i], children[i]);
  parent.hand_over(schema);
}

void make_struct_array(const std::vector<ExportedColumn>& columns, int64_t rows,
                       ArrowArray& array) {
  auto node = std::make_unique<ArrayNode>();
  make_room(columns.size(), *node);
  std::vector<ArrowArray>& children = node->children;
  Unfinished<ArrowArray> parent;
  parent.value.length = rows;
  parent.value.n_buffers = 1;  // no validity bits: a row of a result is never NULL as a whole
  node->buffers.push_back(nullptr);
  parent.value.buffers = node->buffers.data();
  parent.value.n_children = static_cast<int64_t>(columns.size());
  parent.value.children = columns.empty() ? nullptr : node->child_pointers.data();
  parent.value.release = release_array;
  parent.value.private_data = node.release();
  for (size_t i = 0; i < columns.size(); ++i) make_column_array(columns[i], rows, children[i]);
  parent.hand_over(array);
}

}  // namespace gpujoin::columns
