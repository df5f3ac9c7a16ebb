// Finds and opens the plug-in of clang_plugin.h, once, and never closes it.
#include <dlfcn.h>

#include "runtime/clang_plugin.h"
#include "runtime/library_folders.h"

namespace cleave::runtime {
namespace {

Result<const ClangPlugin*> open_plugin() {
  const std::string place = clang_plugin_path();
  if (place.empty()) {
    std::string folders;
    for (const std::filesystem::path& folder : library_folders())
      folders += (folders.empty() ? "" : " or in ") + folder.string();
    return unsupported(
        "compiler: clang: there is no {} in {}; build cleave with clang/LLVM 19 (CLEAVE_CLANG=ON) "
        "and keep the file beside the library, or ask for the compiler cc",
        clang_plugin_file, folders.empty() ? "the folder of libcleave.so" : folders);
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
  for (const std::filesystem::path& folder : library_folders()) {
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
