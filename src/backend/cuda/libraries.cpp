#include "backend/cuda/libraries.h"

#include "backend/cuda/device.h"
#include "backend/cuda/nvrtc.h"

namespace cleave::cuda {
namespace {

LibraryState missing(std::string name, const Failure& failure) {
  return {std::move(name), false, failure.message};
}

LibraryState driver_state(const LibraryPlaces& places) {
  const Result<DriverPtr> driver = Driver::open(places);
  if (!driver.ok()) return missing("cuda driver", driver.failure());
  std::string found = fmt::format("CUDA {}, {}", version_text((*driver)->version), (*driver)->path);
  int count = 0;
  if ((*driver)->cuDeviceGetCount(&count) != 0 || count == 0)
    return {"cuda driver", false, found + "; it shows no GPU"};
  for (int k = 0; k < count; ++k) {
    const Result<CudaDevicePtr> device = CudaDevice::open(*driver, k);
    if (!device.ok())
      return {"cuda driver", false, fmt::format("{}; {}", found, device.failure().message)};
    const Result<int64_t> free = (*device)->free_bytes();
    constexpr double gib = 1 << 30;
    found += fmt::format("; cuda:{} {}, sm_{}, {:.1f} of {:.1f} GiB free", k, (*device)->name(),
                         (*device)->arch(), static_cast<double>(free.ok() ? *free : 0) / gib,
                         static_cast<double>((*device)->total_bytes()) / gib);
  }
  return {"cuda driver", true, found};
}

LibraryState nvrtc_state(const LibraryPlaces& places) {
  const Result<NvrtcPtr> nvrtc = Nvrtc::open(places);
  if (!nvrtc.ok()) return missing("nvrtc", nvrtc.failure());
  return {"nvrtc", true,
          fmt::format("{}, {}", version_text((*nvrtc)->version()), (*nvrtc)->path())};
}

// Of libraries whose version is what a function without arguments returns.
LibraryState other_state(std::string name, std::initializer_list<const char*> files,
                         std::string_view cure, const char* version_symbol,
                         const LibraryPlaces& places) {
  const Result<OpenedLibrary> library = open_library(files, cure, places);
  if (!library.ok()) return missing(std::move(name), library.failure());
  const auto version = reinterpret_cast<size_t (*)()>(find_symbol(*library, version_symbol));
  if (version == nullptr)
    return {std::move(name), false, fmt::format("{}: it has no {}", library->path, version_symbol)};
  const size_t number = version(), unit = 10'000;  // of both
  return {
      std::move(name), true,
      fmt::format("{}.{}.{}, {}", number / unit, number % unit / 100, number % 100, library->path)};
}

}  // namespace

std::vector<LibraryState> library_states(const LibraryPlaces& places) {
  return {driver_state(places), nvrtc_state(places),
          other_state("cublaslt", {"libcublasLt.so.13", "libcublasLt.so.12"},
                      "NVIDIA's library of products is in its CUDA toolkit, and on PyPI: pip "
                      "install nvidia-cublas",
                      "cublasLtGetVersion", places),
          other_state("cudnn", {"libcudnn.so.9"},
                      "NVIDIA's library of attention and convolutions is on PyPI: pip install "
                      "nvidia-cudnn-cu13",
                      "cudnnGetVersion", places)};
}

}  // namespace cleave::cuda
