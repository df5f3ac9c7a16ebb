#include "standalone/size_choice.h"

#include <algorithm>

#include "standalone/check_tensor.h"

namespace cleave::standalone {
namespace {

constexpr size_t most_told = 32;

// A varying dim, -1, is any.
bool fits(std::span<const int64_t> shape, const std::vector<int64_t>& expected) {
  return std::ranges::equal(shape, expected,
                            [](int64_t a, int64_t b) { return b < 0 ? a >= 0 : a == b; });
}

std::string place(const ProgramFile& file, size_t k, size_t d) {
  return fmt::format("input {} `{}` (dim {})", k, file.inputs[k].name, d);
}

}  // namespace

std::string SizeChoice::text(const InputEntry& input) {
  if (std::ranges::find(input.type.shape, -1) == input.type.shape.end())
    return type_text(input.type);
  std::vector<std::string> dims;
  for (const DimEntry& d : input.dims) dims.push_back(d.text);
  return fmt::format("{}[{}]", name_of(input.type.dtype), fmt::join(dims, ","));
}

std::string SizeChoice::text(const std::vector<std::optional<int64_t>>& sizes) const {
  std::vector<std::string> items;
  for (size_t s = 0; s < sizes.size(); ++s)
    if (sizes[s]) items.push_back(fmt::format("{}={}", file_.sizes[s].name, *sizes[s]));
  return fmt::format("{}", fmt::join(items, ","));
}

Result<std::optional<size_t>> SizeChoice::type_of(size_t k, const cleave_tensor* given,
                                                  std::string_view what) const {
  const InputEntry& input = file_.inputs[k];
  const Whose whose{what, k, input.name};
  CLEAVE_CHECK(check_form(given, whose));
  const std::span<const int64_t> shape = shape_of(*given);
  for (size_t t = 0; t < input.types.size(); ++t)
    if (given->dtype == static_cast<int32_t>(input.type.dtype) &&
        std::ranges::equal(shape, input.types[t].shape))
      return std::optional(t);
  const auto dtype = static_cast<DType>(given->dtype);
  if (dtype == input.type.dtype && fits(shape, input.type.shape)) return std::optional<size_t>();
  return wrong_tensor(whose,
                      fmt::format("it is {}, expected {}", type_text(dtype, shape), text(input)));
}

std::optional<size_t> SizeChoice::find(std::span<const size_t> types, size_t likely) const {
  if (std::ranges::equal(types, file_.sized[likely].inputs)) return likely;
  for (size_t n = 0; n < file_.sized.size(); ++n)
    if (std::ranges::equal(types, file_.sized[n].inputs)) return n;
  return {};
}

// Reads the sizes that are dims themselves.
Status SizeChoice::check_sizes(const Shapes& shapes,
                               std::vector<std::optional<int64_t>>& sizes) const {
  std::vector<std::string> first(file_.sizes.size());
  for (size_t k = 0; k < shapes.size(); ++k) {
    if (!shapes[k]) continue;
    const InputEntry& input = file_.inputs[k];
    for (size_t d = 0; d < input.dims.size(); ++d) {
      const std::optional<size_t> s = input.dims[d].size;
      if (!s) continue;
      const SizeEntry& size = file_.sizes[*s];
      const int64_t given = (*shapes[k])[d];
      if (size.most && (given < size.least || given > *size.most))
        return user_error("{}: {} is {}, expected {} to {}: got {}", place(file_, k, d), size.name,
                          given, size.least, *size.most, type_text(input.type.dtype, *shapes[k]));
      if (!sizes[*s]) {
        sizes[*s] = given;
        first[*s] = place(file_, k, d);
      } else if (*sizes[*s] != given) {
        return user_error("{} is {} in {} and {} in {}", size.name, *sizes[*s], first[*s], given,
                          place(file_, k, d));
      }
    }
  }
  return {};
}

std::string SizeChoice::held() const {
  std::vector<std::string> all;
  for (const SizedEntry& s : file_.sized) all.push_back(text({s.sizes.begin(), s.sizes.end()}));
  const size_t told = std::min(all.size(), most_told);
  std::string out = fmt::format(
      "{}", fmt::join(std::span(all).first(told), file_.sizes.size() > 1 ? "; " : ", "));
  if (told < all.size()) out += fmt::format(" and {} more", all.size() - told);
  return out;
}

Failure SizeChoice::refusal(const Shapes& shapes) const {
  std::vector<std::optional<int64_t>> sizes(file_.sizes.size());
  if (Status s = check_sizes(shapes, sizes); !s.ok()) return std::move(s).failure();
  const auto is_of = [&](const SizedEntry& held) {
    for (size_t s = 0; s < sizes.size(); ++s)
      if (sizes[s] && *sizes[s] != held.sizes[s]) return false;
    return true;
  };
  const auto held_ones = std::ranges::count_if(file_.sized, is_of);
  if (held_ones == 1) {  // a dim that is made of these sizes is another one
    const SizedEntry& known = *std::ranges::find_if(file_.sized, is_of);
    for (size_t k = 0; k < shapes.size(); ++k) {
      const InputEntry& input = file_.inputs[k];
      const TensorType& type = input.types[known.inputs[k]];
      if (shapes[k] && !std::ranges::equal(*shapes[k], type.shape))
        return user_error("input {} `{}`: it is {}, expected {}, as {} is", k, input.name,
                          type_text(type.dtype, *shapes[k]), type_text(type), text(input));
    }
  }
  std::string given = text(sizes);
  if (given.empty() || held_ones > 0) {
    std::vector<std::string> types;
    for (size_t k = 0; k < shapes.size(); ++k)
      if (const InputEntry& input = file_.inputs[k]; shapes[k])
        types.push_back(
            fmt::format("`{}` {}", input.name, type_text(input.type.dtype, *shapes[k])));
    given = fmt::format("{}", fmt::join(types, ", "));
  }
  return user_error("the library has no program for {}; it holds {}", given, held());
}

}  // namespace cleave::standalone
