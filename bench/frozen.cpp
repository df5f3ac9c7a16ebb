// Inference with frozen weights (CompileOptions::freeze).
//
//   bench_frozen MODEL BATCH [--seconds 3] [--threads 0] [--plain] [--save FOLDER]
//
//   resnet50     f32[BATCH,3,224,224] -> f32[BATCH,1000]; its statistics aren't 0 and 1
//   bert_small   i64[BATCH,128] -> f32[BATCH,128,30522]; 4 layers of 512
//   gpt2         i64[BATCH,128] -> f32[BATCH,128,50257]; 124M
//
// Prints a JSON object: ms, the median of n runs, after 3 that don't count; cold_ms, from the model
// to runnable; what was frozen, in bytes. --plain: without freezing. --save: weights,
// input and result, for bench/peer_frozen.py.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/models/resnet50.h"
#include "bench/timing.h"
#include "tool/gpt.h"

namespace {

using namespace cleave;

struct Settings {
  std::string model, save;
  int64_t batch = 0;
  double seconds = 3;
  int threads = 0;
  bool plain = false;
};

struct Model {
  std::shared_ptr<nn::Module> module;
  TracedFunction logits;
  HostTensor input;
};

Model resnet50(int64_t batch) {
  Generator rng(0);
  auto module = std::make_shared<bench::ResNet50>(rng);
  for (auto [name, b] : module->named_buffers()) {
    if (name.ends_with("running_mean")) b.set(rng.uniform(b.shape(), -0.2, 0.2));
    if (name.ends_with("running_var")) b.set(rng.uniform(b.shape(), 0.5, 2));
  }
  return {module, [module](const Tensor& x) { return module->logits(x); },
          rng.normal({batch, 3, 224, 224})};
}

Model tokens(const tool::GptShape& shape, int64_t batch) {
  Generator rng(0);
  auto module = std::make_shared<tool::Gpt>(shape, rng);
  return {module, [module](const Tensor& x) { return module->logits(x); },
          rng.integers({batch, 128}, 0, shape.vocabulary)};
}

Model make(const std::string& name, int64_t batch) {
  if (name == "resnet50") return resnet50(batch);
  if (name == "gpt2") return tokens({50257, 12, 768, 12, 1024}, batch);
  return tokens({30522, 4, 512, 8, 512, 0, tool::Attention::bidirectional}, batch);
}

void save(const std::string& folder, const Model& m, const HostTensor& result) {
  std::filesystem::create_directories(folder);
  save_weights(folder + "/weights.safetensors", *m.module);
  const std::pair<const char*, const HostTensor*> files[] = {{"input", &m.input},
                                                             {"result", &result}};
  for (const auto& [name, t] : files)
    std::ofstream(folder + "/" + name, std::ios::binary)
        .write(static_cast<const char*>(t->data()), t->bytes());
}

nlohmann::ordered_json measure(const Settings& s) {
  const Model m = make(s.model, s.batch);
  m.module->eval();
  const auto begin = bench::Clock::now();
  CompiledFunction f = compile(*m.module, m.logits, {{"x", m.input.dtype(), m.input.shape()}},
                               {.threads = s.threads, .freeze = !s.plain});
  const double cold_ms = bench::ms_since(begin);
  const std::vector<InputRef> inputs{m.input};
  for (int k = 0; k < 2; ++k) f.run_in_place(inputs);
  size_t n = 0;
  const double ms = bench::median_ms([&] { f.run_in_place(inputs), ++n; }, 5, 1e3 * s.seconds);
  if (!s.save.empty()) save(s.save, m, f.output(0));
  const Report& r = f.report();
  const auto part = [](const FrozenReport::Part& p) {
    return nlohmann::ordered_json{{"count", p.count}, {"bytes", p.bytes}};
  };
  return {{"model", s.model},
          {"batch", s.batch},
          {"ms", ms},
          {"n", n - 1},
          {"cold_ms", cold_ms},
          {"kernels", r.kernels},
          {"planned_peak_bytes", r.planned_peak_bytes},
          {"folded", part(r.frozen.folded)},
          {"packed", part(r.frozen.packed)},
          {"kept", part(r.frozen.kept)},
          {"dropped", part(r.frozen.dropped)}};
}

// False if the arguments aren't valid.
bool read(int argc, char** argv, Settings& out) {
  if (argc < 3) return false;
  out.model = argv[1];
  out.batch = std::atol(argv[2]);
  for (int k = 3; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--plain")
      out.plain = true;
    else if (k + 1 == argc)
      return false;
    else if (word == "--seconds")
      out.seconds = std::atof(argv[++k]);
    else if (word == "--threads")
      out.threads = std::atoi(argv[++k]);
    else if (word == "--save")
      out.save = argv[++k];
    else
      return false;
  }
  const bool is_known = out.model == "resnet50" || out.model == "bert_small" || out.model == "gpt2";
  return is_known && out.batch > 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!read(argc, argv, settings)) {
    std::fprintf(stderr,
                 "usage: bench_frozen resnet50|bert_small|gpt2 BATCH [--seconds S] [--threads N] "
                 "[--plain] [--save FOLDER]\n");
    return 1;
  }
  std::printf("%s\n", measure(settings).dump().c_str());
}
