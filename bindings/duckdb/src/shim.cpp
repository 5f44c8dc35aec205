// shim.cpp: the file that LOAD opens. It needs no symbol of DuckDB, makes those of the host
// visible, and opens the extension beside it, which does.
//
// A host that was itself opened with RTLD_LOCAL, as Python's module is, hides its symbols from what
// it opens; opened once more with RTLD_GLOBAL they are there.
#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace duckdb {
class ExtensionLoader;
}

namespace {

using EntryPoint = void (*)(duckdb::ExtensionLoader&);

std::string file_of(const void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

EntryPoint extension_beside(const std::string& shim) {
  std::string const path = shim.substr(0, shim.rfind('/') + 1) + "libgpujoin_duckdb.so";
  void* const opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) throw std::runtime_error(std::string("gpujoin: ") + dlerror());
  void* const found = dlsym(opened, "gpujoin_register");
  if (found == nullptr) throw std::runtime_error("gpujoin: " + path + " has no gpujoin_register");
  return reinterpret_cast<EntryPoint>(found);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void gpujoin_duckdb_cpp_init(
    duckdb::ExtensionLoader& loader) {
  // Of a program that exports DuckDB's symbols itself this fails, and they are visible anyway.
  dlopen(file_of(__builtin_return_address(0)).c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  extension_beside(file_of(reinterpret_cast<void*>(&gpujoin_duckdb_cpp_init)))(loader);
}
