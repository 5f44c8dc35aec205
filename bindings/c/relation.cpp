// relation.cpp: gpujoin.h section 5.
#include <memory>
#include <string>
#include <vector>

#include "bindings/c/arguments.hpp"
#include "bindings/c/guard.hpp"
#include "bindings/c/handles.hpp"
#include "src/columns/arrow_import.hpp"
#include "src/columns/register_columns.hpp"

using namespace gpujoin::shim;

gpujoin_status gpujoin_relation_create(gpujoin_context* context, int64_t rows,
                                       const gpujoin_column* columns, int32_t column_count,
                                       gpujoin_relation** out, gpujoin_error* error) {
  if (out != nullptr) *out = nullptr;
  auto const held = object_of(context);
  return guard(held, error, [&] {
    check_found(held.get(), context, "context");
    check_given(out, "out");
    held->check_usable();
    std::vector<gpujoin_column> const known =
        read_array(columns, column_count, "columns", "column_count");
    for (size_t i = 0; i < known.size(); ++i) {
      check_reserved(known[i].reserved, ("columns[" + std::to_string(i) + "].reserved").c_str());
    }
    NewHandle<gpujoin_relation> handle;
    *out = handle.give(gpujoin::columns::register_columns(held, rows, known));
  });
}

gpujoin_status gpujoin_relation_import(gpujoin_context* context, ArrowSchema* schema,
                                       ArrowArray* array, gpujoin_relation** out,
                                       gpujoin_error* error) {
  if (out != nullptr) *out = nullptr;
  auto const held = object_of(context);
  return guard(held, error, [&] {
    check_found(held.get(), context, "context");
    check_given(schema, "schema");
    check_given(array, "array");
    check_given(out, "out");
    held->check_usable();
    // The handle first: after the import the caller's structs are moved in.
    NewHandle<gpujoin_relation> handle;
    *out = handle.give(gpujoin::columns::import_arrow(held, *schema, *array));
  });
}

gpujoin_status gpujoin_relation_import_device(gpujoin_context* context, ArrowSchema* schema,
                                              ArrowDeviceArray* array, gpujoin_relation** out,
                                              gpujoin_error* error) {
  if (out != nullptr) *out = nullptr;
  auto const held = object_of(context);
  return guard(held, error, [&] {
    check_found(held.get(), context, "context");
    check_given(schema, "schema");
    check_given(array, "array");
    check_given(out, "out");
    held->check_usable();
    NewHandle<gpujoin_relation> handle;
    *out = handle.give(gpujoin::columns::import_arrow_device(held, *schema, *array));
  });
}

gpujoin_status gpujoin_relation_get_size(const gpujoin_relation* relation, int64_t* rows,
                                         int32_t* columns, gpujoin_error* error) {
  return guard(nullptr, error, [&] {
    auto const held = checked_object(relation, "relation");
    if (rows != nullptr) *rows = held->rows;
    if (columns != nullptr) *columns = static_cast<int32_t>(held->columns.size());
  });
}

void gpujoin_relation_destroy(gpujoin_relation* relation) { destroy_handle(relation); }
