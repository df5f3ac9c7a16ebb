// Runs the pieces of a kernel: on cleave's own threads, or on the host program's.
//
//   struct MyPool : cleave::Executor {
//     int threads() const override { return pool.size(); }
//     void parallel_for(long pieces, void (*f)(void*, long), void* context) override { ... }
//   };
//
// Results have the same bits for any number of threads: no sum's order depends on how the work is
// cut into pieces, and an Executor decides where each piece runs.
#pragma once
#include <memory>

#include "cleave/error.h"

namespace cleave {

class CLEAVE_API Executor {
 public:
  virtual ~Executor() = default;
  // How many pieces may run at the same time, at least 1.
  virtual int threads() const = 0;
  // Calls f(context, i) once for each i in [0, pieces), in any order, from up to threads() threads,
  // and returns when all are done. f does not throw. Must not allocate in the steady state.
  virtual void parallel_for(long pieces, void (*f)(void* context, long piece), void* context) = 0;
};

// cleave's own threads: threads - 1 workers and the caller; bounded spinning, then sleeping; no
// pinning. threads = 0 means one for each core the process may use. The destructor joins them.
//
// A caller that finds the workers at the work of another thread runs its pieces itself, and gets
// them as soon as they are free: several programs may run on one pool at the same time. In the
// child of fork() a pool has no workers: its pieces run on the calling thread.
CLEAVE_API std::shared_ptr<Executor> make_thread_pool(int threads = 0);

}  // namespace cleave
