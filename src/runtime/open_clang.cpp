// Finds and opens the plug-in of clang_plugin.h, once, and never closes it.
#include <dlfcn.h>

#include <filesystem>

#include "runtime/clang_plugin.h"

namespace cleave::runtime {
namespace {

// The folder of the library or program that contains this function.
std::filesystem::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr)
    return {};
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, error);
  return error ? std::filesystem::path() : file.parent_path();
}

// The folders that may hold the plug-in; none if this code's own isn't known.
std::vector<std::filesystem::path> plugin_folders() {
  const std::filesystem::path folder = own_folder();
  if (folder.empty()) return {};
  return {folder, folder.parent_path() / "lib", folder.parent_path() / CLEAVE_LIBDIR};
}

Result<const ClangPlugin*> open_plugin() {
  const std::string place = clang_plugin_path();
  if (place.empty()) {
    std::string folders;
    for (const std::filesystem::path& folder : plugin_folders())
      folders += (folders.empty() ? "" : " or in ") + folder.string();
    return unsupported(
        "compiler: clang: there is no {} in {}; build cleave with clang/LLVM 19 (CLEAVE_CLANG=ON) "
        "and keep the file beside the library, or ask for the compiler cc",
        clang_plugin_file, folders);
  }
  void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return unsupported("compiler: clang: {}", dlerror());
  const auto* plugin = static_cast<const ClangPlugin*>(dlsym(handle, clang_plugin_symbol));
  if (plugin == nullptr || std::string_view(plugin->build) != clang_plugin_build)
    return unsupported(
        "compiler: clang: {} is of another build than this library ({}); install both together",
        place, clang_plugin_build);
  return plugin;
}

}  // namespace

std::string clang_plugin_path() {
  for (const std::filesystem::path& folder : plugin_folders()) {
    std::error_code error;
    const std::filesystem::path place = folder / clang_plugin_file;
    if (std::filesystem::exists(place, error)) return place.string();
  }
  return "";
}

Result<std::shared_ptr<Compiler>> make_clang_compiler(const Target& target) {
  static const Result<const ClangPlugin*> plugin = open_plugin();
  if (!plugin.ok()) return Failure(plugin.failure());
  return (*plugin)->make(target, target.text());
}

}  // namespace cleave::runtime
