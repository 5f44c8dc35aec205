#include "tests/simulator/failing_calls.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <new>

namespace gpujoin_test {

namespace {

std::atomic<int> threads_in_library{0};
thread_local bool is_in_callback = false;
std::atomic<int> failing{-1};
std::atomic<int64_t> calls{0};
std::atomic<int64_t> first_failure{0};
std::atomic<int64_t> failure_count{0};

bool fails(SystemCall call) {
  if (failing.load() != static_cast<int>(call) || threads_in_library.load() == 0) return false;
  if (is_in_callback) return false;
  int64_t const late = calls.fetch_add(1) + 1 - first_failure.load();
  return late >= 0 && late < failure_count.load();
}

void* allocated(size_t bytes, size_t alignment) {
  if (fails(SystemCall::kNew)) throw std::bad_alloc();
  size_t const rounded = (bytes + alignment - 1) / alignment * alignment;
  void* const made = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

}  // namespace

void let_fail(SystemCall call, int64_t nth, int64_t failures) {
  calls = 0;
  first_failure = nth;
  failure_count = failures;
  failing = static_cast<int>(call);
}

int64_t end_failing() {
  failing = -1;
  return calls;
}

InLibrary::InLibrary() { ++threads_in_library; }
InLibrary::~InLibrary() { --threads_in_library; }

InCallback::InCallback() { is_in_callback = true; }
InCallback::~InCallback() { is_in_callback = false; }

}  // namespace gpujoin_test

void* operator new(size_t bytes) { return gpujoin_test::allocated(bytes, 16); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return gpujoin_test::allocated(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes) { return ::operator new(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return ::operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* pointer) noexcept { std::free(pointer); }
void operator delete[](void* pointer) noexcept { std::free(pointer); }
void operator delete(void* pointer, size_t) noexcept { std::free(pointer); }
void operator delete[](void* pointer, size_t) noexcept { std::free(pointer); }
void operator delete(void* pointer, const std::nothrow_t&) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::align_val_t) noexcept { std::free(pointer); }
void operator delete(void* pointer, size_t, std::align_val_t) noexcept { std::free(pointer); }

// Where the library finds them before the system's.
#pragma GCC visibility push(default)
extern "C" {

using gpujoin_test::fails;
using gpujoin_test::SystemCall;

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  bool const has_mode = (flags & (O_CREAT | O_TMPFILE)) != 0;
  mode_t const mode = has_mode ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (fails(SystemCall::kOpen)) {
    errno = EMFILE;
    return -1;
  }
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

ssize_t pwritev(int file, const iovec* places, int count, off_t offset) {
  if (fails(SystemCall::kWrite)) {
    errno = ENOSPC;
    return -1;
  }
  if (fails(SystemCall::kShortWrite)) {
    return syscall(SYS_pwrite64, file, places->iov_base, places->iov_len / 2 + 1, offset);
  }
  return syscall(SYS_pwritev, file, places, count, offset, 0);
}

ssize_t preadv(int file, const iovec* places, int count, off_t offset) {
  if (fails(SystemCall::kRead)) {
    errno = EIO;
    return -1;
  }
  return syscall(SYS_preadv, file, places, count, offset, 0);
}

// Found by a checked build of the library, see check() in src/base/device_cuda.cpp.
int gpujoin_checked_cuda_call_fails(const char*) { return fails(SystemCall::kCuda) ? 1 : 0; }

}  // extern "C"
#pragma GCC visibility pop
