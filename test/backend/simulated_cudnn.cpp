#include "test/backend/simulated_cudnn.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "runtime/half.h"

namespace cleave::test {
namespace {

using namespace cuda;
constexpr CudnnStatus bad_param = 2000, not_supported = 3000;
int64_t runs = 0;

double read(const void* at, CudnnType type, int64_t i) {
  switch (type) {
    case CudnnType::f64: return static_cast<const double*>(at)[i];
    case CudnnType::f16: return static_cast<float>(static_cast<const runtime::F16*>(at)[i]);
    case CudnnType::bf16: return static_cast<float>(static_cast<const runtime::Bf16*>(at)[i]);
    default: return static_cast<const float*>(at)[i];
  }
}
void write(void* at, CudnnType type, int64_t i, double x) {
  const auto narrow = static_cast<float>(x);
  switch (type) {
    case CudnnType::f64: static_cast<double*>(at)[i] = x; break;
    case CudnnType::f16:
      static_cast<runtime::F16*>(at)[i] = static_cast<runtime::F16>(narrow);
      break;
    case CudnnType::bf16: static_cast<runtime::Bf16*>(at)[i] = runtime::Bf16(narrow); break;
    default: static_cast<float*>(at)[i] = narrow;
  }
}
double rounded(CudnnType type, double x) {
  if (type == CudnnType::f32) return static_cast<float>(x);  // what is too large is infinite
  if (type != CudnnType::f16 && type != CudnnType::bf16) return x;
  double cell = 0;
  write(&cell, type, 0, x);
  return read(&cell, type, 0);
}

// --- Graphs --------------------------------------------------------------------------------------

struct Node {
  int kind = 0;
  bool is_final = false;
  struct Values {
    CudnnHolds holds;
    int64_t count;
    std::vector<int64_t> words;  // each in 8 bytes
  };
  std::map<int, Values> at;

  int64_t number(int attribute, int64_t otherwise = 0) const {
    const auto found = at.find(attribute);
    return found == at.end() ? otherwise : found->second.words[0];
  }
  Node* node(int attribute) const { return reinterpret_cast<Node*>(number(attribute)); }
  std::array<int64_t, 4> four(int attribute) const {
    std::array<int64_t, 4> out{};
    std::copy_n(at.at(attribute).words.begin(), 4, out.begin());
    return out;
  }
};

size_t bytes_of(CudnnHolds holds) {
  switch (holds) {
    case CudnnHolds::boolean: return 1;
    case CudnnHolds::data_type:
    case CudnnHolds::f32:
    case CudnnHolds::convolution:
    case CudnnHolds::heuristic:
    case CudnnHolds::numerical_note:
    case CudnnHolds::pointwise:
    case CudnnHolds::reduction: return 4;
    default: return 8;
  }
}

// What a node must have been told before it is finalized.
bool is_complete(const Node& n) {
  static const std::map<int, std::vector<int>> needed = {{0, {0, 1}},
                                                         {1, {100, 101, 102, 103, 104, 105, 106}},
                                                         {4, {200, 201}},
                                                         {5, {400, 401}},
                                                         {10, {700, 701, 702, 703, 704, 705}},
                                                         {11, {712, 713, 714, 715, 716, 717}},
                                                         {12, {706, 707, 708, 709, 710, 711}},
                                                         {13, {750, 751, 753}},
                                                         {15, {800, 801}},
                                                         {16, {1000, 1001, 1003}},
                                                         {17, {900, 901, 902, 903, 906}},
                                                         {18, {1500}},
                                                         {19, {1520, 1521, 1522, 1523}},
                                                         {21, {1600, 1601}},
                                                         {22, {1610, 1611, 1612}},
                                                         {31, {2200, 2201}}};
  const auto found = needed.find(n.kind);
  return found != needed.end() && std::ranges::all_of(found->second, [&](int attribute) {
           const auto value = n.at.find(attribute);
           return value != n.at.end() &&
                  (value->second.holds != CudnnHolds::descriptor ||
                   reinterpret_cast<Node*>(value->second.words[0])->is_final);
         });
}

// The numbers of a tensor, row-major.
struct Numbers {
  std::array<int64_t, 4> sizes{};
  std::vector<double> at;
  double& operator()(int64_t a, int64_t b, int64_t c, int64_t d) {
    return at[static_cast<size_t>(((a * sizes[1] + b) * sizes[2] + c) * sizes[3] + d)];
  }
};
template <class F>
void for_each(const std::array<int64_t, 4>& sizes, const F& f) {
  for (int64_t a = 0; a < sizes[0]; ++a)
    for (int64_t b = 0; b < sizes[1]; ++b)
      for (int64_t c = 0; c < sizes[2]; ++c)
        for (int64_t d = 0; d < sizes[3]; ++d) f(std::array{a, b, c, d});
}

class Run {
 public:
  explicit Run(std::map<int64_t, void*> pointers) : pointers_(std::move(pointers)) {}

