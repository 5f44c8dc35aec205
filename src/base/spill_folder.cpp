#include "src/base/spill_folder.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "gpujoin.h"
#include "src/base/status.hpp"

namespace gpujoin::base {

namespace {

using base::fail;

// ---- What the system is asked for, here alone: -1 and errno where it has no answer ----

static_assert(sizeof(off_t) == 8);

int open_without_name(const std::string& folder) {
#ifdef O_TMPFILE
  int const file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  // What systems answer that do not know such files, or whose file system does not.
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return file;
#endif
  std::string name = folder + "/gpujoin-XXXXXX";
  int const named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

ssize_t write_some(int file, const iovec* places, int count, uint64_t offset) {
  return pwritev(file, places, count, static_cast<off_t>(offset));
}

ssize_t read_some(int file, const iovec* places, int count, uint64_t offset) {
  return preadv(file, places, count, static_cast<off_t>(offset));
}

bool make_hole(int file, uint64_t offset, uint64_t bytes) {
#ifdef FALLOC_FL_PUNCH_HOLE
  int made;
  do {
    made = fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                     static_cast<off_t>(bytes));
  } while (made != 0 && errno == EINTR);
  return made == 0;
#else
  return false;
#endif
}

// Who writes beyond it is not told but killed, unless the process said that it minds the signal.
uint64_t most_bytes_of_a_file() {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return INT64_MAX;
  return std::min<uint64_t>(limit.rlim_cur, INT64_MAX);
}

std::string path_from_root(const std::string& path) {
  char* const found = realpath(path.c_str(), nullptr);
  if (found == nullptr) return {};
  std::string copied = found;
  std::free(found);
  return copied;
}

// Follows links. False: there is nothing, or something else.
bool is_folder(const std::string& path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0) return false;
  errno = ENOTDIR;
  return S_ISDIR(facts.st_mode);
}

// ---- What is made of the answers ----

template <typename Parts>
std::vector<iovec> places_of(const Parts& parts) {
  std::vector<iovec> places;
  for (const auto& part : parts) {
    if (!part.empty()) places.push_back({const_cast<std::byte*>(part.data()), part.size()});
  }
  return places;
}

// 0, or the errno of what failed. move: write_some or read_some.
template <typename Move>
int move_all(int file, std::vector<iovec> places, uint64_t offset, int nothing_moved, Move move) {
  for (size_t first = 0; first < places.size();) {
    auto const count = static_cast<int>(std::min<size_t>(places.size() - first, IOV_MAX));
    ssize_t const moved = move(file, places.data() + first, count, offset);
    if (moved < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    if (moved == 0) return nothing_moved;
    offset += static_cast<uint64_t>(moved);
    // One call moves 2 GiB at most, and less where it likes.
    auto rest = static_cast<size_t>(moved);
    while (first < places.size() && rest >= places[first].iov_len) rest -= places[first++].iov_len;
    if (rest == 0) continue;
    places[first].iov_base = static_cast<std::byte*>(places[first].iov_base) + rest;
    places[first].iov_len -= rest;
  }
  return 0;
}

[[noreturn]] void fail_with(const SpillFolder& folder, const char* what, uint64_t bytes,
                            int error) {
  fail(GPUJOIN_ERROR_SPILL, "options.spill_path: cannot %s %llu bytes in %s: %s", what,
       static_cast<unsigned long long>(bytes), folder.path().c_str(), std::strerror(error));
}

[[noreturn]] void fail_as_argument(const std::string& path, int error) {
  fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "options.spill_path is '%s', where no file can be made: %s",
       path.c_str(), std::strerror(error));
}

template <typename Parts>
uint64_t bytes_of(const Parts& parts) {
  uint64_t bytes = 0;
  for (const auto& part : parts) bytes += part.size();
  return bytes;
}

}  // namespace

SpillFolder::SpillFolder(const std::string& path, uint64_t limit_bytes) : limit_(limit_bytes) {
  errno = ENOENT;
  if (!is_folder(path)) fail_as_argument(path, errno);
  // Where the process is may change later.
  path_ = path_from_root(path);
  if (path_.empty()) fail_as_argument(path, errno);
  // Permissions do not say what a read-only file system does.
  int const file = open_without_name(path_);
  if (file < 0) fail_as_argument(path, errno);
  close(file);
}

void SpillFolder::take(uint64_t bytes) {
  uint64_t used = used_.load(std::memory_order_relaxed);
  do {
    if (limit_ != 0 && (used > limit_ || bytes > limit_ - used)) {
      fail(GPUJOIN_ERROR_SPILL,
           "options.spill_limit_bytes is %llu: %llu bytes are in %s and %llu more do not fit",
           static_cast<unsigned long long>(limit_), static_cast<unsigned long long>(used),
           path_.c_str(), static_cast<unsigned long long>(bytes));
    }
  } while (!used_.compare_exchange_weak(used, used + bytes));
  uint64_t peak = peak_.load(std::memory_order_relaxed);
  while (peak < used + bytes && !peak_.compare_exchange_weak(peak, used + bytes)) continue;
}

SpillFile::SpillFile(std::shared_ptr<SpillFolder> folder)
    : folder_(std::move(folder)), file_(open_without_name(folder_->path())) {
  if (file_ < 0) {
    fail(GPUJOIN_ERROR_SPILL, "options.spill_path: cannot make a file in %s: %s",
         folder_->path().c_str(), std::strerror(errno));
  }
}

SpillFile::~SpillFile() {
  close(file_);
  folder_->give_back(counted_);
}

uint64_t SpillFile::append(std::span<const std::span<const std::byte>> parts) {
  uint64_t const bytes = bytes_of(parts);
  std::vector<iovec> places = places_of(parts);
  folder_->take(bytes);
  uint64_t const offset = end_.fetch_add(bytes);
  int const error = offset + bytes > most_bytes_of_a_file()
                        ? EFBIG
                        : move_all(file_, std::move(places), offset, EIO, write_some);
  if (error == 0) {
    counted_ += bytes;
    return offset;
  }
  // The next ones take the place, unless others have been appended behind it.
  if (bytes > 0) make_hole(file_, offset, bytes);
  uint64_t behind = offset + bytes;
  end_.compare_exchange_strong(behind, offset);
  folder_->give_back(bytes);
  fail_with(*folder_, "write", bytes, error);
}

void SpillFile::read(uint64_t offset, std::span<const std::span<std::byte>> parts) const {
  // A file that ends early is not the one that was written.
  int const error = move_all(file_, places_of(parts), offset, EIO, read_some);
  if (error != 0) fail_with(*folder_, "read", bytes_of(parts), error);
}

void SpillFile::read_ahead(uint64_t offset, uint64_t bytes) const noexcept {
  posix_fadvise(file_, static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
}

void SpillFile::release(uint64_t offset, uint64_t bytes) noexcept {
  if (bytes == 0 || !make_hole(file_, offset, bytes)) return;
  counted_ -= bytes;
  folder_->give_back(bytes);
}

}  // namespace gpujoin::base
