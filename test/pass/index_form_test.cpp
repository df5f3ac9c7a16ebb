// tests: index_form.cpp uniform_value.cpp
// A form says what a value holds: random programs of positions, element by element beside the
// oracle.
#include "pass/index_form.h"

#include <gtest/gtest.h>

#include <random>

#include "pass/uniform_value.h"
#include "test/prepared.h"

namespace cleave {
namespace {

struct Known {
  std::string name;
  std::vector<int64_t> shape;
  bool is_bool;
};

std::string list(const std::vector<int64_t>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ","));
}

class Program {
 public:
  explicit Program(uint64_t seed) : rng_(seed) {
    const int64_t start = upto(7) - 3, step = upto(1) == 0 ? 1 : upto(4) - 2, size = 1 + upto(5);
    add(fmt::format("arange(; start={}, end={}, step={})", start, start + (step ? step : 3) * size,
                    step ? step : 3),
        {size}, false);
    while (known_.size() < 14) step_once();
  }

  std::string text() const {
    std::string out = "graph @main() {\n" + calls_ + "  return";
    for (const Known& v : known_) out += (out.back() == 'n' ? " " : ", ") + ("%" + v.name);
    return out + "\n}\n";
  }
  size_t size() const { return known_.size(); }

 private:
  int64_t upto(int64_t most) {
    return static_cast<int64_t>(rng_() % static_cast<uint64_t>(most + 1));
  }

  void add(const std::string& call, std::vector<int64_t> shape, bool is_bool) {
    known_.push_back({fmt::format("v{}", known_.size()), std::move(shape), is_bool});
    calls_ += fmt::format("  %{} = {}\n", known_.back().name, call);
  }

  void step_once() {
    const Known x = known_[static_cast<size_t>(upto(std::ssize(known_) - 1))];
    const int64_t rank = std::ssize(x.shape);
    switch (upto(13)) {
      case 0: return widened(x);
      case 1: return expanded(x);
      case 2: return permuted(x);
      case 3: return sliced(x);
      case 4:
        return add(fmt::format("flip(%{}; dims=[{}])", x.name, upto(rank - 1)), x.shape, x.is_bool);
      case 5: return joined(x);
      case 6: return looked_up(x);
      case 7:
        return add(fmt::format("cumsum(%{}; dim={})", x.name, upto(rank - 1)), x.shape, false);
      case 8: return flattened(x);
      case 9:
      case 10: return x.is_bool ? logical(x) : compared(x);
      default: return x.is_bool ? logical(x) : arithmetic(x);
    }
  }

  void widened(const Known& x) {
    if (x.shape.size() > 3) return;
    const int64_t dim = upto(std::ssize(x.shape));
    std::vector<int64_t> shape = x.shape;
    shape.insert(shape.begin() + dim, 1);
    add(upto(1) ? fmt::format("unsqueeze(%{}; dim={})", x.name, dim)
                : fmt::format("view(%{}; size={})", x.name, list(shape)),
        shape, x.is_bool);
  }

  void expanded(const Known& x) {
    std::vector<int64_t> shape = x.shape;
    for (int64_t& n : shape)
      if (n == 1 && upto(1)) n = 1 + upto(3);
    if (shape.size() < 4 && upto(1)) shape.insert(shape.begin(), 1 + upto(2));
    add(fmt::format("expand(%{}; size={})", x.name, list(shape)), shape, x.is_bool);
  }

  void permuted(const Known& x) {
    std::vector<int64_t> dims(x.shape.size()), shape;
    for (size_t d = 0; d < dims.size(); ++d) dims[d] = static_cast<int64_t>(d);
    std::ranges::shuffle(dims, rng_);
    for (const int64_t d : dims) shape.push_back(x.shape[static_cast<size_t>(d)]);
    add(fmt::format("permute(%{}; dims={})", x.name, list(dims)), shape, x.is_bool);
  }

  void sliced(const Known& x) {
    const int64_t dim = upto(std::ssize(x.shape) - 1), n = x.shape[static_cast<size_t>(dim)];
    const int64_t start = upto(n - 1), end = start + 1 + upto(n - start - 1), by = 1 + upto(2);
    std::vector<int64_t> shape = x.shape;
    shape[static_cast<size_t>(dim)] = (end - start + by - 1) / by;
    add(fmt::format("slice(%{}; dim={}, start={}, end={}, step={})", x.name, dim,
                    upto(1) ? start : start - n, end, by),
        shape, x.is_bool);
  }

