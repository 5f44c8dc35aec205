#include "src/columns/arrow_nodes.hpp"

#include <array>
#include <memory>

namespace gpujoin::columns {

namespace {

// What private_data points to. The children's structs live in their parent's node.
struct SchemaNode {
  std::string format;
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> child_pointers;
};

struct ArrayNode {
  Storage validity;
  Storage data;
  std::array<const void*, 2> buffers{};
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> child_pointers;
};

// Releases the children that are still there, as the interface demands of a parent.
template <typename Node, typename Struct>
void release(Struct* released) {
  if (released == nullptr || released->release == nullptr) return;
  auto* node = static_cast<Node*>(released->private_data);
  for (Struct& child : node->children) {
    if (child.release != nullptr) child.release(&child);
  }
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

void make_column_schema(const ExportedColumn& column, ArrowSchema& schema) {
  auto node = std::make_unique<SchemaNode>();
  node->format = column.arrow_format;
  node->name = column.name;
  fill_schema(std::move(node), column.nullable, schema);
}

void make_column_array(const ExportedColumn& column, int64_t rows, ArrowArray& array) {
  // Consumers expect a data buffer even when there is nothing in it.
  alignas(64) static const std::array<uint64_t, 8> kNothing{};
  auto node = std::make_unique<ArrayNode>();
  node->validity = column.validity;
  node->data = column.data;
  node->buffers = {column.validity.get(),
                   column.data != nullptr ? column.data.get() : kNothing.data()};
  array = ArrowArray{};
  array.length = rows;
  array.null_count = column.null_count;
  array.offset = column.offset;
  array.n_buffers = 2;
  array.buffers = node->buffers.data();
  array.release = release_array;
  array.private_data = node.release();
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

}  // namespace

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
  parent.value.buffers = node->buffers.data();
  parent.value.n_children = static_cast<int64_t>(columns.size());
  parent.value.children = columns.empty() ? nullptr : node->child_pointers.data();
  parent.value.release = release_array;
  parent.value.private_data = node.release();
  for (size_t i = 0; i < columns.size(); ++i) make_column_array(columns[i], rows, children[i]);
  parent.hand_over(array);
}

}  // namespace gpujoin::columns
