#include "backend/cuda/cublas_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace cleave::cuda {
namespace {

CublasType type_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return CublasType::f64;
    case DType::bf16: return CublasType::bf16;
    case DType::f16: return CublasType::f16;
    default: return CublasType::f32;
  }
}

void check(CublasStatus status, const char* call) {
  if (status != 0) throw_bug("{}: status {}", call, status);
}

// That all of the pointers have; null: any.
uint64_t alignment_of(std::initializer_list<const void*> pointers) {
  uint64_t bits = 256;
  for (const void* p : pointers) bits |= reinterpret_cast<uintptr_t>(p);
  return uint64_t{1} << std::countr_zero(bits);
}

}  // namespace

struct CublasProductCall::Descriptors {
  Descriptors(const CublasProductSpec& spec, const CublasApi& of) : api(of) {
    const bool is_f64 = spec.d.dtype == DType::f64;
    check(api.product_create(&product, is_f64 ? CublasCompute::f64 : CublasCompute::f32,
                             is_f64 ? CublasType::f64 : CublasType::f32),
          "cublasLtMatmulDescCreate");
    using At = CublasProductAttribute;
    if (spec.a.is_transposed) set(At::transpose_a, cublas_transpose);
    if (spec.b.is_transposed) set(At::transpose_b, cublas_transpose);
    if (spec.has_bias) {
      set(At::epilogue, cublas_epilogue_bias);
      set(At::bias_type, static_cast<int32_t>(type_of(spec.d.dtype)));
    }
    a = layout(spec.a, spec.batch), b = layout(spec.b, spec.batch);
    c = layout(spec.c, spec.batch), d = layout(spec.d, spec.batch);
  }
  ~Descriptors() {
    for (CublasLayout at : {a, b, c, d})
      if (at != nullptr) api.layout_destroy(at);
    if (product != nullptr) api.product_destroy(product);
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  template <class Value>
  void set(CublasProductAttribute attribute, Value value) {
    check(api.product_set(product, attribute, &value, sizeof value),
          "cublasLtMatmulDescSetAttribute");
  }
  CublasLayout layout(const CublasMatrix& m, int64_t batch) {
    CublasLayout at = nullptr;
    check(api.layout_create(&at, type_of(m.dtype), static_cast<uint64_t>(m.rows),
                            static_cast<uint64_t>(m.columns), m.leading),
          "cublasLtMatrixLayoutCreate");
    if (batch == 1) return at;
    const auto count = static_cast<int32_t>(batch);
    check(api.layout_set(at, CublasLayoutAttribute::batch_count, &count, sizeof count),
          "cublasLtMatrixLayoutSetAttribute");
    check(api.layout_set(at, CublasLayoutAttribute::batch_stride, &m.batch_stride,
                         sizeof m.batch_stride),
          "cublasLtMatrixLayoutSetAttribute");
    return at;
  }

  const CublasApi& api;
  CublasProduct product = nullptr;
  CublasLayout a = nullptr, b = nullptr, c = nullptr, d = nullptr;
};

CublasProductCall::CublasProductCall(const CublasProductSpec& spec,
                                     std::shared_ptr<const Cublas> cublas, int answer)
    : spec_(spec), cublas_(std::move(cublas)), answer_(answer) {}

CublasProductCall::~CublasProductCall() = default;

std::string answer_name(const CublasProductSpec& s) {
  const auto matrix = [](const CublasMatrix& m) {
    return fmt::format("{}{}[{},{}]/{}+{}", name_of(m.dtype), m.is_transposed ? "t" : "", m.rows,
                       m.columns, m.leading, m.batch_stride);
  };
  std::string out =
      fmt::format("product,{}x,{}*{}={}", s.batch, matrix(s.a), matrix(s.b), matrix(s.d));
  if (s.beta != 0) out += "+" + matrix(s.c);
  if (s.has_bias) out += ",bias";
  return out + fmt::format(",{}", s.workspace_bytes);
}

std::vector<CublasHeuristic> CublasProductCall::found_for(uint64_t alignment, int most) const {
  const auto bytes = static_cast<uint32_t>(alignment >= 256  ? 256
                                           : alignment >= 16 ? 16
                                                             : size_of(spec_.a.dtype));
  const CublasApi& api = cublas_->api();
  CublasPreference preference = nullptr;
  check(api.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
  using At = CublasPreferenceAttribute;
  const auto set = [&](At attribute, auto value) {
    check(api.preference_set(preference, attribute, &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute");
  };
  set(At::workspace_bytes, static_cast<uint64_t>(spec_.workspace_bytes));
  set(At::reductions, cublas_reduction_in_sums);
  for (const At at : {At::alignment_a, At::alignment_b, At::alignment_c, At::alignment_d})
    set(at, bytes);
  std::vector<CublasHeuristic> found(static_cast<size_t>(most));
  int count = 0;
  const CublasStatus status = api.heuristic(cublas_->handle(), at_->product, at_->a, at_->b, at_->c,
                                            at_->d, preference, most, found.data(), &count);
  api.preference_destroy(preference);
  found.resize(status == 0 ? static_cast<size_t>(std::max(count, 0)) : 0);
  std::erase_if(found, [](const CublasHeuristic& h) { return h.status != 0; });
  return found;
}

const CublasProductCall::Choice& CublasProductCall::choice_for(uint64_t alignment) const {
  Choice& choice = choices_[alignment >= 256 ? 0 : alignment >= 16 ? 1 : 2];
  if (choice.is_made) return choice;
  choice.is_made = true;
  const std::vector<CublasHeuristic> found = found_for(alignment, answer_ + 1);
  if (found.empty()) return choice;
  const auto& taken =
      found[std::cmp_less(answer_, found.size()) ? static_cast<size_t>(answer_) : 0];
  choice.is_found = true;
  choice.algorithm = taken.algorithm, choice.workspace_bytes = taken.workspace_bytes;
  return choice;
}

int CublasProductCall::answers(const void* a, const void* b, const void* c, void* d,
                               const void* bias, int most) const {
  const std::lock_guard lock(mutex_);
  if (!at_) at_ = std::make_unique<Descriptors>(spec_, cublas_->api());
  return static_cast<int>(found_for(alignment_of({a, b, c, d, bias}), most).size());
}

bool CublasProductCall::run(const void* a, const void* b, const void* c, void* d, const void* bias,
                            void* workspace, void* queue) const {
  const std::lock_guard lock(mutex_);  // the descriptor holds the bias
  const CublasApi& api = cublas_->api();
  if (!at_) at_ = std::make_unique<Descriptors>(spec_, api);
  if (spec_.has_bias) at_->set(CublasProductAttribute::bias, bias);
  const Choice& choice = choice_for(alignment_of({a, b, c, d, bias}));
  if (!choice.is_found) return false;
  const auto alpha = static_cast<float>(spec_.alpha), beta = static_cast<float>(spec_.beta);
  const bool is_f64 = spec_.d.dtype == DType::f64;
  const auto pick = [&](const float& narrow, const double& wide) {
    return is_f64 ? static_cast<const void*>(&wide) : &narrow;
  };
  check(api.matmul(cublas_->handle(), at_->product, pick(alpha, spec_.alpha), a, at_->a, b, at_->b,
                   pick(beta, spec_.beta), c, at_->c, d, at_->d, &choice.algorithm, workspace,
                   choice.workspace_bytes, queue),
        "cublasLtMatmul");
  return true;
}

}  // namespace cleave::cuda
