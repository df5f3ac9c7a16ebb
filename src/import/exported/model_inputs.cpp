// The placeholders of a model: symints, weights by their names, inputs.
#include <algorithm>

#include "base/printable.h"
#include "import/exported/expression.h"
#include "import/exported/model_reader.h"
#include "import/exported/plain_name.h"
#include "import/exported/types.h"
#include "import/exported/weights.h"

namespace cleave::exported {

using Kind = Argument::Kind;

// The symbols of inputs and of the file's ranges, in the order of the inputs.
Status ModelReader::add_symints() {
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

Status ModelReader::add_symint(const std::string& name,
                               const std::map<std::string, int64_t>& hints) {
  SymInfo info;
  if (const auto at = source().ranges.find(name); at != source().ranges.end()) {
    const Range& r = at->second;
    const int64_t least = std::clamp<int64_t>(r.least.value_or(0), 0, info.range.hi);
    info.range.lo = least <= largest_open_size ? std::min(least, least_size_) : least;
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
void ModelReader::choose_ties() {
  std::set<std::string> read;
  for (const Node& n : source().graph.nodes)
    for (const NamedArgument& a : n.inputs) collect_tensors(a.value, read);
  for (const Argument& a : source().graph.outputs) collect_tensors(a, read);
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

Status ModelReader::add_placeholders(GraphReader& reader) {
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
  for (const auto& [name, placeholder] : tie_of_)
    if (name != placeholder) ties_.try_emplace(name, placeholder);
  // Names of one tensor that come before their placeholder.
  for (const auto& [name, placeholder] : waiting_) {
    const auto at = by_target_.find(placeholder);
    if (at == by_target_.end())
      return user_error("signature: {} is missing", printable(placeholder));
    reader.bind_same(name, at->second.name);
  }
  return {};
}

Status ModelReader::add_placeholder(const InputSpec& spec, GraphReader& reader) {
  using SpecKind = InputSpec::Kind;
  if (spec.kind == SpecKind::constant_input) {
    leaves_.push_back(fmt::format("{}=constant", plain_name(spec.target)));
    return {};
  }
  if (spec.kind == SpecKind::token) return {};
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
    // PyTorch 2.6 gives all inputs of a tied tensor one name.
    if (by_target_.contains(spec.target)) {
      waiting_.emplace_back(spec.arg.text, spec.target);
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
  if (meta->second.is_complex) complex_.insert(name);
  order_.push_back(is_user ? input_key(spec.arg.text) : spec.target);
  by_target_[order_.back()] = {spec.arg.text, v, !is_user};
  if (is_user) leaves_.push_back(name);
  return {};
}

std::string ModelReader::symbol_text(const std::string& name) const {
  const auto at = source().graph.symbols.find(name);
  if (at == source().graph.symbols.end()) return name;
  const Result<Dim> d = dim_of(at->second);
  return d.ok() ? d->text() : name;
}

}  // namespace cleave::exported
