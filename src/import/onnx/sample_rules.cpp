// GridSample: an image read between its elements, at places that another tensor holds.
#include "import/onnx/rules.h"

namespace cleave::onnx {
namespace {

// One spatial dim: where its places lie, and how they are read.
struct Axis {
  int64_t size;
  double low, high;  // borders
  V at;              // [n, places], in elements
};

class GridSampler {
 public:
  GridSampler(Call& c, Ints sizes) : c_(c), sizes_(std::move(sizes)) {
    mode_ = c.text("mode", "linear");
    if (mode_ == "bilinear") mode_ = "linear";
    if (mode_ == "bicubic") mode_ = "cubic";
    padding_ = c.text("padding_mode", "zeros");
    corners_ = c.integer("align_corners") != 0;
  }
  Status run();

 private:
  V reflected(V x, double low, double high) {
    if (high <= low) return c_.mul(x, 0.0);
    const double range = high - low;
    const V around = c_.op("fmod", {c_.op("abs", {c_.sub(x, low)}), 2 * range});
    return c_.add(c_.where(c_.op("gt", {around, range}), c_.sub(2 * range, around), around), low);
  }
  // Element numbers, floats of whole value, as an index and 1 or 0 for those that count.
  void place(const Axis& a, V number, V& index, V& weight);
  void add_corner(size_t d, V index, V weight);

  Call& c_;
  Ints sizes_;
  std::string mode_, padding_;
  bool corners_ = false;
  std::vector<Axis> axes_;
  V image_, sum_ = V::none();
  DType t_ = DType::f32;
};

void GridSampler::place(const Axis& a, V number, V& index, V& weight) {
  const double last = static_cast<double>(a.size - 1);
  V inside = number;
  if (padding_ == "reflection") inside = c_.op("trunc", {reflected(number, a.low, a.high)});
  inside = c_.op("clamp", {inside, 0.0, last});
  if (padding_ == "zeros") {
    const V counts =
        c_.op("logical_and", {c_.op("ge", {number, 0.0}), c_.op("le", {number, last})});
    weight = c_.mul(weight, c_.convert(counts, t_));
  }
  index = c_.add(c_.mul(index, AttrValue(a.size)), c_.convert(inside, DType::i64));
}

// All elements that the places lie between, one dim after the other.
void GridSampler::add_corner(size_t d, V index, V weight) {
  if (!c_.status().ok()) return;
  if (d == axes_.size()) {
    const Shape s = c_.shape(image_), places = c_.shape(index);
    const V at = c_.expand(c_.unsqueeze(index, 1), {s[0], s[1], places[1]});
    const V part = c_.mul(c_.op("gather", {image_, at}, {{"dim", 2}}), c_.unsqueeze(weight, 1));
    sum_ = sum_.valid() ? c_.add(sum_, part) : part;
    return;
  }
  const Axis& a = axes_[d];
  if (mode_ == "nearest") {
    place(a, a.at, index, weight);
    return add_corner(d + 1, index, weight);
  }
  const V floor = c_.op("floor", {a.at});
  const V part = c_.sub(a.at, floor);
  const int first = mode_ == "linear" ? 0 : -1, last = mode_ == "linear" ? 1 : 2;
  for (int k = first; k <= last; ++k) {
    const V distance = c_.op("abs", {c_.sub(part, static_cast<double>(k))});
    V w = c_.sub(1.0, distance);
    if (mode_ == "cubic") {
      constexpr double q = -0.75;
      const V near =
          c_.add(c_.mul(c_.mul(c_.sub(c_.mul(distance, q + 2), q + 3), distance), distance), 1.0);
      const V far = c_.sub(
          c_.mul(c_.add(c_.mul(c_.sub(c_.mul(distance, q), 5 * q), distance), 8 * q), distance),
          4 * q);
      w = k == 0 || k == 1 ? near : far;
    }
    V i = index, all = c_.mul(weight, w);
    place(a, c_.add(floor, static_cast<double>(k)), i, all);
    add_corner(d + 1, i, all);
  }
}

Status GridSampler::run() {
  const size_t dims = sizes_.size() - 2;
  const Shape grid = c_.shape(1);
  if (dims < 1 || dims > 3 || grid.size() != dims + 2) return unsupported("{} spatial dims", dims);
  if (mode_ != "linear" && mode_ != "nearest" && mode_ != "cubic")
    return user_error("the mode is \"{}\"", mode_);
  if (!is_floating(c_.dtype(0))) return unsupported("an image of {}", name_of(c_.dtype(0)));
  t_ = c_.dtype(1);
  const Dim places = product_of(grid, 1, dims + 1);
  const V flat = c_.view(c_.in(1), {grid[0], places, static_cast<int64_t>(dims)});
  for (size_t d = 0; d < dims; ++d) {
    const int64_t n = sizes_[d + 2];
    const double size = static_cast<double>(n);
    if (n < 1) return user_error("an empty image");
    Axis a{n, corners_ ? 0.0 : -0.5, corners_ ? size - 1 : size - 0.5, {}};
    const V v = c_.select(flat, 2, static_cast<int64_t>(dims - 1 - d));  // x stands first
    a.at = corners_ ? c_.mul(c_.add(v, 1.0), (size - 1) / 2)
                    : c_.mul(c_.sub(c_.mul(c_.add(v, 1.0), size), 1.0), 0.5);
    if (mode_ == "nearest") a.at = c_.op("round", {a.at});
    const V beyond = c_.op("logical_or", {c_.op("lt", {a.at, a.low}), c_.op("gt", {a.at, a.high})});
    if (padding_ == "border") a.at = c_.where(beyond, c_.op("clamp", {a.at, 0.0, size - 1}), a.at);
    if (padding_ == "reflection") a.at = c_.where(beyond, reflected(a.at, a.low, a.high), a.at);
    axes_.push_back(a);
  }
  Dim elements = 1;
  for (size_t d = 0; d < dims; ++d) elements = elements * Dim(sizes_[d + 2]);
  image_ = c_.view(c_.in(0), {sizes_[0], sizes_[1], elements});
  add_corner(0, c_.full({sizes_[0], places}, 0, DType::i64), c_.full({sizes_[0], places}, 1, t_));
  if (!c_.status().ok()) return {};
  Shape out = {sizes_[0], sizes_[1]};
  out.insert(out.end(), grid.begin() + 1, grid.end() - 1);
  c_.give(0, c_.convert(c_.view(sum_, out), c_.dtype(0)), c_.element(0));
  return {};
}

Status grid_sample(Call& c) {
  CLEAVE_TRY(Ints sizes, c.sizes(0));
  if (sizes.size() < 3) return user_error("an image of {} dims", sizes.size());
  return GridSampler(c, std::move(sizes)).run();
}

constexpr RuleEntry entries[] = {{"GridSample", grid_sample}};

}  // namespace

std::span<const RuleEntry> sample_rules() { return entries; }

}  // namespace cleave::onnx
