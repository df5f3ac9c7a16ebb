#include "backend/cuda/find_library.h"

#include <dlfcn.h>
#include <link.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace cleave::cuda {
namespace {

namespace fs = std::filesystem;

// In the order of their names; none if the folder can't be read.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    out.push_back(at->path());
  std::ranges::sort(out);
  return out;
}

// PREFIX/lib/python3.11/site-packages/nvidia/cublas/lib
void add_packages(const fs::path& prefix, std::vector<std::string>& out) {
  for (const fs::path& python : entries(prefix / "lib")) {
    if (!python.filename().string().starts_with("python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"})
      for (const fs::path& package : entries(python / packages / "nvidia")) {
        std::error_code error;
        const std::string folder = (package / "lib").string();
        if (fs::is_directory(folder, error) && std::ranges::find(out, folder) == out.end())
          out.push_back(folder);
      }
  }
}

std::string path_of(void* handle) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : "";
}

}  // namespace

LibraryPlaces library_places() {
  LibraryPlaces out{.folders = {"/usr/local/cuda/lib64"}};
  const char* variable = std::getenv("PATH");
  const std::string path = variable ? variable : "";
  for (size_t from = 0; from < path.size();) {
    const size_t end = std::min(path.find(':', from), path.size());
    const fs::path folder = path.substr(from, end - from);
    from = end + 1;
    std::error_code error;
    if (!fs::exists(folder / "python3", error)) continue;
    add_packages(folder.parent_path(), out.folders);
    if (folder.filename() == "shims")  // of pyenv: scripts, which choose one of these
      for (const fs::path& version : entries(folder.parent_path() / "versions"))
        add_packages(version, out.folders);
  }
  if (const passwd* user = getpwuid(geteuid()); user != nullptr && user->pw_dir != nullptr)
    add_packages(fs::path(user->pw_dir) / ".local", out.folders);
  return out;
}

Result<OpenedLibrary> open_library(std::initializer_list<const char*> names, std::string_view cure,
                                   const LibraryPlaces& places) {
  std::string why;
  const auto opened = [&](const std::string& file, bool is_there) {
    void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char* error = handle ? nullptr : dlerror();
    if (error && is_there && why.empty()) why = error;
    return handle;
  };
  for (const char* name : names) {
    if (places.asks_system)
      if (void* handle = opened(name, false)) return OpenedLibrary{handle, path_of(handle)};
    for (const std::string& folder : places.folders) {
      const std::string file = folder + "/" + name;
      std::error_code error;
      if (!fs::exists(file, error)) continue;
      if (void* handle = opened(file, true)) return OpenedLibrary{handle, path_of(handle)};
    }
  }
  if (!why.empty()) return unsupported("{}; {}", why, cure);
  return unsupported("no {} is found; {}",
                     fmt::join(std::vector<std::string_view>(names.begin(), names.end()), " or "),
                     cure);
}

void* find_symbol(const OpenedLibrary& library, const char* name) {
  return dlsym(library.handle, name);
}

}  // namespace cleave::cuda
