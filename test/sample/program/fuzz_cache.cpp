// fuzz_cache processes [P [G [R [SEED]]]]   P processes on one cache, each runs G random graphs R
//                                           times in an order of its own, from the cache where that
//                                           has them: the results have the bits of programs that
//                                           are built without one
// fuzz_cache faults [SEED]                  a process that fills a cache, killed at each call that
//                                           writes, and with each of ENOSPC, EIO, EMFILE and EROFS
//                                           as the answer to each: it computes the same, and leaves
//                                           no wrong entry
// fuzz_cache altered [N [SEED]]             N entries with altered, moved or missing bytes: none is
//                                           read
// Exit status: 0 nothing is wrong, 1 something is, 2 it can't run.
#include <sys/wait.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "cache/disk_cache.h"
#include "cleave/executor.h"
#include "op/registry.h"
#include "runtime/private_folder.h"
#include "test/cache/fault_tracer.h"
#include "test/sample/program/main.h"
#include "test/sample/random_graph.h"
#include "test/sample/run_program.h"

namespace cleave::random {
namespace {

namespace fs = std::filesystem;
using cache::test::Calls;
using cache::test::Fault;

std::unique_ptr<runtime::PrivateFolder> scratch() {
  return value_or_throw(runtime::PrivateFolder::make(fs::temp_directory_path()));
}

// One program for all calls, on one thread.
class Programs {
 public:
  Programs(uint64_t seed, uint64_t count) : ops_(value_or_throw(core_ops())) {
    options_.executor = make_thread_pool(1);
    while (graphs_.size() < count) {
      RandomGraph g = value_or_throw(random_graph(ops_, seed++, {}));
      const Result<law::Memory> want = run(g, "");
      if (!want.ok()) continue;  // not covered, or an index out of range
      graphs_.push_back(std::move(g));
      wanted_.push_back(*want);
    }
  }
  size_t size() const { return graphs_.size(); }
  bool is_right(size_t k, const std::string& folder) {
    const Result<law::Memory> got = run(graphs_[k], folder);
    return got.ok() && *got == wanted_[k];
  }
  int64_t hits() const { return hits_; }
  int64_t runs() const { return runs_; }

 private:
  Result<law::Memory> run(const RandomGraph& g, const std::string& folder) {
    options_.cache_dir = folder;
    // Half of them with code, which takes longer to compile.
    options_.compiler =
        g.g.node_count() % 2 == 0 ? CompilerChoice::none : CompilerChoice::automatic;
    CLEAVE_TRY(const auto program, CompiledProgram::compile(g.g, ops_, options_));
    ++runs_;
    hits_ += program->report().cache == "hit";
    return law::run_program(program, g.inputs, 1);
  }

