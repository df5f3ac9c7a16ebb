// cuBLASLt's matmul by plain loops over column-major matrices, of what its documentation says of
// layouts; sums in f64, rounded once.
#include <cstring>
#include <vector>

#include "runtime/half.h"
#include "test/backend/simulated_device.h"

namespace cleave::cuda {

struct CublasProductTag {
  CublasCompute compute;
  CublasType scale;
  int32_t transpose_a = 0, transpose_b = 0, epilogue = 1, bias_type = 0;
  const void* bias = nullptr;
};
struct CublasLayoutTag {
  CublasType type;
  int64_t rows, columns, leading, batch_stride = 0;
  int32_t batch = 1;
};
struct CublasPreferenceTag {
  uint64_t workspace = 0;
  uint32_t reductions = 0, alignment[4] = {256, 256, 256, 256};
};

}  // namespace cleave::cuda

namespace cleave::test {
namespace {

using namespace cuda;
constexpr CublasStatus bad_value = 7;

double read(const void* at, CublasType type, int64_t i) {
  switch (type) {
    case CublasType::f64: return static_cast<const double*>(at)[i];
    case CublasType::f32: return static_cast<const float*>(at)[i];
    case CublasType::f16: return static_cast<float>(static_cast<const runtime::F16*>(at)[i]);
    case CublasType::bf16: return static_cast<float>(static_cast<const runtime::Bf16*>(at)[i]);
  }
  return 0;
}
void write(void* at, CublasType type, int64_t i, double x) {
  switch (type) {
    case CublasType::f64: static_cast<double*>(at)[i] = x; break;
    case CublasType::f32: static_cast<float*>(at)[i] = static_cast<float>(x); break;
    case CublasType::f16:
      static_cast<runtime::F16*>(at)[i] = static_cast<runtime::F16>(static_cast<float>(x));
      break;
    case CublasType::bf16:
      static_cast<runtime::Bf16*>(at)[i] = runtime::Bf16(static_cast<float>(x));
      break;
  }
}

template <class Value>
CublasStatus set(Value& to, const void* from, size_t bytes) {
  if (bytes != sizeof(Value)) return bad_value;
  std::memcpy(&to, from, bytes);
  return 0;
}

CublasStatus product_set(CublasProduct p, CublasProductAttribute attribute, const void* from,
                         size_t bytes) {
  switch (attribute) {
    case CublasProductAttribute::transpose_a: return set(p->transpose_a, from, bytes);
    case CublasProductAttribute::transpose_b: return set(p->transpose_b, from, bytes);
    case CublasProductAttribute::epilogue: return set(p->epilogue, from, bytes);
    case CublasProductAttribute::bias: return set(p->bias, from, bytes);
    case CublasProductAttribute::bias_type: return set(p->bias_type, from, bytes);
  }
  return bad_value;
}
CublasStatus layout_set(CublasLayout l, CublasLayoutAttribute attribute, const void* from,
                        size_t bytes) {
  return attribute == CublasLayoutAttribute::batch_count ? set(l->batch, from, bytes)
                                                         : set(l->batch_stride, from, bytes);
}
CublasStatus preference_set(CublasPreference p, CublasPreferenceAttribute attribute,
                            const void* from, size_t bytes) {
  switch (attribute) {
    case CublasPreferenceAttribute::workspace_bytes: return set(p->workspace, from, bytes);
    case CublasPreferenceAttribute::reductions: return set(p->reductions, from, bytes);
    case CublasPreferenceAttribute::alignment_a: return set(p->alignment[0], from, bytes);
    case CublasPreferenceAttribute::alignment_b: return set(p->alignment[1], from, bytes);
    case CublasPreferenceAttribute::alignment_c: return set(p->alignment[2], from, bytes);
    case CublasPreferenceAttribute::alignment_d: return set(p->alignment[3], from, bytes);
  }
  return bad_value;
}

// Whether the matrices fit together as the library wants it.
bool fits(CublasProduct p, CublasLayout a, CublasLayout b, CublasLayout c, CublasLayout d) {
  const int64_t k = p->transpose_a ? a->rows : a->columns;
  for (const CublasLayout l : {a, b, c, d})
    if (l->rows < 1 || l->columns < 1 || l->leading < l->rows || l->batch != d->batch) return false;
  return (p->transpose_a ? a->columns : a->rows) == d->rows &&
         (p->transpose_b ? b->rows : b->columns) == d->columns &&
         (p->transpose_b ? b->columns : b->rows) == k && c->rows == d->rows &&
         c->columns == d->columns && a->type == b->type && c->type == d->type &&
         (p->epilogue == 1 || (p->bias != nullptr && p->compute == CublasCompute::f32));
}

int taken = -1;

CublasStatus heuristic(CublasHandle, CublasProduct p, CublasLayout a, CublasLayout b,
                       CublasLayout c, CublasLayout d, CublasPreference preference, int wanted,
                       CublasHeuristic* found, int* count) {
  *count = 0;
  if (wanted < 1 || !fits(p, a, b, c, d)) return bad_value;
  if (d->rows == 1 && d->columns == 1) return 0;
  for (; *count < std::min(wanted, simulated_answers); ++*count) {
    found[*count] = {};
    found[*count].algorithm.data[0] = preference->alignment[0];
    found[*count].algorithm.data[1] = static_cast<uint64_t>(*count);
    found[*count].workspace_bytes = preference->workspace;
  }
  return 0;
}

CublasStatus matmul(CublasHandle, CublasProduct p, const void* alpha, const void* a,
                    CublasLayout a_at, const void* b, CublasLayout b_at, const void* beta,
                    const void* c, CublasLayout c_at, void* d, CublasLayout d_at,
                    const CublasAlgorithm* algorithm, void*, size_t, void*) {
  if (!fits(p, a_at, b_at, c_at, d_at)) return bad_value;
  for (const void* x : {a, b, c, static_cast<const void*>(d)})
    if (reinterpret_cast<uintptr_t>(x) % algorithm->data[0] != 0) return bad_value;
  taken = static_cast<int>(algorithm->data[1]);
  const double by = read(alpha, p->scale, 0), old = read(beta, p->scale, 0);
  const int64_t k = p->transpose_a ? a_at->rows : a_at->columns;
  for (int64_t n = 0; n < d_at->batch; ++n)
    for (int64_t j = 0; j < d_at->columns; ++j)
      for (int64_t i = 0; i < d_at->rows; ++i) {
        double sum = 0;
        for (int64_t x = 0; x < k; ++x) {
          const int64_t at_a = p->transpose_a ? i * a_at->leading + x : x * a_at->leading + i;
          const int64_t at_b = p->transpose_b ? x * b_at->leading + j : j * b_at->leading + x;
          sum += read(a, a_at->type, n * a_at->batch_stride + at_a) *
                 read(b, b_at->type, n * b_at->batch_stride + at_b);
        }
        sum *= by;
        if (old != 0)
          sum += old * read(c, c_at->type, n * c_at->batch_stride + j * c_at->leading + i);
        if (p->epilogue == cublas_epilogue_bias) sum += read(p->bias, d_at->type, i);
        write(d, d_at->type, n * d_at->batch_stride + j * d_at->leading + i, sum);
      }
  return 0;
}

}  // namespace

int taken_answer() { return taken; }

CublasApi simulated_cublas() {
  CublasApi api{};
  api.create = [](CublasHandle* to) {
    *to = reinterpret_cast<CublasHandle>(to);
    return 0;
  };
  api.destroy = [](CublasHandle) { return 0; };
  api.product_create = [](CublasProduct* to, CublasCompute compute, CublasType scale) {
    *to = new CublasProductTag{.compute = compute, .scale = scale};
    return 0;
  };
  api.product_destroy = [](CublasProduct p) {
    delete p;
    return 0;
  };
  api.product_set = product_set;
  api.layout_create = [](CublasLayout* to, CublasType type, uint64_t rows, uint64_t columns,
                         int64_t leading) {
    *to = new CublasLayoutTag{.type = type,
                              .rows = static_cast<int64_t>(rows),
                              .columns = static_cast<int64_t>(columns),
                              .leading = leading};
    return 0;
  };
  api.layout_destroy = [](CublasLayout l) {
    delete l;
    return 0;
  };
  api.layout_set = layout_set;
  api.preference_create = [](CublasPreference* to) {
    *to = new CublasPreferenceTag;
    return 0;
  };
  api.preference_destroy = [](CublasPreference p) {
    delete p;
    return 0;
  };
  api.preference_set = preference_set;
  api.heuristic = heuristic;
  api.matmul = matmul;
  return api;
}

}  // namespace cleave::test
