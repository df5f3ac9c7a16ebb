// The signature: placeholders, updates, results.
#include "import/exported/model.h"

#include <algorithm>
#include <functional>
#include <set>

#include "import/exported/archive.h"
#include "import/exported/expression.h"
#include "import/exported/graph_reader.h"
#include "import/exported/plain_name.h"
#include "import/exported/tree.h"
#include "import/exported/types.h"
#include "import/exported/weights.h"
#include "import/printable.h"
#include "ir/text.h"

namespace cleave {

namespace exported {
namespace {

using Kind = Argument::Kind;

// Of tensors that lie in one storage.
constexpr uint64_t most_repeated = 64, few_bytes = 1 << 20;

class ModelReader {
 public:
  ModelReader(const ZipArchive& zip, ArchivedModel model, const OpRegistry& ops)
      : zip_(zip), model_(std::move(model)), file_{ops, {}, {"main"}, 0}, graph_("main") {}

  Result<ImportedModel> read(const ImportOptions& options) {
    CLEAVE_CHECK(add_symints());
    GraphReader reader(file_, graph_, false);
    CLEAVE_CHECK(add_placeholders(reader));
    CLEAVE_CHECK(reader.read(model_.program.graph));
    const bool last = options.updates == UpdateOrder::last;
    if (last) CLEAVE_CHECK(add_results(reader, [](bool is_update) { return !is_update; }));
    CLEAVE_CHECK(add_updates(reader));
    CLEAVE_CHECK(add_results(reader, [&](bool is_update) { return !last || is_update; }));
    if (reader.rng().valid()) CLEAVE_CHECK(add_rng(reader.rng()));
    CLEAVE_CHECK(check_shared());
    return finish(options.weights);
  }

 private:
  const Program& source() const { return model_.program; }

  // The symbols of inputs and of the file's ranges, in the order of the inputs.
  Status add_symints() {
    std::vector<std::string> names;
    std::map<std::string, int64_t> hints;
    const auto note = [&](const SymValue& v) -> Status {
      if (v.number) return {};
      CLEAVE_TRY(const Dim d, dim_of(v));
      d.collect_symbols(names);
      if (v.hint && d == Dim::symbol(d.text())) hints.emplace(d.text(), *v.hint);
      return {};
    };
    for (const InputSpec& spec : source().inputs) {
      if (spec.arg.kind == Kind::symbol) {
        const auto at = source().graph.symbols.find(spec.arg.text);
        if (at != source().graph.symbols.end()) CLEAVE_CHECK(note(at->second));
        continue;
      }
      const auto at = source().graph.tensors.find(spec.arg.text);
      if (at == source().graph.tensors.end()) continue;
      for (const SymValue& v : at->second.sizes) CLEAVE_CHECK(note(v));
    }
    std::set<std::string> done;
    for (const std::string& name : names)
      if (done.insert(name).second) CLEAVE_CHECK(add_symint(name, hints));
    return {};
  }

  Status add_symint(const std::string& name, const std::map<std::string, int64_t>& hints) {
    SymInfo info;
    if (const auto at = source().ranges.find(name); at != source().ranges.end()) {
      const Range& r = at->second;
      info.range.lo = std::clamp<int64_t>(r.least.value_or(0), 0, info.range.hi);
      info.range.hi = std::min(r.largest.value_or(info.range.hi), info.range.hi);
      if (info.range.lo > info.range.hi)
        return user_error("the range of {} is empty", printable(name));
    }
    if (const auto at = hints.find(name);
        at != hints.end() && at->second >= info.range.lo && at->second <= info.range.hi)
      info.hint = at->second;
    CLEAVE_TRY([[maybe_unused]] const ValueId v,
               graph_.add_placeholder(Role::symint, name, Type(DType::i64, {}), false, info));
    return {};
  }