  // With a value of its shape, or with what came before its first element.
  void joined(const Known& x) {
    const int64_t dim = upto(std::ssize(x.shape) - 1);
    std::vector<int64_t> shape = x.shape;
    int64_t& n = shape[static_cast<size_t>(dim)];
    if (x.is_bool || upto(2) == 0) {
      n *= 2;
      return add(fmt::format("cat([%{}, %{}]; dim={})", x.name, alike(x), dim), shape, x.is_bool);
    }
    const std::string first = fmt::format("f{}", known_.size());
    calls_ += fmt::format("  %{}s = slice(%{}; dim={}, start=0, end=1)\n", first, x.name, dim);
    calls_ += fmt::format("  %{} = sub(%{}s; other={})\n", first, first, 1 + upto(1));
    n += 1;
    add(fmt::format("cat([%{}, %{}]; dim={})", first, x.name, dim), shape, false);
  }

  void looked_up(const Known& x) {
    std::string indices;
    const std::string name = fmt::format("i{}", known_.size());
    std::vector<int64_t> shape(x.shape.size(), 1);
    for (size_t d = 0; d < x.shape.size(); ++d) {
      const int64_t start = upto(x.shape[d] - 1), n = upto(1) ? 1 : x.shape[d] - start;
      std::vector<int64_t> size(x.shape.size(), 1);
      size[d] = shape[d] = n;
      // Sometimes from the end, where no form may be known.
      const int64_t from = upto(5) == 0 ? start - x.shape[d] : start;
      calls_ += fmt::format("  %{}a{} = arange(; start={}, end={})\n", name, d, from, from + n);
      calls_ += fmt::format("  %{}v{} = view(%{}a{}; size={})\n", name, d, name, d, list(size));
      indices += fmt::format("{}%{}v{}", d ? ", " : "", name, d);
    }
    add(fmt::format("index(%{}, [{}])", x.name, indices), shape, x.is_bool);
  }

  void flattened(const Known& x) {
    int64_t n = 1;
    for (const int64_t size : x.shape) n *= size;
    add(fmt::format("reshape(%{}; shape=[{}])", x.name, n), {n}, x.is_bool);
  }

  // A value of the same shape; there is itself at least.
  std::string alike(const Known& x) {
    std::vector<std::string> fitting;
    for (const Known& v : known_)
      if (v.shape == x.shape && v.is_bool == x.is_bool) fitting.push_back(v.name);
    return fitting[static_cast<size_t>(upto(std::ssize(fitting) - 1))];
  }

  std::string other(const Known& x) {
    if (!x.is_bool && upto(2) == 0)
      return fmt::format("; other={}", upto(4) == 0 ? (int64_t{1} << 24) + 1 : upto(8) - 4);
    return fmt::format(", %{}", alike(x));
  }

  void arithmetic(const Known& x) {
    static constexpr const char* names[] = {"add", "sub", "mul", "neg", "_to_copy", "_to_copy"};
    static constexpr const char* dtypes[] = {"i64", "i32", "f32", "f64"};
    const std::string name = names[upto(5)];
    if (name == "_to_copy")
      return add(fmt::format("_to_copy(%{}; dtype={})", x.name, dtypes[upto(3)]), x.shape, false);
    if (name != "neg" && upto(3) == 0)  // a number comes first
      return add(fmt::format("{}(%{}; self={})", name, x.name, upto(8) - 4), x.shape, false);
    const bool is_unary = name == "neg";
    add(fmt::format("{}(%{}{})", name, x.name, is_unary ? "" : other(x)), x.shape, false);
  }

  void compared(const Known& x) {
    static constexpr const char* names[] = {"lt", "le", "gt", "ge", "eq", "ne"};
    add(fmt::format("{}(%{}{})", names[upto(5)], x.name, other(x)), x.shape, true);
  }

  void logical(const Known& x) {
    static constexpr const char* names[] = {"logical_and", "bitwise_and", "logical_or",
                                            "bitwise_or",  "logical_not", "bitwise_not"};
    const int64_t k = upto(5);
    if (k < 4 && k % 2 == 1 && upto(2) == 0)
      return add(fmt::format("{}(%{}; {}={})", names[k], x.name, upto(1) ? "self" : "other",
                             upto(1) ? "true" : "false"),
                 x.shape, true);
    add(fmt::format("{}(%{}{})", names[k], x.name, k < 4 ? other(x) : ""), x.shape, true);
  }

