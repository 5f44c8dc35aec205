// context.cpp: gpujoin.h section 4.
#include <cstdio>
#include <memory>
#include <string>

#include "bindings/c/arguments.hpp"
#include "bindings/c/guard.hpp"
#include "bindings/c/handles.hpp"
#include "src/base/spill_folder.hpp"
#include "src/execute/calibrate.hpp"

namespace gpujoin::shim {

namespace {

gpujoin_allocator checked_allocator(const gpujoin_allocator* given) {
  gpujoin_allocator const allocator = read_struct(given, "options.allocator");
  check_reserved(allocator.reserved, "options.allocator.reserved");
  if (allocator.allocate == nullptr || allocator.deallocate == nullptr) {
    base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
               "options.allocator: allocate and deallocate must both be given");
  }
  return allocator;
}

void check_options(const gpujoin_context_options& options) {
  check_range(options.device, GPUJOIN_DEVICE_AUTOMATIC, GPUJOIN_DEVICE_CPU, "options.device");
  check_range(options.cuda_device_id, 0, INT32_MAX, "options.cuda_device_id");
  check_range(options.cpu_threads, 0, INT32_MAX, "options.cpu_threads");
  check_range(options.threads, GPUJOIN_THREADS_OWN, GPUJOIN_THREADS_OF_CALLER, "options.threads");
  check_reserved(options.reserved, "options.reserved");
  if (options.device == GPUJOIN_DEVICE_CPU && options.cuda_stream != nullptr) {
    base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
               "options.cuda_stream is given and options.device is GPUJOIN_DEVICE_CPU");
  }
}

gpujoin_context_info info_of(const base::Context& context) {
  gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
  const base::Account& all = context.is_cuda() ? *context.device_account : *context.host_account;
  info.device = context.is_cuda() ? GPUJOIN_DEVICE_CUDA : GPUJOIN_DEVICE_CPU;
  std::snprintf(info.device_name, sizeof(info.device_name), "%s", context.facts.name.c_str());
  std::snprintf(info.reason, sizeof(info.reason), "%s", context.reason.c_str());
  info.cuda_device_id = context.is_cuda() ? context.facts.cuda_device_id : -1;
  info.cpu_threads = context.cpu_threads;
  info.memory_limit_bytes = all.limit_bytes();
  info.memory_used_bytes = all.held_bytes();
  info.memory_peak_bytes = all.peak_bytes();
  const base::Account& host = *context.host_account;
  info.host_limit_bytes = host.limit_bytes();
  info.host_used_bytes = host.held_bytes();
  info.host_peak_bytes = host.peak_bytes();
  if (context.is_cuda()) info.pinned_used_bytes = context.device_account->pinned_held_bytes();
  if (context.spill_folder != nullptr) {
    info.spill_used_bytes = context.spill_folder->used_bytes();
    info.spill_peak_bytes = context.spill_folder->peak_bytes();
  }
  return info;
}

}  // namespace

}  // namespace gpujoin::shim

using namespace gpujoin::shim;
using gpujoin::base::Context;

gpujoin_status gpujoin_context_create(const gpujoin_context_options* options, gpujoin_context** out,
                                      gpujoin_error* error) {
  if (out != nullptr) *out = nullptr;
  return guard(nullptr, error, [&] {
    check_given(out, "out");
    gpujoin_context_options chosen = GPUJOIN_CONTEXT_OPTIONS_INIT;
    if (options != nullptr) chosen = read_struct(options, "options");
    check_options(chosen);
    gpujoin_allocator allocator = GPUJOIN_ALLOCATOR_INIT;
    if (chosen.allocator != nullptr) {
      allocator = checked_allocator(chosen.allocator);
      chosen.allocator = &allocator;
    }
    NewHandle<gpujoin_context> handle;
    *out = handle.give(gpujoin::base::create_context(chosen));
  });
}

gpujoin_status gpujoin_context_get_info(gpujoin_context* context, gpujoin_context_info* info,
                                        gpujoin_error* error) {
  return guard(nullptr, error, [&] {
    auto const held = checked_object(context, "context");
    read_struct(info, "info");
    check_same_process(*held);
    write_struct(info_of(*held), info);
  });
}

gpujoin_status gpujoin_context_cancel(gpujoin_context* context, gpujoin_error* error) {
  return guard(nullptr, error, [&] {
    auto const held = checked_object(context, "context");
    check_same_process(*held);
    held->cancels.fetch_add(1);
  });
}

gpujoin_status gpujoin_context_calibrate(gpujoin_context* context, const char* path,
                                         gpujoin_error* error) {
  auto const held = object_of(context);
  return guard(held, error, [&] {
    check_found(held.get(), context, "context");
    check_given(path, "path");
    held->check_usable();
    gpujoin::base::LeasedQueue const queue(*held);
    gpujoin::execute::calibrate(*queue, path);
  });
}

gpujoin_status gpujoin_context_trim(gpujoin_context* context, gpujoin_error* error) {
  auto const held = object_of(context);
  return guard(held, error, [&] {
    check_found(held.get(), context, "context");
    held->check_usable();
    gpujoin::base::drop_idle_queues(*held);
    held->host_account->trim();
    if (held->device_account != nullptr) held->device_account->trim();
  });
}

void gpujoin_context_destroy(gpujoin_context* context) { destroy_handle(context); }
