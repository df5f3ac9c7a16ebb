#include "compile/program_cache.h"

#include "cache/disk_cache.h"
#include "cleave/cache.h"
#include "loop/lower_rule.h"
#include "loop/parse.h"

namespace cleave {
namespace {

bool is_callback(const Thunk& thunk) {
  const auto* call = std::get_if<ForeignCall>(&thunk.work);
  return call && call->code.c_text.empty();
}

// The rule that a thunk's callback was made by; null for a call inside of a branch or a loop, of
// which the thunk knows no more than that.
const loop::ForeignRule* callback_rule(const Graph& graph, const Thunk& thunk) {
  const auto& lower = graph.node(thunk.node).op->lower;
  return lower.present() ? std::get_if<loop::ForeignRule>(&(*lower)->form) : nullptr;
}

// Gives library calls their functions, whose workspaces are as large as they were, and calls of the
// host program's callbacks.
Status link(LoweredProgram& program, const LoweredGraph& graph, Backend& backend) {
  for (Thunk& thunk : program.thunks) {
    if (auto* call = std::get_if<LibraryCall>(&thunk.work)) {
      CLEAVE_TRY(call->function, backend.library(call->spec));
      const int64_t planned = call->workspace ? program.storages[*call->workspace].bytes : 0;
      if (call->function->scratch_bytes() != planned)
        return bug("{}: its workspace takes {} bytes, {} are planned", thunk.name,
                   call->function->scratch_bytes(), planned);
    }
    if (!is_callback(thunk)) continue;
    const Graph& lowered = graph.get();
    const loop::ForeignRule* rule = callback_rule(lowered, thunk);
    if (!rule) return bug("{}: no call of the host program", thunk.name);
    CLEAVE_TRY(std::get<ForeignCall>(thunk.work).code, rule->code(lowered.view(thunk.node)));
  }
  return {};
}

Result<BuiltProgram> built_from(ProgramEntry entry, const ProgramKey& key, const OpRegistry& ops,
                                const std::shared_ptr<Backend>& backend, Executor& executor,
                                cache::Store& cache) {
  if (entry.known_lines != key.lines.lines().size()) return bug("the lines of another program");
  std::vector<std::string> lines = key.lines.lines();
  lines.insert(lines.end(), entry.lines.begin(), entry.lines.end());
  BuiltProgram out{.planned = std::move(entry.planned), .backend = backend};
  out.traffic = std::move(entry.traffic);
  if (!entry.frozen.empty()) {
    CLEAVE_TRY(Program frozen, parse(with_lines(entry.frozen, lines), "kept program", ops));
    out.frozen = std::move(frozen.main);
  }
  out.graph = std::make_shared<LoweredGraph>(std::move(entry.graph), std::move(lines), ops);
  CLEAVE_CHECK(link(out.planned.lowered, *out.graph, *backend));
  for (const std::string& text : entry.code.loops) {
    CLEAVE_TRY(loop::Kernel kernel, loop::parse_kernel(text, "kept program"));
    out.planned.lowered.kernels.push_back(std::move(kernel));
  }
  EmittedCode code{.units = {}, .kernels = std::move(entry.code.kernels)};
  for (std::string& unit : entry.unit_keys) code.units.push_back({.key = std::move(unit)});
  // Units of custom operators come last, in the order of their calls.
  size_t host = code.units.size();
  for (const Thunk& thunk : out.planned.lowered.thunks)
    if (std::holds_alternative<ForeignCall>(thunk.work) && !is_callback(thunk)) --host;
  for (; host < code.units.size(); ++host) code.units[host].from = SourceUnit::From::host_program;
  CLEAVE_TRY(out.code, backend->build(out.planned.lowered, code, executor, &cache));
  out.planned.lowered.kernels = {};
  return out;
}

std::optional<BuiltProgram> read_program(cache::Store& cache, const ProgramKey& key,
                                         const OpRegistry& ops,
                                         const std::shared_ptr<Backend>& backend,
                                         Executor& executor, Report& report) {
  const auto bytes = cache.read(cache::EntryKind::program, key.digest);
  if (!bytes) return {};
  Result<ProgramEntry> entry = ProgramEntry::parse(*bytes);
  if (!entry.ok()) return {};
  Report found = report;
  found.passes = std::move(entry->passes);
  found.recompute_ns = entry->recompute_ns;
  found.distinct_kernels = entry->distinct_kernels;
  found.frozen = entry->frozen_report;
  Result<BuiltProgram> built = built_from(*std::move(entry), key, ops, backend, executor, cache);
  if (!built.ok()) return {};
  report = std::move(found);
  return *std::move(built);
}

}  // namespace

ProgramCache::ProgramCache(const StageOptions& options, Report& report)
    : options_(options), report_(report) {
  if (options.cache) {
    cache_ = options.cache->store();
  } else if (!options.cache_dir.empty()) {
    auto cache = cache::DiskCache::open(options.cache_dir, options.cache_bytes);
    if (cache.ok())
      cache_ = *std::move(cache);
    else
      bypass(cache.failure().message);
  }
  if (cache_ && !options.dump_dir.empty()) {
    bypass("all stages are dumped");
    cache_.reset();
  }
}

ProgramCache::~ProgramCache() {
  if (!cache_) return;
  cache_->finish();
  if (auto warning = cache_->take_warning())
    report_.warnings.push_back({"remote_cache", *std::move(warning)});
}

void ProgramCache::bypass(const std::string& reason) {
  report_.cache = "bypass";
  report_.cache_reason = reason;
  if (cache_) cache_->count_bypass(reason);
}

std::optional<BuiltProgram> ProgramCache::find(const Graph& graph, const OpRegistry& ops,
                                               const std::shared_ptr<Backend>& backend) {
  const Result<std::string> identity = backend->identity(cache_.get());
  std::string refusal = "there is no compiler";
  if (identity.ok()) {
    key_ = program_key(graph, ops, options_, *identity);
    refusal = key_->refusal;
    report_.graph_id = key_->id;
  }
  if (!refusal.empty()) {
    key_.reset();
    bypass(refusal);
    return {};
  }
  if (!options_.observers.empty()) {
    bypass("observers see every stage");
    return {};  // but it is kept
  }
  auto found = read_program(*cache_, *key_, ops, backend, *options_.executor, report_);
  report_.cache = found ? "hit" : "miss";
  report_.cache_reason.clear();
  return found;
}

Status ProgramCache::compare(const ProgramCache& other) const {
  if (!key_) return {};
  const auto differ = [](std::string_view what) {
    return bug("cache_check: {} of the program in the cache isn't what is compiled now", what);
  };
  const auto mine = cache_->read(cache::EntryKind::program, key_->digest);
  const auto theirs = other.cache_->read(cache::EntryKind::program, key_->digest);
  if (!mine || !theirs) return bug("cache_check: the program is gone");
  CLEAVE_TRY(const ProgramEntry a, ProgramEntry::parse(*mine));
  CLEAVE_TRY(const ProgramEntry b, ProgramEntry::parse(*theirs));
  if (a.graph != b.graph) return differ("the graph");
  if (a.unit_keys != b.unit_keys) return differ("the text");
  if (*mine != *theirs) return differ("the plan");
  for (const std::string& unit : a.unit_keys)
    if (cache_->read(cache::EntryKind::unit, unit) !=
        other.cache_->read(cache::EntryKind::unit, unit))
      return differ("the code");
  return {};
}

void ProgramCache::keep(const Graph& graph, const BuiltProgram& built, KeptCode code) {
  if (!key_) return;
  ProgramEntry entry;
  entry.known_lines = key_->lines.lines().size();
  entry.graph = print(graph, key_->lines);
  if (!built.frozen.returns().empty()) entry.frozen = print(built.frozen, key_->lines);
  const std::vector<std::string>& lines = key_->lines.lines();
  entry.lines.assign(lines.begin() + static_cast<std::ptrdiff_t>(entry.known_lines), lines.end());
  entry.planned = built.planned;
  std::vector<NodeId> number(graph.node_capacity());
  uint32_t next = 0;
  for (NodeId n = graph.first_node(); n.valid(); n = graph.next_node(n)) number[n.v].v = next++;
  for (Thunk& thunk : entry.planned.lowered.thunks) {
    if (is_callback(thunk) && !callback_rule(graph, thunk))
      return bypass(fmt::format("%{} calls the host program in a branch or a loop", thunk.name));
    if (thunk.node.valid()) thunk.node = number[thunk.node.v];
  }
  entry.unit_keys = built.code.unit_keys;
  entry.code = std::move(code);
  entry.traffic = built.traffic;
  entry.passes = report_.passes;
  entry.recompute_ns = report_.recompute_ns;
  entry.distinct_kernels = report_.distinct_kernels;
  entry.frozen_report = report_.frozen;
  const std::string bytes = entry.bytes();
  const cache::WriteOutcome outcome =
      cache_->write(cache::EntryKind::program, key_->digest, std::as_bytes(std::span(bytes)));
  if (!outcome.stored && report_.cache == "miss")
    report_.cache_reason = "it isn't kept: " + outcome.reason;
}

}  // namespace cleave
