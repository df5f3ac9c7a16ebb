#include "test/sample/kept_program.h"

#include <filesystem>

#include "ir/text.h"
#include "runtime/private_folder.h"

namespace cleave::law {
namespace {

const std::string& folder() {
  static const auto made =
      value_or_throw(runtime::PrivateFolder::make(std::filesystem::temp_directory_path()));
  return made->path();
}

// What both reports must say alike.
std::string text_of(const Report& r) {
  std::string out =
      fmt::format("{} {}: {} kernels, {} distinct, {} + {} = {} bytes, {} ns recomputed, {} moved;",
                  r.graph_id, r.direction, r.kernels, r.distinct_kernels, r.placeholder_bytes,
                  r.arena_bytes, r.planned_peak_bytes, r.recompute_ns, r.moved_bytes);
  if (const auto at = r.counters.find("passes"); at != r.counters.end())
    out += fmt::format(" {} matches", at->second);
  for (const CompilePass& p : r.passes) {
    out += fmt::format(" {} {}/{}", p.name, p.matches, p.nodes);
    for (const RuleCount& c : p.rules)
      out += fmt::format(" ({} {}/{}/{})", c.rule, c.matches, c.nodes, c.refused);
  }
  for (const Warning& w : r.warnings) out += fmt::format("\n{}: {}", w.code, w.text);
  return out;
}

Result<std::string> steps_of(const std::shared_ptr<const CompiledProgram>& program) {
  CLEAVE_TRY(const auto instance, Instance::make(program, nullptr));
  instance->profile_kernels(true);
  std::string out;
  for (const StepTime& s : instance->step_times())
    out += fmt::format("{} {} {} {}\n", s.name, s.kind, s.bytes, s.flops);
  return out;
}

}  // namespace

Result<KeptProgram> build_and_find(const Graph& g, const OpRegistry& ops, StageOptions options) {
  options.cache_dir = folder();
  KeptProgram out;
  CLEAVE_TRY(out.built, CompiledProgram::compile(g, ops, options));
  CLEAVE_TRY(out.found, CompiledProgram::compile(g, ops, options));
  const Report &built = out.built->report(), &found = out.found->report();
  if (found.cache != "hit")
    return bug("the program isn't found in the cache: {} ({})", found.cache, found.cache_reason);
  if (text_of(found) != text_of(built))
    return bug("the cache has another report:\n{}\nit was\n{}", text_of(found), text_of(built));
  if (print(out.found->graph()) != print(out.built->graph()))
    return bug("the cache has another graph:\n{}", print(out.found->graph()));
  CLEAVE_TRY(const std::string steps, steps_of(out.built));
  CLEAVE_TRY(const std::string again, steps_of(out.found));
  if (steps != again) return bug("the cache has other steps:\n{}they were\n{}", again, steps);
  return out;
}

}  // namespace cleave::law