  // Which of the names of one tensor is its placeholder: the first that a node reads.
  void choose_ties() {
    std::set<std::string> read;
    for (const Node& n : source().graph.nodes)
      for (const NamedArgument& a : n.inputs) collect(a.value, read);
    for (const Argument& a : source().graph.outputs) collect(a, read);
    const std::map<std::string, std::string> ties = ties_of(model_.tensors);
    for (const bool must_be_read : {true, false})
      for (const InputSpec& spec : source().inputs) {
        const auto at = ties.find(spec.target);
        if (at == ties.end() || (must_be_read && !read.contains(spec.arg.text))) continue;
        chosen_.emplace(at->second, spec.target);
      }
    for (const auto& [name, first] : ties)
      if (const auto at = chosen_.find(first); at != chosen_.end()) tie_of_[name] = at->second;
  }

  static void collect(const Argument& a, std::set<std::string>& into) {
    if (a.kind == Kind::tensor) into.insert(a.text);
    for (const Argument& item : a.items) collect(item, into);
  }

  Status add_placeholders(GraphReader& reader) {
    choose_ties();
    if (source().inputs.size() != source().graph.inputs.size())
      return user_error("signature: {} inputs, and the graph has {}", source().inputs.size(),
                        source().graph.inputs.size());
    // Names of weights come first: they are those of checkpoints.
    for (const InputSpec& spec : source().inputs)
      if (!spec.target.empty()) taken_.insert(plain_name(spec.target));
    for (const InputSpec& spec : source().inputs) {
      Status s = add_placeholder(spec, reader);
      if (!s.ok())
        return std::move(s).failure().within(
            fmt::format("input {}", printable(spec.target.empty() ? spec.arg.text : spec.target)));
    }
    // Names of one tensor that come before their placeholder.
    for (const auto& [name, placeholder] : waiting_) {
      const auto at = by_target_.find(placeholder);
      if (at == by_target_.end())
        return user_error("signature: {} is missing", printable(placeholder));
      reader.bind_same(name, at->second.name);
    }
    return {};
  }

  struct Added {
    std::string name;  // in the file's graph
    ValueId value;
    bool is_weight = false;
  };

  Status add_placeholder(const InputSpec& spec, GraphReader& reader) {
    using SpecKind = InputSpec::Kind;
    if (spec.kind == SpecKind::constant_input) {
      leaves_.push_back(fmt::format("{}=constant", plain_name(spec.target)));
      return {};
    }
    const bool is_user = spec.kind == SpecKind::user;
    if (spec.arg.kind != Kind::tensor) {
      if (!is_user) return user_error("it is no tensor");
      leaves_.push_back(spec.arg.kind == Kind::symbol ? symbol_text(spec.arg.text) : "constant");
      return {};
    }
    const auto meta = source().graph.tensors.find(spec.arg.text);
    if (meta == source().graph.tensors.end()) return user_error("it has no type");
    if (!is_user) {
      const auto tied = tie_of_.find(spec.target);
      if (tied == tie_of_.end()) return user_error("the archive has no tensor of that name");
      if (tied->second != spec.target) {
        ties_[spec.target] = tied->second;
        waiting_.emplace_back(spec.arg.text, tied->second);
        return {};
      }
    }
    CLEAVE_TRY(const Type type, type_of(meta->second));
    const Role role = spec.kind == SpecKind::parameter  ? Role::param
                      : spec.kind == SpecKind::buffer   ? Role::buffer
                      : spec.kind == SpecKind::constant ? Role::constant
                                                        : Role::input;
    const bool wants_grad = meta->second.requires_grad && is_floating(type.dtype) &&
                            (role == Role::param || role == Role::input);
    std::string name = plain_name(is_user ? spec.arg.text : spec.target);
    while (is_user && taken_.contains(name)) name += "_";
    name = graph_.fresh_name(name);
    CLEAVE_TRY(const ValueId v, graph_.add_placeholder(role, name, type, wants_grad));
    reader.bind(spec.arg.text, v);
    by_target_[is_user ? spec.arg.text : spec.target] = {spec.arg.text, v, !is_user};
    order_.push_back(is_user ? spec.arg.text : spec.target);
    if (is_user) leaves_.push_back(name);
    return {};
  }

