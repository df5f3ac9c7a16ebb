#include "test/simt/threads.h"

#include "loop/parse.h"
#include "schedule/schedule.h"
#include "simt/simulate.h"
#include "test/sample/check_threads.h"

namespace cleave::simt::test {

using loop::Op;

loop::Kernel loops(const std::string& text) {
  return schedule::schedule(value_or_throw(loop::parse_kernel(text, "t")),
                            schedule::RunsIn::threads);
}

std::string with(std::string text, const std::vector<std::pair<std::string, int64_t>>& names) {
  for (const auto& [name, value] : names)
    for (size_t at; (at = text.find(name)) != text.npos;)
      text.replace(at, name.size(), std::to_string(value));
  return text;
}

std::string wrong(const std::string& text, uint64_t seed) {
  const random::ThreadsVerdict v = random::check_threads({loops(text)}, seed);
  return v.left_open > 0 ? "left open by rounding" : v.wrong;
}

std::vector<std::string> defects(const Kernel& kernel) {
  std::vector<std::vector<uint64_t>> memory;
  std::vector<void*> buffers;
  for (const Buffer& b : kernel.buffers) {
    if (b.space != Space::global || b.access == loop::Access::local) continue;
    auto& words = memory.emplace_back(static_cast<size_t>(b.elements) + 2);
    for (size_t i = 0; i < words.size(); ++i) words[i] = i % 4;
  }
  for (auto& m : memory) buffers.push_back(m.data());
  return simulate(kernel, buffers, std::vector<int64_t>(kernel.scalars.size(), 1)).defects;
}

namespace {

int64_t value_of(const Expr& e, const std::vector<int64_t>& a) {
  const auto floor_div = [](int64_t x, int64_t y) {
    return x / y - (x % y != 0 && (x < 0) != (y < 0));
  };
  switch (e->op) {
    case Op::add: return a[0] + a[1];
    case Op::sub: return a[0] - a[1];
    case Op::mul: return a[0] * a[1];
    case Op::neg: return -a[0];
    case Op::min: return std::min(a[0], a[1]);
    case Op::max: return std::max(a[0], a[1]);
    case Op::bit_and: return a[0] & a[1];
    case Op::lt: return a[0] < a[1];
    case Op::eq: return a[0] == a[1];
    case Op::logical_and: return a[0] && a[1];
    case Op::select: return a[0] ? a[1] : a[2];
    case Op::cast: return a[0];
    case Op::truncdiv: return a[1] == 0 ? 0 : a[0] / a[1];
    case Op::truncmod: return a[1] == 0 ? 0 : a[0] % a[1];
    case Op::floordiv: return a[1] == 0 ? 0 : floor_div(a[0], a[1]);
    case Op::floormod: return a[1] == 0 ? 0 : a[0] - floor_div(a[0], a[1]) * a[1];
    default: throw_bug("evaluate: {}", loop::name_of(e->op));
  }
}

}  // namespace

int64_t evaluate(const Expr& e, const std::unordered_map<int64_t, int64_t>& variables) {
  if (e->op == Op::constant) return e->integer();
  if (e->op == Op::var) return variables.at(e->id());
  std::vector<int64_t> a;
  for (const Expr& arg : e->args) a.push_back(evaluate(arg, variables));
  const int64_t value = value_of(e, a);
  return e.type() == DType::i32 ? static_cast<int32_t>(value) : value;
}

}  // namespace cleave::simt::test
