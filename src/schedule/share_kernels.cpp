// Kernels with equal keys (kernel_numbers.h) are a family. Only numbers that differ within it
// become scalars; numbers that are equal in every member share one.
#include "schedule/share_kernels.h"

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

#include "schedule/kernel_numbers.h"

namespace cleave::schedule {

using namespace cleave::loop;

namespace {

int64_t bits_of(const Expr& constant) {
  if (constant.type() == DType::i64) return constant->i;
  return std::bit_cast<uint32_t>(static_cast<float>(constant->f));
}

// The kernels of one key.
struct Family {
  std::vector<size_t> members;
  std::vector<Exprs> numbers;  // of each member
};

// A prefix that no name in the kernel begins with.
std::string free_stem(const Kernel& kernel) {
  const std::string text = print(kernel);
  std::string stem = "number";
  while (text.find(stem) != std::string::npos) stem += '_';
  return stem;
}

class Merge {
 public:
  Merge(const Family& family, Kernel& kernel) : family_(family), kernel_(kernel) {}

  // Adds the scalars to the kernel; returns what each member passes.
  std::vector<std::vector<int64_t>> run() {
    for (size_t n = 0; n < family_.numbers[0].size(); ++n) choose(n);
    if (values_.empty()) return std::vector<std::vector<int64_t>>(family_.members.size());
    add_scalars();
    size_t n = 0;
    replace_numbers(kernel_, [&](const Expr& constant) {
      const std::optional<size_t> place = place_[n++];
      return place ? variables_[*place] : constant;
    });
    std::vector<std::vector<int64_t>> out(family_.members.size());
    for (const Exprs& values : values_)
      for (size_t m = 0; m < out.size(); ++m) out[m].push_back(bits_of(values[m]));
    return out;
  }

 private:
  void choose(size_t n) {
    Exprs values;
    std::vector<int64_t> bits = {static_cast<int64_t>(family_.numbers[0][n].type())};
    for (const Exprs& numbers : family_.numbers) {
      values.push_back(numbers[n]);
      bits.push_back(bits_of(numbers[n]));
    }
    if (std::equal(bits.begin() + 2, bits.end(), bits.begin() + 1)) {
      place_.emplace_back();
      return;
    }
    const auto [at, is_new] = known_.try_emplace(std::move(bits), values_.size());
    if (is_new) values_.push_back(std::move(values));
    place_.emplace_back(at->second);
  }

  void add_scalars() {
    const std::string stem = free_stem(kernel_);
    for (size_t k = 0; k < values_.size(); ++k) {
      Scalar scalar{fmt::format("{}{}", stem, k), values_[k][0].type()};
      for (const Expr& v : values_[k])
        if (std::ranges::none_of(scalar.values,
                                 [&](const Expr& told) { return bits_of(told) == bits_of(v); }))
          scalar.values.push_back(v);
      kernel_.scalars.push_back(std::move(scalar));
      variables_.push_back(scalar_var(kernel_, kernel_.scalars.size() - 1));
    }
  }

  const Family& family_;
  Kernel& kernel_;
  std::map<std::vector<int64_t>, size_t> known_;
  std::vector<Exprs> values_;                 // by scalar: the value in each member
  Exprs variables_;                           // by scalar
  std::vector<std::optional<size_t>> place_;  // by number: its scalar, if any
};

}  // namespace

SharedKernels share_kernels(std::span<const Kernel> scheduled) {
  std::vector<Family> families;
  std::unordered_map<std::string, size_t> family_of;
  for (size_t k = 0; k < scheduled.size(); ++k) {
    Exprs numbers;
    Kernel copy = scheduled[k];
    std::string key = replace_numbers(copy, [&](const Expr& constant) {
      numbers.push_back(constant);
      return constant;
    });
    const auto [at, is_new] = family_of.try_emplace(std::move(key), families.size());
    if (is_new) families.emplace_back();
    families[at->second].members.push_back(k);
    families[at->second].numbers.push_back(std::move(numbers));
  }
  SharedKernels out;
  out.uses.resize(scheduled.size());
  for (const Family& f : families) {
    Kernel& kernel = out.kernels.emplace_back(scheduled[f.members[0]]);
    std::vector<std::vector<int64_t>> scalars = Merge(f, kernel).run();
    for (size_t m = 0; m < f.members.size(); ++m)
      out.uses[f.members[m]] = {out.kernels.size() - 1, std::move(scalars[m])};
  }
  return out;
}

}  // namespace cleave::schedule