  std::string symbol_text(const std::string& name) const {
    const auto at = source().graph.symbols.find(name);
    if (at == source().graph.symbols.end()) return name;
    const Result<Dim> d = dim_of(at->second);
    return d.ok() ? d->text() : name;
  }

  // What the nodes write in place, and what the signature says is mutated.
  Status add_updates(GraphReader& reader) {
    for (const std::string& target : order_) {
      const Added& p = by_target_.at(target);
      const ValueId v = reader.written(p.name);
      if (v.valid()) CLEAVE_CHECK(add_update(v, p.value, target));
    }
    return {};
  }

  Status add_update(ValueId v, ValueId placeholder, const std::string& target) {
    if (!(graph_.type(v).dtype == graph_.type(placeholder).dtype &&
          graph_.type(v).shape == graph_.type(placeholder).shape))
      return user_error("{} is written as {}", printable(target), graph_.type(v).text());
    graph_.add_return({v, ReturnKind::update, placeholder});
    written_.insert(target);
    return {};
  }

  // Those of the signature's outputs that are wanted.
  Status add_results(GraphReader& reader, const std::function<bool(bool is_update)>& wanted) {
    if (source().outputs.size() != source().graph.outputs.size())
      return user_error("signature: {} outputs, and the graph has {}", source().outputs.size(),
                        source().graph.outputs.size());
    for (const OutputSpec& spec : source().outputs) {
      using SpecKind = OutputSpec::Kind;
      if (!wanted(spec.kind == SpecKind::mutation)) continue;
      if (spec.kind == SpecKind::mutation || spec.kind == SpecKind::gradient) {
        CLEAVE_CHECK(add_effect(spec, reader));
        continue;
      }
      CLEAVE_TRY(const ValueId v, result_of(spec.arg, reader));
      if (v.valid()) graph_.add_return({v});
      if (v.valid()) {
        result_leaves_.push_back(fmt::format("out.{}", graph_.returns().size() - 1));
      } else {
        result_leaves_.push_back(spec.arg.kind == Kind::none ? "None" : "constant");
      }
    }
    return {};
  }

  Result<ValueId> result_of(const Argument& a, GraphReader& reader) {
    if (a.kind != Kind::symbol) return reader.result(a);
    const auto at = source().graph.symbols.find(a.text);
    if (at == source().graph.symbols.end()) return user_error("{} has no value", printable(a.text));
    CLEAVE_TRY(const Dim d, dim_of(at->second));
    Builder b(graph_, file_.ops);
    const ValueId v = b.full({}, AttrValue(d), DType::i64);
    CLEAVE_CHECK(b.status());
    return v;
  }

  Status add_effect(const OutputSpec& spec, GraphReader& reader) {
    std::string target = spec.target;
    if (const auto tied = tie_of_.find(target); tied != tie_of_.end()) target = tied->second;
    const auto at = by_target_.find(target);
    if (at == by_target_.end()) return user_error("signature: there is no {}", printable(target));
    CLEAVE_TRY(const ValueId v, reader.result(spec.arg));
    if (!v.valid()) return user_error("signature: the value of {} is no tensor", printable(target));
    if (spec.kind == OutputSpec::Kind::mutation) return add_update(v, at->second.value, target);
    for (size_t k = 0; k < graph_.placeholders().size(); ++k)
      if (graph_.placeholders()[k].value == at->second.value)
        graph_.placeholder(k).wants_grad = true;
    graph_.add_return({v, ReturnKind::grad, at->second.value});
    return {};
  }

  Status add_rng(ValueId rng) {
    Builder b(graph_, file_.ops);
    const ValueId next = b.call1("rng_next", {rng});
    CLEAVE_CHECK(b.status());
    graph_.add_return({next, ReturnKind::update, rng});
    return {};
  }

