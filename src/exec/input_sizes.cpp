#include "exec/input_sizes.h"

#include <algorithm>

#include "base/element_address.h"

namespace cleave {
namespace {

std::string bounds_text(const DynamicSize& s) { return fmt::format("{} to {}", s.least, s.most); }

std::string shape_text(const InputSpec& spec) {
  std::vector<std::string> dims;
  for (const InputDim& d : spec.shape.dims())
    dims.push_back(d.varies() ? d.size().name : std::to_string(d.size().most));
  return fmt::format("{}[{}]", name_of(spec.dtype), fmt::join(dims, ","));
}

// "{B*2,1}": those of the spec, row-major ones if it gives none.
std::string strides_text(const InputSpec& spec) {
  if (!spec.strides.empty()) return fmt::format("{{{}}}", fmt::join(spec.strides, ","));
  std::vector<std::string> out;
  const std::vector<InputDim>& dims = spec.shape.dims();
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t number = 1;
    std::vector<std::string> factors;
    for (size_t inner = d + 1; inner < dims.size(); ++inner)
      if (dims[inner].varies())
        factors.push_back(dims[inner].size().name);
      else
        number *= dims[inner].size().most;
    if (number != 1 || factors.empty()) factors.push_back(std::to_string(number));
    out.push_back(fmt::format("{}", fmt::join(factors, "*")));
  }
  return fmt::format("{{{}}}", fmt::join(out, ","));
}

// Without strides.
std::string plain_text(const HostTensor& t) {
  const std::string text = t.type_text();
  return text.substr(0, text.find('{'));
}

}  // namespace

std::string spec_text(const InputSpec& spec) {
  return shape_text(spec) + (spec.strides.empty() ? "" : strides_text(spec));
}

bool has_strides_of(const HostTensor& input, const InputSpec& spec) {
  if (spec.strides.empty() || input.numel() == 0) return input.is_row_major();
  if (input.rank() != std::ssize(spec.strides)) return false;
  for (int64_t d = 0; d < input.rank(); ++d) {
    const auto k = static_cast<size_t>(d);
    if (input.shape()[k] != 1 && input.stride(d) != spec.strides[k]) return false;
  }
  return true;
}

Result<InputSizes> InputSizes::make(std::string what, std::vector<InputSpec> specs,
                                    OtherSizes other) {
  InputSizes out;
  out.other_ = other;
  out.what_ = std::move(what);
  out.specs_ = std::move(specs);
  for (size_t k = 0; k < out.specs_.size(); ++k) {
    for (size_t d = 0; d < out.specs_[k].shape.dims().size(); ++d) CLEAVE_CHECK(out.add({k, d}));
    CLEAVE_CHECK(out.check_memory(k));
  }
  return out;
}

Status InputSizes::check_memory(size_t k) const {
  const InputSpec& s = specs_[k];
  const size_t rank = s.shape.dims().size();
  if (!s.strides.empty() && s.strides.size() != rank)
    return user_error("{}: input {} `{}`: {} strides for {} dims: {}", what_, k, s.name,
                      s.strides.size(), rank, spec_text(s));
  for (const int64_t stride : s.strides)
    if (stride < 0)
      return user_error("{}: input {} `{}`: stride {} is negative: {}", what_, k, s.name, stride,
                        spec_text(s));
  if (s.is_updated && s.copy_strides)
    return user_error(
        "{}: input {} `{}`: is_updated and copy_strides are both set: the update of a copy would "
        "be lost",
        what_, k, s.name);
  return {};
}

Status InputSizes::add(Place place) {
  const InputSpec& spec = specs_[place.input];
  const InputDim& dim = spec.shape.dims()[place.dim];
  const DynamicSize& size = dim.size();
  if (!dim.varies()) {
    if (size.most >= 0) {
      if (other_ == OtherSizes::grow)
        sizes_.push_back(
            {{fmt::format("{}.{}", spec.name, place.dim), size.most, size.most}, {place}, true});
      return {};
    }
    return user_error(
        "{}: input `{}`: dim {} is negative: {}; sizes are static; give one that varies by name "
        "and bounds, as dyn(\"B\", 1, 64)",
        what_, spec.name, place.dim, spec_text(spec));
  }
  if (size.hint != 0 && (size.hint < size.least || size.hint > size.most))
    return user_error("{}: input `{}`: dim {}: the hint of {} is {}, expected {}", what_, spec.name,
                      place.dim, size.name, size.hint, bounds_text(size));
  if (size.name.empty() || size.least < 0 || size.most < size.least)
    return user_error(
        "{}: input `{}`: dim {} is dyn(\"{}\", {}, {}), expected a name and 0 <= "
        "least <= most",
        what_, spec.name, place.dim, size.name, size.least, size.most);
  for (Size& known : sizes_) {
    if (known.bounds.name != size.name) continue;
    if (known.bounds.least != size.least || known.bounds.most != size.most ||
        known.bounds.hint != size.hint)
      return user_error("{}: {} is {} in {} and {} in {}; one name has the same bounds everywhere",
                        what_, size.name, bounds_text(known.bounds),
                        place_text(known.places.front()), bounds_text(size), place_text(place));
    known.places.push_back(place);
    return {};
  }
  sizes_.push_back({size, {place}});
  return {};
}

std::string InputSizes::place_text(Place place) const {
  return fmt::format("input {} `{}` (dim {})", place.input, specs_[place.input].name, place.dim);
}

std::vector<int64_t> InputSizes::largest() const {
  std::vector<int64_t> out;
  for (const Size& s : sizes_) out.push_back(s.bounds.most);
  return out;
}

std::vector<int64_t> InputSizes::least() const {
  std::vector<int64_t> out;
  for (const Size& s : sizes_) out.push_back(s.bounds.least);
  return out;
}

