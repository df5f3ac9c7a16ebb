#include "tool/train/sample.h"

#include <algorithm>
#include <cmath>

#include "tool/train/program_options.h"

namespace cleave::tool {
namespace {

int64_t draw(const float* logits, int64_t n, double u) {
  constexpr double temperature = 0.8;
  double top = logits[0], total = 0;
  for (int64_t k = 1; k < n; ++k) top = std::max<double>(top, logits[k]);
  for (int64_t k = 0; k < n; ++k) total += std::exp((logits[k] - top) / temperature);
  for (int64_t k = 0; k < n; ++k)
    if ((u -= std::exp((logits[k] - top) / temperature) / total) < 0) return k;
  return n - 1;
}

}  // namespace

std::vector<int64_t> draw_tokens(const RunModel& model, const CompileOptions& options,
                                 std::vector<int64_t> begin, int64_t count, int64_t context,
                                 uint64_t seed) {
  CompiledFunction f =
      compile(model.module, model.logits, {{model.inputs.front().name, DType::i64, {1, context}}},
              options, no_line);
  Generator rng(seed);
  HostTensor idx(DType::i64, {1, context});
  int64_t* const x = idx.data<int64_t>();
  auto length = static_cast<int64_t>(begin.size());
  std::ranges::copy(begin, x);
  std::vector<int64_t> out;
  while (static_cast<int64_t>(out.size()) < count) {
    const InputRef refs[] = {idx};
    f.run_in_place(refs);
    const HostTensor logits = f.output_view(0);
    const float* row = logits.data<float>() + (length - 1) * model.vocabulary;
    const int64_t next = draw(row, model.vocabulary, rng.uniform());
    out.push_back(next);
    if (length == context)
      std::copy(x + 1, x + context, x);
    else
      ++length;
    x[length - 1] = next;
  }
  return out;
}

std::string sample_characters(const TrainArguments& o, const RunModel& model,
                              const CompileOptions& options, const std::string& vocabulary) {
  const size_t newline = vocabulary.find('\n');
  const int64_t begin = newline == std::string::npos ? 0 : static_cast<int64_t>(newline);
  std::string out;
  for (const int64_t id : draw_tokens(model, options, {begin}, *o.sample, *o.context, o.seed + 1))
    out += vocabulary[static_cast<size_t>(id)];
  return out;
}

std::string sample_text(const TrainArguments& o, const RunModel& model,
                        const CompileOptions& options) {
  const int64_t context = std::min(model.context, *o.sample + 1);
  const std::vector<int64_t> ids =
      draw_tokens(model, options, {model.separator.value_or(0)}, *o.sample, context, o.seed + 1);
  return model.tokenizer->decode(ids, {.skip_special_tokens = false});
}

}  // namespace cleave::tool
