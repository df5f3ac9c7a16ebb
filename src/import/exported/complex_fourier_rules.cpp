// Fourier transforms: ATen's three kernels, and the functions of torch.fft that are made of them.
//
//   fft_irfft2(z, s=(8, None))    z padded or cut along the dims, then fft_c2r
#include "import/exported/complex_rules.h"
#include "import/exported/short_time_fourier.h"

namespace cleave::exported {
namespace {

using V = ValueId;
using Ints = std::vector<int64_t>;

// The scale of a transform: 0 one, 1 1 / sqrt(n), 2 1 / n. A transform without a norm has 1 / n
// where it goes backward.
int64_t normalization(Call& c, bool forward) {
  const std::string norm = c.text("norm", "backward");
  if (norm == "ortho") return 1;
  if (norm != "backward" && norm != "forward") c.fail("the norm {}", norm);
  return (norm == "forward") == forward ? 2 : 0;
}

V transformed(Call& c, V parts, const Ints& dims, int64_t normalization, bool forward) {
  if (dims.empty()) return parts;
  return c.op("fft_c2c", {parts},
              {{"dim", dims}, {"normalization", normalization}, {"forward", forward}});
}
V of_real(Call& c, V x, const Ints& dims, int64_t normalization, bool onesided = true) {
  return c.op("fft_r2c", {x},
              {{"dim", dims}, {"normalization", normalization}, {"onesided", onesided}});
}
V to_real(Call& c, V parts, const Ints& dims, int64_t normalization, int64_t size) {
  return c.op("fft_c2r", {parts},
              {{"dim", dims}, {"normalization", normalization}, {"last_dim_size", size}});
}

V conjugate_parts(Call& c, V parts) { return joined(c, conjugate(c, split(c, parts))); }

// ---- the kernels

Values c2c(Call& c) {
  return {transformed(c, parts_of(c, "self"), c.integers("dim"), c.integer("normalization", 0),
                      c.flag("forward", true))};
}
Values r2c(Call& c) {
  return {of_real(c, c.tensor("self"), c.integers("dim"), c.integer("normalization", 0),
                  c.flag("onesided", true))};
}
Values c2r(Call& c) {
  return {to_real(c, parts_of(c, "self"), c.integers("dim"), c.integer("normalization", 0),
                  c.integer("last_dim_size", 1))};
}

// ---- torch.fft

struct Plan {
  Ints dims;   // from the front
  Ints sizes;  // -1: as it is
};

// The arguments n and dim, or s and dim; rank: of the complex tensor.
Plan plan_of(Call& c, int64_t rank, const Ints& otherwise) {
  Plan p;
  const char* size = c.find("s") ? "s" : "n";
  if (c.has(size)) p.sizes = c.integers(size);
  if (c.has("dim")) {
    p.dims = c.integers("dim");
  } else if (!otherwise.empty()) {
    p.dims = otherwise;
  } else {
    const int64_t count = p.sizes.empty() ? rank : std::ssize(p.sizes);
    for (int64_t d = rank - count; d < rank; ++d) p.dims.push_back(d);
  }
  for (int64_t& d : p.dims) d = c.wrapped(d, rank);
  if (p.sizes.empty()) p.sizes.resize(p.dims.size(), -1);
  if (p.sizes.size() != p.dims.size())
    c.fail("a transform of {} dims to {} sizes", p.dims.size(), p.sizes.size());
  for (const int64_t n : p.sizes)
    if (n < 1 && n != -1) c.fail("a transform of length {}", n);
  return p;
}

// Zeros behind the elements of a dim, or fewer of them.
V resized(Call& c, V x, int64_t dim, int64_t size) {
  if (size == -1 || c.size(x, dim) == Dim(size)) return x;
  const Dim have = c.size(x, dim);
  if (have.is_const() && have.value() > size)
    return c.op("slice", {x}, {{"dim", dim}, {"start", 0}, {"end", size}});
  std::vector<Dim> pad(static_cast<size_t>(2 * (c.rank(x) - dim)), Dim(0));
  pad.back() = Dim(size) - have;
  return c.op("constant_pad_nd", {x}, {{"pad", pad}});
}

V resized(Call& c, V x, const Plan& p, size_t count) {
  for (size_t k = 0; c.ok() && k < count; ++k) x = resized(c, x, p.dims[k], p.sizes[k]);
  return x;
}

enum class Dims : uint8_t { one, two, all };
Ints default_dims(Dims dims) {
  return dims == Dims::one ? Ints{-1} : dims == Dims::two ? Ints{-2, -1} : Ints{};
}

// fft, ifft, ...
template <Dims dims, bool forward>
Values complex_transform(Call& c) {
  V x = parts_of(c, "self");
  const Plan p = plan_of(c, c.rank(x) - 1, default_dims(dims));
  x = resized(c, x, p, p.dims.size());
  return {transformed(c, x, p.dims, normalization(c, forward), forward)};
}

V real_self(Call& c) {
  const V x = c.tensor("self");
  return is_floating(c.type(x).dtype) ? x : c.to(x, parts_dtype(c));
}

// rfft, rfft2, ...
template <Dims dims>
Values real_transform(Call& c) {
  V x = real_self(c);
  const Plan p = plan_of(c, c.rank(x), default_dims(dims));
  if (c.ok() && p.dims.empty()) return {c.fail("a transform of no dims")};
  return {of_real(c, resized(c, x, p, p.dims.size()), p.dims, normalization(c, true))};
}

// ihfft, ...: the conjugate of a forward transform with the scale of a backward one, which over
// the dims before the last is that backward one.
template <Dims dims>
Values hermitian_inverse(Call& c) {
  V x = real_self(c);
  const Plan p = plan_of(c, c.rank(x), default_dims(dims));
  if (c.ok() && p.dims.empty()) return {c.fail("a transform of no dims")};
  x = resized(c, x, p, p.dims.size());
  return {conjugate_parts(c, of_real(c, x, p.dims, normalization(c, false)))};
}

// irfft, ...; forward: hfft, of the conjugate.
template <Dims dims, bool forward>
Values to_real_transform(Call& c) {
  V x = parts_of(c, "self");
  Plan p = plan_of(c, c.rank(x) - 1, default_dims(dims));
  if (!c.ok()) return {};
  if (p.dims.empty()) return {c.fail("a transform of no dims")};
  int64_t& last = p.sizes.back();
  if (last == -1) last = 2 * (c.static_size(x, p.dims.back()) - 1);
  if (last < 1) return {c.fail("a transform to length {}", last)};
  x = resized(c, x, p, p.dims.size() - 1);
  if (forward) x = conjugate_parts(c, x);
  return {to_real(c, x, p.dims, normalization(c, forward), last)};
}

}  // namespace

// Between real tensors: the missing imaginary parts are 0.
std::span<const RuleRow> real_fourier_rules() {
  static constexpr RuleRow rows[] = {
      {"fft_irfft", to_real_transform<Dims::one, false>},
      {"fft_irfft2", to_real_transform<Dims::two, false>},
      {"fft_irfftn", to_real_transform<Dims::all, false>},
      {"fft_hfft", to_real_transform<Dims::one, true>},
      {"fft_hfft2", to_real_transform<Dims::two, true>},
      {"fft_hfftn", to_real_transform<Dims::all, true>},
      {"stft", short_time_transform},
  };
  return rows;
}

std::span<const RuleRow> complex_fourier_rules() {
  static constexpr RuleRow rows[] = {
      {"_fft_c2c", c2c},
      {"_fft_r2c", r2c},
      {"_fft_c2r", c2r},
      {"fft_fft", complex_transform<Dims::one, true>},
      {"fft_fft2", complex_transform<Dims::two, true>},
      {"fft_fftn", complex_transform<Dims::all, true>},
      {"fft_ifft", complex_transform<Dims::one, false>},
      {"fft_ifft2", complex_transform<Dims::two, false>},
      {"fft_ifftn", complex_transform<Dims::all, false>},
      {"fft_rfft", real_transform<Dims::one>},
      {"fft_rfft2", real_transform<Dims::two>},
      {"fft_rfftn", real_transform<Dims::all>},
      {"fft_irfft", to_real_transform<Dims::one, false>},
      {"fft_irfft2", to_real_transform<Dims::two, false>},
      {"fft_irfftn", to_real_transform<Dims::all, false>},
      {"fft_hfft", to_real_transform<Dims::one, true>},
      {"fft_hfft2", to_real_transform<Dims::two, true>},
      {"fft_hfftn", to_real_transform<Dims::all, true>},
      {"fft_ihfft", hermitian_inverse<Dims::one>},
      {"fft_ihfft2", hermitian_inverse<Dims::two>},
      {"fft_ihfftn", hermitian_inverse<Dims::all>},
      {"stft", short_time_transform},
      {"istft", short_time_inverse},
  };
  return rows;
}

}  // namespace cleave::exported
