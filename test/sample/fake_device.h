// A device that isn't there, for tests: the CPU's backend, with memory of its own and a queue.
//
//   FakeDevice device;
//   train_step(model, loss, optimizer, inputs, {.compile = {.backend = device.backend}});
//   EXPECT_EQ(device.wrong(), "");
//
// Its addresses are those of pages that nobody may touch: a host that reads one dies. Calls and
// copies wait on their queue until somebody waits for it, and find the memory under such an address
// by its distance to the pages where it really is. A pointer of the host that reaches a call is
// told by wrong(). New memory holds a pattern. Between a failed check and the end of its run
// kernels do nothing, as on a device; library calls do what they do. Calls can be noted as a graph.
// What a copy to the host's room writes is lost from its begin to its end.
// Thread-safe.
#pragma once
#include "backend/backend.h"
#include "cleave/compiler_choice.h"

namespace cleave::test {

class FakeMemory;

struct FakeDevice {
  explicit FakeDevice(int64_t bytes = 64 << 20, Device where = Device::cuda(0),
                      CompilerChoice compiler = CompilerChoice::automatic);

  // Since the last call.
  struct Copies {
    int64_t in = 0, out = 0;              // how many
    int64_t in_bytes = 0, out_bytes = 0;  // how much
  };
  Copies copies();
  // The same: calls of runs that were noted as a graph, and how often such a graph ran.
  struct Graphs {
    int64_t noted = 0, launched = 0;
  };
  Graphs graphs();
  // Kernels and library calls that have run, of which those behind a failed check are none.
  int64_t calls() const;
  // Whether calls can be noted (they can); whether library calls wait for their queue (they don't).
  void set_notes(bool on);
  void set_library_waits(bool on);
  int64_t used_bytes() const;
  // The first thing that no device would do; empty: there was none.
  std::string wrong() const;

  std::shared_ptr<FakeMemory> memory;
  std::shared_ptr<Backend> backend;
  // Another one for the same device.
  std::shared_ptr<Backend> other_backend(CompilerChoice = CompilerChoice::automatic,
                                         const Target& target = Target::here()) const;
};

}  // namespace cleave::test
