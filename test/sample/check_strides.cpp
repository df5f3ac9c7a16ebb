#include "test/sample/check_strides.h"

#include <bit>
#include <cmath>

#include "interp/interpret.h"
#include "ir/text.h"
#include "test/sample/run_program.h"
#include "test/sample/strided_graph.h"

namespace cleave::random {
namespace {

bool same_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

// The first element that differs.
std::string difference(const Arrays& got, const Arrays& want, const char* what) {
  for (size_t r = 0; r < want.size(); ++r) {
    const Array &a = got[r], &b = want[r];
    if (a.dtype != b.dtype || a.shape != b.shape)
      return fmt::format("{}: return {} is of another type", what, r);
    for (int64_t k = 0; k < b.numel(); ++k)
      if (b.floating() ? !same_bits(a.f[k], b.f[k]) : a.i[k] != b.i[k])
        return fmt::format("{}: return {}, element {}: {}, expected {}", what, r, k, a.number(k),
                           b.number(k));
  }
  return "";
}

Result<Arrays> by_oracle(const RandomGraph& r) {
  std::vector<const Array*> inputs;
  for (const Array& a : r.inputs) inputs.push_back(&a);
  return interpret(r.g, inputs);
}

}  // namespace

Result<std::string> stride_difference(const RandomGraph& r, const OpRegistry& ops,
                                      CompilerChoice compiler) {
  if (Status s = verify(r.g); !s.ok()) return s.failure().message;
  const Result<Program> again = parse(print(r.g), "strided.clv", ops);
  if (!again.ok()) return again.failure().message;
  if (print(again->main) != print(r.g)) return "its text reads back as another graph";
  const RandomGraph plain = without_strides(r);
  CLEAVE_TRY(const Arrays values, by_oracle(r));
  CLEAVE_TRY(const Arrays plain_values, by_oracle(plain));
  if (std::string d = difference(values, plain_values, "oracle"); !d.empty()) return d;
  const Result<Arrays> want = law::run_graph(plain.g, ops, plain.inputs, compiler);
  if (!want.ok() && want.failure().kind == ErrorKind::unsupported) return want.failure();
  for (const bool fuse : {true, false}) {
    const char* what = fuse ? "compiled" : "compiled, a kernel for each call";
    const Result<Arrays> got = law::run_graph(r.g, ops, r.inputs, compiler, 2, fuse);
    if (got.ok() != want.ok())
      return fmt::format("{}: {}, without strides {}", what,
                         got.ok() ? "runs" : got.failure().message,
                         want.ok() ? "runs" : want.failure().message);
    if (!want.ok()) continue;
    if (std::string d = difference(*got, *want, what); !d.empty()) return d;
  }
  return "";
}

}  // namespace cleave::random
