// A view of a complex tensor is one of its parts with their dim kept last.
//
//   z[1:, 2]      slice(dim=0), select(dim=1)       dims are counted from the front
//   z.view(6)     view(size=[6, 2])
//   z.unfold(..)  what makes a dim that is last puts it before the parts: transpose(-2, -1)
#include "import/exported/complex_views.h"

#include <algorithm>
#include <array>

namespace cleave::exported {
namespace {

// Views by which both parts are taken alike.
constexpr std::array<std::string_view, 38> shared = {"view",
                                                     "_unsafe_view",
                                                     "reshape",
                                                     "view_as",
                                                     "reshape_as",
                                                     "flatten",
                                                     "unflatten",
                                                     "squeeze",
                                                     "unsqueeze",
                                                     "expand",
                                                     "broadcast_to",
                                                     "expand_as",
                                                     "permute",
                                                     "transpose",
                                                     "swapdims",
                                                     "swapaxes",
                                                     "t",
                                                     "mT",
                                                     "numpy_T",
                                                     "movedim",
                                                     "moveaxis",
                                                     "select",
                                                     "slice",
                                                     "narrow",
                                                     "split",
                                                     "split_with_sizes",
                                                     "chunk",
                                                     "tensor_split",
                                                     "hsplit",
                                                     "vsplit",
                                                     "dsplit",
                                                     "ravel",
                                                     "unbind",
                                                     "diagonal",
                                                     "unfold",
                                                     "detach",
                                                     "alias",
                                                     "contiguous"};
constexpr std::array<std::string_view, 10> own = {
    "view_as_real", "view_as_complex", "real",       "imag",       "resolve_conj",
    "resolve_neg",  "lift_fresh",      "atleast_1d", "atleast_2d", "atleast_3d"};

std::string_view viewed(std::string_view name) {
  return name.ends_with("_copy") ? name.substr(0, name.size() - 5) : name;
}

Dim from_front(const Dim& d, int64_t rank) {
  return d.is_const() && d.value() < 0 ? d + Dim(rank) : d;
}

// The attribute with its dims counted from the front, of a tensor of `rank`.
void count_from_front(NamedAttrs& attrs, std::string_view name, int64_t rank) {
  for (auto& [key, value] : attrs) {
    if (key != name) continue;
    if (const Dim* d = value.get<Dim>()) {
      value = AttrValue(from_front(*d, rank));
    } else if (const AttrList* list = value.get<AttrList>()) {
      AttrList out;
      for (const AttrValue& v : *list)
        out.push_back(v.get<Dim>() ? AttrValue(from_front(*v.get<Dim>(), rank)) : v);
      value = AttrValue(std::move(out));
    }
  }
}

void append(NamedAttrs& attrs, std::string_view name, int64_t number) {
  for (auto& [key, value] : attrs)
    if (const AttrList* list = value.get<AttrList>(); key == name && list) {
      AttrList out = *list;
      out.emplace_back(number);
      value = AttrValue(std::move(out));
    }
}

// A step on a complex tensor of `rank` as steps on its parts.
std::vector<ViewStep> of_parts(ViewStep step, int64_t rank) {
  const ViewStep swapped{"transpose", {{"dim0", -2}, {"dim1", -1}}};
  const std::string& op = step.op;
  if (op == "t") {
    if (rank < 2) return {};
    return {{"transpose", {{"dim0", 0}, {"dim1", 1}}}};
  }
  const bool is_scalar = rank == 0 && (op == "transpose" || op == "permute" || op == "squeeze");
  if (is_scalar) return {};
  if (op == "squeeze" && step.attrs.empty()) return {step};
  for (const char* name : {"dim", "dim0", "dim1", "dim2", "dims", "dimension"})
    count_from_front(step.attrs, name, op == "unsqueeze" ? rank + 1 : rank);
  append(step.attrs, "size", 2);
  if (op == "permute") append(step.attrs, "dims", rank);
  if (op == "diagonal" || op == "unfold") return {std::move(step), swapped};
  return {std::move(step)};
}

Views same() {
  Views v;
  v.results = {{}};
  return v;
}

Views part(int64_t index) {
  Views v;
  v.results = {{{"select", {{"dim", -1}, {"index", index}}}}};
  return v;
}

Views of_own(std::string_view name, Call& c, ValueId self, bool is_complex) {
  if (name == "real") return is_complex ? part(0) : same();
  if (name == "imag") return part(1);
  if (name == "view_as_complex" && (c.rank(self) == 0 || !(c.size(self, -1) == Dim(2))))
    c.fail("view_as_complex of {}", c.type(self).text());
  return same();
}

}  // namespace

bool is_complex_view(std::string_view name) {
  const std::string_view view = viewed(name);
  return std::ranges::find(shared, view) != shared.end() ||
         std::ranges::find(own, view) != own.end();
}

Views complex_views_of(std::string_view name, Call& c, ValueId self, bool is_contiguous) {
  const std::string_view view = viewed(name);
  const bool is_complex = c.is_complex("self");
  Views v;
  if (std::ranges::find(own, view) != own.end() && !view.starts_with("atleast")) {
    v = of_own(view, c, self, is_complex);
  } else {
    c.show_whole(self);
    if (c.is_complex("other")) c.show_whole(c.tensor("other"));
    v = views_of(view, c, self, is_contiguous);
    const int64_t rank = c.rank(self);
    v.op.clear();
    for (std::vector<ViewStep>& steps : v.results) {
      std::vector<ViewStep> out;
      for (const ViewStep& step : steps)
        for (ViewStep& of : of_parts(step, rank)) out.push_back(std::move(of));
      steps = std::move(out);
    }
    c.show_parts();
  }
  if (view != name) v.sharing = Views::Sharing::copy;
  return v;
}

}  // namespace cleave::exported
