// Trains from step.so alone, as train.c does, from C++, with the memory of results its own:
//
//   g++ -std=c++17 -I FOLDER train.cpp FOLDER/step.so -o train && ./train FOLDER/batches.bin
#include "step.h"

#include <algorithm>
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
  std::vector<std::vector<int64_t>> types, shapes;
  std::vector<std::vector<char>> memory(STEP_INPUTS);
  for (cleave_tensor& t : in) {
    check(step_input(step.get(), types.size(), &t, &error));
    types.emplace_back(t.shape, t.shape + t.rank);
    t.strides = nullptr;
  }
  for (int64_t rows = 0; batches.read(reinterpret_cast<char*>(&rows), sizeof(rows));) {
    shapes = types;
    for (size_t k = 0; k < in.size(); ++k) {
      std::replace_if(shapes[k].begin(), shapes[k].end(), [](int64_t n) { return n < 0; }, rows);
      in[k].shape = shapes[k].data();
      memory[k] = memory_of(in[k]);
      in[k].data = memory[k].data();
      batches.read(memory[k].data(), static_cast<std::streamsize>(memory[k].size()));
    }
    float loss = 0, norm = 0;
    const cleave_tensor results[] = {{&loss, CLEAVE_F32, 0, nullptr, nullptr},
                                     {&norm, CLEAVE_F32, 0, nullptr, nullptr}};
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
