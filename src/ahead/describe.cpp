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

Json tensor(const std::string& name, const standalone::TensorType& t) {
  return {{"name", name},
          {"dtype", name_of(t.dtype)},
          {"shape", numbers(t.shape)},
          {"strides", t.strides.size() < t.shape.size() ? Json() : numbers(t.strides)}};
}

std::string_view place_name(WeightPlace place) {
  constexpr std::string_view names[] = {"inside", "beside", "none"};
  return names[static_cast<size_t>(place)];
}

Json inputs_of(const standalone::ProgramFile& file) {
  Json out = Json::array();
  for (const standalone::InputEntry& i : file.inputs) {
    Json item = tensor(i.name, i.type);
    if (file.sized.size() > 1) {
      item["dims"] = Json::array();
      for (size_t d = 0; d < i.dims.size(); ++d)
        item["dims"].push_back(i.type.shape[d] < 0 ? Json(i.dims[d].text) : Json(i.type.shape[d]));
    }
    item["updated"] = i.is_updated;
    out.push_back(std::move(item));
  }
  return out;
}

Json sizes_of(const standalone::ProgramFile& file) {
  Json out = Json::array();
  for (const standalone::SizeEntry& s : file.sizes) {
    Json item = {{"name", s.name}};
    if (s.most) item["least"] = s.least;
    if (s.most) item["most"] = *s.most;
    out.push_back(std::move(item));
  }
  return out;
}

// What differs from size to size.
Json held_of(const standalone::ProgramFile& file) {
  Json out = Json::array();
  if (file.sizes.empty()) return out;
  for (const standalone::SizedEntry& s : file.sized) {
    Json sizes = Json::object(), outputs = Json::array();
    for (size_t k = 0; k < s.sizes.size(); ++k) sizes[file.sizes[k].name] = s.sizes[k];
    for (const standalone::ResultEntry& o : s.step.outputs)
      outputs.push_back(numbers(o.type.shape));
    out.push_back({{"sizes", std::move(sizes)}, {"outputs", std::move(outputs)}});
  }
  return out;
}

}  // namespace

Json describe(const standalone::ProgramFile& file, const Source& source,
              const std::vector<PackedCode::Callback>& callbacks, const std::string& key,
              int64_t code_bytes, const Target& target) {
  Json outputs = Json::array(), state = Json::array(), constants = Json::array(),
       called = Json::array(), features = Json::array();
  for (const standalone::OutputEntry& o : file.outputs) outputs.push_back(tensor(o.name, o.type));
  int64_t state_bytes = 0;
  for (size_t k = 0; k < source.state.size(); ++k) {  // the first entries are those of the source
    const standalone::StateEntry& s = file.state[k];
    Json item = tensor(s.name, s.type);
    item["role"] = source.state[k].role;
    item["updated"] = s.is_updated;
    state_bytes += s.bytes;
    (s.kind == standalone::StateKind::constant ? constants : state).push_back(std::move(item));
  }
  for (const PackedCode::Callback& c : callbacks)
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
          {"arena_bytes", standalone::arena_bytes(file)},
          {"state_bytes", state_bytes},
          {"code_bytes", code_bytes},
          {"weights", place_name(file.weights)},
          {"weight_file", file.weight_file},
          {"sizes", sizes_of(file)},
          {"held", held_of(file)},
          {"accumulate", file.accumulate},
          {"inputs", inputs_of(file)},
          {"outputs", outputs},
          {"state", state},
          {"constants", constants},
          {"callbacks", called}};
}

}  // namespace cleave::ahead
