#include "backend/cuda/cudnn_graph.h"

#include <algorithm>

namespace cleave::cuda {
namespace {

enum Kind : int {  // cudnnBackendDescriptorType_t
  pointwise_kind = 0,
  convolution_kind = 1,
  engine = 2,
  engine_config = 3,
  heuristic = 4,
  execution_plan = 5,
  convolution_operation = 10,
  weight_gradient_operation = 11,
  data_gradient_operation = 12,
  pointwise_operation = 13,
  operation_graph = 15,
  variant_pack = 16,
  tensor_kind = 17,
  matmul_kind = 18,
  matmul_operation = 19,
  reduction_kind = 21,
  reduction_operation = 22,
  reshape_operation = 31
};
enum Attribute : int {  // cudnnBackendAttributeName_t
  pointwise_mode = 0,
  pointwise_precision = 1,
  pointwise_axis = 9,
  convolution_precision = 100,
  convolution_mode = 101,
  convolution_dilation = 102,
  convolution_stride = 103,
  convolution_padding_after = 104,
  convolution_padding_before = 105,
  convolution_dims = 106,
  heuristic_mode = 200,
  heuristic_graph = 201,
  heuristic_results = 202,
  config_engine = 300,
  plan_handle = 400,
  plan_config = 401,
  plan_workspace = 402,
  convolution_alpha = 700,
  data_gradient_alpha = 706,
  weight_gradient_alpha = 712,
  pointwise_descriptor = 750,
  pointwise_x = 751,
  pointwise_b = 752,
  pointwise_y = 753,
  pointwise_t = 758,
  graph_handle = 800,
  graph_operations = 801,
  tensor_alignment = 900,
  tensor_type = 901,
  tensor_sizes = 902,
  tensor_strides = 903,
  tensor_number = 906,
  tensor_is_inner = 907,
  tensor_is_by_value = 908,
  pack_numbers = 1000,
  pack_pointers = 1001,
  pack_workspace = 1003,
  engine_notes = 1303,
  matmul_precision = 1500,
  matmul_a = 1520,
  matmul_b = 1521,
  matmul_c = 1522,
  matmul_descriptor = 1523,
  reduction_operator = 1600,
  reduction_precision = 1601,
  reduction_x = 1610,
  reduction_y = 1611,
  reduction_descriptor = 1612,
  reshape_x = 2200,
  reshape_y = 2201
};
constexpr int heuristic_a = 3, heuristic_fallback = 2;
// cudnnBackendNumericalNote_t, of those that exact engines lack: inputs that are rounded, sums in
// less than f32, other bits from run to run, Winograd's transforms.
constexpr int inexact_notes[] = {1, 2, 4, 5, 6, 7, 8};

Sizes4 row_major(const Sizes4& sizes) {
  return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
}

}  // namespace

void CudnnGraph::fail(CudnnStatus status, const char* what) {
  if (status == 0 || failed_ != 0) return;
  failed_ = status;
  failure_ = fmt::format("{}: {}", what, cudnn_->message(status));
}

CudnnDescriptor CudnnGraph::made(int kind) {
  CudnnDescriptor at = nullptr;
  fail(cudnn_->api().graph_create(kind, &at), "a descriptor");
  parts_.emplace_back(cudnn_, at);
  return at;
}

void CudnnGraph::set(CudnnDescriptor at, int attribute, CudnnHolds holds, int64_t count,
                     const void* values) {
  if (failed_ == 0)
    fail(cudnn_->api().graph_set(at, attribute, holds, count, values), "an attribute");
}

void CudnnGraph::finalize(CudnnDescriptor at, const char* what) {
  if (failed_ == 0) fail(cudnn_->api().graph_finalize(at), what);
}

// --- Tensors -------------------------------------------------------------------------------------

int64_t CudnnGraph::add_tensor(CudnnType type, const Sizes4& sizes, const Sizes4& strides,
                               bool is_inner, bool is_number) {
  const CudnnDescriptor at = made(tensor_kind);
  const auto number = static_cast<int64_t>(tensors_.size()) + 1;
  const int64_t alignment = 16;
  set(at, tensor_type, CudnnHolds::data_type, 1, &type);
  set(at, tensor_sizes, CudnnHolds::i64, 4, sizes.data());
  set(at, tensor_strides, CudnnHolds::i64, 4, strides.data());
  set(at, tensor_number, CudnnHolds::i64, 1, &number);
  set(at, tensor_alignment, CudnnHolds::i64, 1, &alignment);
  if (is_inner) set(at, tensor_is_inner, CudnnHolds::boolean, 1, &is_inner);
  if (is_number) set(at, tensor_is_by_value, CudnnHolds::boolean, 1, &is_number);
  finalize(at, "a tensor");
  tensors_.push_back(at);
  return number;
}

int64_t CudnnGraph::tensor(CudnnType type, const Sizes4& sizes, const Sizes4& strides) {
  return add_tensor(type, sizes, strides, false, false);
}
int64_t CudnnGraph::inner(CudnnType type, const Sizes4& sizes) {
  return inner(type, sizes, row_major(sizes));
}
int64_t CudnnGraph::inner(CudnnType type, const Sizes4& sizes, const Sizes4& strides) {
  return add_tensor(type, sizes, strides, true, false);
}
int64_t CudnnGraph::number() {
  return add_tensor(CudnnType::f32, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
}

void CudnnGraph::set_tensor(CudnnDescriptor at, int attribute, int64_t tensor) {
  set(at, attribute, CudnnHolds::descriptor, 1, &tensors_[static_cast<size_t>(tensor - 1)]);
}

// --- Operations ----------------------------------------------------------------------------------

int64_t CudnnGraph::matmul(int64_t a, int64_t b, int64_t to) {
  const CudnnDescriptor how = made(matmul_kind), at = made(matmul_operation);
  const CudnnType type = CudnnType::f32;
  set(how, matmul_precision, CudnnHolds::data_type, 1, &type);
  finalize(how, "a product's description");
  set_tensor(at, matmul_a, a);
  set_tensor(at, matmul_b, b);
  set_tensor(at, matmul_c, to);
  set(at, matmul_descriptor, CudnnHolds::descriptor, 1, &how);
  finalize(at, "a product");
  operations_.push_back(at);
  return to;
}

int64_t CudnnGraph::pointwise(CudnnPointwise mode, std::vector<int64_t> from, int64_t to,
                              CudnnType computed_in) {
  return pointwise_of(mode, from, to, computed_in, std::nullopt);
}

int64_t CudnnGraph::index(int64_t like, int64_t dim, int64_t to) {
  return pointwise_of(CudnnPointwise::index, {like}, to, CudnnType::f32, dim);
}

int64_t CudnnGraph::pointwise_of(CudnnPointwise mode, const std::vector<int64_t>& from, int64_t to,
                                 CudnnType computed_in, std::optional<int64_t> axis) {
  const CudnnDescriptor how = made(pointwise_kind), at = made(pointwise_operation);
  set(how, pointwise_mode, CudnnHolds::pointwise, 1, &mode);
  set(how, pointwise_precision, CudnnHolds::data_type, 1, &computed_in);
  if (axis) set(how, pointwise_axis, CudnnHolds::i64, 1, &*axis);
  finalize(how, "a pointwise description");
  constexpr int positions[] = {pointwise_x, pointwise_b, pointwise_t};
  set(at, pointwise_descriptor, CudnnHolds::descriptor, 1, &how);
  for (size_t i = 0; i < from.size(); ++i) set_tensor(at, positions[i], from[i]);
  set_tensor(at, pointwise_y, to);
  finalize(at, "a pointwise operation");
  operations_.push_back(at);
  return to;
}

int64_t CudnnGraph::reduce(CudnnReduction mode, int64_t from, int64_t to) {
  const CudnnDescriptor how = made(reduction_kind), at = made(reduction_operation);
  const CudnnType type = CudnnType::f32;
  set(how, reduction_operator, CudnnHolds::reduction, 1, &mode);
  set(how, reduction_precision, CudnnHolds::data_type, 1, &type);
  finalize(how, "a reduction's description");
  set_tensor(at, reduction_x, from);
  set_tensor(at, reduction_y, to);
  set(at, reduction_descriptor, CudnnHolds::descriptor, 1, &how);
  finalize(at, "a reduction");
  operations_.push_back(at);
  return to;
}

int64_t CudnnGraph::reshape(int64_t from, int64_t to) {
  const CudnnDescriptor at = made(reshape_operation);
  set_tensor(at, reshape_x, from);
  set_tensor(at, reshape_y, to);
  finalize(at, "a reshape");
  operations_.push_back(at);
  return to;
}

// The attributes of all three: alpha, beta, the description, then weight, large and small tensor.
int64_t CudnnGraph::convolution_of(int kind, int first_attribute, const CudnnWindows& how,
                                   const Operands& operands, int64_t to) {
  const CudnnDescriptor windows = made(convolution_kind), at = made(kind);
  const CudnnType type = CudnnType::f32;
  constexpr int cross_correlation = 1;
  constexpr int64_t dims = 2;
  constexpr float alpha = 1, beta = 0;
  set(windows, convolution_precision, CudnnHolds::data_type, 1, &type);
  set(windows, convolution_mode, CudnnHolds::convolution, 1, &cross_correlation);
  set(windows, convolution_dims, CudnnHolds::i64, 1, &dims);
  set(windows, convolution_dilation, CudnnHolds::i64, dims, how.dilation.data());
  set(windows, convolution_stride, CudnnHolds::i64, dims, how.stride.data());
  set(windows, convolution_padding_before, CudnnHolds::i64, dims, how.padding.data());
  set(windows, convolution_padding_after, CudnnHolds::i64, dims, how.padding.data());
  finalize(windows, "a convolution's description");
  set(at, first_attribute, CudnnHolds::f32, 1, &alpha);
  set(at, first_attribute + 1, CudnnHolds::f32, 1, &beta);
  set(at, first_attribute + 2, CudnnHolds::descriptor, 1, &windows);
  set_tensor(at, first_attribute + 3, operands.weight);
  set_tensor(at, first_attribute + 4, operands.large);
  set_tensor(at, first_attribute + 5, operands.small);
  finalize(at, "a convolution");
  operations_.push_back(at);
  return to;
}

int64_t CudnnGraph::convolve(const CudnnWindows& how, int64_t large, int64_t weight,
                             int64_t small) {
  return convolution_of(convolution_operation, convolution_alpha, how, {large, weight, small},
                        small);
}
int64_t CudnnGraph::convolve_to_large(const CudnnWindows& how, int64_t small, int64_t weight,
                                      int64_t large) {
  return convolution_of(data_gradient_operation, data_gradient_alpha, how, {large, weight, small},
                        large);
}
int64_t CudnnGraph::convolve_to_weight(const CudnnWindows& how, int64_t large, int64_t small,
                                       int64_t weight) {
  return convolution_of(weight_gradient_operation, weight_gradient_alpha, how,
                        {large, weight, small}, weight);
}

// --- Plans ---------------------------------------------------------------------------------------

// The heuristic's, best first.
std::vector<CudnnDescriptor> CudnnGraph::answers(CudnnDescriptor graph, int mode) {
  const CudnnDescriptor asked = made(heuristic);
  set(asked, heuristic_graph, CudnnHolds::descriptor, 1, &graph);
  set(asked, heuristic_mode, CudnnHolds::heuristic, 1, &mode);
  finalize(asked, "the heuristic");
  constexpr int64_t most = 24;
  std::vector<CudnnDescriptor> configs;
  for (int64_t i = 0; i < most; ++i) configs.push_back(made(engine_config));
  int64_t count = 0;
  if (failed_ == 0)
    fail(cudnn_->api().graph_get(asked, heuristic_results, CudnnHolds::descriptor, most, &count,
                                 configs.data()),
         "the heuristic's answers");
  configs.resize(failed_ == 0 ? static_cast<size_t>(std::clamp<int64_t>(count, 0, most)) : 0);
  return configs;
}

bool CudnnGraph::is_exact(CudnnDescriptor config) {
  const CudnnApi& api = cudnn_->api();
  CudnnDescriptor at = made(engine);
  int64_t count = 0;
  constexpr int64_t most = 16;
  int notes[most] = {};
  if (failed_ != 0 ||
      api.graph_get(config, config_engine, CudnnHolds::descriptor, 1, &count, &at) != 0 ||
      api.graph_get(at, engine_notes, CudnnHolds::numerical_note, most, &count, notes) != 0)
    return false;
  return std::none_of(notes, notes + std::min(count, most), [](int note) {
    return std::ranges::find(inexact_notes, note) != std::end(inexact_notes);
  });
}

Result<CudnnPlan> CudnnGraph::plan(int64_t most_workspace_bytes, CudnnEngines engines) && {
  const CudnnApi& api = cudnn_->api();
  return cudnn_->with_handle(nullptr, [&](CudnnHandle handle) -> Result<CudnnPlan> {
    const CudnnDescriptor graph = made(operation_graph);
    set(graph, graph_operations, CudnnHolds::descriptor, std::ssize(operations_),
        operations_.data());
    set(graph, graph_handle, CudnnHolds::handle, 1, &handle);
    finalize(graph, "the graph of operations");
    std::vector<CudnnDescriptor> configs = answers(graph, heuristic_a);
    if (failed_ != 0) return unsupported("cudnn: {}", failure_);
    if (engines == CudnnEngines::exact) {
      std::vector<CudnnDescriptor> more = answers(graph, heuristic_fallback);
      failed_ = 0;
      configs.insert(configs.end(), more.begin(), more.end());
      std::erase_if(configs, [&](CudnnDescriptor config) { return !is_exact(config); });
    }
    std::string refused;
    int64_t least = -1;
    for (CudnnDescriptor config : configs) {
      CudnnDescriptor plan = nullptr;
      if (api.graph_create(execution_plan, &plan) != 0) continue;
      CudnnOwned owned(cudnn_, plan);
      int64_t bytes = 0, one = 0;
      CudnnStatus status = api.graph_set(plan, plan_handle, CudnnHolds::handle, 1, &handle);
      if (status == 0)
        status = api.graph_set(plan, plan_config, CudnnHolds::descriptor, 1, &config);
      if (status == 0) status = api.graph_finalize(plan);
      if (status == 0)
        status = api.graph_get(plan, plan_workspace, CudnnHolds::i64, 1, &one, &bytes);
      if (status != 0) {
        refused = cudnn_->message(status);
        continue;
      }
      least = least < 0 ? bytes : std::min(least, bytes);
      if (bytes > most_workspace_bytes) continue;
      parts_.push_back(std::move(owned));
      return CudnnPlan(cudnn_, std::move(parts_), bytes);
    }
    if (least >= 0)
      return unsupported("cudnn: the plan takes {} bytes of workspace, expected at most {}", least,
                         most_workspace_bytes);
    return unsupported("cudnn: none of {} engines takes the graph: {}", configs.size(), refused);
  });
}

void CudnnPlan::run(const std::vector<std::pair<int64_t, const void*>>& pointers, void* workspace,
                    void* queue) const {
  const CudnnApi& api = cudnn_->api();
  std::vector<int64_t> numbers;
  std::vector<const void*> values;
  for (const auto& [number, pointer] : pointers) {
    numbers.push_back(number);
    values.push_back(pointer);
  }
  CudnnDescriptor pack = nullptr;
  CudnnStatus status = api.graph_create(variant_pack, &pack);
  const CudnnOwned owned(cudnn_, pack);
  const auto set = [&](int attribute, CudnnHolds holds, int64_t count, const void* from) {
    if (status == 0) status = api.graph_set(pack, attribute, holds, count, from);
  };
  set(pack_numbers, CudnnHolds::i64, std::ssize(numbers), numbers.data());
  set(pack_pointers, CudnnHolds::pointer, std::ssize(values), values.data());
  set(pack_workspace, CudnnHolds::pointer, 1, &workspace);
  if (status == 0) status = api.graph_finalize(pack);
  if (status == 0)
    status = cudnn_->with_handle(queue, [&](CudnnHandle handle) {
      return api.graph_execute(handle, parts_.back().get(), pack);
    });
  if (status != 0) throw_bug("cudnnBackendExecute: {}", cudnn_->message(status));
}

}  // namespace cleave::cuda
