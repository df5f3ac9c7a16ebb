// fuzz_cuda [N [SEED [FOLDER]]]: the kernels of N random graphs, every other one with its
// gradients, as the threads of a GPU run them: each access looked at, results against bytecode.
// With a folder each kernel's CUDA C is written into it. Exit status: 0 all are right, 1 some
// aren't, 2 it can't run.
#include <fstream>

#include "op/registry.h"
#include "simt/cuda_prelude.h"
#include "simt/cuda_text.h"
#include "simt/map_threads.h"
#include "test/sample/check_threads.h"
#include "test/sample/program/main.h"

namespace cleave::random {
namespace {

void write_texts(const OpRegistry& ops, uint64_t seed, const std::string& folder) {
  std::string text;
  size_t number = 0;
  for (const loop::Kernel& k : value_or_throw(kernels_of_seed(ops, seed)))
    text += simt::cuda_text(simt::map_threads(k), fmt::format("k{}", number++), true).text;
  std::ofstream(fmt::format("{}/{}.cu", folder, seed)) << simt::cuda_prelude_for(text) << text;
}

int run(const Arguments& given) {
  const uint64_t n = given.number(1, "N", 1000), seed = given.number(2, "SEED", 0);
  const std::string folder = given.text(3, "");
  const OpRegistry ops = value_or_throw(core_ops());
  int64_t kernels = 0, phases = 0, threads = 0, left_open = 0, wrong = 0;
  for (uint64_t k = seed; k < seed + n; ++k)
    wrong += failures(fmt::format("seed {}", k), [&] {
      const ThreadsVerdict v = value_or_throw(check_threads(ops, k));
      kernels += v.kernels, phases += v.phases, threads += v.threads;
      left_open += v.left_open;
      if (!v.wrong.empty() && ++wrong <= 5) fmt::print("seed {}: {}\n{}\n", k, v.wrong, v.text);
      if (!folder.empty()) write_texts(ops, k, folder);
    });
  fmt::print(
      "{} graphs from seed {}; {} kernels of {} phases, {} threads; {} left open by rounding, {} "
      "wrong\n",
      n, seed, kernels, phases, threads, left_open, wrong);
  return wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace cleave::random

int main(int argc, char** argv) {
  return cleave::random::exit_status(argc, argv, cleave::random::run);
}
