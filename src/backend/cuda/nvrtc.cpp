#include "backend/cuda/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "backend/cuda/driver.h"

namespace cleave::cuda {
namespace {

constexpr int out_of_memory = 1, compilation_failed = 6;  // nvrtcResult
// Leaves out textures and the device's runtime, which takes half of the front end's time for a
// small text.
constexpr const char* minimal = "-minimal";
constexpr int has_minimal = 12040;  // the version

// NVRTC opens it by name alone, which finds it in folders of the system only, or where a library of
// this name is open already.
void open_builtins(const std::string& beside) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(beside).parent_path();
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error))
    if (at->path().filename().string().starts_with("libnvrtc-builtins.so."))
      dlopen(at->path().c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

Result<NvrtcPtr> Nvrtc::open(const LibraryPlaces& places) {
  CLEAVE_TRY(const OpenedLibrary library,
             open_library({"libnvrtc.so.13", "libnvrtc.so.12"},
                          "NVIDIA's compiler NVRTC is in its CUDA toolkit, and on PyPI: "
                          "pip install nvidia-cuda-nvrtc",
                          places));
  Api api;
  const char* lacks = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(find_symbol(library, name));
    if (function == nullptr && lacks == nullptr) lacks = name;
  };
  find(api.version, "nvrtcVersion");
  find(api.arch_count, "nvrtcGetNumSupportedArchs");
  find(api.archs, "nvrtcGetSupportedArchs");
  find(api.message, "nvrtcGetErrorString");
  find(api.create, "nvrtcCreateProgram");
  find(api.destroy, "nvrtcDestroyProgram");
  find(api.compile, "nvrtcCompileProgram");
  find(api.log_size, "nvrtcGetProgramLogSize");
  find(api.log, "nvrtcGetProgramLog");
  find(api.code_size, "nvrtcGetCUBINSize");
  find(api.code, "nvrtcGetCUBIN");
  if (lacks != nullptr) return unsupported("{}: it has no {}", library.path, lacks);
  open_builtins(library.path);
  const NvrtcPtr out(new Nvrtc(api, library.path));
  int major = 0, minor = 0, count = 0;
  if (api.version(&major, &minor) == 0) out->version_ = 1000 * major + 10 * minor;
  if (out->version_ >= has_minimal) out->options_.push_back(minimal);
  if (api.arch_count(&count) == 0 && count > 0) {
    out->archs_.resize(static_cast<size_t>(count));
    if (api.archs(out->archs_.data()) != 0) out->archs_.clear();
  }
  return out;
}

Result<NvrtcPtr> Nvrtc::here() {
  static const Result<NvrtcPtr> opened = open(library_places());
  return opened;
}

std::string Nvrtc::identity(int arch) const {
  return fmt::format("nvrtc {} sm_{} {}", version_text(version_), arch, fmt::join(options_, " "));
}

Failure Nvrtc::failed(Program program, int code, const std::string& unit_name) const {
  if (code == out_of_memory)
    return user_error("{}: there is no memory to compile it in", unit_name);
  if (code != compilation_failed)
    return bug("nvrtc {}: {}: {}", version_text(version_), unit_name, api_.message(code));
  size_t bytes = 0;
  std::string log;
  if (api_.log_size(program, &bytes) == 0) {
    log.resize(bytes);
    if (api_.log(program, log.data()) != 0) log.clear();
  }
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  return bug("nvrtc {} can't compile {}:\n{}", version_text(version_), unit_name, log);
}

Result<std::vector<std::byte>> Nvrtc::compile(const std::string& text, int arch,
                                              const std::string& unit_name) {
  if (!archs_.empty() && std::ranges::find(archs_, arch) == archs_.end())
    return unsupported("nvrtc {} ({}) doesn't compile for sm_{}, but for sm_{}",
                       version_text(version_), path_, arch, fmt::join(archs_, ", sm_"));
  Program program = nullptr;
  const std::string file = unit_name + ".cu";
  if (const int code = api_.create(&program, text.c_str(), file.c_str(), 0, nullptr, nullptr);
      code != 0)
    return failed(program, code, unit_name);
  const std::unique_ptr<Program, int (*)(Program*)> owned(&program, api_.destroy);
  const std::string target = fmt::format("-arch=sm_{}", arch);
  std::vector<const char*> all = options_;
  all.push_back(target.c_str());
  size_t bytes = 0;
  int code = api_.compile(program, static_cast<int>(all.size()), all.data());
  if (code == 0) code = api_.code_size(program, &bytes);
  std::vector<std::byte> out(bytes);
  if (code == 0) code = api_.code(program, reinterpret_cast<char*>(out.data()));
  if (code != 0) return failed(program, code, unit_name);
  return out;
}

}  // namespace cleave::cuda
