// Which programs of a library a run's inputs are for, by their shapes.
//
//   inputs   x f32[B,2]: types 0 f32[1,2], 1 f32[8,2]     y f32[B]: types 0 f32[1], 1 f32[8]
//   sized    0: B=1, types 0,0     1: B=8, types 1,1
//
//   x f32[8,2], y f32[8] are of types 1,1: programs 1
//   x f32[7,2]           is of no type: refusal() says why
#pragma once
#include "base/result.h"
#include "standalone/interface.h"
#include "standalone/program_file.h"

namespace cleave::standalone {

class SizeChoice {
 public:
  // The file outlives it.
  explicit SizeChoice(const ProgramFile& file) : file_(file) {}

  // The number of the type of input k that has the tensor's shape; nothing: there is none. Error
  // (user), which begins with `what`: NULL, another dtype or rank, another size than a number.
  // Allocates nothing where there is no error.
  Result<std::optional<size_t>> type_of(size_t k, const cleave_tensor* given,
                                        std::string_view what) const;
  // The number of the programs for inputs of these types; `likely` is looked at first.
  std::optional<size_t> find(std::span<const size_t> types, size_t likely) const;

  // Why there are no programs for inputs of these shapes, which type_of has looked at; an input
  // without a shape isn't known. Error (user): a size is out of bounds, a name has two sizes, or
  // the library doesn't hold this one.
  using Shapes = std::vector<std::optional<std::span<const int64_t>>>;
  Failure refusal(const Shapes& shapes) const;

  // "f32[B,2]".
  static std::string text(const InputEntry& input);
  // "B=8,T=2".
  std::string text(const std::vector<std::optional<int64_t>>& sizes) const;

 private:
  Status check_sizes(const Shapes& shapes, std::vector<std::optional<int64_t>>& sizes) const;
  std::string held() const;

  const ProgramFile& file_;
};

}  // namespace cleave::standalone