  const OpRegistry ops_;
  StageOptions options_;
  std::vector<RandomGraph> graphs_;
  std::vector<law::Memory> wanted_;
  int64_t hits_ = 0, runs_ = 0;
};

int processes(const Arguments& given) {
  const uint64_t count = given.number(2, "P", 8), graphs = given.number(3, "G", 20),
                 rounds = given.number(4, "R", 3), seed = given.number(5, "SEED", 0);
  Programs programs(seed, graphs);
  const auto folder = scratch();
  const auto start = std::chrono::steady_clock::now();
  std::vector<pid_t> children;
  for (uint64_t p = 0; p < count; ++p) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    std::mt19937_64 rng(seed ^ (p << 32));
    std::vector<size_t> order(programs.size());
    for (size_t k = 0; k < order.size(); ++k) order[k] = k;
    int wrong = 0;
    for (uint64_t r = 0; r < rounds; ++r) {
      std::ranges::shuffle(order, rng);
      for (const size_t k : order) wrong += !programs.is_right(k, folder->path());
    }
    _exit(wrong != 0);
  }
  int wrong = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    wrong += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  const auto cache = value_or_throw(cache::DiskCache::open(folder->path()));
  const cache::Counts all = cache->totals();
  const int64_t torn = cache->verify().removed + all.corrupt;
  const std::chrono::duration<double> s = std::chrono::steady_clock::now() - start;
  fmt::print(
      "{} processes, {} graphs, {} rounds, in {:.0f} s: {} processes with wrong results, {} "
      "entries "
      "torn; {} reads hit, {} missed, {} writes, {} failures\n",
      count, programs.size(), rounds, s.count(), wrong, torn, all.hits, all.misses, all.writes,
      all.failures);
  return wrong + torn == 0 ? 0 : 1;
}

// What is wrong after a fault; empty: nothing.
std::string after_fault(Programs& programs, const std::string& folder, const Fault& fault,
                        const cache::test::TracedRun& run) {
  const bool is_killed = fault.error == 0 && fault.at >= 0;
  if (is_killed != (run.status == -1)) return fmt::format("the process ends with {}", run.status);
  if (!is_killed && run.status != 0)
    return fmt::format("the process ends with {}, expected 0", run.status);
  if (!programs.is_right(0, folder) || !programs.is_right(1, folder))
    return "other results after it";
  const auto cache = cache::DiskCache::open(folder);
  if (!cache.ok()) return cache.failure().message;
  if (const int64_t removed = (*cache)->verify().removed; removed != 0)
    return fmt::format("{} entries are torn", removed);
  if ((*cache)->totals().corrupt != 0) return "a corrupt entry was met";
  return "";
}

int faults(const Arguments& given) {
  Programs programs(given.number(2, "SEED", 0), 2);
  const std::pair<const char*, Fault> kinds[] = {
      {"kill -9", {Calls::writing, 0}},     {"ENOSPC", {Calls::writing, ENOSPC}},
      {"EIO", {Calls::writing, EIO}},       {"EROFS", {Calls::writing, EROFS}},
      {"EMFILE", {Calls::opening, EMFILE}}, {"EIO at open", {Calls::opening, EIO}}};
  int64_t wrong = 0;
  for (auto [name, fault] : kinds)
    for (const bool filled : {false, true}) {
      int64_t calls = 0;  // of a run without a fault
      for (fault.at = -1; fault.at < calls; ++fault.at) {
        const auto inside = scratch();
        const std::string folder = inside->path() + "/cache";
        if (filled) programs.is_right(0, folder);  // it reads one, writes the other
        const cache::test::TracedRun run = cache::test::FaultTracer(folder, fault).run([&] {
          return programs.is_right(0, folder) && programs.is_right(1, folder) ? 0 : 1;
        });
        if (!run.traced) {
          fmt::print("this system allows no ptrace\n");
          return 2;
        }
        if (fault.at == -1) calls = run.calls;
        const std::string why = after_fault(programs, folder, fault, run);
        if (why.empty()) continue;
        ++wrong;
        fmt::print("{} at call {} in {}: {}\n", name, fault.at,
                   filled ? "a filled cache" : "a new one", why);
      }
      fmt::print("{} in {}: {} calls\n", name, filled ? "a filled cache" : "a new one", calls);
    }
  fmt::print("{} wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}

// One alteration of a file among others.
std::string altered_one(const std::vector<std::string>& files, size_t which, std::mt19937_64& rng) {
  std::string out = files[which];
  const std::string& other = files[rng() % files.size()];
  const size_t at = rng() % out.size();
  switch (rng() % 6) {
    case 0: out[at] = static_cast<char>(out[at] ^ (1 << rng() % 8)); break;
    case 1: out.resize(at); break;
    case 2: out += other.substr(0, 1 + rng() % 64); break;
    case 3: out = out.substr(0, at) + other.substr(std::min(at, other.size())); break;
    case 4:
      for (size_t k = at; k < std::min(at + 1 + rng() % 16, out.size()); ++k)
        out[k] = static_cast<char>(rng());
      break;
    default: {
      const size_t n = std::min<size_t>(1 + rng() % 40, out.size() - at);
      out.erase(at, n);
      out.insert(rng() % (out.size() + 1), n, static_cast<char>(rng()));
    }
  }
  return out;
}

int altered(const Arguments& given) {
  const uint64_t n = given.number(2, "N", 10000), seed = given.number(3, "SEED", 0);
  Programs programs(seed, 6);
  const auto folder = scratch();
  for (size_t k = 0; k < programs.size(); ++k) programs.is_right(k, folder->path());
  std::vector<std::string> files;
  cache::UserKey key{};
  for (const auto& e : fs::recursive_directory_iterator(folder->path())) {
    if (!e.is_regular_file()) continue;
    std::ifstream file(e.path(), std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (e.path().filename() == "key")
      std::memcpy(key.data(), text.data(), std::min(text.size(), key.size()));
    else if (cache::is_entry_name(e.path().filename().string()))
      files.push_back(std::move(text));
  }
  const auto is_read = [&](const std::string& file) {
    return cache::checked_entry(std::as_bytes(std::span(file)), key).has_value();
  };
  uint64_t wrong = 0, same = 0, unread = 0;
  for (const std::string& file : files) unread += !is_read(file);
  std::mt19937_64 rng(seed);
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t k = 0; k < n; ++k) {
    const size_t which = rng() % files.size();
    const std::string file = altered_one(files, which, rng);
    // What is another entry as a whole is told apart by its name (cache/entry.h).
    if (std::ranges::find(files, file) != files.end())
      ++same;
    else
      wrong += is_read(file);
  }
  const std::chrono::duration<double> s = std::chrono::steady_clock::now() - start;
  fmt::print("{} entries, {} altered ({} to what they were), in {:.0f} s: {} of them read\n",
             files.size(), n, same, s.count(), wrong);
  return wrong + unread == 0 && !files.empty() ? 0 : 1;
}

int run(const Arguments& given) {
  const std::string mode = given.text(1, "processes");
  if (mode == "processes") return processes(given);
  if (mode == "faults") return faults(given);
  if (mode == "altered") return altered(given);
  fmt::print(stderr, "fuzz_cache: expected processes, faults or altered, not {}\n", mode);
  return 2;
}

}  // namespace
}  // namespace cleave::random

int main(int argc, char** argv) {
  return cleave::random::exit_status(argc, argv, cleave::random::run);
}
