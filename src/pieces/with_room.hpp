// with_room.hpp: work that needs memory which other calls of the context may hold.
#pragma once

#include "src/base/context.hpp"
#include "src/base/scarce_memory.hpp"
#include "src/base/status.hpp"
#include "src/execute/no_room.hpp"

namespace gpujoin::pieces {

// What had no room, again and again as others give memory back. Throws what it throws when they
// give none, and what `check` does. since: when it was to be done first.
template <typename Work>
auto again_with_room(base::Context& context, const base::ScarceMemory::Check& check,
                     base::ScarceMemory::Clock::time_point since, const Work& work) {
  base::ScarceMemory::Turn turn(context, check, since);
  for (;;) {
    try {
      return work();
    } catch (const base::Error& error) {
      if (!execute::is_no_room(error) || !turn.wait_for_more(check)) throw;
    }
  }
}

// The same from the first time on. expected: what had no room may be tried again.
template <typename Work>
auto with_room(base::Context& context, const base::ScarceMemory::Check& check, const Work& work) {
  auto const since = base::ScarceMemory::Clock::now();
  context.scarce_memory.let_others_first(check);
  try {
    return work();
  } catch (const base::Error& error) {
    if (!execute::is_no_room(error)) throw;
  }
  return again_with_room(context, check, since, work);
}

}  // namespace gpujoin::pieces
