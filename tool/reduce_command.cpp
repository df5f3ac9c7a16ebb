// cleave reduce G.clv --check CMD|wrong|crash|slow -o R.clv: the smallest graph that still fails.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "base/byte_size.h"
#include "cleave/progress.h"
#include "inspect/reduce_graph.h"
#include "op/registry.h"
#include "runtime/private_folder.h"
#include "tool/command.h"
#include "tool/graph_file.h"
#include "tool/interrupt.h"
#include "tool/named_files.h"
#include "tool/options_text.h"
#include "tool/reduce_check.h"
#include "tool/run_inputs.h"
#include "tool/static_sizes.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string graph, check, out, in, memory;
  std::vector<std::string> sizes;
  double limit = 0;
  OptionsText library;
  InputOptions inputs{.random = true};
  bool grad = false, json = false;
};

Result<CheckChoice> check_choice(const Options& o) {
  if (o.check.empty()) return user_error("--check: expected a command, wrong, crash or slow");
  if (std::isnan(o.limit) || o.limit < 0)
    return user_error("--limit {}: expected seconds, above 0", o.limit);
  CheckChoice out{.check = o.check, .limit_seconds = o.limit};
  if (!o.memory.empty()) { CLEAVE_TRY(out.memory_bytes, parse_byte_size(o.memory, "--memory")); }
  if (o.grad) out.words.emplace_back("--grad");
  CLEAVE_CHECK(o.library.read());
  if (!o.library.text.empty()) out.words.insert(out.words.end(), {"--options", o.library.text});
  out.words.insert(out.words.end(), {"--seed", fmt::format("{}", o.inputs.seed)});
  return out;
}

// The value of each symint: from --size or --in, else its hint.
Result<SymbolValues> symbols_of(const Graph& g, const Options& o,
                                const std::map<std::string, Array>& given) {
  CLEAVE_TRY(SymbolValues sizes, parse_sizes(g, o.sizes, "--size"));
  std::vector<std::optional<std::vector<int64_t>>> shapes;
  for (const Placeholder& p : g.placeholders()) {
    const std::string& name = g.name(p.value);
    const auto at = given.find(name);
    shapes.emplace_back();
    if (p.role != Role::symint) {
      if (at != given.end()) shapes.back() = at->second.shape;
    } else if (at != given.end() && at->second.numel() == 1) {
      sizes[name] = static_cast<int64_t>(at->second.number(0));
    } else if (given.empty() && !sizes.contains(name)) {
      sizes[name] = std::clamp(g.env().hint_of(Dim::symbol(name)), p.sym.range.lo, p.sym.range.hi);
    }
  }
  return bind_symbols(g, shapes, sizes);
}

Result<GivenGraph> given_graph(const Options& o, const OpRegistry& ops, bool needs_inputs) {
  CLEAVE_TRY(Model model, read_model(o.graph, ops));
  GivenGraph out{std::move(model.program.main), {}, {}};
  CLEAVE_TRY(const auto given, read_inputs(o.in, std::move(model.weights)));
  CLEAVE_TRY(out.symbols, symbols_of(out.g, o, given));
  if (o.in.empty() && !needs_inputs) return out;
  CLEAVE_TRY(const Graph fixed, specialize(out.g, out.symbols));
  CLEAVE_TRY(out.inputs, complete_inputs(fixed, given, o.inputs));
  return out;
}

// small.safetensors for small.clv; empty where -o has no such name: the inputs aren't written.
std::string inputs_beside(const std::string& path) {
  return path.ends_with(".clv") ? path.substr(0, path.size() - 4) + ".safetensors" : "";
}

// A device or pipe can't hold the best so far: it gets what is left at the end.
bool is_overwritten(const std::string& path) {
  std::error_code error;
  return path != "-" &&
         (!std::filesystem::exists(path, error) || std::filesystem::is_regular_file(path, error));
}

Status write_best(const std::string& path, const GivenGraph& best) {
  if (const std::string inputs = inputs_beside(path);
      !inputs.empty() && has_inputs(best) && !best.inputs.empty())
    CLEAVE_CHECK(write_tensors(inputs, named_inputs(best.g, best.inputs)));
  return write_text(path, print(best.g));
}

