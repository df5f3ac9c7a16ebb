#include "compile/repro.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <set>

#include "base/shell_word.h"
#include "base/target.h"
#include "base/write_file.h"
#include "compile/option_text.h"
#include "ir/text.h"

namespace cleave {
namespace {

// As text, without what only says where something is put.
std::string repeating_options(CompileOptions options) {
  options.dump_dir.clear();
  options.repro.clear();
  options.cache_dir.clear();
  options.cache_check = false;
  options.watch.clear();
  return print_options({.compile = options}, OptionOwner::compile);
}

std::string flags_of(const Graph& g, const StageOptions& options) {
  std::string out;
  if (options.grad && !g.is_joint()) out += " --grad";
  if (!options.fuse) out += " --fuse off";
  return out;
}

// Of the host program's own.
std::string missing_of(const Graph& g, const StageOptions& options) {
  std::set<std::string> out;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    if (g.node(n).op->file.empty()) out.insert("operator " + g.node(n).op->name);
  for (const RewriteRule& rule : options.rules) out.insert("rule " + rule.name);
  for (const FunctionPass& pass : options.functions) out.insert("pass " + pass.name);
  return fmt::format("{}", fmt::join(out, ", "));
}

}  // namespace

Result<std::string> new_repro_folder(const std::string& folder, const std::string& name) {
  CLEAVE_CHECK(make_folder(folder));
  std::string stem = name;
  for (char& c : stem)
    if (c == '/') c = '_';
  for (int k = 0;; ++k) {
    std::string made = fmt::format("{}/{}_{}", folder, stem, k);
    std::error_code error;
    if (std::filesystem::create_directory(made, error)) return made;
    if (error && error != std::errc::file_exists)
      return user_error("{}: the folder can't be made: {}", made, error.message());
  }
}

Result<std::string> write_repro(const std::string& folder, const Repro& repro) {
  CLEAVE_CHECK(make_folder(folder));
  const auto file = [&](const char* name, const char* mark = "") {
    return shell_word(fmt::format("{}{}/{}", mark, folder, name));
  };
  std::string command =
      fmt::format("cleave {} {}", repro.runs ? "run" : "compile", file("graph.clv"));
  CLEAVE_CHECK(write_file(folder + "/graph.clv", repro.graph_text));
  if (repro.write_inputs) {
    CLEAVE_CHECK(repro.write_inputs(folder + "/inputs.safetensors"));
    command += " --in " + file("inputs.safetensors");
  } else if (repro.runs) {
    command += " --random";
  }
  CLEAVE_CHECK(write_file(folder + "/options.txt", repro.options_text + "\n"));
  if (!repro.options_text.empty()) command += " --options " + file("options.txt", "@");
  command += repro.flags;
  const std::string note =
      repro.missing.empty() ? "" : fmt::format("# without {} of the host program\n", repro.missing);
  CLEAVE_CHECK(write_file(folder + "/repeat.txt", note + command + "\n"));
  return command;
}

ReproOf::ReproOf(const Graph& graph, const StageOptions& options, const std::string& flags)
    : folder_(options.repro), name_(graph.name()) {
  if (folder_.empty()) return;
  repro_ = {.graph_text = print(graph),
            .options_text = repeating_options(options),
            .write_inputs = options.write_inputs,
            .runs = !options.freeze && check_runs_here(options.target).ok(),
            .flags = flags_of(graph, options) + flags,
            .missing = missing_of(graph, options)};
}

Failure ReproOf::told(Failure failure) const {
  if (folder_.empty() || failure.kind != ErrorKind::bug) return failure;
  const Result<std::string> folder = new_repro_folder(folder_, name_);
  const Result<std::string> line =
      folder.ok() ? write_repro(*folder, repro_) : Result<std::string>(folder.failure());
  failure.message += line.ok() ? "\n  repeat it with: " + *line
                               : "\n  what repeats it can't be written: " + line.failure().message;
  return failure;
}

}  // namespace cleave
