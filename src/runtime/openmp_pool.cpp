// The Executor of make_openmp_pool: for the time of a run, a crew of the threads of an OpenMP team.
//
// libgomp, libomp and libiomp5 all have GOMP_parallel, which what gcc compiles calls. The team's
// first thread is the caller. In the child of a fork OpenMP may not have its threads any more: all
// pieces run on the calling thread.
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "base/result.h"
#include "cleave/executor.h"
#include "runtime/fork_count.h"
#include "runtime/thread_crew.h"

namespace cleave {
namespace {

constexpr int most_threads = 1 << 14;

// Functions of an OpenMP runtime that is loaded.
struct OpenMp {
  void (*parallel)(void (*f)(void*), void* data, unsigned threads, unsigned flags) = nullptr;
  int (*thread_num)() = nullptr;
  int (*num_threads)() = nullptr;
  int (*max_threads)() = nullptr;

  static Result<OpenMp> find(const std::string& library);
};

// The paths of the loaded libraries of this kind.
std::vector<std::string> loaded_runtimes() {
  std::vector<std::string> out;
  const auto add = [](dl_phdr_info* info, size_t, void* to) {
    const char* slash = std::strrchr(info->dlpi_name, '/');
    const std::string_view name = slash ? slash + 1 : info->dlpi_name;
    for (const std::string_view runtime : {"libgomp", "libomp", "libiomp5"})
      if (name.starts_with(runtime))
        static_cast<std::vector<std::string>*>(to)->emplace_back(info->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(add, &out);
  return out;
}

template <class F>
bool set(F& function, void* library, const char* name) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

Result<OpenMp> OpenMp::find(const std::string& library) {
  for (const std::string& path : loaded_runtimes()) {
    if (path.find(library) == std::string::npos) continue;
    // Never let go of: the functions stay.
    void* const loaded = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    OpenMp out;
    if (loaded && set(out.parallel, loaded, "GOMP_parallel") &&
        set(out.thread_num, loaded, "omp_get_thread_num") &&
        set(out.num_threads, loaded, "omp_get_num_threads") &&
        set(out.max_threads, loaded, "omp_get_max_threads"))
      return out;
  }
  return user_error(
      "make_openmp_pool: no OpenMP runtime{} is loaded in this process (libgomp, libomp, "
      "libiomp5): load it before, or use make_thread_pool",
      library.empty() ? "" : fmt::format(" with {} in its path", library));
}

class OpenMpPool final : public Executor {
 public:
  OpenMpPool(const OpenMp& openmp, int threads) : openmp_(openmp), crew_(threads) {}
  int threads() const override { return crew_.threads(); }

  void parallel_for(long pieces, void (*f)(void*, long), void* context) override {
    struct Job {
      OpenMpPool& pool;
      long pieces;
      void (*f)(void*, long);
      void* context;
    } job{*this, pieces, f, context};
    const auto run = [](void* given) {
      const Job& j = *static_cast<Job*>(given);
      j.pool.crew_.run(j.pieces, j.f, j.context, j.pool.is_forked());
    };
    if (pieces > 1)
      with_threads(run, &job);
    else
      run(&job);
  }

  void with_threads(void (*f)(void*), void* context) override {
    if (threads() == 1 || is_forked() || entered_.exchange(true)) return f(context);
    Team team{*this, f, context, crew_.expect(1), nullptr};
    openmp_.parallel([](void* given) { static_cast<Team*>(given)->enter(); }, &team,
                     static_cast<unsigned>(threads()), 0);
    entered_.store(false);
    if (team.thrown) std::rethrow_exception(team.thrown);
  }

 private:
  struct Team {
    OpenMpPool& pool;
    void (*f)(void*);
    void* context;
    uint64_t since;  // the jobs before this team
    std::exception_ptr thrown;

    void enter() {
      const int thread = pool.openmp_.thread_num();
      if (thread > 0) return pool.crew_.work(static_cast<size_t>(thread), since);
      pool.crew_.expect(pool.openmp_.num_threads());
      try {
        f(context);
      } catch (...) { thrown = std::current_exception(); }
      pool.crew_.dismiss();
    }
  };
  bool is_forked() const { return runtime::fork_count() != fork_count_; }

  const OpenMp openmp_;
  runtime::ThreadCrew crew_;
  std::atomic<bool> entered_{false};  // a team is at work, of this thread or another one
  const uint32_t fork_count_ = runtime::fork_count();
};

Result<std::shared_ptr<Executor>> made(int threads, const std::string& library) {
  if (threads < 0 || threads > most_threads)
    return user_error("make_openmp_pool: threads: {}, expected 0 to {}", threads, most_threads);
  if (runtime::fork_count() > 0)
    return user_error(
        "make_openmp_pool: in the child of a fork OpenMP may wait for threads that are gone: use "
        "make_thread_pool");
  CLEAVE_TRY(const OpenMp openmp, OpenMp::find(library));
  return std::shared_ptr<Executor>(
      std::make_shared<OpenMpPool>(openmp, threads > 0 ? threads : openmp.max_threads()));
}

}  // namespace

std::shared_ptr<Executor> make_openmp_pool(int threads, const std::string& library) {
  return value_or_throw(made(threads, library));
}

}  // namespace cleave