  // Placeholders with bytes in common would be two tensors: only while nothing changes them.
  Status check_shared() const {
    std::map<std::string, std::vector<std::string>> by_file;
    for (const std::string& target : order_)
      if (by_target_.at(target).is_weight)
        by_file[model_.tensors.at(target).file].push_back(target);
    for (const auto& [file, names] : by_file)
      for (size_t a = 0; a < names.size(); ++a)
        for (size_t b = a + 1; b < names.size(); ++b) {
          const bool changes = changed(names[a]) || changed(names[b]);
          if (changes && overlap(model_.tensors.at(names[a]), model_.tensors.at(names[b])))
            return unsupported(
                "{} and {} are views of one storage, and one of them is trained or written; "
                "clone() "
                "one of them in the model",
                printable(names[a]), printable(names[b]));
        }
    return {};
  }

  bool changed(const std::string& target) const {
    const Placeholder* p = graph_.placeholder_of(by_target_.at(target).value);
    return written_.contains(target) || (p && p->wants_grad);
  }

  Result<ImportedModel> finish(WeightBytes weights) {
    ImportedModel out;
    uint64_t bytes = 0;
    for (const std::string& target : order_) {
      const Added& added = by_target_.at(target);
      if (!added.is_weight || weights == WeightBytes::skipped) continue;
      Result<HostTensor> t = read_tensor(zip_, model_.tensors.at(target));
      if (!t.ok()) return std::move(t).failure().within(printable(target));
      const Type& type = graph_.type(added.value);
      if (t->dtype() != type.dtype || !type.is_static() || t->shape() != static_shape(type))
        return user_error("{} is {} in the archive, and {} in the graph", printable(target),
                          t->type_text(), type.text());
      bytes += static_cast<uint64_t>(t->bytes());
      if (bytes / most_repeated > zip_.file_bytes() + few_bytes / most_repeated)
        return user_error("its tensors take more than {} times its {} bytes", most_repeated,
                          zip_.file_bytes());
      out.weights.emplace(graph_.name(added.value), *std::move(t));
    }
    for (const auto& [name, target] : ties_)
      out.ties[plain_name(name)] = graph_.name(by_target_.at(target).value);
    if (!source().in_spec.empty()) {
      CLEAVE_TRY(out.arguments, tree_text(source().in_spec, leaves_));
      CLEAVE_TRY(out.results, tree_text(source().out_spec, result_leaves_));
    }
    out.torch_version = source().torch_version;
    out.program.subgraphs = std::move(file_.subgraphs);
    out.program.main = std::move(graph_);
    CLEAVE_CHECK(verify(out.program));
    return out;
  }

  const ZipArchive& zip_;
  ArchivedModel model_;
  FileContext file_;
  cleave::Graph graph_;
  std::map<std::string, std::string> chosen_,
      tie_of_;  // of ties_of: a representative; a name: its placeholder
  std::map<std::string, std::string> ties_;
  std::vector<std::pair<std::string, std::string>> waiting_;
  std::map<std::string, Added> by_target_;
  std::vector<std::string> order_;  // targets, as their placeholders stand
  std::set<std::string> taken_, written_;
  std::vector<std::string> leaves_, result_leaves_;
};

Status check_covered(const Program& p, const OpRegistry& ops, UncoveredCalls* report) {
  const UncoveredCalls found = uncovered(p.graph, ops);
  if (report) *report = found;
  if (found.empty()) return {};
  std::string list;
  for (const auto& [op, calls] : found)
    list +=
        fmt::format("{}{} ({} call{})", list.empty() ? "" : ", ", op, calls, calls == 1 ? "" : "s");
  return unsupported(
      "{} operator{} not covered: {}; run_decompositions() in Python may take them "
      "apart",
      found.size(), found.size() == 1 ? " is" : "s are", list);
}

}  // namespace
}  // namespace exported

Result<ImportedModel> import_exported(const ZipArchive& zip, const OpRegistry& ops,
                                      const ImportOptions& options, UncoveredCalls* uncovered) {
  CLEAVE_TRY(exported::ArchivedModel model, exported::read_model(zip));
  if (Status s = exported::check_covered(model.program, ops, uncovered); !s.ok())
    return std::move(s).failure().within(zip.path());
  Result<ImportedModel> read = exported::ModelReader(zip, std::move(model), ops).read(options);
  if (!read.ok()) return std::move(read).failure().within(zip.path());
  return read;
}

}  // namespace cleave
