// Kernels that are one function but for its numbers, and the function of each such family.
//
//   KernelFamilies all;
//   for (const Kernel& k : learned) all.add(k);
//   Kernel f = all.function(0);            // its numbers that differ in the family are scalars
//   auto use = all.find(another);          // which function computes it, and what it passes
//
// Two numbers that are equal in every kernel of the family share a scalar, and one that is equal in
// all of them is a constant: what find() finds must be so as well. More kernels make more general
// functions.
#pragma once
#include <optional>
#include <unordered_map>

#include "loop/kernel.h"
#include "schedule/kernel_numbers.h"

namespace cleave::schedule {

class KernelFamilies {
 public:
  explicit KernelFamilies(const KernelConstants& constants = {}) : constants_(constants) {}

  struct Use {
    size_t family = 0;
    std::vector<int64_t> scalars;  // passed after the kernel's own
  };

  struct Member {
    size_t family = 0, member = 0;
  };
  // The kernel is scheduled. It may be the first of a new family. Kernels of different groups are
  // in different families.
  Member add(const loop::Kernel& kernel, std::string_view group = "");
  // What it passes, after all have been added.
  Use use_of(Member member) const;
  size_t size() const { return families_.size(); }
  // With the names and extents of the family's first kernel.
  loop::Kernel function(size_t family) const;
  // Of any kernel: nothing where no family has its key, or its function can't compute it.
  std::optional<Use> find(const loop::Kernel& kernel, std::string_view group = "") const;
  // Why find() has nothing: what a function of these families would have to leave open. Empty where
  // it has something.
  std::string why_not(const loop::Kernel& kernel, std::string_view group = "") const;

 private:
  // Where each number comes from: a scalar, or -1 where it is a constant.
  struct Places {
    std::vector<int64_t> scalar_of;
    std::vector<size_t> first;  // of each scalar: the first number that it is
  };
  struct Family {
    loop::Kernel kernel;
    std::vector<loop::Exprs> numbers;           // of the members, distinct ones
    mutable std::optional<Places> places = {};  // of these numbers, once they were asked for
  };
  static const Places& places_of(const Family& family);
  // The first number of a kernel of the family's key that isn't what its function takes it for, and
  // what that is; null: all are.
  static std::optional<std::pair<size_t, loop::Expr>> mismatch(const Family& family,
                                                               const loop::Exprs& numbers);

  Use use(size_t family, const loop::Exprs& numbers) const;

  KernelConstants constants_;
  std::vector<Family> families_;
  std::unordered_map<std::string, size_t> by_key_;
};

}  // namespace cleave::schedule
