// relation.cpp: gpujoin.h section 5.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/c/arguments.hpp"
#include "bindings/c/guard.hpp"
#include "bindings/c/handles.hpp"
#include "src/base/copy.hpp"
#include "src/base/queue.hpp"
#include "src/base/status.hpp"
#include "src/columns/arrow_import.hpp"
#include "src/columns/register_columns.hpp"
#include "src/execute/row_picker.hpp"

namespace gpujoin::shim {

namespace {

// Its count is not known yet where it is a bitmap.
columns::Selection checked_selection(const gpujoin_selection* given,
                                     const std::shared_ptr<const columns::Relation>& of) {
  gpujoin_selection const known = read_struct(given, "selection");
  check_range(known.form, GPUJOIN_SELECTION_BITMAP, GPUJOIN_SELECTION_ROWS, "selection.form");
  check_range(known.memory, GPUJOIN_MEMORY_AUTOMATIC, GPUJOIN_MEMORY_PINNED, "selection.memory");
  check_reserved(known.reserved, "selection.reserved");
  columns::Selection selection;
  selection.of = of;
  selection.is_bitmap = known.form == GPUJOIN_SELECTION_BITMAP;
  selection.data = known.data;
  if (selection.is_bitmap) {
    check_range(known.first_bit, 0, columns::kMostPosition, "selection.first_bit");
    check_range(known.count, 0, 0, "selection.count of a BITMAP");
    check_range(known.type, 0, 0, "selection.type of a BITMAP");
    selection.first_bit = known.first_bit;
  } else {
    check_range(known.first_bit, 0, 0, "selection.first_bit of ROWS");
    columns::check_row_count(known.count, "selection.count");
    if (known.type != GPUJOIN_TYPE_UINT32 && known.type != GPUJOIN_TYPE_INT64) {
      base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
                 "selection.type is %d; row numbers are UINT32 or INT64", known.type);
    }
    selection.width = columns::width_of(known.type);
    selection.count = known.count;
  }
  if (selection.is_bitmap ? of->rows == 0 : selection.count == 0) return selection;
  check_given(known.data, "selection.data");
  base::Context& context = *of->context;
  if (known.memory == GPUJOIN_MEMORY_DEVICE && context.is_cuda() &&
      known.cuda_device_id != context.facts.cuda_device_id) {
    base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
               "selection.cuda_device_id is %d and the context's device is %d",
               known.cuda_device_id, context.facts.cuda_device_id);
  }
  if (!selection.is_bitmap) {
    columns::check_alignment(known.data, selection.width, "selection.data");
  }
  selection.memory = base::memory_of(context, known.data, known.memory, "selection.data");
  return selection;
}

}  // namespace

}  // namespace gpujoin::shim

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
      if (known[i].reserved == 0) continue;
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

gpujoin_status gpujoin_relation_select(const gpujoin_relation* relation,
                                       const gpujoin_selection* selection, gpujoin_relation** out,
                                       gpujoin_error* error) {
  if (out != nullptr) *out = nullptr;
  auto const held = object_of(relation);
  return guard(context_of(held), error, [&] {
    check_found(held.get(), relation, "relation");
    check_given(out, "out");
    held->context->check_usable();
    gpujoin::columns::Selection checked = checked_selection(selection, held);
    gpujoin::base::LeasedQueue const queue(*held->context);
    NewHandle<gpujoin_relation> handle;
    *out = handle.give(gpujoin::execute::select_rows(*queue, std::move(checked)));
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
