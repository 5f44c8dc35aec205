// key_traits.hpp: what a scan of a build side's keys finds, as host and device both see it.
#pragma once

#include <cstdint>

#include "kernels/host_answer.hpp"
#include "kernels/transform/key_range.hpp"

namespace gpujoin::kernels {

// Rows of the keys that are looked for twice, on average, and slots for them; windows of a side in
// which rows are compared with their neighbours.
constexpr uint32_t kSampledKeys = 2048;
constexpr uint32_t kSampleSlots = 8192;
constexpr uint32_t kOrderWindows = 64;

// Bits of flags.
constexpr uint32_t kKeyRepeats = 1;
constexpr uint32_t kBuildDescends = 2;
constexpr uint32_t kProbeDescends = 4;
constexpr uint32_t kProbeRepeats = 8;  // a row has the key of the row before it

struct KeyTraits {
  KeyRange range;
  unsigned long long flags = 0;
};

// slots: keys of the sample, mixed; 0: free.
template <typename Key>
struct KeyTraitsState {
  KeyRangeState seen;
  uint32_t flags;
  uint32_t unused;
  Key slots[kSampleSlots];
};

using KeyTraitsAnswer = HostAnswer<KeyTraits>;

}  // namespace gpujoin::kernels
