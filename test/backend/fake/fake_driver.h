// The driver of fake_cuda.h, opened as cleave opens the real one.
#pragma once
#include <dlfcn.h>

#include "backend/cuda/device.h"
#include "test/backend/fake/fake_cuda.h"

namespace cleave::cuda::test {

using cleave::test::FakeCuda;
using cleave::test::FakeLaunch;

// Its folder, and nothing that the system has.
inline LibraryPlaces fake_places() { return {.asks_system = false, .folders = {CLEAVE_FAKE_CUDA}}; }
inline DriverPtr fake_driver() { return value_or_throw(Driver::open(fake_places())); }
inline CudaDevicePtr fake_device() { return value_or_throw(CudaDevice::open(fake_driver())); }

// What it does in this test; as it was before, after it.
class FakeState {
 public:
  FakeState() { reset(); }
  ~FakeState() { reset(); }
  FakeState(const FakeState&) = delete;
  FakeState& operator=(const FakeState&) = delete;
  FakeCuda* operator->() const { return get(); }
  static FakeCuda* get() {
    const OpenedLibrary library = value_or_throw(open_library({"libcuda.so.1"}, "", fake_places()));
    return reinterpret_cast<cleave::test::FakeCudaFunction*>(find_symbol(library, "fake_cuda"))();
  }

 private:
  // But for what is allocated.
  static void reset() {
    FakeCuda& now = *get();
    FakeCuda next;
    next.memory = now.memory;
    next.pinned = now.pinned;
    next.streams = now.streams;
    next.modules = now.modules;
    next.graphs = now.graphs;
    next.events = now.events;
    now = next;
  }
};

}  // namespace cleave::cuda::test
