#include "backend/cuda/driver.h"

namespace cleave::cuda {

Result<DriverPtr> Driver::open(const LibraryPlaces& places) {
  CLEAVE_TRY(const OpenedLibrary library,
             open_library({"libcuda.so.1"},
                          "it comes with NVIDIA's driver, which a package of the system has "
                          "(Debian: nvidia-driver; in containers: the NVIDIA container toolkit)",
                          places));
  const auto driver = std::make_shared<Driver>();
  driver->path = library.path;
  const char* lacks = nullptr;
#define CLEAVE_FIND(name, symbol, parameters)                                            \
  driver->name = reinterpret_cast<decltype(driver->name)>(find_symbol(library, symbol)); \
  if (driver->name == nullptr && lacks == nullptr) lacks = symbol;
  CLEAVE_CUDA_DRIVER(CLEAVE_FIND)
#undef CLEAVE_FIND
  if (driver->cuDriverGetVersion != nullptr) driver->cuDriverGetVersion(&driver->version);
  if (lacks != nullptr)
    return unsupported("{}: the driver, of CUDA {}, is too old: it has no {}; CUDA 12 is needed",
                       driver->path, version_text(driver->version), lacks);
  if (const CUresult code = driver->cuInit(0); code != 0)
    return unsupported("{}: the driver finds no GPU: {}", driver->path, driver->message(code));
  return DriverPtr(driver);
}

Result<DriverPtr> Driver::here() {
  static const Result<DriverPtr> opened = open(library_places());
  return opened;
}

std::string Driver::message(CUresult code) const {
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(code, &name);
  cuGetErrorString(code, &text);
  return fmt::format("{} ({})", text ? text : "unknown error",
                     name ? std::string(name) : std::to_string(code));
}

Status Driver::check(CUresult code, std::string_view what) const {
  if (code == 0) return {};
  return bug("cuda: {}: {}", what, message(code));
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace cleave::cuda
