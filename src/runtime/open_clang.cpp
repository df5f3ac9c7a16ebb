// Finds and opens the plug-in of clang_plugin.h, once, and never closes it, since the code that it
// compiled stays in use.
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

Result<const ClangPlugin*> open_plugin() {
  const std::filesystem::path folder = own_folder();
  const std::filesystem::path places[] = {folder / clang_plugin_file,
                                          folder.parent_path() / "lib" / clang_plugin_file,
                                          folder.parent_path() / CLEAVE_LIBDIR / clang_plugin_file};
  for (const std::filesystem::path& place : places) {
    std::error_code error;
    if (folder.empty() || !std::filesystem::exists(place, error)) continue;
    void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return unsupported("compiler: clang: {}", dlerror());
    const auto* plugin = static_cast<const ClangPlugin*>(dlsym(handle, clang_plugin_symbol));
    if (plugin == nullptr || std::string_view(plugin->build) != clang_plugin_build)
      return unsupported(
          "compiler: clang: {} is of another build than this library ({}); install both together",
          place.string(), clang_plugin_build);
    return plugin;
  }
  return unsupported(
      "compiler: clang: there is no {} in {} or in {}; build cleave with clang/LLVM 19 "
      "(CLEAVE_CLANG=ON) and keep the file beside the library, or ask for the compiler cc",
      clang_plugin_file, places[0].parent_path().string(), places[1].parent_path().string());
}

}  // namespace

Result<std::shared_ptr<Compiler>> make_clang_compiler(const Target& target) {
  static const Result<const ClangPlugin*> plugin = open_plugin();
  if (!plugin.ok()) return Failure(plugin.failure());
  return (*plugin)->make(target, target.text());
}

}  // namespace cleave::runtime