  void operation(const Node& n) {
    switch (n.kind) {
      case 10: return convolve(n, 700, n.node(705), 703, 704);
      case 11: return convolve(n, 712, n.node(715), 716, 717);
      case 12: return convolve(n, 706, n.node(710), 709, 711);
      case 13: return pointwise(n);
      case 19: return matmul(n);
      case 22: return reduce(n);
      case 31: return reshape(n);
      default: failed = true;
    }
  }
  bool failed = false;

 private:
  static CudnnType type(const Node& tensor) {
    return static_cast<CudnnType>(static_cast<int>(tensor.number(901)));
  }
  static bool is_inner(const Node& tensor) { return tensor.number(907) != 0; }
  void* pointer(const Node& tensor) {
    void* at = pointers_[tensor.number(906)];
    if (at == nullptr || (tensor.number(908) == 0 && reinterpret_cast<uintptr_t>(at) % 16 != 0))
      failed = true;
    return at;
  }
  static int64_t offset(const std::array<int64_t, 4>& i, const std::array<int64_t, 4>& strides) {
    return i[0] * strides[0] + i[1] * strides[1] + i[2] * strides[2] + i[3] * strides[3];
  }

  Numbers& numbers(const Node& tensor) {
    Numbers& x = known_[tensor.number(906)];
    if (!x.at.empty()) return x;
    x = blank(tensor);
    const void* from = is_inner(tensor) ? nullptr : pointer(tensor);
    if (from == nullptr) failed = true;
    if (failed) return x;
    const auto strides = tensor.four(903);
    for_each(x.sizes, [&](const auto& i) {
      x(i[0], i[1], i[2], i[3]) = read(from, type(tensor), offset(i, strides));
    });
    return x;
  }
  static Numbers blank(const Node& tensor) {
    Numbers x{tensor.four(902), {}};
    x.at.resize(static_cast<size_t>(x.sizes[0] * x.sizes[1] * x.sizes[2] * x.sizes[3]));
    return x;
  }
  void put(const Node& tensor, Numbers x) {
    for (double& number : x.at) number = rounded(type(tensor), number);
    if (!is_inner(tensor)) {
      void* to = pointer(tensor);
      if (failed) return;
      const auto strides = tensor.four(903);
      for_each(x.sizes, [&](const auto& i) {
        write(to, type(tensor), offset(i, strides), x(i[0], i[1], i[2], i[3]));
      });
    }
    known_[tensor.number(906)] = std::move(x);
  }

  void pointwise(const Node& n) {
    const Node &how = *n.node(750), &to = *n.node(753);
    Numbers y = blank(to);
    const auto of = [&](int attribute, const std::array<int64_t, 4>& i) {
      Numbers& x = numbers(*n.node(attribute));
      std::array<int64_t, 4> at{};
      for (size_t d = 0; d < 4; ++d) {
        if (x.sizes[d] != 1 && x.sizes[d] != y.sizes[d]) failed = true;
        at[d] = x.sizes[d] == 1 ? 0 : i[d];
      }
      return failed ? 0.0 : x(at[0], at[1], at[2], at[3]);
    };
    const int64_t mode = how.number(0);
    for_each(y.sizes, [&](const auto& i) {
      double& out = y(i[0], i[1], i[2], i[3]);
      switch (mode) {
        case 0: out = of(751, i) + of(752, i); break;
        case 1: out = of(751, i) * of(752, i); break;
        case 6: out = of(751, i) / of(752, i); break;
        case 9: out = of(751, i) - of(752, i); break;
        case 13: out = std::exp(of(751, i)); break;
        case 15: out = std::log(of(751, i)); break;
        case 21: out = of(751, i); break;
        case 303: out = of(751, i) >= of(752, i) ? 1 : 0; break;
        case 501: out = static_cast<double>(i[static_cast<size_t>(how.number(9))]); break;
        case 601: out = of(758, i) != 0 ? of(751, i) : of(752, i); break;
        default: failed = true;
      }
    });
    put(to, std::move(y));
  }

