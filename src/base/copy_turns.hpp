// copy_turns.hpp: whose turn it is to copy pageable memory over a link, for all calls of the
// process.
//
// Calls that bring their rows at the same time have all of them late: no result is on its way back
// before. One after the other, the first one's results leave when the second one's rows come. Two
// bring rows at a time, so that one copies while the other one begins or ends, and three fetch.
#pragma once

#include <functional>

namespace gpujoin::base {

// From when it is there until it goes. Calls have their turn in the order in which they asked.
class CopyTurn {
 public:
  // Waits for it, while nobody says that the copies are not wanted any more, and no longer than a
  // tenth of a second: who has a turn may wait for who asks for one, by a stream of the caller's.
  CopyTurn(int device_id, bool to_device, const std::function<bool()>& is_over);
  ~CopyTurn();
  CopyTurn(const CopyTurn&) = delete;
  CopyTurn& operator=(const CopyTurn&) = delete;

 private:
  struct Line;
  static Line& line_of(int device_id, bool to_device);

  Line& line_;
};

}  // namespace gpujoin::base
