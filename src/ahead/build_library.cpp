#include "ahead/build_library.h"

#include "ahead/c_text.h"
#include "ahead/compile_units.h"
#include "ahead/describe.h"
#include "ahead/link_library.h"
#include "ahead/weights.h"
#include "base/write_file.h"
#include "cache/sha256.h"
#include "compile/stages.h"
#include "ir/strides.h"
#include "runtime/shared_threads.h"
#include "standalone/cpu_features.h"
#include "standalone/strided_copy.h"

namespace cleave::ahead {
namespace {

using standalone::ProgramFile;
using standalone::StateKind;

standalone::TensorEntry tensor_entry(const std::string& name, const Type& type) {
  return {name, type.dtype, static_shape(type), cleave::strides_of(type)};
}

// The number of each placeholder that a program reads or writes.
std::map<std::string, size_t> placeholders_of(const ThunkProgram& program) {
  std::map<std::string, size_t> out;
  for (const Storage& s : program.storages)
    if (s.placeholder >= 0) out[s.name] = static_cast<size_t>(s.placeholder);
  return out;
}

std::optional<size_t> number_in(const std::map<std::string, size_t>& numbers,
                                const std::string& name) {
  const auto at = numbers.find(name);
  return at == numbers.end() ? std::nullopt : std::optional(at->second);
}

// What a caller sees of the program.
Status add_entries(const Source& source, const Graph* folding, ProgramFile& file) {
  const Graph& g = source.graph;
  std::map<std::string, bool> is_updated;
  for (const Return& r : g.returns())
    if (r.kind == ReturnKind::update) is_updated[g.name(r.target)] = true;
  const auto numbers = placeholders_of(file.step.thunks);
  std::map<std::string, size_t> operands;
  if (folding) operands = placeholders_of(file.folding->thunks);
  for (const Source::Input& i : source.inputs) {
    const auto number = number_in(numbers, i.placeholder);
    if (!number) return bug("build: the program has no input %{}", i.placeholder);
    file.inputs.push_back(
        {tensor_entry(i.name, g.type(g.find(i.placeholder))), *number, is_updated[i.placeholder]});
  }
  for (const Source::Output& o : source.outputs)
    file.outputs.push_back({tensor_entry(o.name, returned_type(g, o.result)), o.result});
  for (const Source::State& s : source.state) {
    standalone::StateEntry entry{.tensor = tensor_entry(s.name, g.type(g.find(s.placeholder))),
                                 .kind = s.kind,
                                 .is_updated = is_updated[s.placeholder],
                                 .placeholder = number_in(numbers, s.placeholder),
                                 .operand = number_in(operands, s.placeholder)};
    const standalone::TensorEntry& t = entry.tensor;
    entry.bytes = standalone::extent_bytes(t.shape, t.strides, t.dtype);
    if (s.role == "random") file.random = file.state.size();
    file.state.push_back(std::move(entry));
  }
  file.skip_text = source.skip_text;
  for (size_t k = 0; folding && k < folding->returns().size(); ++k) {
    const std::string& name = folding->name(folding->returns()[k].value);
    const int64_t bytes = memory_bytes(returned_type(*folding, k));
    file.state.push_back({.tensor = {name, DType::u8, {bytes}, {1}},
                          .kind = StateKind::folded,
                          .placeholder = number_in(numbers, name),
                          .result = k,
                          .bytes = bytes});
  }
  return {};
}

// What the libraries of equal programs have in common: neither their names nor where weights are.
std::string key_of(const ProgramFile& file, const std::vector<SourceUnit>& units) {
  ArchiveWriter out;
  out(file);
  cache::Sha256 sum;
  sum.update(std::as_bytes(std::span(out.bytes())));
  for (const SourceUnit& unit : units) sum.update(std::as_bytes(std::span(unit.text)));
  return cache::hex(sum.finish());
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& items) {
  to.insert(to.end(), items.begin(), items.end());
}

Status write_one(const std::string& path, std::span<const std::byte> bytes) {
  const std::span<const std::byte> pieces[] = {bytes};
  return write_file(path, pieces);
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string without_suffix(const std::string& path) {
  return path.ends_with(".so") ? path.substr(0, path.size() - 3) : path;
}

StageOptions complete(StageOptions options) {
  options.cache.reset();
  options.cache_dir.clear();
  if (options.compiler == CompilerChoice::none) options.compiler = CompilerChoice::automatic;
  return options;
}

}  // namespace

Result<BuiltLibrary> build_library(const Source& source, const std::string& path,
                                   const BuildOptions& options) {
  StageOptions stages = complete(source.options);
  if (options.target) stages.target = *options.target;
  if (!stages.executor) { CLEAVE_TRY(stages.executor, runtime::shared_threads(stages.threads)); }
  Report report;
  CLEAVE_TRY(const WrittenProgram step, write_program(source.graph, *source.ops, stages, report));
  PackedProgram packed = pack_program(step, "");
  ProgramFile file;
  file.set = static_cast<uint8_t>(stages.target.set);
  file.features = standalone::features_of(stages.target);
  file.step = std::move(packed.entry);
  const bool folds = !step.frozen.returns().empty();
  if (folds) {
    StageOptions part = stages;
    part.is_frozen_part = true;
    part.memory_budget = {};
    part.family = nullptr;
    CLEAVE_TRY(const WrittenProgram folding, write_program(step.frozen, *source.ops, part, report));
    PackedProgram folder = pack_program(folding, "folding_");
    if (!folder.callbacks.empty())
      return unsupported("build: %{} calls the host program, and depends on constants alone",
                         folder.callbacks.front().name);
    file.folding = std::move(folder.entry);
    append(packed.units, folder.units);
    append(packed.phases, folder.phases);
    append(packed.operators, folder.operators);
  }
  CLEAVE_CHECK(add_entries(source, folds ? &step.frozen : nullptr, file));
  for (const PackedProgram::Callback& c : packed.callbacks) file.callbacks.push_back(c.name);
  if (options.weights != WeightPlace::none) CLEAVE_CHECK(check_values(source, file.state));

  BuiltLibrary out;
  out.key = key_of(file, packed.units);
  file.id = std::stoull(out.key.substr(0, 16), nullptr, 16);
  out.path = path;
  if (out.path.empty() || out.path.ends_with('/')) out.path += out.key + ".so";
  const std::string stem = without_suffix(out.path);
  const std::string base = stem.substr(stem.rfind('/') + 1);
  file.name = options.name.empty() ? c_name_of(out.path) : options.name;
  CLEAVE_CHECK(check_c_name(file.name));
  file.weights = source.state.empty() ? WeightPlace::none : options.weights;
  std::vector<std::byte> weights;
  if (file.weights == WeightPlace::inside) weights = weight_section(source, file.state);
  if (file.weights == WeightPlace::beside) {
    file.weight_file = base + ".safetensors";
    out.weights = stem + ".safetensors";
    CLEAVE_TRY(weights, weight_file(source, out.weights));
  }
  out.weight_bytes = static_cast<int64_t>(weights.size());

  CLEAVE_TRY(const auto compiler, runtime::make_compiler(stages.compiler, stages.target));
  CLEAVE_TRY(std::vector<ObjectFile> objects,
             compile_units(packed.units, *compiler, *stages.executor));
  for (const ObjectFile& object : objects) out.code_bytes += code_bytes(object);
  const std::string description =
      describe(file, source, packed.callbacks, out.key, out.code_bytes, stages.target).text();
  LibraryParts parts{.objects = std::move(objects)};
  for (const SourceUnit& unit : packed.units) parts.own_symbols.push_back(unit.host_symbol);
  parts.c_text = unit_text(file.name, packed.phases, packed.operators, description);
  ArchiveWriter archive;
  archive(file);
  parts.program = archive.bytes();
  if (file.weights == WeightPlace::inside) parts.weights = weights;
  parts.file = base + ".so";
  parts.exported = exported_symbols(file.name);
  Result<std::vector<std::byte>> library = link_library(parts);
  if (!library.ok()) return std::move(library).failure().within("build");
  out.bytes = static_cast<int64_t>(library->size());

  out.header = stem + ".h";
  out.description = stem + ".json";
  if (!out.weights.empty()) CLEAVE_CHECK(write_one(out.weights, weights));
  CLEAVE_CHECK(write_one(out.header, bytes_of(header_text(file))));
  CLEAVE_CHECK(write_one(out.description, bytes_of(description + "\n")));
  CLEAVE_CHECK(write_one(out.path, *library));
  return out;
}

}  // namespace cleave::ahead
