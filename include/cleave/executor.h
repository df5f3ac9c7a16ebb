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
#include <string>

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
  // Calls f(context), which calls parallel_for many times: the place to have threads ready. Each
  // run of a program is such a call. f may throw.
  virtual void with_threads(void (*f)(void* context), void* context) { f(context); }
};

// cleave's own threads: threads - 1 workers and the caller; bounded spinning, then sleeping; no
// pinning. threads = 0 means one for each core the process may use. The destructor joins them.
//
// A caller that finds the workers at the work of another thread runs its pieces itself, and gets
// them as soon as they are free: several programs may run on one pool at the same time. In the
// child of fork() a pool has no workers: its pieces run on the calling thread.
CLEAVE_API std::shared_ptr<Executor> make_thread_pool(int threads = 0);

// The threads of the OpenMP runtime that this process has loaded (libgomp, libomp, libiomp5). For
// programs whose other parts use OpenMP, as PyTorch does: its threads keep spinning for a while
// when they have nothing to do, and a second set of threads then waits for their cores. For the
// time of each run the threads of one team are cleave's, by its own way of sharing out work;
// results have the same bits. threads = 0: as many as OpenMP has for the calling thread
// (omp_get_max_threads()). library: a part of the runtime's path, where several are loaded. A
// second run at the same time has the team's threads when they are free, as above. Errors (user):
// no such runtime is loaded; this is the child of a fork; a negative number.
CLEAVE_API std::shared_ptr<Executor> make_openmp_pool(int threads = 0,
                                                      const std::string& library = "");

}  // namespace cleave
