// fuzz_compile [N [SEED [FOLDER]]]: N random graphs from SEED on, forward and backward, each
// compiled with options of its own (run_choice.h) in every way that a program can be had, which all
// have to give the same bits, or the same error:
//
//   cold     compiled, and kept in a cache
//   hit      as the cache gives it back
//   boxed    each input's memory is overwritten behind its last reader
//   sizes    graphs that have a symbolic size: at three sizes, with functions that were learned
//            from the sizes before
//   library  each 50th graph, as shipped: a library of its own (cleave/build.h), opened, and one of
//            all its sizes; of errors only that there is one
//
// Each tenth graph by the compiler, the others with interpreted kernels. A graph that differs is
// written to FOLDER as wrong_SEED.clv with its inputs. Exit status: 0 none differs, 1 some do, 2 it
// can't run.
#include <chrono>
#include <filesystem>
#include <random>

#include "compile/stages.h"
#include "ir/text.h"
#include "op/registry.h"
#include "test/sample/kept_program.h"
#include "test/sample/library_program.h"
#include "test/sample/other_sizes.h"
#include "test/sample/program/main.h"
#include "test/sample/run_choice.h"
#include "test/sample/run_program.h"
#include "test/sample/save_graph.h"
#include "test/sample/strided_graph.h"
#include "test/sample/symbolic_graph.h"

namespace cleave::random {
namespace {

using ProgramPtr = std::shared_ptr<const CompiledProgram>;

struct Totals {
  int64_t graphs = 0, shipping = 0, sized = 0, sizes = 0, released = 0, libraries = 0, refused = 0,
          wrong = 0;
};

// What a run says: its bits, or its error.
struct Said {
  law::Memory results;
  std::string error;
  bool operator==(const Said&) const = default;
};

Said said(const Result<law::Memory>& run) {
  return run.ok() ? Said{*run, ""} : Said{{}, run.failure().message};
}

Result<law::Memory> run_boxed(const ProgramPtr& program, const Arrays& inputs, int threads,
                              Totals& totals) {
  CLEAVE_TRY(auto instance, Instance::make(program, make_thread_pool(threads)));
  const Graph& g = program->graph();
  CLEAVE_TRY(law::Memory bound, law::bind_inputs(*instance, g, inputs));
  const Instance::Release release = [&](size_t placeholder) {
    std::ranges::fill(bound[placeholder], std::byte{0xa5});
    ++totals.released;
    return true;
  };
  CLEAVE_CHECK(instance->run(&release));
  law::Memory out;
  for (size_t k = 0; k < g.returns().size(); ++k) out.push_back(law::result_bytes(*instance, g, k));
  return out;
}

class Forms {
 public:
  Forms(const OpRegistry& ops, const RunChoice& choice, Totals& totals)
      : ops_(ops), options_{choice.compile}, totals_(totals) {
    options_.fuse = choice.fuse;
    options_.executor = make_thread_pool(options_.threads);
  }

  // What differs; empty: nothing. Errors: those of compilation.
  Result<std::string> wrong(const RandomGraph& r, bool as_library) {
    CLEAVE_TRY(const law::KeptProgram kept, law::build_and_find(r.g, ops_, options_));
    const Said cold = said(law::run_program(kept.built, r.inputs, options_.threads));
    if (said(law::run_program(kept.found, r.inputs, options_.threads)) != cold)
      return std::string("hit: it differs");
    if (said(run_boxed(kept.found, r.inputs, options_.threads, totals_)) != cold)
      return std::string("boxed: it differs");
    if (!as_library) return std::string();
    return wrong_library({{{r.g, r.inputs}}}, {cold});
  }

