#include "runtime/library_folders.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>

#include "version.h"

namespace cleave::runtime {

namespace {

// A program's own name may be a word that was found in PATH, which names something else here, or
// nothing; so the system is asked, and without /proc the path that it was started by.
std::filesystem::path own_file() {
  Dl_info info{};
  link_map* map = nullptr;
  std::error_code error;
  if (dladdr1(reinterpret_cast<void*>(&library_folders), &info, reinterpret_cast<void**>(&map),
              RTLD_DL_LINKMAP) == 0 ||
      map == nullptr || map->l_name == nullptr)
    return {};
  const bool is_program = map->l_name[0] == 0;
  std::filesystem::path file =
      is_program ? std::filesystem::read_symlink("/proc/self/exe", error) : map->l_name;
  if (error) {
    const auto* started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    if (started == nullptr) return {};
    file = started;
  }
  const std::filesystem::path real = std::filesystem::canonical(file, error);
  return error ? std::filesystem::path() : real;
}

}  // namespace

std::vector<std::filesystem::path> library_folders() {
  const std::filesystem::path file = own_file();
  if (file.empty()) return {};
  const std::filesystem::path folder = file.parent_path();
  std::vector<std::filesystem::path> out;
  for (const auto& place :
       {folder, folder.parent_path() / "lib", folder.parent_path() / CLEAVE_LIBDIR})
    if (std::ranges::find(out, place) == out.end()) out.push_back(place);
  return out;
}

}  // namespace cleave::runtime