Status run(const Options& o) {
  CLEAVE_TRY(const CheckChoice choice, check_choice(o));
  const bool has_inputs_file = !o.in.empty() || choice.needs_inputs();
  CLEAVE_CHECK(check_files(
      {{"GRAPH", o.graph}, {"--in", o.in}},
      {{"--out", o.out}, {"--out's inputs", has_inputs_file ? inputs_beside(o.out) : ""}},
      o.json ? Stdout::json : Stdout::free));
  CLEAVE_TRY(const OpRegistry ops, core_ops());
  CLEAVE_TRY(const GivenGraph given, given_graph(o, ops, choice.needs_inputs()));
  CLEAVE_TRY(const auto folder,
             runtime::PrivateFolder::make(std::filesystem::temp_directory_path()));
  const InterruptGuard guard;
  const auto start = std::chrono::steady_clock::now();
  ReduceCheck check(choice, folder->path(), &InterruptGuard::is_set);
  Status begun = check.begin(given);
  if (InterruptGuard::is_set()) throw Interrupted{InterruptGuard::signal()};
  CLEAVE_CHECK(std::move(begun));
  const bool keeps_best = is_overwritten(o.out);
  if (keeps_best) CLEAVE_CHECK(write_best(o.out, given));
  fmt::print(stderr, "the given graph fails: {}\n", check.failure());

  Status written;
  const auto calls = static_cast<int64_t>(given.g.node_count());
  int64_t left = calls;
  ProgressLine progress(calls);
  const auto fails = [&](const GivenGraph& g) {
    if (!written.ok()) return false;  // nothing more can be kept
    Result<bool> failed = check.fails(g);
    if (InterruptGuard::is_set()) {
      progress.clear();
      fmt::print(stderr, "interrupted after {} tries; {} calls of {} are left in {}\n",
                 check.tries(), left, calls, o.out);
      throw Interrupted{InterruptGuard::signal()};
    }
    if (!failed.ok()) written = failed.failure();
    progress.show(calls - left, fmt::format("calls gone, {} tries", check.tries()));
    return failed.ok() && *failed;
  };
  const auto smaller = [&](const GivenGraph& g) {
    left = static_cast<int64_t>(g.g.node_count());
    if (keeps_best) written = write_best(o.out, g);
  };
  const GivenGraph small = reduced(given, fails, smaller);
  progress.clear();
  CLEAVE_CHECK(std::move(written));
  if (!keeps_best) CLEAVE_CHECK(write_best(o.out, small));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (o.json)
    return print_json({{"calls", left},
                       {"tries", check.tries()},
                       {"seconds", seconds},
                       {"given_calls", calls},
                       {"inputs", static_cast<int64_t>(small.g.placeholders().size())},
                       {"failure", check.failure()}});
  fmt::print(o.out == "-" ? stderr : stdout,
             "{} calls of {} are left after {} tries in {:.1f} s: no call, return, input or size "
             "can go alone\n",
             left, calls, check.tries(), seconds);
  return {};
}

}  // namespace

Command reduce_command() {
  return {
      "reduce", "the smallest graph that still fails",
      "  cleave reduce model.clv --check wrong -o small.clv\n"
      "  cleave reduce model.clv --check crash --limit 10 --options \"strict=true\" -o small.clv\n"
      "  cleave reduce model.clv --check slow --limit 2 -o small.clv\n"
      "  cleave reduce model.clv --check \"! grep -q tanh\" -o small.clv\n"
      "  cleave reduce model.clv --check \"python3 mine.py {} --inputs {in}\" -o small.clv\n"
      "\n"
      "Of returns, calls, inputs and sizes halves are left out, then quarters, then each alone,\n"
      "as long as the graph fails as the given one does: by the same exit status, signal or\n"
      "defect. Each try is a process with limits. The best so far is in small.clv at any time, "
      "its\n"
      "inputs, where they matter, in small.safetensors; SIGINT ends the search (status 130).\n"
      "A graph that doesn't fail is an error.\n",
      [](OptionList& options) {
        auto o = std::make_shared<Options>();
        options.required("GRAPH", o->graph, "the graph that fails; - is stdin");
        options.required("--check", o->check,
                         "wrong: `cleave run --compare` finds a difference; crash: `cleave run` "
                         "ends by a signal, a defect or not at all; slow: it takes longer than "
                         "--limit; else a command for the shell, in which {} is the graph's "
                         "file and {in} that of its inputs (without {} the graph's file is its "
                         "last word): it fails if its exit status isn't 0");
        options.required("-o,--out", o->out, "the smallest graph so far");
        options.option("--in", o->in, "inputs to fail on (.safetensors); else they are random");
        options.option("--seed", o->inputs.seed, "of random inputs");
        options.option("--size", o->sizes, size_help);
        options.flag("--grad", o->grad, "run with gradients, as cleave run --grad");
        o->library.add_to(options);
        options.option("--limit", o->limit,
                       "seconds for each try, 60 by default: one that takes longer hangs; of "
                       "slow what is too long, by default half of what the given graph takes");
        options.option("--memory", o->memory,
                       "address space of each process: 4GiB; by default any");
        options.flag("--json", o->json, "print one JSON object: calls, tries, seconds, ...");
        return [o] { return run(*o); };
      }};
}

}  // namespace cleave::tool
