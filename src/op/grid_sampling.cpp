#include "op/grid_sampling.h"

#include "op/wide_grad.h"

namespace cleave {

namespace grid_sampling {

SampleAttrs how(Mode mode, Padding padding, bool aligned) {
  return {{"interpolation_mode", mode}, {"padding_mode", padding}, {"align_corners", aligned}};
}

SampleTensor places(DType t, std::vector<int64_t> shape) {
  SampleTensor s = any_of(t, shape);
  int64_t count = 1;
  for (int64_t n : shape) count *= n;
  std::vector<double> values;
  for (int64_t k = 0; k < count; ++k)
    values.push_back(-1.43 + 0.1875 * static_cast<double>(k * 5 % 16) +
                     0.0071 * static_cast<double>(k % 3));
  return s.with(std::move(values));
}

}  // namespace grid_sampling

using namespace grid_sampling;

GridSampling::GridSampling(Builder& b, const OpView& op, int image)
    : b_(b), op_(op), image_at_(image), dims_(op.in_type(image).rank() - 2),
      mode_(op.int_attr("interpolation_mode")), padding_(op.int_attr("padding_mode")),
      aligned_(op.bool_attr("align_corners")), type_(wide(op.in_type(image).dtype)),
      image_(b.convert(op.in(image), type_)), grid_(b.convert(op.in(image + 1), type_)) {}

const Shape& GridSampling::image_shape() const { return op_.in_type(image_at_).shape; }

int64_t GridSampling::size(int64_t d) const {
  return image_shape()[static_cast<size_t>(d + 2)].value();
}

Dim GridSampling::places() const {
  Dim p = 1;
  for (int64_t d = 0; d < dims_; ++d)
    p = p * op_.in_type(image_at_ + 1).shape[static_cast<size_t>(d + 1)];
  return p;
}

ValueId GridSampling::coordinate(int64_t d) {
  const ValueId x = b_.call1("select", {grid_}, {{"dim", -1}, {"index", dims_ - 1 - d}});
  const ValueId flat = b_.add(b_.view(x, {image_shape()[0], places()}), 1.0);
  const auto n = static_cast<double>(size(d));
  if (aligned_) return b_.mul(b_.div(flat, 2.0), n - 1);
  return b_.div(b_.sub(b_.mul(flat, n), 1.0), 2.0);
}

// Back and forth between low and low + span.
GridSampling::Padded GridSampling::reflected(ValueId x, double low, double span) {
  if (span <= 0) return {b_.mul(x, 0.0), b_.full_like(x, 0.0)};
  const ValueId off = b_.sub(x, low), from = b_.abs(off);
  const ValueId extra = b_.call1("fmod", {from, span});
  const ValueId turns = b_.call1("floor", {b_.div(from, span)});
  const ValueId odd = b_.ne(b_.call1("fmod", {turns, 2.0}), 0.0);
  const ValueId sign = b_.call1("sign", {off});
  return {b_.where(odd, b_.sub(span + low, extra), b_.add(extra, low)),
          b_.where(odd, b_.neg(sign), sign)};
}

GridSampling::Padded GridSampling::padded(ValueId x, int64_t d) {
  const auto n = static_cast<double>(size(d));
  Padded p{x, ValueId::none()};
  if (padding_ == zeros_outside) return p;
  if (padding_ == reflection) p = aligned_ ? reflected(x, 0, n - 1) : reflected(x, -0.5, n);
  const ValueId below = b_.le(p.place, 0.0), above = b_.ge(p.place, n - 1);
  const ValueId slope = p.slope.valid() ? p.slope : b_.full_like(x, 1.0);
  return {b_.where(above, n - 1, b_.where(below, 0.0, p.place)),
          b_.where(b_.logical_or(below, above), 0.0, slope)};
}

GridSampling::Taps GridSampling::taps(int64_t d) {
  const ValueId at = coordinate(d), none = ValueId::none();
  const auto n = static_cast<double>(size(d));
  const double per_unit = aligned_ ? (n - 1) / 2 : n / 2;
  if (mode_ == nearest_mode)
    return {{{b_.call1("round", {padded(at, d).place}), none, none}}, none};
  Taps out;
  if (mode_ == linear_mode) {
    const Padded x = padded(at, d);
    const ValueId low = b_.call1("floor", {x.place}), high = b_.add(low, 1.0);
    out.taps = {{low, b_.sub(high, x.place), b_.full_like(low, -1.0)},
                {high, b_.sub(x.place, low), b_.full_like(low, 1.0)}};
    out.stretch = x.slope.valid() ? b_.mul(x.slope, per_unit) : b_.full_like(low, per_unit);
    return out;
  }
  const ValueId low = b_.call1("floor", {at}), t = b_.sub(at, low);
  for (int k = -1; k <= 2; ++k)
    out.taps.push_back({padded(b_.add(low, static_cast<double>(k)), d).place, cubic(t, k, false),
                        cubic(t, k, true)});
  out.stretch = b_.full_like(low, per_unit);
  return out;
}

// Of t in [0,1), the weight of tap k, or its slope.
ValueId GridSampling::cubic(ValueId t, int k, bool is_slope) {
  const ValueId x = b_.abs(b_.sub(t, static_cast<double>(k)));
  const bool near = k == 0 || k == 1;
  const auto horner = [&](double a, double b, double c, double d) {
    const ValueId ax = b_.add(b_.mul(x, a), b);
    return b_.add(b_.mul(b_.add(b_.mul(ax, x), c), x), d);
  };
  const auto slope = [&](double a, double b, double c) {
    const ValueId y = b_.add(b_.mul(b_.add(b_.mul(x, 3 * a), 2 * b), x), c);
    return k >= 1 ? b_.neg(y) : y;
  };
  if (near) return is_slope ? slope(keys + 2, -(keys + 3), 0) : horner(keys + 2, -(keys + 3), 0, 1);
  return is_slope ? slope(keys, -5 * keys, 8 * keys) : horner(keys, -5 * keys, 8 * keys, -4 * keys);
}

std::vector<GridSampling::Taps> GridSampling::all_taps() {
  std::vector<Taps> out;
  for (int64_t d = 0; d < dims_; ++d) out.push_back(taps(d));
  return out;
}

size_t GridSampling::count(const std::vector<Taps>& all) {
  size_t n = 1;
  for (const Taps& of_dim : all) n *= of_dim.taps.size();
  return n;
}

std::vector<GridSampling::Tap> GridSampling::nth(const std::vector<Taps>& all, size_t k) {
  std::vector<Tap> at;
  for (const Taps& of_dim : all) {
    at.push_back(of_dim.taps[k % of_dim.taps.size()]);
    k /= of_dim.taps.size();
  }
  return at;
}

GridSampling::Place GridSampling::place_of(const std::vector<Tap>& at) {
  Place p;
  for (int64_t d = 0; d < dims_; ++d) {
    const ValueId place = at[static_cast<size_t>(d)].place;
    const ValueId in =
        b_.logical_and(b_.ge(place, 0.0), b_.le(place, static_cast<double>(size(d) - 1)));
    p.inside = d == 0 ? in : b_.logical_and(p.inside, in);
    // not the conversion of a number out of range, or NaN
    const ValueId whole = b_.convert(b_.where(in, b_.call1("detach", {place}), 0.0), DType::i64);
    p.index = d == 0 ? whole : b_.add(b_.mul(p.index, AttrValue(size(d))), whole);
  }
  return p;
}

ValueId GridSampling::over_channels(ValueId v) {
  return b_.expand(b_.unsqueeze(v, 1), {image_shape()[0], image_shape()[1], places()});
}

ValueId GridSampling::read(const Place& p) {
  Dim elements = 1;
  for (int64_t d = 0; d < dims_; ++d) elements = elements * Dim(size(d));
  const ValueId flat = b_.view(image_, {image_shape()[0], image_shape()[1], elements});
  const ValueId y = b_.call1("gather", {flat, over_channels(p.index)}, {{"dim", 2}});
  return b_.where(b_.unsqueeze(p.inside, 1), y, 0.0);
}

ValueId GridSampling::weight_of(const std::vector<Tap>& at, int64_t but) {
  ValueId product;
  for (int64_t d = 0; d < dims_; ++d) {
    const Tap& tap = at[static_cast<size_t>(d)];
    const ValueId w = d == but ? tap.slope : tap.weight;
    if (w.valid()) product = product.valid() ? b_.mul(product, w) : w;
  }
  return product;
}

ValueId GridSampling::values() {
  const std::vector<Taps> all = all_taps();
  ValueId y;
  for (size_t k = 0; k < count(all) && b_.status().ok(); ++k) {
    const std::vector<Tap> at = nth(all, k);
    const ValueId weight = weight_of(at), x = read(place_of(at));
    const ValueId part = weight.valid() ? b_.mul(x, b_.unsqueeze(weight, 1)) : x;
    y = y.valid() ? b_.add(y, part) : part;
  }
  return y;
}

Values GridSampling::gradients(ValueId grad_output, bool of_image, bool of_grid) {
  const std::vector<Taps> all = all_taps();
  const Shape& image = image_shape();
  Dim elements = 1;
  for (int64_t d = 0; d < dims_; ++d) elements = elements * Dim(size(d));
  const ValueId g = b_.view(b_.convert(grad_output, type_), {image[0], image[1], places()});
  const bool has_slopes = of_grid && mode_ != nearest_mode;
  ValueId of_elements = b_.full({image[0], image[1], elements}, 0, type_);
  Values of_places(static_cast<size_t>(dims_));
  for (size_t k = 0; k < count(all) && b_.status().ok(); ++k) {
    const std::vector<Tap> at = nth(all, k);
    const Place p = place_of(at);
    if (of_image) {
      const ValueId weight = weight_of(at);
      ValueId share = weight.valid() ? b_.mul(g, b_.unsqueeze(weight, 1)) : g;
      share = b_.where(b_.unsqueeze(p.inside, 1), share, 0.0);
      of_elements =
          b_.call1("scatter_add", {of_elements, over_channels(p.index), share}, {{"dim", 2}});
    }
    if (!has_slopes) continue;
    const ValueId along = b_.sum(b_.mul(g, read(p)), {1});
    for (int64_t d = 0; d < dims_; ++d) {
      ValueId& sum = of_places[static_cast<size_t>(d)];
      const ValueId part = b_.mul(along, weight_of(at, d));
      sum = sum.valid() ? b_.add(sum, part) : part;
    }
  }
  Values out(2);
  const auto like = [&](ValueId v, int operand) {
    return b_.convert(b_.view(v, op_.in_type(operand).shape), op_.in_type(operand).dtype);
  };
  if (of_image) out[0] = like(of_elements, image_at_);
  if (!of_grid) return out;
  if (!has_slopes) {
    out[1] = b_.full_like(op_.in(image_at_ + 1), 0.0);
    return out;
  }
  Values lines;  // x along the last dim of the image comes first
  for (int64_t d = dims_ - 1; d >= 0; --d)
    lines.push_back(b_.unsqueeze(
        b_.mul(of_places[static_cast<size_t>(d)], all[static_cast<size_t>(d)].stretch), -1));
  out[1] = like(b_.cat(lines, -1), image_at_ + 1);
  return out;
}

}  // namespace cleave
