// Asks the NVIDIA driver for its GPUs; all else that is asked of it is in src/backend/cuda.
#include <dlfcn.h>

#include <iterator>
#include <vector>

#include "base/target.h"

namespace cleave {
namespace {

// Of cuda.h: CUdevice_attribute.
constexpr int major_number = 75, minor_number = 76;

template <class F>
F* function_of(void* library, const char* name) {
  return reinterpret_cast<F*>(dlsym(library, name));
}

// Of all GPUs. The driver is never closed.
Result<std::vector<int>> find_archs() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return unsupported("no NVIDIA driver can be opened ({})", dlerror());
  auto* const init = function_of<int(unsigned)>(driver, "cuInit");
  auto* const count_of = function_of<int(int*)>(driver, "cuDeviceGetCount");
  auto* const get = function_of<int(int*, int)>(driver, "cuDeviceGet");
  auto* const attribute = function_of<int(int*, int, int)>(driver, "cuDeviceGetAttribute");
  int count = 0;
  if (init == nullptr || count_of == nullptr || get == nullptr || attribute == nullptr ||
      init(0) != 0 || count_of(&count) != 0 || count == 0)
    return unsupported("the NVIDIA driver shows no GPU");
  std::vector<int> out;
  for (int k = 0; k < count; ++k) {
    int device = 0, major = 0, minor = 0;
    if (get(&device, k) != 0 || attribute(&major, major_number, device) != 0 ||
        attribute(&minor, minor_number, device) != 0)
      return unsupported("the NVIDIA driver doesn't say which architecture GPU {} has", k);
    out.push_back(10 * major + minor);
  }
  return out;
}

}  // namespace

Result<int> detect_cuda_arch(int index) {
  static const Result<std::vector<int>> found = find_archs();
  if (!found.ok()) return Failure(found.failure());
  if (index < 0 || index >= std::ssize(*found))
    return unsupported("the NVIDIA driver shows {} GPUs, none of the number {}", found->size(),
                       index);
  return (*found)[static_cast<size_t>(index)];
}

}  // namespace cleave
