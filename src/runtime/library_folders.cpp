#include "runtime/library_folders.h"

#include <dlfcn.h>

#include "version.h"

namespace cleave::runtime {

std::vector<std::filesystem::path> library_folders() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&library_folders), &info) == 0 || info.dli_fname == nullptr)
    return {};
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, error);
  if (error) return {};
  const std::filesystem::path folder = file.parent_path();
  return {folder, folder.parent_path() / "lib", folder.parent_path() / CLEAVE_LIBDIR};
}

}  // namespace cleave::runtime
