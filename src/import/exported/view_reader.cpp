// One node as views of its operand.
#include "import/exported/complex_views.h"
#include "import/exported/graph_reader.h"
#include "import/exported/layout.h"
#include "import/exported/views.h"

namespace cleave::exported {
namespace {

const TensorMeta& meta_of(const std::string& name, const Graph& source) {
  static const TensorMeta nothing;
  const auto at = source.tensors.find(name);
  return at == source.tensors.end() ? nothing : at->second;
}

enum class Shared : uint8_t { itself, view, nothing, unknown };

// What a result has in common with the operand, by where the file says that both lie. No view of a
// tensor that isn't row-major is row-major with all its elements.
Shared shared_by(Views::Sharing sharing, const TensorMeta& operand, const TensorMeta& result) {
  switch (sharing) {
    case Views::Sharing::view: return Shared::view;
    case Views::Sharing::copy: return Shared::nothing;
    case Views::Sharing::in_layout:
      return has_same_layout(operand, result) ? Shared::itself : Shared::nothing;
    case Views::Sharing::reshaped: break;
  }
  if (!is_known_layout(operand) || !is_known_layout(result)) return Shared::unknown;
  return is_row_major(result) ? Shared::nothing : Shared::view;
}

}  // namespace

Status GraphReader::read_view(const Node& node, Call& call, const std::string& name,
                              const Graph& source, bool is_complex) {
  const ValueId self = call.tensor("self");
  CLEAVE_CHECK(b_.status());
  const std::string self_name = call.find("self")->text;
  const TensorMeta& meta = meta_of(self_name, source);
  const auto views_by = is_complex ? complex_views_of : views_of;
  const Views views = views_by(name, call, self, is_row_major(meta));
  CLEAVE_CHECK(b_.status());
  const std::vector<std::string> names = result_names(node);
  if (names.size() > views.results.size())
    return user_error("{} results of {}", names.size(), views.results.size());
  Values together;
  if (!views.op.empty()) together = call.ops(views.op, {self}, views.attrs);
  CLEAVE_CHECK(b_.status());
  for (size_t k = 0; k < names.size(); ++k) {
    if (names[k].empty()) continue;
    const Shared shared = shared_by(views.sharing, meta, meta_of(names[k], source));
    ValueId v = self;
    if (k < together.size())
      v = together[k];
    else if (shared != Shared::itself)
      for (const ViewStep& step : views.results[k]) v = call.op(step.op, {v}, step.attrs);
    CLEAVE_CHECK(b_.status());
    const Tensor base = names_[self_name];
    names_[names[k]] = shared == Shared::itself    ? base
                       : shared == Shared::view    ? memories_.view(base, views.results[k], v)
                       : shared == Shared::nothing ? memories_.add(v)
                                                   : memories_.copy_or_view({&base, 1}, v);
    if (v != self) set_name(v, names[k]);
    CLEAVE_CHECK(check_type(names[k], v, source));
  }
  return {};
}

}  // namespace cleave::exported
