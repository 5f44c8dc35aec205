// forks.hpp: what a child process has to know of its parent. Locks that a thread of the parent held
// at fork() stay locked in the child for ever, and that thread is not there to let go of them.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace gpujoin::base {

// How many forks lie between the process that loaded the library and this one: another number in
// each child than in its parent. One load, where getpid is a system call.
uint32_t forks() noexcept;

// What getpid answers, which is asked once a process: every call of the ABI compares it, and a
// system call takes up to microseconds where something watches them.
pid_t process_id() noexcept;

}  // namespace gpujoin::base
