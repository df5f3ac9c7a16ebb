// The parts of grid_sampler_2d, grid_sampler_3d and their backwards, for all places of a grid at
// once: the elements around each place (taps), their weights, and the slopes of these.
#pragma once
#include <vector>

#include "ir/builder.h"
#include "ir/op_view.h"
#include "op/sample_sets.h"

namespace cleave {

namespace grid_sampling {

constexpr double keys = -0.75;  // of Keys' cubic weights
enum Mode : int64_t { linear_mode, nearest_mode, cubic_mode };
enum Padding : int64_t { zeros_outside, border, reflection };

// For samples: the attributes; places away from those where the slope changes, inside and outside
// of an image of any size.
SampleAttrs how(Mode mode, Padding padding, bool aligned);
SampleTensor places(DType t, std::vector<int64_t> shape);

}  // namespace grid_sampling

class GridSampling {
 public:
  // Operands `image` and the one behind it are the image [N,C,D...] and the grid [N,d...,dims].
  GridSampling(Builder& b, const OpView& op, int image);

  ValueId values();  // [N,C,P], P places
  // Of grad_output [N,C,d...]: the gradients of image and grid; none of those that aren't wanted.
  Values gradients(ValueId grad_output, bool of_image, bool of_grid);

 private:
  // Along one dim. Whole numbers in floating point; no weight: 1.
  struct Tap {
    ValueId place, weight, slope;  // slope: of the weight by the padded place
  };
  struct Taps {
    std::vector<Tap> taps;
    ValueId stretch;  // of the padded place by the grid's number
  };
  struct Padded {
    ValueId place, slope;  // no slope: 1
  };

  const Shape& image_shape() const;
  int64_t size(int64_t d) const;
  Dim places() const;
  ValueId coordinate(int64_t d);
  Padded reflected(ValueId x, double low, double span);
  Padded padded(ValueId x, int64_t d);
  Taps taps(int64_t d);
  ValueId cubic(ValueId t, int k, bool is_slope);
  std::vector<Taps> all_taps();
  static std::vector<Tap> nth(const std::vector<Taps>& all, size_t k);
  static size_t count(const std::vector<Taps>& all);
  struct Place {
    ValueId index, inside;  // [N,P]
  };
  Place place_of(const std::vector<Tap>& at);
  ValueId over_channels(ValueId v);  // [N,P] to [N,C,P]
  ValueId read(const Place& p);      // 0 outside
  // The product of the weights, that of dim `but` (if it isn't negative) replaced by its slope.
  ValueId weight_of(const std::vector<Tap>& at, int64_t but = -1);

  Builder& b_;
  const OpView& op_;
  const int image_at_;
  const int64_t dims_, mode_, padding_;
  const bool aligned_;
  const DType type_;
  const ValueId image_, grid_;
};

}  // namespace cleave
