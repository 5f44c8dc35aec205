// build.cpp: gpujoin.h section 10: builds.
#include <memory>
#include <utility>

#include "bindings/c/arguments.hpp"
#include "bindings/c/guard.hpp"
#include "bindings/c/handles.hpp"
#include "bindings/c/join_spec.hpp"

namespace gpujoin::shim {

namespace {

pieces::BuildShape checked_shape(const base::Context& context, const columns::Relation& like,
                                 const int32_t* keys, int32_t key_count, const int32_t* key_flags,
                                 const gpujoin_build_options* given) {
  gpujoin_build_options options = GPUJOIN_BUILD_OPTIONS_INIT;
  if (given != nullptr) options = read_struct(given, "options");
  check_range(options.has_row_numbers, 0, 1, "options.has_row_numbers");
  check_range(options.timeout_milliseconds, 0, INT64_MAX, "options.timeout_milliseconds");
  check_reserved(options.reserved, "options.reserved");
  check_range(key_count, 0, INT32_MAX, "key_count");
  pieces::BuildShape shape;
  shape.on_gpu = is_on_gpu(options.device, context);
  if (key_count != 0) {
    shape.keys = checked_keys(like, keys, key_count, "keys");
    shape.key_flags = checked_key_flags(key_flags, key_count, "key_flags");
  }
  shape.has_row_numbers = options.has_row_numbers != 0;
  shape.timeout_milliseconds = options.timeout_milliseconds;
  shape.folder = context.spill_folder;
  return shape;
}

gpujoin_build_info info_of(const pieces::Build& build) {
  gpujoin_build_info info = GPUJOIN_BUILD_INFO_INIT;
  pieces::BuildSize const size = build.size();
  info.rows = size.rows;
  info.bytes = size.bytes;
  info.spilled_bytes = size.spilled_bytes;
  if (!build.is_finished()) return info;
  info.is_finished = 1;
  info.is_whole = build.is_whole() ? 1 : 0;
  bool const is_partitioned = !build.is_whole() && build.store().is_partitioned();
  info.partitions = is_partitioned ? static_cast<int32_t>(build.store().part_count()) : 1;
  return info;
}

}  // namespace

}  // namespace gpujoin::shim

using namespace gpujoin::shim;

gpujoin_status gpujoin_build_create(gpujoin_context* context, const gpujoin_relation* like,
                                    const int32_t* keys, int32_t key_count,
                                    const int32_t* key_flags, const gpujoin_build_options* options,
                                    gpujoin_build** out, gpujoin_error* error) {
  if (out != nullptr) *out = nullptr;
  auto const held = object_of(context);
  return guard(held, error, [&] {
    check_found(held.get(), context, "context");
    check_given(out, "out");
    held->check_usable();
    auto const relation = checked_relation(*held, like, "like");
    auto shape = checked_shape(*held, *relation, keys, key_count, key_flags, options);
    NewHandle<gpujoin_build> handle;
    *out = handle.give(std::make_shared<gpujoin::pieces::Build>(held, *relation, std::move(shape)));
  });
}

gpujoin_status gpujoin_build_append(gpujoin_build* build, const gpujoin_relation* batch,
                                    int64_t first_row, gpujoin_error* error) {
  auto const held = object_of(build);
  return guard_or_lose(held, error, [&] {
    check_found(held.get(), build, "build");
    held->context->check_usable();
    held->append(checked_relation(*held->context, batch, "batch"), first_row);
  });
}

gpujoin_status gpujoin_build_finish(gpujoin_build* build, gpujoin_error* error) {
  auto const held = object_of(build);
  return guard_or_lose(held, error, [&] {
    check_found(held.get(), build, "build");
    held->context->check_usable();
    held->finish();
  });
}

gpujoin_status gpujoin_build_get_info(gpujoin_build* build, gpujoin_build_info* info,
                                      gpujoin_error* error) {
  return guard(nullptr, error, [&] {
    auto const held = checked_object(build, "build");
    read_struct(info, "info");
    check_same_process(*held->context);
    write_struct(info_of(*held), info);
  });
}

gpujoin_status gpujoin_build_cancel(gpujoin_build* build, gpujoin_error* error) {
  return guard(nullptr, error, [&] {
    auto const held = checked_object(build, "build");
    check_same_process(*held->context);
    ++held->interrupt->cancels;
  });
}

void gpujoin_build_destroy(gpujoin_build* build) { destroy_handle(build); }
