#include "tests/simulator/simulated_context.hpp"

#include <cstdlib>

#include "tests/simulator/failing_calls.hpp"

namespace gpujoin_test {

namespace {

constexpr uint64_t kFullBytes = uint64_t{96} << 10;

void* allocate(uint64_t bytes, uint64_t alignment, gpujoin_memory memory, void* stream,
               void* user) {
  InCallback const in_callback;
  return CountingAllocator::allocate(bytes, alignment, memory, stream, user);
}

void deallocate(void* pointer, uint64_t bytes, gpujoin_memory memory, void* stream, void* user) {
  InCallback const in_callback;
  CountingAllocator::deallocate(pointer, bytes, memory, stream, user);
}

std::filesystem::path make_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "simulator-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no folder " << name;
  return name;
}

}  // namespace

int open_descriptors(const std::string& prefix) {
  int count = 0;
  for (auto const& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // between two looks
    std::string const file = std::filesystem::read_symlink(entry, gone).string();
    if (file.starts_with(prefix)) ++count;
  }
  return count;
}

SimulatedContext::SimulatedContext(const RunDraw& draw, gpujoin_device device, Beside beside)
    : folder_(make_folder()),
      counted_(beside == Beside::kNone ? "" : folder_.string()),
      descriptors_before_(open_descriptors(counted_)),
      host_limit_(draw.host_limit) {
  allocator_ = counting_.get();
  allocator_.allocate = allocate;
  allocator_.deallocate = deallocate;
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = device;
  options.cpu_threads = draw.cpu_threads;
  options.allocator = &allocator_;
  options.host_limit_bytes = draw.host_limit;
  options.memory_limit_bytes = draw.device_limit;
  options.pinned_limit_bytes = draw.pinned_limit;
  std::string const path = folder_.string();
  if (draw.spill != Spill::kNone) options.spill_path = path.c_str();
  if (draw.spill == Spill::kFull) options.spill_limit_bytes = kFullBytes;
  context_ = make_context(options);
  blocks_before_ = counting_.live.size();
  // A device keeps descriptors of its own.
  if (device == GPUJOIN_DEVICE_CUDA) descriptors_before_ = open_descriptors(counted_);
}

SimulatedContext::~SimulatedContext() {
  context_.reset();
  std::filesystem::remove_all(folder_);
}

gpujoin_context_info SimulatedContext::info() const {
  gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
  EXPECT_OK(call(gpujoin_context_get_info, context_.get(), &info));
  return info;
}

std::string SimulatedContext::left_behind() {
  EXPECT_OK(call(gpujoin_context_trim, context_.get()));
  gpujoin_context_info const now = info();
  std::string out;
  auto const add = [&](const char* what, auto count) {
    out += std::string(what) + " " + std::to_string(count) + "; ";
  };
  if (counting_.live.size() != blocks_before_) add("blocks", counting_.live.size());
  if (host_limit_ != 0 && counting_.most_host_bytes > host_limit_) {
    add("bytes at a time, beyond the limit", counting_.most_host_bytes);
  }
  if (counting_.wrong != 0) add("blocks given back otherwise", counting_.wrong);
  if (now.host_used_bytes != 0) add("host bytes", now.host_used_bytes);
  if (now.spill_used_bytes != 0) add("bytes in files", now.spill_used_bytes);
  if (!std::filesystem::is_empty(folder_)) add("files", 1);
  int const descriptors = open_descriptors(counted_);
  if (descriptors > descriptors_before_) add("descriptors", descriptors - descriptors_before_);
  return out;
}

std::string SimulatedContext::left_in_the_end() {
  context_.reset();
  return counting_.live.empty() ? "" : std::to_string(counting_.live.size()) + " blocks in the end";
}

}  // namespace gpujoin_test
