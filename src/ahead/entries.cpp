#include "ahead/entries.h"

#include <algorithm>
#include <set>

#include "ir/strides.h"
#include "standalone/check_tensor.h"
#include "standalone/strided_copy.h"

namespace cleave::ahead {
namespace {

using standalone::DimEntry;
using standalone::ProgramFile;
using standalone::TensorType;

TensorType tensor_type(const Type& type) {
  return {type.dtype, static_shape(type), cleave::strides_of(type)};
}

bool operator==(const TensorType& a, const TensorType& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides;
}

bool is_row_major(const TensorType& t) { return standalone::is_dense(t.shape, t.strides); }

// The type that all have, with -1 for what differs, and no strides where those differ and are
// row-major. Error (user): dtypes or ranks differ.
Result<TensorType> joined(const std::vector<TensorType>& types, const std::string& name) {
  TensorType all = types.front();
  for (const TensorType& one : types) {
    if (all.dtype != one.dtype || all.shape.size() != one.shape.size())
      return user_error("build: `{}` is {} at one size and {} at another", name,
                        standalone::type_text(types.front()), standalone::type_text(one));
    for (size_t d = 0; d < all.shape.size(); ++d) {
      if (all.shape[d] != one.shape[d]) all.shape[d] = -1;
      if (all.strides[d] != one.strides[d]) all.strides[d] = -1;
    }
  }
  const bool vary = std::ranges::find(all.strides, -1) != all.strides.end();
  if (vary && std::ranges::all_of(types, is_row_major)) all.strides.clear();
  return all;
}

std::set<std::string> updated_of(const Graph& g) {
  std::set<std::string> out;
  for (const Return& r : g.returns())
    if (r.kind == ReturnKind::update) out.insert(g.name(r.target));
  return out;
}

// The number of a type among those of the input, which gets it.
Result<size_t> type_number(std::vector<TensorType>& types, TensorType type,
                           const std::string& name) {
  const auto known = std::ranges::find(types, type.shape, &TensorType::shape);
  if (known == types.end()) {
    types.push_back(std::move(type));
    return types.size() - 1;
  }
  if (!(*known == type))
    return unsupported("build: input `{}` has other strides for one shape at other sizes", name);
  return static_cast<size_t>(known - types.begin());
}

// What a dim that varies is of the sizes, where it depends on one of them alone: n*2+1.
DimEntry dim_entry(const ProgramFile& file, size_t input, size_t dim) {
  const auto number_of = [&](const standalone::SizedEntry& s) {
    return file.inputs[input].types[s.inputs[input]].shape[dim];
  };
  const standalone::SizedEntry& first = file.sized.front();
  for (size_t k = 0; k < file.sizes.size(); ++k) {
    const auto other = std::ranges::find_if(
        file.sized, [&](const standalone::SizedEntry& s) { return s.sizes[k] != first.sizes[k]; });
    if (other == file.sized.end()) continue;
    const int64_t factor =
        (number_of(*other) - number_of(first)) / (other->sizes[k] - first.sizes[k]);
    const int64_t rest = number_of(first) - factor * first.sizes[k];
    const bool holds = std::ranges::all_of(file.sized, [&](const standalone::SizedEntry& s) {
      return number_of(s) == factor * s.sizes[k] + rest;
    });
    if (!holds) continue;
    const std::string& name = file.sizes[k].name;
    if (factor == 1 && rest == 0) return {name, k};
    return {name + (factor == 1 ? "" : fmt::format("*{}", factor)) +
                (rest == 0 ? "" : fmt::format("{:+}", rest)),
            {}};
  }
  return {"?", {}};
}

Status add_input(const Source& source, size_t k, ProgramFile& file) {
  const std::string& name = source.inputs[k];
  standalone::InputEntry& entry = file.inputs.emplace_back();
  entry.name = name;
  for (size_t n = 0; n < source.sized.size(); ++n) {
    const Source::Program& program = source.sized[n].step;
    const Graph& g = program.graph;
    if (!file.sized[n].step.inputs[k])
      return bug("build: the program has no input %{}", program.inputs[k]);
    TensorType type = tensor_type(g.type(g.find(program.inputs[k])));
    CLEAVE_TRY(const size_t number, type_number(entry.types, std::move(type), name));
    file.sized[n].inputs.push_back(number);
  }
  CLEAVE_TRY(entry.type, joined(entry.types, name));
  for (const Source::Program* p : programs_of(source))
    entry.is_updated |= updated_of(p->graph).contains(p->inputs[k]);
  for (size_t d = 0; d < entry.type.shape.size(); ++d)
    entry.dims.push_back(entry.type.shape[d] < 0
                             ? dim_entry(file, k, d)
                             : DimEntry{std::to_string(entry.type.shape[d]), {}});
  return {};
}

Status check_told_apart(const ProgramFile& file) {
  std::map<std::vector<size_t>, const standalone::SizedEntry*> known;
  for (const standalone::SizedEntry& s : file.sized) {
    const auto [at, is_new] = known.try_emplace(s.inputs, &s);
    if (is_new) continue;
    for (size_t k = 0; k < file.sizes.size(); ++k)
      if (s.sizes[k] != at->second->sizes[k])
        return unsupported(
            "build: the shapes of the inputs don't tell {0}={1} from {0}={2}; build a library for "
            "each",
            file.sizes[k].name, at->second->sizes[k], s.sizes[k]);
  }
  return {};
}

// By the programs of one kind: of a gathering one, results that the step alone has are of the
// step's type.
Status add_outputs(const Source& source, ProgramFile& file) {
  for (size_t n = 0; n < source.sized.size(); ++n) {
    const auto add = [&](const Source::Program& from, standalone::ProgramEntry& to) {
      for (size_t k = 0; k < source.outputs.size(); ++k) {
        const std::optional<size_t> at = from.outputs[k];
        to.outputs.push_back(
            {at ? tensor_type(returned_type(from.graph, *at)) : file.sized[n].step.outputs[k].type,
             at});
      }
    };
    add(source.sized[n].step, file.sized[n].step);
    if (source.sized[n].gather) add(*source.sized[n].gather, *file.sized[n].gather);
  }
  for (size_t k = 0; k < source.outputs.size(); ++k) {
    std::vector<TensorType> types;
    for (const standalone::SizedEntry& s : file.sized) types.push_back(s.step.outputs[k].type);
    CLEAVE_TRY(TensorType type, joined(types, source.outputs[k]));
    file.outputs.push_back({source.outputs[k], std::move(type)});
  }
  return {};
}

Status add_state(const Source& source, ProgramFile& file) {
  std::vector<std::optional<TensorType>> types(source.state.size());
  std::vector<bool> updated(source.state.size());
  for (const Source::Program* p : programs_of(source)) {
    const std::set<std::string> writes = updated_of(p->graph);
    for (const auto& [placeholder, k] : p->state) {
      TensorType type = tensor_type(p->graph.type(p->graph.find(placeholder)));
      if (types[k] && !(*types[k] == type))
        return bug("build: `{}` has another type at other sizes", source.state[k].name);
      types[k] = std::move(type);
      if (writes.contains(placeholder)) updated[k] = true;
    }
  }
  for (size_t k = 0; k < source.state.size(); ++k) {
    const Source::State& s = source.state[k];
    if (!types[k]) return bug("build: no program has `{}`", s.name);
    standalone::StateEntry entry{
        .name = s.name, .type = *types[k], .kind = s.kind, .is_updated = updated[k]};
    entry.bytes = bytes_of(entry.type);
    if (s.role == "random") file.random = k;
    file.state.push_back(std::move(entry));
  }
  return {};
}

}  // namespace

std::map<std::string, size_t> placeholders_of(const ThunkProgram& program) {
  std::map<std::string, size_t> out;
  for (const Storage& s : program.storages)
    if (s.placeholder >= 0) out[s.name] = static_cast<size_t>(s.placeholder);
  return out;
}

void place_entries(const Source& source, const Source::Program& from,
                   standalone::ProgramEntry& program) {
  const std::map<std::string, size_t> numbers = placeholders_of(program.code.thunks);
  const auto number = [&](const std::string& placeholder) {
    const auto at = numbers.find(placeholder);
    return at == numbers.end() ? std::nullopt : std::optional(at->second);
  };
  program.inputs.clear();
  for (const std::string& placeholder : from.inputs) program.inputs.push_back(number(placeholder));
  program.state.assign(source.state.size(), {});
  for (const auto& [placeholder, k] : from.state) program.state[k] = number(placeholder);
  program.sizes.assign(source.sizes.size(), {});
  for (const auto& [placeholder, k] : from.sizes) program.sizes[k] = number(placeholder);
}

Status add_entries(const Source& source, ProgramFile& file) {
  for (size_t k = 0; k < source.inputs.size(); ++k) CLEAVE_CHECK(add_input(source, k, file));
  CLEAVE_CHECK(check_told_apart(file));
  CLEAVE_CHECK(add_outputs(source, file));
  CLEAVE_CHECK(add_state(source, file));
  file.accumulate = source.accumulate;
  file.micro_step = source.micro_step;
  file.skip_text = source.skip_text;
  return {};
}

}  // namespace cleave::ahead
