// The oracle with roundings that move: how far a program's results may be from the oracle's.
//
//   CLEAVE_TRY(Agreement a, compare_with_oracle(g, inputs, got));
//   a.difference;                                       // empty: equal
//
//   CLEAVE_TRY(const Arrays want, run_oracle(g, inputs));
//   const std::vector<Arrays> moved = moved_oracles(g, inputs);
//   const Allowance allowed(want[k], at(moved, k));     // of return k
//   allowed.is_open(e);                                 // rounding decides element e
//   std::fabs(got - want[k].number(e)) <= allowed.error(e)
//
// The oracle runs again a few times with each floating result perturbed by about one rounding of
// its type. A compiled element may differ by a small multiple of the largest such change. An
// integer or boolean element that changes (a comparison of nearly equal numbers) is open.
#pragma once
#include <string>
#include <vector>

#include "ir/array.h"
#include "ir/graph.h"

namespace cleave {

// Whether the rounding to bf16 or f16 may be missing before a conversion to a wider type: passes
// that change the rounding drop such pairs of conversions.
enum class Narrowing : uint8_t { kept, may_be_dropped };

// The returns of g, unrounded; narrowing dropped: conversions to bf16 and f16 keep their operands'
// values. `inputs` has one array for each placeholder.
Result<Arrays> run_oracle(const Graph& g, const Arrays& inputs,
                          Narrowing narrowing = Narrowing::kept);
// Those of runs that move; the first rounds to the nearest.
std::vector<Arrays> moved_oracles(const Graph& g, const Arrays& inputs,
                                  Narrowing narrowing = Narrowing::kept);
// How a program's results agree with the oracle's. Elements that agree to about the precision of
// their type are right; for the others roundings are moved.
struct Agreement {
  std::string difference;  // "element 3: 1, expected 2 within 1e-06"; empty: equal
  size_t at = 0;           // the return that differs
  int64_t elements = 0;    // compared
  int64_t left_open = 0;   // elements that rounding decides
};
// `got` has one array for each entry of return; narrowing dropped: what a conversion that isn't
// there makes infinite is open. Errors: those of the oracle.
Result<Agreement> compare_with_oracle(const Graph& g, const Arrays& inputs, const Arrays& got,
                                      Narrowing narrowing = Narrowing::kept);

// Whether perturbed rounding makes the oracle fail like the program: an index out of range.
bool fails_by_rounding(const Graph& g, const Arrays& inputs, const std::string& message);

// The allowed error of a kernel of several operations, relative to the largest element.
double base_error_of(DType t);

// Of one result; refers to both arguments.
class Allowance {
 public:
  Allowance(const Array& want, const std::vector<const Array*>& moved);
  // Whether rounding decides element k; also if it moves an index out of its range.
  bool is_open(int64_t k) const;
  double error(int64_t k) const;

 private:
  double change(int64_t k) const;
  const Array& want_;
  const std::vector<const Array*>& moved_;
  double scale_ = 1, largest_ = 0;
};

}  // namespace cleave
