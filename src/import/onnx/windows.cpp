#include "import/onnx/windows.h"

#include <algorithm>

namespace cleave::onnx {
namespace {

// A list of one number a spatial dim, all at least `least`.
Result<Ints> numbers(const Call& c, const char* name, size_t count, int64_t otherwise,
                     int64_t least) {
  Ints out = c.list(name);
  if (out.empty()) out.assign(count, otherwise);
  if (out.size() != count)
    return user_error("{} has {} numbers, expected {}", name, out.size(), count);
  for (const int64_t n : out)
    if (n < least || n > int64_t{1} << 30)
      return user_error("{} has {}, expected at least {}", name, n, least);
  return out;
}

}  // namespace

int64_t Windows::results(size_t d, int64_t size) const {
  const int64_t room = size + before[d] + after[d] - extent(d);
  if (room < 0) return 0;
  if (!ceil) return room / stride[d] + 1;
  const int64_t n = (room + stride[d] - 1) / stride[d] + 1;
  return (n - 1) * stride[d] >= size + before[d] ? n - 1 : n;  // none begins behind the operand
}

Result<Windows> windows_of(Call& c, Ints kernel, const Shape& operand) {
  if (operand.size() < 3) return unsupported("an operand of {} dims", operand.size());
  for (const Dim& d : operand)
    if (d.is_const() && d.value() > int64_t{1} << 30) return unsupported("a dim of {}", d.value());
  Windows w;
  const size_t count = operand.size() - 2;
  w.kernel = std::move(kernel);
  if (w.kernel.size() != count)
    return user_error("the kernel has {} sizes, expected {}", w.kernel.size(), count);
  for (const int64_t k : w.kernel)
    if (k < 1 || k > int64_t{1} << 30)
      return user_error("the kernel has {}, expected at least 1", k);
  CLEAVE_TRY(w.stride, numbers(c, "strides", count, 1, 1));
  CLEAVE_TRY(w.dilation, numbers(c, "dilations", count, 1, 1));
  CLEAVE_TRY(const Ints pads, numbers(c, "pads", 2 * count, 0, 0));
  w.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(count));
  w.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(count), pads.end());
  w.ceil = c.integer("ceil_mode") != 0;
  const std::string automatic = c.text("auto_pad", "NOTSET");
  if (automatic == "NOTSET") return w;
  w.before.assign(count, 0);
  w.after.assign(count, 0);
  if (automatic == "VALID") return w;
  if (automatic != "SAME_UPPER" && automatic != "SAME_LOWER")
    return user_error("auto_pad is \"{}\"", automatic);
  for (size_t d = 0; d < count; ++d) {
    if (!operand[d + 2].is_const())
      return unsupported("auto_pad {} of a size that isn't a number", automatic);
    const int64_t size = operand[d + 2].value();
    const int64_t results = (size + w.stride[d] - 1) / w.stride[d];
    const int64_t pad = std::max(int64_t{0}, (results - 1) * w.stride[d] + w.extent(d) - size);
    w.before[d] = automatic == "SAME_UPPER" ? pad / 2 : pad - pad / 2;
    w.after[d] = pad - w.before[d];
  }
  return w;
}

Result<Ints> spatial_sizes(const Shape& operand) {
  Ints out;
  for (size_t d = 2; d < operand.size(); ++d) {
    if (!operand[d].is_const())
      return unsupported("spatial dim {} is {}, and has to be a number", d, operand[d].text());
    out.push_back(operand[d].value());
  }
  return out;
}

V with_borders(Call& c, V x, const Windows& windows, const AttrValue& value) {
  Ints pad;
  bool any = false;
  for (size_t d = windows.dims(); d-- > 0;) {
    pad.push_back(windows.before[d]);
    pad.push_back(windows.after[d]);
    any = any || windows.before[d] != 0 || windows.after[d] != 0;
  }
  if (!any || !x.valid()) return x;
  return c.op("constant_pad_nd", {x}, {{"pad", pad}, {"value", value}});
}

}  // namespace cleave::onnx