  std::mt19937_64 rng_;
  std::vector<Known> known_;
  std::string calls_;
};

int64_t element(const Layout& form, int64_t k) {
  int64_t at = form.offset;
  for (size_t d = form.shape.size(); d-- > 0; k /= form.shape[d])
    at += k % form.shape[d] * form.strides[d];
  return at;
}

TEST(IndexForm, is_what_the_oracle_computes) {
  int64_t forms = 0, values = 0, uniform_bools = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const Program program(seed);
    const Graph g = test::parsed(program.text());
    const Arrays want = value_or_throw(interpret(g, std::span<const Array* const>()));
    const UniformValues known(g);
    for (size_t r = 0; r < want.size(); ++r, ++values) {
      const ValueId v = g.returns()[r].value;
      const Type& t = g.type(v);
      const std::optional<Layout> form = known.form(v);
      if (!form) continue;
      ++forms;
      if (t.dtype == DType::boolean) uniform_bools += known.find(v) != nullptr;
      ASSERT_EQ(form->shape, static_shape(t)) << program.text();
      for (int64_t k = 0; k < want[r].numel(); ++k) {
        const int64_t is = element(*form, k);
        const auto held = static_cast<double>(t.dtype == DType::boolean ? is >= 0 : is);
        const size_t at = static_cast<size_t>(k);
        ASSERT_EQ(held, want[r].floating() ? want[r].f[at] : static_cast<double>(want[r].i[at]))
            << g.name(v) << " at " << k << " in\n"
            << program.text();
      }
    }
  }
  // Most are affine, and some comparisons are decided; else nothing was compared.
  EXPECT_GT(forms, values / 2) << values;
  EXPECT_GT(uniform_bools, 100);
}

// What a form can't say exactly isn't said, and nothing overflows on the way.
TEST(IndexForm, is_unknown_beyond_what_a_dtype_holds) {
  const Graph g = test::parsed(
      "graph @main() {\n"
      "  %a = arange(; start=0, end=40)\n"
      "  %b = mul(%a; other=4503599627370495)\n"
      "  %c = add(%a; other=4503599627370460)\n"
      "  %d = mul(%c, %c)\n"
      "  %e = _to_copy(%a; dtype=i32)\n"
      "  %f = mul(%e; other=100000000)\n"
      "  %g = arange(; start=0, end=40, dtype=f32)\n"
      "  %h = mul(%g; other=1000000)\n"
      "  %i = add(%g; other=0.5)\n"
      "  %j = _to_copy(%a; dtype=u8)\n"
      "  %k = _to_copy(%a; dtype=bool)\n"
      "  return %b, %c, %d, %f, %h, %i, %j, %k, %e, %g\n}\n");
  const UniformValues known(g);
  std::vector<bool> has_form;
  for (const Return& r : g.returns()) has_form.push_back(known.form(r.value).has_value());
  EXPECT_EQ(has_form, (std::vector<bool>{false, false, false, false, false, false, false, false,
                                         true, true}));
}

// What is compared or added in another dtype is rounded first; and a float 0 may be -0.
TEST(IndexForm, is_unknown_where_a_conversion_may_round) {
  const Graph g = test::parsed(
      "graph @main() {\n"
      "  %a = arange(; start=16777217, end=16777219)\n"
      "  %b = full(; size=[2], fill_value=-16777216, dtype=f32)\n"
      "  %c = add(%a, %b)\n"
      "  %d = ge(%a; other=16777216.0)\n"
      "  %e = ge(%a; other=16777216)\n"
      "  %f = arange(; start=0, end=2, dtype=f32)\n"
      "  %g = mul(%f; other=-1)\n"
      "  %h = slice(%g; dim=0, start=0, end=1)\n"
      "  return %c, %d, %e, %h\n}\n");
  const UniformValues known(g);
  std::vector<bool> has_form, is_number;
  for (const Return& r : g.returns()) {
    has_form.push_back(known.form(r.value).has_value());
    is_number.push_back(known.find(r.value) != nullptr);
  }
  EXPECT_EQ(has_form, (std::vector<bool>{false, false, true, true}));
  EXPECT_EQ(is_number, (std::vector<bool>{false, false, true, false}));
}

}  // namespace
}  // namespace cleave