std::vector<InputSizes::Range> InputSizes::ranges() const {
  std::vector<Range> out;
  for (const Size& s : sizes_)
    out.push_back(
        {s.bounds.name, s.bounds.least, s.is_number ? std::nullopt : std::optional(s.bounds.most)});
  return out;
}

std::optional<std::vector<int64_t>> InputSizes::hints() const {
  std::vector<int64_t> out;
  bool any = false;
  for (const Size& s : sizes_) {
    any = any || s.bounds.hint > 0;
    out.push_back(s.bounds.hint > 0 ? s.bounds.hint : s.bounds.most);
  }
  return any ? std::optional(out) : std::nullopt;
}

std::vector<InputSpec> InputSizes::at(const std::vector<int64_t>& sizes) const {
  std::vector<std::vector<int64_t>> shapes;
  for (const InputSpec& s : specs_) shapes.push_back(s.shape.largest());
  for (size_t i = 0; i < sizes_.size(); ++i)
    for (const Place& p : sizes_[i].places) shapes[p.input][p.dim] = sizes[i];
  std::vector<InputSpec> out;
  for (size_t k = 0; k < specs_.size(); ++k) {
    out.push_back(specs_[k]);
    out.back().shape = shapes[k];
  }
  return out;
}

std::string InputSizes::text(const std::vector<int64_t>& sizes) const {
  std::vector<std::string> items;
  for (size_t i = 0; i < sizes_.size(); ++i)
    if (!sizes_[i].is_number || sizes_[i].bounds.most != sizes[i])
      items.push_back(fmt::format("{}={}", sizes_[i].bounds.name, sizes[i]));
  return fmt::format("{}", fmt::join(items, ","));
}

Status InputSizes::read(std::span<const InputRef> inputs, std::vector<int64_t>& sizes) const {
  if (inputs.size() != specs_.size()) {
    std::vector<std::string> names;
    for (const InputSpec& s : specs_) names.push_back(s.name + ": " + spec_text(s));
    return user_error("{}: {} inputs were given, expected {}: {}", what_, inputs.size(),
                      specs_.size(), fmt::join(names, ", "));
  }
  for (size_t k = 0; k < inputs.size(); ++k) CLEAVE_CHECK(read_input(inputs[k], k));
  sizes.clear();
  for (const Size& s : sizes_) {
    CLEAVE_CHECK(read_size(s, inputs));
    const Place& first = s.places.front();
    sizes.push_back(inputs[first.input].place().shape()[first.dim]);
  }
  return {};
}

Status InputSizes::read_input(const InputRef& given, size_t k) const {
  const InputSpec& spec = specs_[k];
  const HostTensor& input = given.place();
  const std::vector<InputDim>& dims = spec.shape.dims();
  const bool grows = other_ == OtherSizes::grow;
  const bool fits = input.dtype() == spec.dtype &&
                    std::ranges::equal(input.shape(), dims, [&](int64_t size, const InputDim& dim) {
                      return dim.varies() || grows || size == dim.size().most;
                    });
  const bool lies = has_strides_of(input, spec);
  if (!fits || !(lies || spec.copy_strides)) {
    const bool shows = !lies && !(spec.strides.empty() && input.is_row_major());
    return user_error(
        "{}: input {} `{}`: got {}{} on {}, expected {}{} on {}", what_, k, spec.name,
        plain_text(input),
        shows ? fmt::format("{{{}}}", fmt::join(input.strides(), ",")) : std::string(),
        given.device().text(), shape_text(spec), shows ? strides_text(spec) : std::string(),
        given.device().text());
  }
  if (!is_aligned(input.data(), input.dtype()) && input.numel() > 0)
    return user_error("{}: input {} `{}`: its address is no multiple of the {} bytes of {}", what_,
                      k, spec.name, alignment_of(input.dtype()), name_of(input.dtype()));
  if (spec.is_updated && given.is_const())
    return user_error("{}: input {} `{}`: it is updated, and the tensor given for it is const",
                      what_, k, spec.name);
  return {};
}

Status InputSizes::read_size(const Size& size, std::span<const InputRef> inputs) const {
  const auto given = [&](const Place& p) { return inputs[p.input].place().shape()[p.dim]; };
  const Place& first = size.places.front();
  for (const Place& p : size.places) {
    if (!size.allows(given(p)))
      return user_error("{}: {}: {} is {}, expected {}: got {}", what_, place_text(p),
                        size.bounds.name, given(p), bounds_text(size.bounds),
                        inputs[p.input].place().type_text());
    if (given(p) != given(first))
      return user_error("{}: {} is {} in {} and {} in {}", what_, size.bounds.name, given(first),
                        place_text(first), given(p), place_text(p));
  }
  return {};
}

Result<std::vector<InputRef>> InputSizes::in_order(std::span<const NamedInput> inputs) const {
  std::vector<const NamedInput*> found(specs_.size());
  for (const NamedInput& in : inputs) {
    const auto spec = std::ranges::find(specs_, in.name, &InputSpec::name);
    if (spec == specs_.end()) {
      std::vector<std::string> names;
      for (const InputSpec& s : specs_) names.push_back(s.name);
      return user_error("{}: there is no input `{}`; inputs are {}", what_, in.name,
                        fmt::join(names, ", "));
    }
    const NamedInput*& place = found[static_cast<size_t>(spec - specs_.begin())];
    if (place) return user_error("{}: input `{}` is given twice", what_, in.name);
    place = &in;
  }
  std::vector<InputRef> out;
  for (size_t k = 0; k < found.size(); ++k) {
    if (!found[k]) return user_error("{}: input `{}` is missing", what_, specs_[k].name);
    out.push_back(found[k]->tensor);
  }
  return out;
}

}  // namespace cleave
