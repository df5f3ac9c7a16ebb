// Runs a model of transformers on one batch, for test/peer/pretrained.py.
//
//   run_pretrained CONFIG WEIGHTS BATCH OUT MAX_SHARD_BYTES DTYPE
//
// CONFIG is what make() takes, WEIGHTS what load() does; BATCH.safetensors has input and labels.
// Writes OUT/results.safetensors (logits, loss, grad.NAME) and the model into OUT/saved, and prints
// the names of the report. Gradients are those of every parameter; names that may be missing keep
// what was drawn.
#include <fmt/format.h>

#include "base/json.h"
#include "cleave/cleave.h"

namespace cleave {
namespace {

DType dtype_by_name(std::string_view name) {
  for (const DType t : {DType::f64, DType::f32, DType::bf16, DType::f16})
    if (name_of(t) == name) return t;
  throw Error(ErrorKind::user, "DTYPE: expected f64, f32, bf16 or f16");
}

InputSpec spec_of(const std::string& name, const HostTensor& t) {
  return {name, t.dtype(), t.shape()};
}

int run(const std::string& config, const std::string& weights, const std::string& batch_path,
        const std::string& out, int64_t max_shard_bytes, DType dtype) {
  Generator rng(1);
  Pretrained model = Pretrained::make(config, rng, {.dtype = dtype});
  const LoadReport report = model.load(weights, {.allow_missing = true});
  const NamedTensors batch = load_tensors(batch_path);
  const HostTensor &input = batch.at("input"), &labels = batch.at("labels");

  std::vector<std::string> names = {"logits", "loss"};
  for (const auto& [name, p] : model.named_parameters()) names.push_back("grad." + name);
  CompiledFunction step = compile(model,
                                  [&](const Tensor& x, const Tensor& y) {
                                    const Tensor loss = model.loss(x, y);
                                    Tensors results = {model.logits(x), loss}, wrt;
                                    for (const auto& [name, p] : model.named_parameters())
                                      wrt.emplace_back(p);
                                    for (Tensor& g : grad(loss, wrt, {.allow_unused = true}))
                                      results.push_back(std::move(g));
                                    return results;
                                  },
                                  {spec_of("input", input), spec_of("labels", labels)});
  HostTensors results = step.run({input, labels});
  NamedTensors named;
  for (size_t k = 0; k < names.size(); ++k) named.emplace(names[k], std::move(results[k]));
  save_tensors(out + "/results.safetensors", named);
  model.save(out + "/saved", max_shard_bytes);
  const Json line = {{"loaded", report.loaded},
                     {"missing", report.missing},
                     {"extra", report.extra},
                     {"converted", report.converted}};
  fmt::print("{}\n", line.text());
  return 0;
}

}  // namespace
}  // namespace cleave

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  try {
    return cleave::run(argv[1], argv[2], argv[3], argv[4], std::stoll(argv[5]),
                       cleave::dtype_by_name(argv[6]));
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
