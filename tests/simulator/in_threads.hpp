// in_threads.hpp: a function on several threads at the same time.
#pragma once

#include <thread>
#include <vector>

namespace gpujoin_test {

// Calls f(0) to f(count - 1), each on a thread of its own; a lone one on this.
template <typename Function>
void in_threads(int count, const Function& f) {
  if (count == 1) return f(0);
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&f, i] { f(i); });
}

}  // namespace gpujoin_test
