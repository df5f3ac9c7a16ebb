#include "ahead/build_library.h"

#include "ahead/add_programs.h"
#include "ahead/c_text.h"
#include "ahead/compile_units.h"
#include "ahead/describe.h"
#include "ahead/kernel_tables.h"
#include "ahead/link_library.h"
#include "ahead/weights.h"
#include "base/write_file.h"
#include "cache/sha256.h"
#include "runtime/shared_threads.h"
#include "standalone/cpu_features.h"

namespace cleave::ahead {
namespace {

using standalone::ProgramFile;
using standalone::StateKind;

// What the libraries of equal programs have in common: neither their names nor where weights are.
std::string key_of(const ProgramFile& file, const std::vector<SourceUnit>& units) {
  ArchiveWriter out;
  out(file);
  cache::Sha256 sum;
  sum.update(std::as_bytes(std::span(out.bytes())));
  for (const SourceUnit& unit : units) sum.update(std::as_bytes(std::span(unit.text)));
  return cache::hex(sum.finish());
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
  options.offload = false;  // such a program has no memory beside its arena
  if (options.compiler == CompilerChoice::none) options.compiler = CompilerChoice::automatic;
  return options;
}

}  // namespace

Result<BuiltLibrary> build_library(const Source& source, const std::string& path,
                                   const BuildOptions& options) {
  StageOptions stages = complete(source.options);
  if (options.target) stages.target = *options.target;
  if (stages.target.cuda_arch != 0)
    return unsupported("build: target {}: libraries are built for processors alone",
                       stages.target.text());
  if (!stages.executor) { CLEAVE_TRY(stages.executor, runtime::shared_threads(stages.threads)); }
  ProgramFile file;
  file.set = static_cast<uint8_t>(stages.target.set);
  file.features = standalone::features_of(stages.target);
  file.sizes = source.sizes;
  PackedCode packed;
  CLEAVE_CHECK(add_programs(source, stages, file, packed));
  if (options.weights != WeightPlace::none) CLEAVE_CHECK(check_values(source, file.state));

  BuiltLibrary out;
  out.key = key_of(file, packed.units());
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
             compile_units(packed.units(), *compiler, *stages.executor));
  for (const ObjectFile& object : objects) out.code_bytes += code_bytes(object);
  const std::string description =
      describe(file, source, packed.callbacks(), out.key, out.code_bytes, stages.target).text();
  LibraryParts parts{.objects = std::move(objects)};
  for (const SourceUnit& unit : packed.units()) parts.own_symbols.push_back(unit.host_symbol);
  parts.c_text = unit_text(file.name, packed.phases(), packed.operators(), description) +
                 absent_tables_text(stages.target.set);
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