  // At some sizes of its symbol, each beside a program for that size alone.
  Result<std::string> wrong_at_sizes(const RandomGraph& symbolic, uint64_t seed, bool as_library) {
    std::map<int64_t, std::pair<RandomGraph, Said>> known;
    std::mt19937_64 rng(seed);
    StageOptions pooled = options_;
    pooled.pool = std::make_shared<CodePool>(backend_for(options_), nullptr);
    const int64_t hint = symbolic.symbols.begin()->second;
    const int64_t sizes[] = {hint, hint + 1, hint - 1, 2 * hint, 1, 2, 3, 8, 17, 33};
    for (int k = 0; k < 3; ++k) {
      const int64_t size = k == 0 ? hint : sizes[rng() % std::size(sizes)];
      if (size < 1 || size > std::max<int64_t>(hint + 1, 64)) continue;
      Result<RandomGraph> r = at_size(symbolic, size);
      if (r.ok()) r = with_gradients(*r, ops_, seed);
      if (!r.ok()) continue;  // these sizes aren't allowed
      const Result<ProgramPtr> alone = CompiledProgram::compile(r->g, ops_, options_);
      const Result<ProgramPtr> shared = CompiledProgram::compile(r->g, ops_, pooled);
      if (alone.ok() != shared.ok())
        return fmt::format("sizes: at {}, {}", size,
                           alone.ok() ? shared.failure().message : alone.failure().message);
      if (!alone.ok()) continue;
      ++totals_.sizes;
      Said expected = said(law::run_program(*alone, r->inputs, options_.threads));
      if (said(law::run_program(*shared, r->inputs, options_.threads)) != expected)
        return fmt::format("sizes: at {} it differs", size);
      known.emplace(size, std::pair(*std::move(r), std::move(expected)));
    }
    if (!as_library || known.size() < 2) return std::string();
    std::vector<law::LibraryRun> runs;
    std::vector<Said> expected;
    for (const auto& [size, of] : known) {
      runs.push_back({of.first.g, of.first.inputs, size});
      expected.push_back(of.second);
    }
    return wrong_library(runs, expected);
  }

 private:
  // The runs by one library of all.
  Result<std::string> wrong_library(const std::vector<law::LibraryRun>& runs,
                                    const std::vector<Said>& expected) {
    totals_.libraries += std::ssize(runs);
    CLEAVE_TRY(const auto results, law::run_library(runs, ops_, options_));
    for (size_t k = 0; k < runs.size(); ++k) {
      const Result<law::Memory>& result = results[k];
      if (!result.ok() && result.failure().kind != ErrorKind::user)
        return Failure(result.failure());
      if (result.ok() != expected[k].error.empty())
        return fmt::format("library: run {} says '{}', not '{}'", k,
                           result.ok() ? "" : result.failure().message, expected[k].error);
      if (result.ok() && *result != expected[k].results)
        return fmt::format("library: run {} differs", k);
    }
    return std::string();
  }

  const OpRegistry& ops_;
  StageOptions options_;
  Totals& totals_;
};

void one(const OpRegistry& ops, uint64_t seed, const std::string& folder, Totals& totals) {
  RandomGraph forward = value_or_throw(random_graph(ops, seed, {}));
  value_or_throw(cast_some(forward, ops, seed));
  const bool ships = seed % 10 == 0;
  const RunChoice choice = draw_choice(seed, ships);
  ++totals.graphs;
  totals.shipping += ships;
  RandomGraph r = value_or_throw(with_gradients(forward, ops, seed));
  if (seed % 5 == 3) r = with_strides(std::move(r), seed);
  Forms forms(ops, choice, totals);
  const auto tell = [&](const RandomGraph& g, const Result<std::string>& wrong) {
    if (!wrong.ok() && is_unsupported(wrong.failure())) {
      ++totals.refused;
      return;
    }
    if (wrong.ok() && wrong->empty()) return;
    ++totals.wrong;
    report(fmt::format("seed {}, {}: {}\n", seed, choice.text(),
                       wrong.ok() ? *wrong : failing(wrong.failure())));
    save_graph(g, folder, seed);
  };
  tell(r, caught([&] { return forms.wrong(r, seed % 50 == 0); }));
  std::optional<RandomGraph> symbolic = with_symbol(forward, seed);
  if (!symbolic) return;
  ++totals.sized;
  tell(*symbolic, caught([&] { return forms.wrong_at_sizes(*symbolic, seed, seed % 50 == 0); }));
}

int run(const Arguments& given) {
  const uint64_t n = given.number(1, "N", 100), seed = given.number(2, "SEED", 0);
  const std::string folder = given.text(3, "build/wrong_graphs");
  const OpRegistry ops = value_or_throw(core_ops());
  Totals totals;
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t k = seed; k < seed + n; ++k)
    totals.wrong += failures(fmt::format("seed {}", k), [&] { one(ops, k, folder, totals); });
  const std::chrono::duration<double> s = std::chrono::steady_clock::now() - start;
  fmt::print(
      "{} graphs from seed {} ({} as shipped, {} with a symbolic size at {} sizes; {} inputs "
      "released; {} runs of libraries), in {:.0f} s: {} refused as unsupported, {} differ\n",
      totals.graphs, seed, totals.shipping, totals.sized, totals.sizes, totals.released,
      totals.libraries, s.count(), totals.refused, totals.wrong);
  return totals.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cleave::random

int main(int argc, char** argv) {
  return cleave::random::exit_status(argc, argv, cleave::random::run);
}
