// rest_joins.hpp: the joins that are left of an operation when all its rows have come, for any
// number of threads that ask for results.
//
// in      joins that know nothing of each other; in phases, where some can be made only when others
//         are done
// out     results in the order in which they come
// how     a thread takes a join, has a result of it, and puts it back; one that was begun goes on
//         before another one begins
// memory  Joins run side by side while what they hold fits a share of it, and what callers have not
//         let go of another one; where that was too much, fewer do. Who has no room waits for as
//         long as others give some back.
#pragma once

#include <atomic>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "src/base/context.hpp"
#include "src/base/interrupt.hpp"
#include "src/base/queue.hpp"
#include "src/columns/result.hpp"

namespace gpujoin::pieces {

class RestJoins {
 public:
  // The next result of a join; null: there is no other. After a call that had no room the next one
  // tries the same again; after any other that threw there is none. Of one thread at a time.
  using Next = std::function<std::unique_ptr<columns::JoinResult>(base::Queue&)>;
  using Phase = std::function<void(base::Queue&)>;

  // most_bytes: of the sides of all joins that were begun; most_result_bytes: of results that are
  // there; 0: no limit. done: counts those that have ended.
  RestJoins(base::Context& context, uint64_t most_bytes, uint64_t most_result_bytes,
            std::atomic<int64_t>* done)
      : context_(context),
        most_bytes_(most_bytes),
        most_result_bytes_(most_result_bytes),
        done_(done),
        shared_(std::make_shared<Shared>()) {}

  // The same, from here on. expected: of a phase, while no join has begun.
  void set_limits(uint64_t most_bytes, uint64_t most_result_bytes);
  // Called when all joins that were added before are done, to add others: alone, once.
  void add_phase(Phase phase) { phases_.push_back(std::move(phase)); }
  // bytes: that its sides take at once.
  void add(Next next, uint64_t bytes);

  // Null: all are done, and no thread is inside one. Any thread. Throws; what a join threw all
  // later calls throw.
  std::unique_ptr<columns::JoinResult> next(const base::CallEnd& end);
  // The same for later calls.
  void fail(std::exception_ptr error);

 private:
  struct Join {
    Next next;
    uint64_t bytes = 0;
    bool has_begun = false;
    bool had_no_room = false;  // and nobody has given any back since
    uint64_t entry_alone = 0;  // which one its last call was; 0: others were inside when it began
  };
  using Place = std::unique_ptr<Join>;
  using Clock = std::chrono::steady_clock;

  // What is handed out; results may outlive the joins.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    uint64_t handed_out = 0;  // bytes
    std::map<std::thread::id, uint64_t> by_thread;
    uint64_t releases = 0;

    // Bytes of results that other threads took: who takes one after the other has the last one
    // still, and need not wait for itself.
    uint64_t of_others() const;
  };
  struct Lease;

  // Waits for one. Null: none is left.
  Place take(const base::CallEnd& end);
  Place pick();
  Place extract(size_t place);
  Place enter(Place join);
  // No other one was inside during its last call.
  bool was_alone(const Join& join) const;
  // Whether one that has begun may go on.
  bool any_has_room() const;
  std::unique_ptr<columns::JoinResult> run(Place join, const base::CallEnd& end);
  void leave_failed();
  void progressed();
  void clear_marks();
  bool may_be_given_more() const;
  // Whether it is worth another try by whoever comes; if not, it stays with who calls.
  bool put_aside(Place& join);
  void hand_out(columns::JoinResult* result);

  base::Context& context_;
  uint64_t most_bytes_;
  uint64_t most_result_bytes_;
  std::atomic<int64_t>* done_;

  std::shared_ptr<Shared> shared_;  // its mutex is that of what follows
  std::deque<Phase> phases_;
  std::vector<Place> joins_;  // that no thread has; the last is the next, those that began behind
  int inside_ = 0;            // threads
  uint64_t entries_ = 0;      // calls of joins so far
  uint64_t begun_bytes_ = 0;
  int begun_ = 0;
  int most_inside_ = INT_MAX;
  int results_ = 0;  // since it was changed
  uint64_t seen_releases_ = 0;
  Clock::time_point last_progress_ = Clock::now();
  std::exception_ptr failed_;
};

}  // namespace gpujoin::pieces