  // The weight, the large tensor and the small one follow each other after `first`, 3 places on; of
  // them `to` is the sum of products of the other two, which are read.
  void convolve(const Node& n, int first, Node* to, int a, int b) {
    const Node& how = *n.node(first + 2);
    float alpha = 0;
    const int64_t word = n.number(first);
    std::memcpy(&alpha, &word, sizeof alpha);
    failed = failed || alpha != 1 || n.number(first + 1) != 0 || how.number(101) != 1 ||
             how.number(106) != 2 || how.at.at(104).words != how.at.at(105).words;
    Numbers* const read[] = {&numbers(*n.node(a)), &numbers(*n.node(b))};
    Numbers out = blank(*to);
    const auto of = [&](int attribute) -> Numbers& {
      return attribute == a ? *read[0] : attribute == b ? *read[1] : out;
    };
    Numbers &w = of(first + 3), &x = of(first + 4), &y = of(first + 5);
    if (w.sizes[1] == 0 || x.sizes[1] % w.sizes[1] != 0) failed = true;
    const int64_t groups = failed ? 1 : x.sizes[1] / w.sizes[1];
    failed =
        failed || w.sizes[0] != y.sizes[1] || w.sizes[0] % groups != 0 || x.sizes[0] != y.sizes[0];
    const auto& dilation = how.at.at(102).words;
    const auto& stride = how.at.at(103).words;
    const auto& padding = how.at.at(105).words;
    for (size_t d = 0; d < 2 && !failed; ++d) {
      const int64_t room = x.sizes[d + 2] + 2 * padding[d] - dilation[d] * (w.sizes[d + 2] - 1) - 1;
      failed = room < 0 || room / stride[d] + 1 != y.sizes[d + 2];
    }
    if (failed) return;
    const int64_t outer = w.sizes[0] / groups;
    for_each(y.sizes, [&](const auto& i) {
      for_each({1, w.sizes[1], w.sizes[2], w.sizes[3]}, [&](const auto& t) {
        const int64_t row = i[2] * stride[0] - padding[0] + t[2] * dilation[0];
        const int64_t column = i[3] * stride[1] - padding[1] + t[3] * dilation[1];
        if (row < 0 || row >= x.sizes[2] || column < 0 || column >= x.sizes[3]) return;
        double& weight = w(i[1], t[1], t[2], t[3]);
        double& large = x(i[0], i[1] / outer * w.sizes[1] + t[1], row, column);
        double& small = y(i[0], i[1], i[2], i[3]);
        if (to == n.node(first + 3)) weight += large * small;
        if (to == n.node(first + 4)) large += weight * small;
        if (to == n.node(first + 5)) small += weight * large;
      });
    });
    put(*to, std::move(out));
  }

  void matmul(const Node& n) {
    Numbers &a = numbers(*n.node(1520)), &b = numbers(*n.node(1521));
    Numbers c = blank(*n.node(1522));
    const int64_t group = b.sizes[1] == 0 ? 0 : c.sizes[1] / b.sizes[1];
    failed = failed || a.sizes[3] != b.sizes[2] || a.sizes[2] != c.sizes[2] ||
             b.sizes[3] != c.sizes[3] || a.sizes[1] != c.sizes[1] ||
             b.sizes[1] * group != c.sizes[1] || a.sizes[0] != c.sizes[0] ||
             b.sizes[0] != c.sizes[0];
    if (failed) return;
    for_each(c.sizes, [&](const auto& i) {
      double sum = 0;
      for (int64_t k = 0; k < a.sizes[3]; ++k)
        sum += a(i[0], i[1], i[2], k) * b(i[0], i[1] / group, k, i[3]);
      c(i[0], i[1], i[2], i[3]) = sum;
    });
    put(*n.node(1522), std::move(c));
  }

  void reduce(const Node& n) {
    Numbers& x = numbers(*n.node(1610));
    Numbers y = blank(*n.node(1611));
    const bool is_max = n.node(1612)->number(1600) == 3;
    if (is_max) std::ranges::fill(y.at, -INFINITY);
    std::array<int64_t, 4> part{};
    for (size_t d = 0; d < 4; ++d) {
      failed = failed || y.sizes[d] == 0 || x.sizes[d] % y.sizes[d] != 0;
      part[d] = failed ? 1 : x.sizes[d] / y.sizes[d];
    }
    if (failed) return;
    for_each(x.sizes, [&](const auto& i) {
      double& to = y(i[0] / part[0], i[1] / part[1], i[2] / part[2], i[3] / part[3]);
      const double number = x(i[0], i[1], i[2], i[3]);
      to = is_max ? std::max(to, number) : to + number;
    });
    put(*n.node(1611), std::move(y));
  }

