// arrow_nodes_test.cpp: who owns what in exported structs. Leaks are the sanitizer's to find.
#include "src/columns/arrow_nodes.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace gpujoin::columns {
namespace {

// Memory that says when its last owner is gone.
Storage tracked(bool* alive) {
  *alive = true;
  return Storage(new int64_t[4]{1, 2, 3, 4}, [alive](const void* pointer) {
    *alive = false;
    delete[] static_cast<const int64_t*>(pointer);
  });
}

ExportedColumn exported(const char* name, Storage data) {
  ExportedColumn column;
  column.name = name;
  column.arrow_format = "l";
  column.nullable = true;
  column.width = 8;
  column.data = std::move(data);
  return column;
}

TEST(ArrowNodes, ReleaseLetsGoOfTheMemory) {
  bool alive = false;
  ArrowArray array{};
  make_struct_array({exported("a", tracked(&alive))}, 4, array);
  EXPECT_TRUE(alive);
  array.release(&array);
  EXPECT_FALSE(alive);
  EXPECT_EQ(array.release, nullptr);
  EXPECT_EQ(array.private_data, nullptr);
}

TEST(ArrowNodes, AMovedChildKeepsItsOwnMemoryOnly) {
  bool first_alive = false;
  bool second_alive = false;
  ArrowArray array{};
  make_struct_array({exported("a", tracked(&first_alive)), exported("b", tracked(&second_alive))},
                    4, array);
  ArrowArray child = *array.children[1];
  array.children[1]->release = nullptr;
  array.release(&array);
  EXPECT_FALSE(first_alive);
  EXPECT_TRUE(second_alive);
  EXPECT_EQ(static_cast<const int64_t*>(child.buffers[1])[3], 4);
  child.release(&child);
  EXPECT_FALSE(second_alive);
}

TEST(ArrowNodes, AChildReleasedEarlyIsNotReleasedTwice) {
  bool alive = false;
  ArrowArray array{};
  make_struct_array({exported("a", tracked(&alive))}, 4, array);
  array.children[0]->release(array.children[0]);
  EXPECT_FALSE(alive);
  array.release(&array);
}

TEST(ArrowNodes, WithoutColumnsAreAStructAllTheSame) {
  ArrowSchema schema{};
  ArrowArray array{};
  make_struct_schema({}, schema);
  make_struct_array({}, 7, array);
  EXPECT_STREQ(schema.format, "+s");
  EXPECT_EQ(schema.n_children, 0);
  EXPECT_EQ(array.length, 7);
  array.release(&array);
  schema.release(&schema);
}

TEST(ArrowNodes, AnEmptyColumnHasADataBuffer) {
  ArrowArray array{};
  make_struct_array({exported("a", nullptr)}, 0, array);
  EXPECT_NE(array.children[0]->buffers[1], nullptr);
  EXPECT_EQ(array.children[0]->buffers[0], nullptr);
  array.release(&array);
}

}  // namespace
}  // namespace gpujoin::columns
