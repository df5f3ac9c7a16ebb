// The results of a model: updates, what forward returns, gradients; then its weights.
#include "base/printable.h"
#include "import/exported/expression.h"
#include "import/exported/model_reader.h"
#include "import/exported/plain_name.h"
#include "import/exported/tree.h"
#include "import/exported/weights.h"
#include "ir/text.h"

namespace cleave::exported {

using Kind = Argument::Kind;

Result<ImportedModel> ModelReader::read(const ImportOptions& options) {
  CLEAVE_CHECK(add_symints());
  file_.ignores_autocast =
      source().torch_version.starts_with("2.6.") || source().torch_version.starts_with("2.7.");
  GraphReader reader(file_, graph_, false);
  CLEAVE_CHECK(add_placeholders(reader));
  CLEAVE_CHECK(reader.read(model_.program.graph));
  const bool last = options.updates == UpdateOrder::last;
  if (last) CLEAVE_CHECK(add_results(reader, [](bool is_update) { return !is_update; }));
  CLEAVE_CHECK(add_updates(reader));
  CLEAVE_CHECK(add_results(reader, [&](bool is_update) { return !last || is_update; }));
  if (reader.rng().valid()) CLEAVE_CHECK(add_rng(reader.rng()));
  if (reader.has_checks()) CLEAVE_CHECK(add_checks(reader));
  CLEAVE_CHECK(check_shared());
  return finish(options.weights);
}

// What the nodes write in place, and what the signature says is mutated.
Status ModelReader::add_updates(GraphReader& reader) {
  for (const std::string& target : order_) {
    const Added& p = by_target_.at(target);
    Result<ValueId> v = reader.written(p.name);
    if (!v.ok()) return std::move(v).failure().within(printable(target));
    if (v->valid()) CLEAVE_CHECK(add_update(*v, p.value, target));
  }
  return {};
}

Status ModelReader::add_update(ValueId v, ValueId placeholder, const std::string& target) {
  if (!(graph_.type(v).dtype == graph_.type(placeholder).dtype &&
        graph_.type(v).shape == graph_.type(placeholder).shape))
    return user_error("{} is written as {}", printable(target), graph_.type(v).text());
  graph_.add_return({v, ReturnKind::update, placeholder});
  written_.insert(target);
  return {};
}

// Those of the signature's outputs that are wanted.
Status ModelReader::add_results(GraphReader& reader,
                                const std::function<bool(bool is_update)>& wanted) {
  if (source().outputs.size() != source().graph.outputs.size())
    return user_error("signature: {} outputs, and the graph has {}", source().outputs.size(),
                      source().graph.outputs.size());
  for (const OutputSpec& spec : source().outputs) {
    using SpecKind = OutputSpec::Kind;
    if (spec.kind == SpecKind::token || !wanted(spec.kind == SpecKind::mutation)) continue;
    if (spec.kind == SpecKind::mutation || spec.kind == SpecKind::gradient) {
      CLEAVE_CHECK(add_effect(spec, reader));
      continue;
    }
    CLEAVE_TRY(const ValueId v, result_of(spec.arg, reader));
    if (v.valid()) graph_.add_return({v});
    if (v.valid()) {
      const auto meta = source().graph.tensors.find(spec.arg.text);
      if (meta != source().graph.tensors.end() && meta->second.is_complex)
        complex_.insert(fmt::format("out.{}", graph_.returns().size() - 1));
      result_leaves_.push_back(fmt::format("out.{}", graph_.returns().size() - 1));
    } else {
      result_leaves_.push_back(spec.arg.kind == Kind::none ? "None" : "constant");
    }
  }
  return {};
}

Result<ValueId> ModelReader::result_of(const Argument& a, GraphReader& reader) {
  if (a.kind != Kind::symbol) return reader.result(a);
  const auto at = source().graph.symbols.find(a.text);
  if (at == source().graph.symbols.end()) return user_error("{} has no value", printable(a.text));
  CLEAVE_TRY(const Dim d, dim_of(at->second));
  Builder b(graph_, file_.ops);
  const ValueId v = b.full({}, AttrValue(d), DType::i64);
  CLEAVE_CHECK(b.status());
  return v;
}

Status ModelReader::add_effect(const OutputSpec& spec, GraphReader& reader) {
  std::string target = spec.of_user_input ? input_key(spec.target) : spec.target;
  if (const auto tied = tie_of_.find(target); tied != tie_of_.end()) target = tied->second;
  const auto at = by_target_.find(target);
  if (at == by_target_.end()) return user_error("signature: there is no {}", printable(target));
  CLEAVE_TRY(const ValueId v, reader.result(spec.arg));
  if (!v.valid()) return user_error("signature: the value of {} is no tensor", printable(target));
  if (spec.kind == OutputSpec::Kind::mutation) return add_update(v, at->second.value, target);
  for (size_t k = 0; k < graph_.placeholders().size(); ++k)
    if (graph_.placeholders()[k].value == at->second.value) graph_.placeholder(k).wants_grad = true;
  graph_.add_return({v, ReturnKind::grad, at->second.value});
  return {};
}

Status ModelReader::add_rng(ValueId rng) {
  Builder b(graph_, file_.ops);
  const ValueId next = b.call1("rng_next", {rng});
  CLEAVE_CHECK(b.status());
  graph_.add_return({next, ReturnKind::update, rng});
  return {};
}

// Of a model whose forward returns nothing: an update waits for the checks.
Status ModelReader::add_checks(GraphReader& reader) {
  std::vector<Return> returns = graph_.returns();
  if (returns.empty()) return unsupported("it checks values, and has no results");
  CLEAVE_TRY(returns[0].value, reader.behind_checks(returns[0].value));
  graph_.set_returns(std::move(returns));
  return {};
}

// Placeholders with bytes in common would be two tensors: only while nothing changes them.
Status ModelReader::check_shared() const {
  std::map<std::string, std::vector<std::string>> by_file;
  for (const std::string& target : order_)
    if (by_target_.at(target).is_weight) by_file[model_.tensors.at(target).file].push_back(target);
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

bool ModelReader::changed(const std::string& target) const {
  const Placeholder* p = graph_.placeholder_of(by_target_.at(target).value);
  return written_.contains(target) || (p && p->wants_grad);
}

Result<ImportedModel> ModelReader::finish(WeightBytes weights) {
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
  out.complex = std::move(complex_);
  out.torch_version = source().torch_version;
  out.program.subgraphs = std::move(file_.subgraphs);
  out.program.main = std::move(graph_);
  CLEAVE_CHECK(verify(out.program));
  return out;
}

}  // namespace cleave::exported