  // The same memory with other sizes and strides.
  void reshape(const Node& n) {
    const Node &from = *n.node(2200), &to = *n.node(2201);
    Numbers& x = numbers(from);
    std::map<int64_t, double> memory;
    const auto strides = from.four(903), to_strides = to.four(903);
    for_each(x.sizes,
             [&](const auto& i) { memory[offset(i, strides)] = x(i[0], i[1], i[2], i[3]); });
    Numbers y = blank(to);
    for_each(y.sizes, [&](const auto& i) {
      const auto found = memory.find(offset(i, to_strides));
      failed = failed || found == memory.end();
      if (!failed) y(i[0], i[1], i[2], i[3]) = found->second;
    });
    put(to, std::move(y));
  }

  std::map<int64_t, void*> pointers_;
  std::map<int64_t, Numbers> known_;
};

Node* as_node(CudnnDescriptor at) { return static_cast<Node*>(at); }

CudnnStatus graph_set(CudnnDescriptor at, int attribute, CudnnHolds holds, int64_t count,
                      const void* values) {
  Node& n = *as_node(at);
  if (n.is_final || count < 1) return bad_param;
  Node::Values v{holds, count, {}};
  const size_t size = bytes_of(holds);
  for (int64_t i = 0; i < count; ++i) {
    int64_t word = 0;
    std::memcpy(&word, static_cast<const char*>(values) + static_cast<size_t>(i) * size, size);
    v.words.push_back(word);
  }
  n.at[attribute] = std::move(v);
  return 0;
}
constexpr int notes_at = -1;  // of a configuration or engine that isn't exact

CudnnStatus graph_get(CudnnDescriptor at, int attribute, CudnnHolds holds, int64_t most,
                      int64_t* count, void* values) {
  if (!as_node(at)->is_final || most < 1) return bad_param;
  *count = 1;
  if (attribute == 402 && holds == CudnnHolds::i64) {
    *static_cast<int64_t*>(values) = 0;
    return 0;
  }
  if (attribute == 1303 && holds == CudnnHolds::numerical_note) {
    *static_cast<int*>(values) = as_node(at)->at.contains(notes_at) ? 4 : 0;
    return 0;
  }
  if (holds != CudnnHolds::descriptor) return bad_param;
  if (attribute == 300) {
    Node* engine = as_node(*static_cast<CudnnDescriptor*>(values));
    if (as_node(at)->at.contains(notes_at)) engine->at[notes_at] = {};
    engine->is_final = true;
    return 0;
  }
  if (attribute != 202) return bad_param;
  // Convolutions have a first answer whose bits may differ from run to run: not to be chosen.
  const Node* graph = as_node(at)->node(201);
  const int64_t kind = reinterpret_cast<const Node*>(graph->at.at(801).words[0])->kind;
  const bool is_convolution = kind >= 10 && kind <= 12;
  *count = is_convolution ? 2 : 1;
  if (most < *count) return bad_param;
  for (int64_t i = 0; i < *count; ++i) {
    Node* config = as_node(static_cast<CudnnDescriptor*>(values)[i]);
    config->at[201] = as_node(at)->at[201];
    if (is_convolution && i == 0) config->at[notes_at] = {};
    config->is_final = true;
  }
  return 0;
}
CudnnStatus graph_execute(CudnnHandle, CudnnDescriptor plan, CudnnDescriptor pack) {
  const Node &p = *as_node(plan), &v = *as_node(pack);
  if (!p.is_final || !v.is_final || v.at.at(1000).count != v.at.at(1001).count) return bad_param;
  std::map<int64_t, void*> pointers;
  for (size_t i = 0; i < v.at.at(1000).words.size(); ++i)
    pointers[v.at.at(1000).words[i]] = reinterpret_cast<void*>(v.at.at(1001).words[i]);
  Run run(std::move(pointers));
  for (const int64_t operation : p.node(401)->node(201)->at.at(801).words) {
    if (p.node(401)->at.contains(notes_at)) return not_supported;
    run.operation(*reinterpret_cast<Node*>(operation));
    if (run.failed) return not_supported;
  }
  ++runs;
  return 0;
}

// --- Convolutions --------------------------------------------------------------------------------

struct Tensor {
  CudnnType type{};
  std::vector<int> sizes, strides;
  bool channels_last = false;  // of a filter
};
struct How {
  std::vector<int> padding, stride, dilation;
  int groups = 1, math = 0;
  CudnnType computed_in{};
};

// Calls f(large, weight, small) with the elements of every term; false if sizes don't fit.
template <class F>
bool for_each_term(const Tensor& x, const Tensor& w, const How& how, const Tensor& y, const F& f) {
  const size_t dims = how.padding.size();
  if (x.sizes.size() != dims + 2 || y.sizes.size() != dims + 2 || w.sizes.size() != dims + 2 ||
      w.sizes[0] != y.sizes[1] || w.sizes[1] * how.groups != x.sizes[1] || x.sizes[0] != y.sizes[0])
    return false;
  int64_t positions = 1, taps = 1;
  for (size_t d = 0; d < dims; ++d) {
    const int room =
        x.sizes[d + 2] + 2 * how.padding[d] - how.dilation[d] * (w.sizes[d + 2] - 1) - 1;
    if (room < 0 || room / how.stride[d] + 1 != y.sizes[d + 2]) return false;
    positions *= y.sizes[d + 2];
    taps *= w.sizes[d + 2];
  }
  const int64_t inner = w.sizes[1], outer = w.sizes[0] / how.groups;
  for (int64_t n = 0; n < x.sizes[0]; ++n)
    for (int64_t c = 0; c < y.sizes[1]; ++c)
      for (int64_t l = 0; l < inner; ++l)
        for (int64_t o = 0; o < positions; ++o)
          for (int64_t t = 0; t < taps; ++t) {
            int64_t from = n * x.strides[0] + (c / outer * inner + l) * x.strides[1];
            int64_t to = n * y.strides[0] + c * y.strides[1], rest = o, tap = t;
            bool is_inside = true;
            for (size_t d = dims; d-- > 0;) {
              const int64_t position = rest % y.sizes[d + 2], at = tap % w.sizes[d + 2];
              rest /= y.sizes[d + 2], tap /= w.sizes[d + 2];
              const int64_t i = position * how.stride[d] - how.padding[d] + at * how.dilation[d];
              is_inside = is_inside && i >= 0 && i < x.sizes[d + 2];
              from += i * x.strides[d + 2];
              to += position * y.strides[d + 2];
            }
            const int64_t of_weight =
                w.channels_last ? (c * taps + t) * inner + l : (c * inner + l) * taps + t;
            if (is_inside) f(from, of_weight, to);
          }
  return true;
}

int64_t count_of(const Tensor& t) {
  int64_t out = 1;
  for (const int size : t.sizes) out *= size;
  return out;
}
// to = the sums of a b by for_each_term's elements.
template <class Pick>
CudnnStatus convolve(const Tensor& x, const Tensor& w, const How& how, const Tensor& y,
                     const Tensor& to, void* out, const Pick& pick) {
  std::vector<double> sums(static_cast<size_t>(count_of(to)));
  const bool fits = for_each_term(x, w, how, y, [&](int64_t l, int64_t k, int64_t s) {
    const auto& [at, product] = pick(l, k, s);
    sums[static_cast<size_t>(at)] += product;
  });
  if (!fits) return bad_param;
  for (size_t i = 0; i < sums.size(); ++i) write(out, to.type, static_cast<int64_t>(i), sums[i]);
  ++runs;
  return 0;
}

CudnnStatus algorithms(int wanted, int* count, CudnnAlgorithm* found) {
  if (wanted < 2) return bad_param;
  found[0] = {.algorithm = 0, .status = 0, .is_deterministic = 0};  // not to be chosen
  found[1] = {.algorithm = 1, .status = 0, .workspace_bytes = 64, .is_deterministic = 1};
  *count = 2;
  return 0;
}
const Tensor& tensor(void* at) { return *static_cast<Tensor*>(at); }
const How& how(void* at) { return *static_cast<How*>(at); }
std::vector<int> list(int count, const int* values) { return {values, values + count}; }

}  // namespace

int64_t simulated_cudnn_runs() { return runs; }

CudnnApi simulated_cudnn(SimulatedCudnn which) {
  CudnnApi api;
  api.version = [] { return size_t{92800}; };
  if (which == SimulatedCudnn::reads_past_keys) api.version = [] { return size_t{91400}; };
  api.create = [](CudnnHandle* to) {
    *to = reinterpret_cast<CudnnHandle>(to);
    return 0;
  };
  api.destroy = [](CudnnHandle) { return 0; };
  api.set_stream = [](CudnnHandle, void*) { return 0; };
  api.graph_create = [](int kind, CudnnDescriptor* to) {
    *to = new Node{.kind = kind, .at = {}};
    return 0;
  };
  api.graph_destroy = [](CudnnDescriptor at) {
    delete as_node(at);
    return 0;
  };
  api.graph_finalize = [](CudnnDescriptor at) {
    if (!is_complete(*as_node(at))) return bad_param;
    as_node(at)->is_final = true;
    return 0;
  };
  api.graph_set = graph_set;
  api.graph_get = graph_get;
  api.graph_execute = graph_execute;
  const auto create_tensor = [](void** to) {
    *to = new Tensor;
    return 0;
  };
  const auto destroy_tensor = [](void* at) {
    delete static_cast<Tensor*>(at);
    return 0;
  };
  api.tensor_create = api.filter_create = create_tensor;
  api.tensor_destroy = api.filter_destroy = destroy_tensor;
  api.tensor_set = [](void* at, CudnnType type, int count, const int* sizes, const int* strides) {
    *static_cast<Tensor*>(at) = {type, list(count, sizes), list(count, strides), false};
    return count < 4 ? bad_param : 0;
  };
  api.filter_set = [](void* at, CudnnType type, int format, int count, const int* sizes) {
    *static_cast<Tensor*>(at) = {type, list(count, sizes), {}, format == 1};
    return format <= 1 && count >= 4 ? 0 : bad_param;
  };
  api.convolution_create = [](void** to) {
    *to = new How;
    return 0;
  };
  api.convolution_destroy = [](void* at) {
    delete static_cast<How*>(at);
    return 0;
  };
  api.convolution_set = [](void* at, int count, const int* padding, const int* stride,
                           const int* dilation, int mode, CudnnType type) {
    *static_cast<How*>(at) = {.padding = list(count, padding),
                              .stride = list(count, stride),
                              .dilation = list(count, dilation),
                              .computed_in = type};
    return mode == 1 ? 0 : bad_param;  // a cross-correlation
  };
  api.convolution_math = [](void* at, int math) {
    static_cast<How*>(at)->math = math;
    return 0;
  };
  api.convolution_groups = [](void* at, int groups) {
    static_cast<How*>(at)->groups = groups;
    return 0;
  };
  api.forward_algorithms = [](CudnnHandle, void*, void*, void*, void*, int wanted, int* count,
                              CudnnAlgorithm* found) { return algorithms(wanted, count, found); };
  api.data_algorithms = api.filter_algorithms = api.forward_algorithms;
  api.forward = [](CudnnHandle, const void*, void* x, const void* from, void* w, const void* by,
                   void* at, int algorithm, void*, size_t, const void*, void* y, void* to) {
    if (algorithm != 1) return bad_param;
    return convolve(tensor(x), tensor(w), how(at), tensor(y), tensor(y), to,
                    [&](int64_t l, int64_t k, int64_t s) {
                      return std::pair(s,
                                       read(from, tensor(x).type, l) * read(by, tensor(w).type, k));
                    });
  };
  api.backward_data = [](CudnnHandle, const void*, void* w, const void* by, void* y,
                         const void* from, void* at, int algorithm, void*, size_t, const void*,
                         void* x, void* to) {
    if (algorithm != 1) return bad_param;
    return convolve(tensor(x), tensor(w), how(at), tensor(y), tensor(x), to,
                    [&](int64_t l, int64_t k, int64_t s) {
                      return std::pair(l,
                                       read(from, tensor(y).type, s) * read(by, tensor(w).type, k));
                    });
  };
  api.backward_filter = [](CudnnHandle, const void*, void* x, const void* large, void* y,
                           const void* small, void* at, int algorithm, void*, size_t, const void*,
                           void* w, void* to) {
    if (algorithm != 1) return bad_param;
    return convolve(tensor(x), tensor(w), how(at), tensor(y), tensor(w), to,
                    [&](int64_t l, int64_t k, int64_t s) {
                      return std::pair(
                          k, read(large, tensor(x).type, l) * read(small, tensor(y).type, s));
                    });
  };
  return api;
}

}  // namespace cleave::test
