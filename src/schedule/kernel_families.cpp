#include "schedule/kernel_families.h"

#include <algorithm>
#include <bit>
#include <map>

#include "loop/print.h"
#include "schedule/kernel_numbers.h"

namespace cleave::schedule {

using namespace cleave::loop;

namespace {

int64_t bits_of(const Expr& constant) {
  if (constant.type() == DType::i64) return constant->integer();
  return std::bit_cast<uint32_t>(static_cast<float>(constant->real()));
}

bool same_number(const Expr& a, const Expr& b) {
  return a.type() == b.type() && bits_of(a) == bits_of(b);
}

bool same_numbers(const Exprs& a, const Exprs& b) { return std::ranges::equal(a, b, same_number); }

struct Split {
  std::string key;
  Exprs numbers;
};
Split split(Kernel kernel, std::string_view group, const KernelConstants& constants) {
  Split out;
  const auto keep = [&](const Expr& constant) {
    out.numbers.push_back(constant);
    return constant;
  };
  out.key = replace_numbers(kernel, keep, constants);
  out.key += group;
  return out;
}

// A prefix that no name in the kernel begins with.
std::string free_stem(const Kernel& kernel) {
  const std::string text = print(kernel);
  std::string stem = "number";
  while (text.find(stem) != std::string::npos) stem += '_';
  return stem;
}

}  // namespace

KernelFamilies::Member KernelFamilies::add(const Kernel& kernel, std::string_view group) {
  Split parts = split(kernel, group, constants_);
  const auto [at, is_new] = by_key_.try_emplace(std::move(parts.key), families_.size());
  if (is_new) families_.push_back({kernel, {}});
  Family& family = families_[at->second];
  const auto known = std::ranges::find_if(
      family.numbers, [&](const Exprs& n) { return same_numbers(n, parts.numbers); });
  const auto member = static_cast<size_t>(known - family.numbers.begin());
  if (known == family.numbers.end()) {
    family.numbers.push_back(std::move(parts.numbers));
    family.places.reset();
  }
  return {at->second, member};
}

const KernelFamilies::Places& KernelFamilies::places_of(const Family& family) {
  if (family.places) return *family.places;
  Places& out = family.places.emplace();
  std::map<std::vector<int64_t>, int64_t> scalar_of;  // by type, and value in each list
  for (size_t n = 0; n < family.numbers[0].size(); ++n) {
    std::vector<int64_t> values = {static_cast<int64_t>(family.numbers[0][n].type())};
    for (const Exprs& numbers : family.numbers) values.push_back(bits_of(numbers[n]));
    if (std::equal(values.begin() + 2, values.end(), values.begin() + 1)) {
      out.scalar_of.push_back(-1);
      continue;
    }
    const auto [at, is_new] =
        scalar_of.try_emplace(std::move(values), static_cast<int64_t>(out.first.size()));
    if (is_new) out.first.push_back(n);
    out.scalar_of.push_back(at->second);
  }
  return out;
}

Kernel KernelFamilies::function(size_t family) const {
  const Family& f = families_[family];
  const Places& places = places_of(f);
  Kernel out = f.kernel;
  if (places.first.empty()) return out;
  const std::string stem = free_stem(out);
  Exprs variables;
  for (size_t k = 0; k < places.first.size(); ++k) {
    Scalar scalar{fmt::format("{}{}", stem, k), f.numbers[0][places.first[k]].type()};
    for (const Exprs& numbers : f.numbers) {
      const Expr& value = numbers[places.first[k]];
      if (std::ranges::none_of(scalar.values,
                               [&](const Expr& told) { return same_number(told, value); }))
        scalar.values.push_back(value);
    }
    out.scalars.push_back(std::move(scalar));
    variables.push_back(scalar_var(out, out.scalars.size() - 1));
  }
  size_t n = 0;
  const auto replace = [&](const Expr& constant) {
    const int64_t place = places.scalar_of[n++];
    return place >= 0 ? variables[static_cast<size_t>(place)] : constant;
  };
  replace_numbers(out, replace, constants_);
  return out;
}

std::optional<std::pair<size_t, Expr>> KernelFamilies::mismatch(const Family& family,
                                                                const Exprs& numbers) {
  const Places& places = places_of(family);
  for (size_t n = 0; n < numbers.size(); ++n) {
    const int64_t place = places.scalar_of[n];
    const Expr& expected =
        place < 0 ? family.numbers[0][n] : numbers[places.first[static_cast<size_t>(place)]];
    if (!same_number(numbers[n], expected)) return std::pair(n, expected);
  }
  return {};
}

std::optional<KernelFamilies::Use> KernelFamilies::find(const Kernel& kernel,
                                                        std::string_view group) const {
  const Split parts = split(kernel, group, constants_);
  const auto at = by_key_.find(parts.key);
  if (at == by_key_.end() || mismatch(families_[at->second], parts.numbers)) return {};
  return use(at->second, parts.numbers);
}

std::string KernelFamilies::why_not(const Kernel& kernel, std::string_view group) const {
  const Split parts = split(kernel, group, constants_);
  const auto at = by_key_.find(parts.key);
  if (at == by_key_.end()) return "no function has its loops";
  const auto wrong = mismatch(families_[at->second], parts.numbers);
  if (!wrong) return "";
  return fmt::format("its number {} is {}, expected {}", wrong->first,
                     print(parts.numbers[wrong->first], kernel), print(wrong->second, kernel));
}

KernelFamilies::Use KernelFamilies::use_of(Member member) const {
  return use(member.family, families_[member.family].numbers[member.member]);
}

KernelFamilies::Use KernelFamilies::use(size_t family, const Exprs& numbers) const {
  Use out{.family = family, .scalars = {}};
  for (const size_t first : places_of(families_[family]).first)
    out.scalars.push_back(bits_of(numbers[first]));
  return out;
}

}  // namespace cleave::schedule
