// Any bytes are a config.json or an error; behind the byte 'i', an index or an error. A model that
// is small is made; a config that is accepted is saved as one that says the same.
//   make fuzz-build && build/fuzz/bin/fuzz_pretrained -max_len=4096 -max_total_time=120 CORPUS \
//     test/fuzz/pretrained
#include "pretrained/architecture.h"
#include "pretrained/checkpoint_files.h"
#include "pretrained/save.h"

namespace {

using namespace cleave;
using namespace cleave::pretrained;

template <class T>
int refused(const Result<T>& r) {
  if (r.failure().kind == ErrorKind::bug || r.failure().message.empty()) __builtin_trap();
  return 0;
}

int fuzz_index(const std::string& text) {
  const Result<WeightMap> map = read_index(text, "index");
  if (!map.ok()) return refused(map);
  size_t names = 0;
  for (const auto& [file, tensors] : *map) names += tensors.size();
  if (names == 0 || names > text.size()) __builtin_trap();
  return 0;
}

int fuzz_config(const std::string& text) {
  const Result<ConfigFile> file = ConfigFile::from_text(text, "config");
  if (!file.ok()) return refused(file);
  const Result<Plan> plan = plan_model(*file, "", DType::f32);
  if (!plan.ok()) return refused(plan);
  const Result<ConfigFile> saved =
      ConfigFile::from_text(saved_config(*file, plan->facts, DType::f32), "saved");
  if (!saved.ok()) __builtin_trap();
  const Result<Plan> again = plan_model(*saved, plan->facts.model_type, DType::f32);
  if (!again.ok() || again->facts.parameters != plan->facts.parameters) __builtin_trap();
  if (plan->facts.parameters > 20000) return 0;
  Generator rng(1);
  const nn::Module root = plan->make({rng, plan->facts.initializer_range, DType::f32}).root;
  if (static_cast<double>(root.parameter_count()) != plan->facts.parameters) __builtin_trap();
  return 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  return text.starts_with('i') ? fuzz_index(text.substr(1)) : fuzz_config(text);
}
