// The products of convolution.h. A decomposition may only choose its form by the shape.
#include "op/convolution.h"

namespace cleave {

using Ints = std::vector<int64_t>;

namespace {

Shape shape_of(const Ints& sizes) { return {sizes.begin(), sizes.end()}; }

Shape joined_shape(std::initializer_list<int64_t> first, const Ints& then) {
  Shape out(first.begin(), first.end());
  out.insert(out.end(), then.begin(), then.end());
  return out;
}

Ints spatial_part(const Ints& shape) { return {shape.begin() + 2, shape.end()}; }

DType sum_dtype(DType t) { return t == DType::f64 ? t : DType::f32; }

}  // namespace

ConvolutionProducts::ConvolutionProducts(Builder& b, ConvolutionAttrs attrs, Ints large,
                                         Ints weight, Ints small)
    : b_(b), at_(std::move(attrs)), large_(std::move(large)), weight_(std::move(weight)),
      small_(std::move(small)), kernel_(spatial_part(weight_)), groups_(at_.groups), cl_(large_[1]),
      cs_(small_[1]), taps_(numel_of(kernel_)) {
  pointwise_ = true;
  for (size_t d = 0; d < kernel_.size(); ++d) {
    const int64_t room =
        large_[d + 2] + 2 * at_.padding[d] - at_.dilation[d] * (kernel_[d] - 1) - 1;
    windows_.push_back(room / at_.stride[d] + 1);
    pointwise_ = pointwise_ && kernel_[d] == 1 && at_.stride[d] == 1 && at_.padding[d] == 0;
  }
  positions_ = numel_of(windows_);
}

std::vector<ConvolutionProducts::Part> ConvolutionProducts::parts(DType t) const {
  const int64_t images = large_[0], image_bytes = cl_ * taps_ * positions_ * size_of(t);
  int64_t count = images;
  if (!pointwise_ && image_bytes > 0)
    count = std::clamp<int64_t>(column_bytes / image_bytes, 1, std::max<int64_t>(images, 1));
  std::vector<Part> out;
  int64_t begin = 0;
  do {
    out.push_back({begin, std::min(count, images - begin)});
    begin += count;
  } while (begin < images);
  return out;
}

ValueId ConvolutionProducts::images(ValueId x, Part part) {
  if (part.count == large_[0]) return x;
  return b_.slice(x, 0, part.begin, part.begin + part.count);
}

ValueId ConvolutionProducts::columns(ValueId large, int64_t count) {
  if (pointwise_) return b_.view(large, {count, cl_, positions_});
  return b_.call1("im2col", {large},
                  {{"kernel_size", kernel_},
                   {"dilation", at_.dilation},
                   {"padding", at_.padding},
                   {"stride", at_.stride}});
}

// The weight of each group of each image; without groups it isn't copied.
ValueId ConvolutionProducts::grouped_weight(ValueId weight, int64_t count, bool flip) {
  const int64_t rows = cs_ / groups_, inner = weight_[1] * taps_;
  ValueId w = b_.view(weight, {1, groups_, rows, inner});
  if (flip) w = b_.permute(w, {0, 1, 3, 2});
  const int64_t m = flip ? inner : rows, k = flip ? rows : inner;
  if (groups_ == 1) return b_.expand(b_.view(w, {1, m, k}), {count, m, k});
  return b_.view(b_.expand(w, {count, groups_, m, k}), {count * groups_, m, k});
}

ValueId ConvolutionProducts::padded_small(ValueId small) {
  std::vector<Dim> pad;
  bool any = false;
  for (size_t d = kernel_.size(); d-- > 0;) {
    pad.emplace_back(0);
    pad.emplace_back(windows_[d] - small_[d + 2]);
    any = any || windows_[d] != small_[d + 2];
  }
  return any ? b_.call1("constant_pad_nd", {small}, {{"pad", pad}}) : small;
}

ValueId ConvolutionProducts::cropped_small(ValueId small) {
  for (size_t d = 0; d < kernel_.size(); ++d)
    if (windows_[d] != small_[d + 2])
      small = b_.slice(small, static_cast<int64_t>(d) + 2, 0, small_[d + 2]);
  return small;
}

ValueId ConvolutionProducts::to_small(ValueId large, ValueId weight, ValueId bias) {
  const int64_t inner = weight_[1] * taps_, rows = cs_ / groups_;
  Values done;
  for (const Part part : parts(b_.type(large).dtype)) {
    const int64_t n = part.count;
    const ValueId cols = b_.view(columns(images(large, part), n), {n * groups_, inner, positions_});
    const ValueId w = grouped_weight(weight, n, false);
    ValueId y;
    if (bias.valid() && groups_ == 1) {
      y = b_.call1("baddbmm", {b_.view(bias, {cs_, 1}), w, cols});
    } else if (bias.valid()) {
      const ValueId all = b_.expand(b_.view(bias, {1, cs_}), {n, cs_});
      y = b_.call1("baddbmm", {b_.view(all, {n * groups_, rows, 1}), w, cols});
    } else {
      y = b_.bmm(w, cols);
    }
    done.push_back(b_.view(y, joined_shape({n, cs_}, windows_)));
  }
  return cropped_small(done.size() == 1 ? done[0] : b_.cat(done, 0));
}

ValueId ConvolutionProducts::to_large(ValueId small, ValueId weight, ValueId bias) {
  const DType t = b_.type(small).dtype;
  // The columns are terms of a sum, so they aren't rounded to bf16 or f16.
  const DType work = pointwise_ && !bias.valid() ? t : sum_dtype(t);
  small = b_.convert(padded_small(small), work);
  weight = b_.convert(weight, work);
  const int64_t inner = weight_[1] * taps_, rows = cs_ / groups_;
  const Ints size = spatial_part(large_);
  Values done;
  for (const Part part : parts(work)) {
    const int64_t n = part.count;
    const ValueId in = b_.view(images(small, part), {n * groups_, rows, positions_});
    const ValueId cols = b_.bmm(grouped_weight(weight, n, true), in);
    ValueId y;
    if (pointwise_)
      y = b_.view(cols, joined_shape({n, cl_}, size));
    else
      y = b_.call1("col2im", {b_.view(cols, {n, groups_ * inner, positions_})},
                   {{"output_size", size},
                    {"kernel_size", kernel_},
                    {"dilation", at_.dilation},
                    {"padding", at_.padding},
                    {"stride", at_.stride}});
    done.push_back(y);
  }
  ValueId y = done.size() == 1 ? done[0] : b_.cat(done, 0);
  if (bias.valid()) {
    const Ints ones(kernel_.size(), 1);
    y = b_.add(y, b_.view(b_.convert(bias, work), joined_shape({1, cl_}, ones)));
  }
  return b_.convert(y, t);
}

// The images of a batch are adjacent, as one more dim of the windows, so that the product also sums
// over the images.
ValueId ConvolutionProducts::part_to_weight(ValueId large, ValueId small, int64_t count) {
  const int64_t rows = cs_ / groups_, inner = cl_ / groups_;
  const auto by_group = [&](ValueId x, int64_t channels, const Ints& spatial) {
    Ints order = {1, 2, 0};
    for (size_t d = 0; d < spatial.size(); ++d) order.push_back(static_cast<int64_t>(d) + 3);
    return b_.permute(b_.view(x, joined_shape({count, groups_, channels}, spatial)), order);
  };
  const ValueId left =
      b_.view(by_group(small, rows, windows_), {groups_, rows, count * positions_});
  ValueId right = by_group(large, inner, spatial_part(large_));
  if (pointwise_) {
    right = b_.view(right, {groups_, inner, count * positions_});
  } else {
    const auto with = [](int64_t first, Ints list) {
      list.insert(list.begin(), first);
      return list;
    };
    right = b_.call1("im2col", {right},
                     {{"kernel_size", with(1, kernel_)},
                      {"dilation", with(1, at_.dilation)},
                      {"padding", with(0, at_.padding)},
                      {"stride", with(1, at_.stride)}});
  }
  return b_.bmm(left, b_.permute(right, {0, 2, 1}));
}

ValueId ConvolutionProducts::to_weight(ValueId large, ValueId small) {
  const DType t = b_.type(large).dtype;
  if (large_[0] == 0) return b_.full(shape_of(weight_), 0, t);
  std::vector<Part> all = parts(t);
  const DType work = all.size() == 1 ? t : sum_dtype(t);
  if (work != t) all = parts(work);
  large = b_.convert(large, work);
  small = b_.convert(padded_small(small), work);
  ValueId sum;
  for (const Part part : all) {
    const ValueId one = part_to_weight(images(large, part), images(small, part), part.count);
    sum = sum.valid() ? b_.add(sum, one) : one;
  }
  return b_.convert(b_.view(sum, shape_of(weight_)), t);
}

}  // namespace cleave
