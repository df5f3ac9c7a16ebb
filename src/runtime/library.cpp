// Makes the function for each kind of spec.
#include "runtime/library.h"

#include "runtime/attention.h"
#include "runtime/convolution.h"
#include "runtime/gemm.h"
#include "runtime/grouped_product.h"
#include "runtime/sort.h"

namespace cleave::runtime {
namespace {

template <class Function>
Result<LibraryFunctionPtr> made(Result<std::shared_ptr<Function>> function) {
  CLEAVE_TRY(std::shared_ptr<Function> f, std::move(function));
  return LibraryFunctionPtr(std::move(f));
}

struct Maker {
  const Target& target;

  auto operator()(const GemmSpec& s) const { return made(Gemm::make(s, target)); }
  auto operator()(const AttentionSpec& s) const { return made(Attention::make(s, target)); }
  auto operator()(const AttentionBackwardSpec& s) const {
    return made(AttentionGradient::make(s, target));
  }
  auto operator()(const ConvolutionSpec& s) const { return made(Convolution::make(s, target)); }
  auto operator()(const SortSpec& s) const { return make_sort(s); }
  auto operator()(const GroupedProductSpec& s) const { return make_grouped_product(s, target); }
};

}  // namespace

Result<LibraryFunctionPtr> make_library_function(const LibrarySpec& spec, const Target& target) {
  return std::visit(Maker{target}, spec);
}

Result<LibraryFunctionPtr> LibraryCache::get(const LibrarySpec& spec) {
  const std::lock_guard lock(mutex_);
  // A spec with a NaN isn't equal to any, but find() takes it for equal: it is neither less nor
  // greater.
  if (const auto found = functions_.find(spec); found != functions_.end() && found->first == spec)
    return found->second;
  CLEAVE_TRY(LibraryFunctionPtr function, make_library_function(spec, target_));
  functions_.emplace(spec, function);
  return function;
}

size_t LibraryCache::size() const {
  const std::lock_guard lock(mutex_);
  return functions_.size();
}

}  // namespace cleave::runtime
