#include "tests/emulated/emulated_block.hpp"

#include <ucontext.h>

#include <cstdio>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

gpujoin_test::EmulatedIndex threadIdx;
gpujoin_test::EmulatedIndex blockIdx;
gpujoin_test::EmulatedIndex gridDim;

namespace gpujoin::kernels {
constexpr size_t kSharedBytes = size_t{228} << 10;
alignas(128) unsigned char dynamic_shared[kSharedBytes];
}  // namespace gpujoin::kernels

namespace gpujoin_test {

namespace {

constexpr size_t kStackBytes = size_t{128} << 10;
constexpr unsigned kLanes = 32;

// What a lane waits for, and what it was told.
struct Lane {
  bool waits = false;
  Collective collective = Collective::kSync;
  uint32_t lanes = 0;
  uint64_t value = 0;
  int parameter = 0;
  uint64_t answer = 0;
};

struct Thread {
  ucontext_t context{};
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
  void* fake_stack = nullptr;  // of the address sanitizer
  bool is_done = false;
  bool waits_for_block = false;
  Lane lane;
};

struct Block {
  std::vector<Thread> threads;
  unsigned current = 0;
  unsigned arrived = 0;  // at the barrier
  unsigned running = 0;  // threads that are not done
  const std::function<void()>* kernel = nullptr;
  ucontext_t scheduler{};
  void* fake_stack = nullptr;
  const void* scheduler_stack = nullptr;
  size_t scheduler_bytes = 0;
};
Block* the_block = nullptr;

#if defined(__SANITIZE_ADDRESS__)
void leave(void** fake_stack, const void* stack, size_t bytes) {
  __sanitizer_start_switch_fiber(fake_stack, stack, bytes);
}
void arrive(void* fake_stack, const void** stack, size_t* bytes) {
  __sanitizer_finish_switch_fiber(fake_stack, stack, bytes);
}
#else
void leave(void**, const void*, size_t) {}
void arrive(void*, const void**, size_t*) {}
#endif

void to_scheduler(bool for_good) {
  Block& block = *the_block;
  Thread& thread = block.threads[block.current];
  leave(for_good ? nullptr : &thread.fake_stack, block.scheduler_stack, block.scheduler_bytes);
  swapcontext(&thread.context, &block.scheduler);
  arrive(thread.fake_stack, &block.scheduler_stack, &block.scheduler_bytes);
}

void run_thread(unsigned number) {
  Block& block = *the_block;
  Thread& thread = block.threads[number];
  block.current = number;
  threadIdx.x = number;
  leave(&block.fake_stack, thread.stack.get(), kStackBytes);
  swapcontext(&block.scheduler, &thread.context);
  arrive(block.fake_stack, nullptr, nullptr);
}

void open_barrier(Block& block) {
  block.arrived = 0;
  for (Thread& thread : block.threads) thread.waits_for_block = false;
}

void begin_thread() {
  Block& block = *the_block;
  arrive(nullptr, &block.scheduler_stack, &block.scheduler_bytes);
  (*block.kernel)();
  block.threads[block.current].is_done = true;
  --block.running;
  if (block.running != 0 && block.arrived == block.running) open_barrier(block);
  to_scheduler(true);
}

uint64_t answer_of(const Thread* warp, unsigned lane) {
  Lane const& own = warp[lane].lane;
  uint64_t answer = 0;
  for (unsigned other = 0; other < kLanes; ++other) {
    if ((own.lanes >> other & 1) == 0) continue;
    uint64_t const value = warp[other].lane.value;
    switch (own.collective) {
      case Collective::kBallot:
        answer |= (value != 0 ? uint64_t{1} : 0) << other;
        break;
      case Collective::kAny:
        answer |= value;
        break;
      case Collective::kMatch:
        answer |= (value == own.value ? uint64_t{1} : 0) << other;
        break;
      case Collective::kSum:
        answer += value;
        break;
      default:
        break;
    }
  }
  auto const from = static_cast<unsigned>(own.parameter);
  if (own.collective == Collective::kShuffle) answer = warp[from].lane.value;
  if (own.collective == Collective::kShuffleUp) {
    answer = lane >= from ? warp[lane - from].lane.value : own.value;
  }
  return answer;
}

[[noreturn]] void give_up(const char* why) {
  Block const& block = *the_block;
  std::fprintf(stderr, "thread %u of block %u: %s\n", block.current, blockIdx.x, why);
  std::abort();
}

}  // namespace

void let_others_run() { to_scheduler(false); }

void wait_for_block() {
  Block& block = *the_block;
  Thread& thread = block.threads[block.current];
  thread.waits_for_block = true;
  if (++block.arrived == block.running) open_barrier(block);
  while (thread.waits_for_block) let_others_run();
}

uint64_t wait_for_lanes(Collective collective, uint32_t lanes, uint64_t value, int parameter) {
  Block& block = *the_block;
  unsigned const lane = block.current % kLanes;
  Thread* const warp = &block.threads[block.current - lane];
  if ((lanes >> lane & 1) == 0) give_up("a lane is not among those that it waits for");
  if (collective == Collective::kShuffle && (lanes >> parameter & 1) == 0) {
    give_up("a lane reads from one that is not asked");
  }
  Lane& own = warp[lane].lane;
  own = {true, collective, lanes, value, parameter, 0};
  bool are_all_there = true;
  for (unsigned other = 0; other < kLanes; ++other) {
    if ((lanes >> other & 1) == 0) continue;
    Lane const& there = warp[other].lane;
    are_all_there =
        are_all_there && there.waits && there.collective == collective && there.lanes == lanes;
  }
  if (are_all_there) {
    for (unsigned other = 0; other < kLanes; ++other) {
      if ((lanes >> other & 1) != 0) warp[other].lane.answer = answer_of(warp, other);
    }
    for (unsigned other = 0; other < kLanes; ++other) {
      if ((lanes >> other & 1) != 0) warp[other].lane.waits = false;
    }
  }
  while (own.waits) let_others_run();
  return own.answer;
}

void soil_shared_memory() {
  std::fill_n(gpujoin::kernels::dynamic_shared, gpujoin::kernels::kSharedBytes, 0xab);
}

void run_block(unsigned block_number, unsigned blocks, unsigned threads, uint64_t seed,
               const std::function<void()>& kernel) {
  Block block;
  the_block = &block;
  block.threads.resize(threads);
  block.running = threads;
  block.kernel = &kernel;
  blockIdx.x = block_number;
  gridDim.x = blocks;
  for (Thread& thread : block.threads) {
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack.get();
    thread.context.uc_stack.ss_size = kStackBytes;
    makecontext(&thread.context, begin_thread, 0);
  }
  std::mt19937_64 random(seed);
  std::vector<unsigned> order(threads);
  std::iota(order.begin(), order.end(), 0U);
  while (block.running != 0) {
    // Now and then, so that some threads fall behind others by several steps.
    if (random() % 4 == 0) std::shuffle(order.begin(), order.end(), random);
    bool has_run = false;
    for (unsigned const number : order) {
      Thread const& thread = block.threads[number];
      if (thread.is_done || thread.waits_for_block || thread.lane.waits) continue;
      run_thread(number);
      has_run = true;
    }
    if (!has_run) give_up("all threads wait");
  }
  the_block = nullptr;
}

}  // namespace gpujoin_test
