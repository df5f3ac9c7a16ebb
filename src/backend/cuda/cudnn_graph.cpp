#include "backend/cuda/cudnn_graph.h"

#include <algorithm>

namespace cleave::cuda {
namespace {

enum Kind : int {  // cudnnBackendDescriptorType_t
  pointwise_kind = 0,
  engine_config = 3,
  heuristic = 4,
  execution_plan = 5,
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
  heuristic_mode = 200,
  heuristic_graph = 201,
  heuristic_results = 202,
  plan_handle = 400,
  plan_config = 401,
  plan_workspace = 402,
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
constexpr int heuristic_a = 3;

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

// --- Plans ---------------------------------------------------------------------------------------

Result<CudnnPlan> CudnnGraph::plan(int64_t most_workspace_bytes) && {
  const CudnnApi& api = cudnn_->api();
  return cudnn_->with_handle(nullptr, [&](CudnnHandle handle) -> Result<CudnnPlan> {
    const CudnnDescriptor graph = made(operation_graph), answers = made(heuristic);
    set(graph, graph_operations, CudnnHolds::descriptor, std::ssize(operations_),
        operations_.data());
    set(graph, graph_handle, CudnnHolds::handle, 1, &handle);
    finalize(graph, "the graph of operations");
    set(answers, heuristic_graph, CudnnHolds::descriptor, 1, &graph);
    set(answers, heuristic_mode, CudnnHolds::heuristic, 1, &heuristic_a);
    finalize(answers, "the heuristic");
    constexpr int64_t most = 8;
    std::vector<CudnnDescriptor> configs;
    for (int64_t i = 0; i < most; ++i) configs.push_back(made(engine_config));
    int64_t count = 0;
    if (failed_ == 0)
      fail(api.graph_get(answers, heuristic_results, CudnnHolds::descriptor, most, &count,
                         configs.data()),
           "the heuristic's answers");
    if (failed_ != 0) return unsupported("cudnn: {}", failure_);
    std::string refused;
    int64_t least = -1;
    for (int64_t i = 0; i < std::min(count, most); ++i) {
      CudnnDescriptor plan = nullptr;
      if (api.graph_create(execution_plan, &plan) != 0) continue;
      CudnnOwned owned(cudnn_, plan);
      int64_t bytes = 0, one = 0;
      CudnnStatus status = api.graph_set(plan, plan_handle, CudnnHolds::handle, 1, &handle);
      if (status == 0)
        status = api.graph_set(plan, plan_config, CudnnHolds::descriptor, 1,
                               &configs[static_cast<size_t>(i)]);
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
    return unsupported("cudnn: none of {} engines takes the graph: {}", count, refused);
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
