// spill_folder.hpp: files for rows that no memory limit holds.
//
// A file has no name, so nothing is left of it when its process ends, however it ends: its blocks
// are free when it is closed. Where a file system has no files without names (NFS), a file has one
// until the next instruction; who is killed right then leaves an empty file.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace gpujoin::base {

// Of a context: where its files are, and how many bytes all of them together may have. Any thread.
class SpillFolder {
 public:
  // Throws INVALID_ARGUMENT, which names options.spill_path: there is no such folder, or no file
  // can be made in it. limit_bytes: 0 = none.
  SpillFolder(const std::string& path, uint64_t limit_bytes);
  SpillFolder(const SpillFolder&) = delete;
  SpillFolder& operator=(const SpillFolder&) = delete;

  const std::string& path() const { return path_; }  // from the root on
  uint64_t limit_bytes() const { return limit_; }
  uint64_t used_bytes() const { return used_.load(std::memory_order_relaxed); }
  uint64_t peak_bytes() const { return peak_.load(std::memory_order_relaxed); }  // most used so far

 private:
  friend class SpillFile;
  void take(uint64_t bytes);  // throws SPILL where they would pass the limit
  void give_back(uint64_t bytes) noexcept { used_ -= bytes; }

  std::string path_;
  uint64_t limit_;
  std::atomic<uint64_t> used_ = 0;
  std::atomic<uint64_t> peak_ = 0;
};

// Grows at its end. Any thread. What fails throws SPILL with the folder and the system's words.
class SpillFile {
 public:
  explicit SpillFile(std::shared_ptr<SpillFolder> folder);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // Writes the parts one behind the other. Answers where they begin. When it throws, the file holds
  // and counts what it did before.
  uint64_t append(std::span<const std::span<const std::byte>> parts);
  // Fills the parts with what was written from `offset` on.
  void read(uint64_t offset, std::span<const std::span<std::byte>> parts) const;
  // They are about to be read: the system may begin to, nothing waits for it.
  void read_ahead(uint64_t offset, uint64_t bytes) const noexcept;
  // Bytes that were appended and will not be read again. They are free, and counted no more; on a
  // file system that makes no holes they are both when the file is gone. It frees whole blocks, 4
  // KiB for most: of a block that holds other bytes too, nothing.
  void release(uint64_t offset, uint64_t bytes) noexcept;

 private:
  std::shared_ptr<SpillFolder> folder_;
  int file_;
  std::atomic<uint64_t> end_ = 0;
  std::atomic<uint64_t> counted_ = 0;  // by the folder, of this file
};

}  // namespace gpujoin::base
