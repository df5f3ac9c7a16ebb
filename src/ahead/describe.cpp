#include "ahead/describe.h"

#include "base/build_identity.h"
#include "standalone/embedded.h"
#include "version.h"

namespace cleave::ahead {
namespace {

Json numbers(const std::vector<int64_t>& list) {
  Json out = Json::array();
  for (const int64_t n : list) out.push_back(n);
  return out;
}

Json tensor(const standalone::TensorEntry& t) {
  return {{"name", t.name},
          {"dtype", name_of(t.dtype)},
          {"shape", numbers(t.shape)},
          {"strides", numbers(t.strides)}};
}

std::string_view place_name(WeightPlace place) {
  constexpr std::string_view names[] = {"inside", "beside", "none"};
  return names[static_cast<size_t>(place)];
}

}  // namespace

Json describe(const standalone::ProgramFile& file, const Source& source,
              const std::vector<PackedProgram::Callback>& callbacks, const std::string& key,
              int64_t code_bytes, const Target& target) {
  Json inputs = Json::array(), outputs = Json::array(), state = Json::array(),
       constants = Json::array(), called = Json::array(), features = Json::array();
  for (const standalone::InputEntry& i : file.inputs) {
    Json item = tensor(i.tensor);
    item["updated"] = i.is_updated;
    inputs.push_back(std::move(item));
  }
  for (const standalone::OutputEntry& o : file.outputs) outputs.push_back(tensor(o.tensor));
  int64_t state_bytes = 0;
  for (size_t k = 0; k < source.state.size(); ++k) {  // the first entries are those of the source
    const standalone::StateEntry& s = file.state[k];
    Json item = tensor(s.tensor);
    item["role"] = source.state[k].role;
    item["updated"] = s.is_updated;
    state_bytes += s.bytes;
    (s.kind == standalone::StateKind::constant ? constants : state).push_back(std::move(item));
  }
  for (const PackedProgram::Callback& c : callbacks)
    called.push_back(
        {{"name", c.name}, {"op", c.op}, {"operands", c.operands}, {"results", c.results}});
  for (const std::string& f : file.features) features.push_back(f);
  return {{"interface", CLEAVE_INTERFACE_VERSION},
          {"cleave", CLEAVE_VERSION},
          {"name", file.name},
          {"key", key},
          {"program", fmt::format("0x{:016x}", file.id)},
          {"target", target.text()},
          {"features", features},
          {"arena_bytes", file.step.arena_bytes},
          {"state_bytes", state_bytes},
          {"code_bytes", code_bytes},
          {"weights", place_name(file.weights)},
          {"weight_file", file.weight_file},
          {"inputs", inputs},
          {"outputs", outputs},
          {"state", state},
          {"constants", constants},
          {"callbacks", called}};
}

}  // namespace cleave::ahead
