// One rule for each operator that makes a view. What cleave has under the same name is called so.
#include "import/exported/views.h"

#include <algorithm>
#include <array>

namespace cleave::exported {
namespace {

constexpr int64_t to_the_end = INT64_MAX;

Views one(std::string op, NamedAttrs attrs) {
  Views v;
  v.results = {{{std::move(op), std::move(attrs)}}};
  return v;
}

Views reshaped(const Shape& size, bool is_contiguous) {
  Views v = one("view", {{"size", size}});
  if (!is_contiguous) v.sharing = Views::Sharing::reshaped;
  return v;
}

// -1 in the place of the size that the others leave.
Shape completed(Call& c, ValueId self, Shape size) {
  Dim known = 1, all = c.type(self).numel();
  Dim* open = nullptr;
  for (Dim& d : size) {
    if (d == Dim(-1))
      open = &d;
    else
      known = known * d;
  }
  if (!open) return size;
  if (known.is_const() && known.value() < 1) {
    c.fail("a view with sizes that leave -1 open");
    return size;
  }
  *open = known == Dim(1) ? all : Dim::floordiv(all, known);
  return size;
}

ViewStep slice(int64_t dim, Dim start, Dim end) {
  return {"slice", {{"dim", dim}, {"start", start}, {"end", end}}};
}

Views in_parts(Call& c, ValueId self, int64_t dim, const std::vector<Dim>& ends) {
  Views v;
  Dim at = 0;
  for (const Dim& end : ends) {
    v.results.push_back({slice(c.wrapped(dim, c.rank(self)), at, end)});
    at = end;
  }
  return v;
}

constexpr int64_t most_parts = 1 << 16;

// Of pieces of so many, the last one of the rest.
Views pieces(Call& c, ValueId self, int64_t each, int64_t dim) {
  const int64_t all = c.static_size(self, dim);
  std::vector<Dim> ends;
  if (each < 1 || all / std::max<int64_t>(each, 1) > most_parts) {
    c.fail("a dim of {} in pieces of {}", all, each);
    return {};
  }
  for (int64_t at = each; at < all; at += each) ends.emplace_back(at);
  ends.emplace_back(all);
  return in_parts(c, self, dim, ends);
}

Views split(Call& c, ValueId self) {
  const char* name = c.find("split_sizes") ? "split_sizes" : "split_size";
  const Shape sizes = c.sizes(name);
  const int64_t dim = c.integer("dim", 0);
  // A list of one size is that of the whole dim, or what a graph's own entry gives.
  const Argument* given = c.find(name);
  const bool even = given && (given->kind != Argument::Kind::list || given->items.size() == 1);
  if (even) {
    Views v;
    if (sizes[0].is_const() && c.size(self, dim).is_const())
      v = pieces(c, self, sizes[0].value(), dim);
    else  // as many as the file has results of
      for (size_t k = 0; k < c.node().outputs.size(); ++k)
        for (size_t i = 0; i < std::max<size_t>(1, c.node().outputs[k].items.size()); ++i)
          v.results.push_back({slice(dim, sizes[0] * Dim(static_cast<int64_t>(i)),
                                     sizes[0] * Dim(static_cast<int64_t>(i) + 1))});
    v.op = "split";
    v.attrs = {{"split_size", sizes[0]}, {"dim", dim}};
    return v;
  }
  std::vector<Dim> ends;
  for (const Dim& s : sizes) ends.push_back(ends.empty() ? s : ends.back() + s);
  Views v = in_parts(c, self, dim, ends);
  v.op = "split_with_sizes";
  v.attrs = {{"split_sizes", sizes}, {"dim", dim}};
  return v;
}

Views chunk(Call& c, ValueId self) {
  const int64_t chunks = c.integer("chunks", 1), dim = c.integer("dim", 0);
  const int64_t all = c.static_size(self, dim);
  if (chunks < 1) {
    c.fail("{} chunks", chunks);
    return {};
  }
  if (all == 0 && chunks <= most_parts)  // as many empty parts
    return in_parts(c, self, dim, std::vector<Dim>(static_cast<size_t>(chunks)));
  Views v = pieces(c, self, std::max<int64_t>(1, (all + chunks - 1) / chunks), dim);
  v.op = "chunk";
  v.attrs = {{"chunks", chunks}, {"dim", dim}};
  return v;
}

Views tensor_split(Call& c, ValueId self, int64_t dim) {
  std::vector<Dim> ends;
  if (c.has("sections")) {
    const int64_t parts = c.integer("sections", 1), all = c.static_size(self, dim);
    if (parts < 1 || parts > most_parts) c.fail("{} sections", parts);
    for (int64_t k = 1, at = 0; c.ok() && k <= parts; ++k)
      ends.emplace_back(at += all / parts + (k <= all % parts ? 1 : 0));
  } else {
    ends = c.sizes("indices");
    ends.push_back(c.size(self, dim));
  }
  return in_parts(c, self, dim, ends);
}

Views unbind(Call& c, ValueId self) {
  const int64_t dim = c.integer("dim", 0), count = c.static_size(self, dim);
  Views v;
  if (count > most_parts) c.fail("unbind of {}", count);
  for (int64_t k = 0; c.ok() && k < count; ++k)
    v.results.push_back({{"select", {{"dim", dim}, {"index", k}}}});
  v.op = "unbind";
  v.attrs = {{"dim", dim}};
  return v;
}

Views flatten(Call& c, ValueId self, bool is_contiguous) {
  const int64_t rank = std::max<int64_t>(c.rank(self), 1);
  const int64_t first = c.wrapped(c.integer("start_dim", 0), rank),
                last = c.wrapped(c.integer("end_dim", -1), rank);
  Shape size;
  Dim flat = 1;
  for (int64_t d = 0; d < c.rank(self); ++d) {
    if (d < first || d > last) {
      size.push_back(c.size(self, d));
    } else {
      flat = flat * c.size(self, d);
      if (d == last) size.push_back(flat);
    }
  }
  if (c.rank(self) == 0) size = {1};
  return reshaped(size, is_contiguous || first == last);
}

Views unflatten(Call& c, ValueId self) {
  const int64_t dim = c.wrapped(c.integer("dim", 0), c.rank(self));
  Shape inner = c.sizes("sizes"), size = c.type(self).shape;
  Dim known = 1;
  for (const Dim& d : inner)
    if (!(d == Dim(-1))) known = known * d;
  for (Dim& d : inner)
    if (d == Dim(-1) && !(known == Dim(0))) d = Dim::floordiv(c.size(self, dim), known);
  if (!c.ok() || size.empty()) return {};
  size.erase(size.begin() + dim);
  size.insert(size.begin() + dim, inner.begin(), inner.end());
  return reshaped(size, true);
}

Views movedim(Call& c, ValueId self) {
  const int64_t rank = c.rank(self);
  const std::vector<int64_t> from = c.integers("source"), to = c.integers("destination");
  std::vector<int64_t> dims(static_cast<size_t>(rank), -1);
  std::vector<bool> taken(static_cast<size_t>(rank));
  for (size_t k = 0; k < std::min(from.size(), to.size()) && rank > 0; ++k) {
    const int64_t source = c.wrapped(from[k], rank);
    dims[static_cast<size_t>(c.wrapped(to[k], rank))] = source;
    taken[static_cast<size_t>(source)] = true;
  }
  int64_t next = 0;
  for (int64_t& d : dims) {
    if (d >= 0) continue;
    while (next < rank && taken[static_cast<size_t>(next)]) ++next;
    d = next++;
  }
  return one("permute", {{"dims", dims}});
}

Views with_last_two_swapped(Call& c, ValueId self) {
  if (c.rank(self) < 2) c.fail("a transposed tensor of rank {}", c.rank(self));
  return one("transpose", {{"dim0", -2}, {"dim1", -1}});
}

// Sizes of -1 stay as they are.
Views expanded(Call& c, ValueId self, Shape size) {
  const auto lead = static_cast<int64_t>(size.size()) - c.rank(self);
  for (size_t k = 0; k < size.size(); ++k)
    if (size[k] == Dim(-1)) {
      if (static_cast<int64_t>(k) < lead)
        c.fail("expand of a new dim to -1");
      else
        size[k] = c.size(self, static_cast<int64_t>(k) - lead);
    }
  return one("expand", {{"size", size}});
}

Views same() {
  Views v;
  v.results = {{}};
  return v;
}

Views in_layout() {
  Views v = one("clone", {});
  v.sharing = Views::Sharing::in_layout;
  return v;
}

// To another dtype, or to another memory format; the operand itself where it is as asked for.
Views converted(Call& c, ValueId self) {
  const DType had = c.type(self).dtype;
  const DType t = c.has("other") ? c.type(c.tensor("other")).dtype : c.dtype("dtype").value_or(had);
  const bool is_other = t != had;
  Views v = is_other ? one("_to_copy", {{"dtype", t}}) : one("clone", {});
  const AttrValue preserve = MemoryFormat::preserve;
  if (is_other || c.flag("copy", false))
    v.sharing = Views::Sharing::copy;
  else
    v = c.value("memory_format", preserve) == preserve ? same() : in_layout();
  return v;
}

Views squeeze(Call& c) {
  if (!c.has("dim")) return one("squeeze", {});
  return one("squeeze", {{"dim", c.integers("dim")}});
}

// An operator of cleave with the same arguments.
Views as_it_is(Call& c, const std::string& name, std::initializer_list<const char*> arguments) {
  NamedAttrs attrs;
  for (const char* a : arguments)
    if (c.has(a)) attrs.emplace_back(a, c.value(a));
  return one(name, std::move(attrs));
}

// One of rank 2 or more along dim 1, one of rank 1 along dim 0.
Views hsplit(Call& c, ValueId self) { return tensor_split(c, self, c.rank(self) == 1 ? 0 : 1); }

// Dims of size 1 around, until there are `rank`: in the middle of one dim, behind two.
Views at_least(Call& c, ValueId self, int64_t rank) {
  Shape size = c.type(self).shape;
  const auto have = std::ssize(size);
  if (have >= rank) return same();
  if (have == 0) size.assign(static_cast<size_t>(rank), Dim(1));
  if (have == 1) size.insert(size.begin(), Dim(1));
  if (have > 0 && rank == 3) size.emplace_back(1);
  return reshaped(size, true);
}

Shape shape_of(Call& c, const char* argument) { return c.type(c.tensor(argument)).shape; }

using Rule = Views (*)(Call&, ValueId self, bool is_contiguous);
struct Row {
  std::string_view name;
  Rule rule;
};
constexpr std::array rows = {
    Row{"view",
        [](Call& c, ValueId x, bool) { return reshaped(completed(c, x, c.sizes("size")), true); }},
    Row{"_unsafe_view",
        [](Call& c, ValueId x, bool) { return reshaped(completed(c, x, c.sizes("size")), true); }},
    Row{"reshape",
        [](Call& c, ValueId x, bool is_contiguous) {
          return reshaped(completed(c, x, c.sizes("shape")), is_contiguous);
        }},
    Row{"view_as", [](Call& c, ValueId, bool) { return reshaped(shape_of(c, "other"), true); }},
    Row{"reshape_as",
        [](Call& c, ValueId, bool is_contiguous) {
          return reshaped(shape_of(c, "other"), is_contiguous);
        }},
    Row{"flatten", flatten},
    Row{"unflatten", [](Call& c, ValueId x, bool) { return unflatten(c, x); }},
    Row{"squeeze", [](Call& c, ValueId, bool) { return squeeze(c); }},
    Row{"unsqueeze", [](Call& c, ValueId, bool) { return as_it_is(c, "unsqueeze", {"dim"}); }},
    Row{"expand", [](Call& c, ValueId x, bool) { return expanded(c, x, c.sizes("size")); }},
    Row{"broadcast_to", [](Call& c, ValueId x, bool) { return expanded(c, x, c.sizes("size")); }},
    Row{"expand_as", [](Call& c, ValueId x, bool) { return expanded(c, x, shape_of(c, "other")); }},
    Row{"permute", [](Call& c, ValueId, bool) { return as_it_is(c, "permute", {"dims"}); }},
    Row{"transpose",
        [](Call& c, ValueId, bool) { return as_it_is(c, "transpose", {"dim0", "dim1"}); }},
    Row{"swapdims",
        [](Call& c, ValueId, bool) { return as_it_is(c, "transpose", {"dim0", "dim1"}); }},
    Row{"swapaxes",
        [](Call& c, ValueId, bool) {
          const int64_t a = c.integer("axis0", 0), b = c.integer("axis1", 0);
          return one("transpose", {{"dim0", a}, {"dim1", b}});
        }},
    Row{"t", [](Call&, ValueId, bool) { return one("t", {}); }},
    Row{"mH", [](Call& c, ValueId x, bool) { return with_last_two_swapped(c, x); }},
    Row{"matrix_H", [](Call& c, ValueId x, bool) { return with_last_two_swapped(c, x); }},
    Row{"mT", [](Call& c, ValueId x, bool) { return with_last_two_swapped(c, x); }},
    Row{"adjoint", [](Call& c, ValueId x, bool) { return with_last_two_swapped(c, x); }},
    Row{"numpy_T",
        [](Call& c, ValueId x, bool) {
          std::vector<int64_t> dims;
          for (int64_t d = c.rank(x); d-- > 0;) dims.push_back(d);
          return one("permute", {{"dims", dims}});
        }},
    Row{"movedim", [](Call& c, ValueId x, bool) { return movedim(c, x); }},
    Row{"moveaxis", [](Call& c, ValueId x, bool) { return movedim(c, x); }},
    Row{"select", [](Call& c, ValueId, bool) { return as_it_is(c, "select", {"dim", "index"}); }},
    Row{"slice",
        [](Call& c, ValueId, bool) {
          return as_it_is(c, "slice", {"dim", "start", "end", "step"});
        }},
    Row{"narrow",
        [](Call& c, ValueId, bool) {
          const Shape start = c.sizes("start"), length = c.sizes("length");
          const Dim from = start.empty() ? Dim(0) : start[0];
          return one("slice", {{"dim", c.integer("dim", 0)},
                               {"start", from},
                               {"end", length.empty() ? Dim(to_the_end) : from + length[0]}});
        }},
    Row{"split", [](Call& c, ValueId x, bool) { return split(c, x); }},
    Row{"split_with_sizes", [](Call& c, ValueId x, bool) { return split(c, x); }},
    Row{"chunk", [](Call& c, ValueId x, bool) { return chunk(c, x); }},
    Row{"tensor_split",
        [](Call& c, ValueId x, bool) { return tensor_split(c, x, c.integer("dim", 0)); }},
    Row{"hsplit", [](Call& c, ValueId x, bool) { return hsplit(c, x); }},
    Row{"vsplit", [](Call& c, ValueId x, bool) { return tensor_split(c, x, 0); }},
    Row{"dsplit", [](Call& c, ValueId x, bool) { return tensor_split(c, x, 2); }},
    Row{"atleast_1d", [](Call& c, ValueId x, bool) { return at_least(c, x, 1); }},
    Row{"atleast_2d", [](Call& c, ValueId x, bool) { return at_least(c, x, 2); }},
    Row{"atleast_3d", [](Call& c, ValueId x, bool) { return at_least(c, x, 3); }},
    Row{"ravel",
        [](Call& c, ValueId x, bool is_contiguous) {
          return reshaped({c.type(x).numel()}, is_contiguous);
        }},
    Row{"real", [](Call&, ValueId, bool) { return same(); }},
    Row{"conj", [](Call&, ValueId, bool) { return same(); }},
    Row{"resolve_conj", [](Call&, ValueId, bool) { return same(); }},
    Row{"resolve_neg", [](Call&, ValueId, bool) { return same(); }},
    Row{"unbind", [](Call& c, ValueId x, bool) { return unbind(c, x); }},
    Row{"diagonal",
        [](Call& c, ValueId, bool) { return as_it_is(c, "diagonal", {"offset", "dim1", "dim2"}); }},
    Row{"unfold",
        [](Call& c, ValueId, bool) {
          return as_it_is(c, "unfold", {"dimension", "size", "step"});
        }},
    Row{"as_strided",
        [](Call& c, ValueId, bool is_contiguous) {
          if (!is_contiguous) c.fail("as_strided of a tensor that isn't row-major");
          return as_it_is(c, "as_strided", {"size", "stride", "storage_offset"});
        }},
    Row{"detach", [](Call&, ValueId, bool) { return one("detach", {}); }},
    // x[:], or what run_decompositions() makes of detach
    Row{"alias",
        [](Call& c, ValueId, bool) { return c.node().was_detach ? one("detach", {}) : same(); }},
    Row{"contiguous", [](Call&, ValueId, bool) { return in_layout(); }},
    Row{"to", [](Call& c, ValueId x, bool) { return converted(c, x); }},
    Row{"lift_fresh", [](Call&, ValueId, bool) { return same(); }},
    Row{"lift", [](Call&, ValueId, bool) { return same(); }},
};

// The view that an operator copies, by its name: that of permute_copy is permute.
std::string_view viewed(std::string_view name) {
  if (name.ends_with("_copy")) return name.substr(0, name.size() - 5);
  for (const std::string_view copy : {"unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes"})
    if (name == copy) return name.substr(std::string_view("unsafe_").size());
  return name;
}

}  // namespace

bool is_view(std::string_view name) {
  return std::ranges::find(rows, viewed(name), &Row::name) != rows.end();
}

Views views_of(std::string_view name, Call& call, ValueId self, bool is_contiguous) {
  const std::string_view view = viewed(name);
  Views v = std::ranges::find(rows, view, &Row::name)->rule(call, self, is_contiguous);
  if (view != name) v.sharing = Views::Sharing::copy;
  return v;
}

}  // namespace cleave::exported
