// failing_calls.hpp: what the library asks of the system, which fails when it is told to. The
// program's own operator new, open, pwrite and pread stand in the place of the system's; CUDA
// calls of a checked build ask before they are taken to have succeeded.
#pragma once

#include <cstdint>

namespace gpujoin_test {

enum class SystemCall { kNew, kOpen, kWrite, kShortWrite, kRead, kCuda };

// From now on call number `nth` (from 1) of its kind fails, and those after it, `failures` of them.
// Only calls while the library was called count.
void let_fail(SystemCall call, int64_t nth, int64_t failures = 1);
// No call fails any more. Answers how many of the kind there were since let_fail.
int64_t end_failing();

// As long as it lives a thread is in the library.
class InLibrary {
 public:
  InLibrary();
  ~InLibrary();
  InLibrary(const InLibrary&) = delete;
  InLibrary& operator=(const InLibrary&) = delete;
};

// As long as it lives its thread is in a callback, of which no call fails: it is the engine's.
class InCallback {
 public:
  InCallback();
  ~InCallback();
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;
};

}  // namespace gpujoin_test
