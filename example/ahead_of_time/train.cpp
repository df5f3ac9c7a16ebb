// Trains from step.so alone, as train.c does, from C++:
//
//   g++ -std=c++17 -I FOLDER train.cpp FOLDER/step.so -o train && ./train FOLDER/batches.bin
#include "step.h"

#include <cstdio>
#include <fstream>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace {

struct Close {
  void operator()(cleave_instance* step) const { step_close(step); }
};
using Step = std::unique_ptr<cleave_instance, Close>;

cleave_error error;

void check(int code) {
  if (code != CLEAVE_DONE) throw std::runtime_error(error.message);
}

std::vector<char> memory_of(const cleave_tensor& t) {
  constexpr int element[] = {8, 4, 2, 2, 8, 4, 2, 1, 1, 1, 8};
  const int64_t bytes =
      std::accumulate(t.shape, t.shape + t.rank, int64_t{element[t.dtype]}, std::multiplies<>());
  return std::vector<char>(static_cast<size_t>(bytes));
}

void train(std::istream& batches) {
  const cleave_options options = STEP_OPTIONS_INIT;
  const Step step(step_open(&options, &error));
  if (!step) throw std::runtime_error(error.message);
  std::vector<cleave_tensor> in(STEP_INPUTS);
  std::vector<std::vector<char>> memory;
  for (size_t k = 0; k < in.size(); ++k) {
    check(step_input(step.get(), k, &in[k], &error));
    in[k].data = memory.emplace_back(memory_of(in[k])).data();
  }
  for (;;) {
    for (std::vector<char>& m : memory)
      batches.read(m.data(), static_cast<std::streamsize>(m.size()));
    if (!batches) return;
    float loss = 0;
    cleave_tensor out{&loss, CLEAVE_F32, 0, nullptr, nullptr}, norm{};
    float of_gradients = 0;
    norm = out;
    norm.data = &of_gradients;
    const cleave_tensor results[] = {out, norm};
    check(step_run(step.get(), in.data(), in.size(), results, STEP_OUTPUTS, &error));
    std::printf("%a\n", static_cast<double>(loss));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::ifstream batches(argc == 2 ? argv[1] : "", std::ios::binary);
  if (!batches) {
    std::fprintf(stderr, "usage: train BATCHES\n");
    return 1;
  }
  try {
    train(batches);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
