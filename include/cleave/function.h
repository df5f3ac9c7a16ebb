// Functions of Tensors. Names, arguments, defaults and types are those of torch and
// torch.nn.functional; functions that ATen's core set lacks (matmul, linear, cross_entropy, ...)
// are composed of its operators, as in PyTorch's own decompositions.
//
//   Tensor y = softmax(matmul(q, k.transpose(-2, -1)) / 8.0, -1);
//
// Each function returns new Tensors, adds one or a few nodes, and throws cleave::Error at the
// caller's line if a rule of its operator is violated.
#pragma once
#include <optional>
#include <variant>

#include "cleave/tensor.h"

namespace cleave {

using Sizes = std::vector<int64_t>;
using Tensors = std::vector<Tensor>;

#define CLEAVE_UNARY(name) \
  CLEAVE_API Tensor name(const Tensor& self, Location at = Location::current())
#define CLEAVE_BINARY(name)                                         \
  CLEAVE_API Tensor name(const Operand& self, const Operand& other, \
                         Location at = Location::current())

// ---- of each element
CLEAVE_UNARY(neg);
CLEAVE_UNARY(abs);
CLEAVE_UNARY(sign);
CLEAVE_UNARY(exp);
CLEAVE_UNARY(expm1);
CLEAVE_UNARY(log);
CLEAVE_UNARY(log2);
CLEAVE_UNARY(log10);
CLEAVE_UNARY(log1p);
CLEAVE_UNARY(sqrt);
CLEAVE_UNARY(rsqrt);
CLEAVE_UNARY(reciprocal);
CLEAVE_UNARY(square);
CLEAVE_UNARY(sin);
CLEAVE_UNARY(cos);
CLEAVE_UNARY(tan);
CLEAVE_UNARY(asin);
CLEAVE_UNARY(acos);
CLEAVE_UNARY(atan);
CLEAVE_UNARY(sinh);
CLEAVE_UNARY(cosh);
CLEAVE_UNARY(tanh);
CLEAVE_UNARY(asinh);
CLEAVE_UNARY(acosh);
CLEAVE_UNARY(atanh);
CLEAVE_UNARY(erf);
CLEAVE_UNARY(sigmoid);
CLEAVE_UNARY(relu);
CLEAVE_UNARY(silu);
CLEAVE_UNARY(softplus);
CLEAVE_UNARY(floor);
CLEAVE_UNARY(ceil);
CLEAVE_UNARY(trunc);
CLEAVE_UNARY(round);
CLEAVE_UNARY(isnan);
CLEAVE_UNARY(isinf);
CLEAVE_UNARY(logical_not);
CLEAVE_UNARY(bitwise_not);
CLEAVE_API Tensor gelu(const Tensor& self, const std::string& approximate = "none",
                       Location at = Location::current());
CLEAVE_API Tensor elu(const Tensor& self, double alpha = 1, Location at = Location::current());
CLEAVE_API Tensor leaky_relu(const Tensor& self, double negative_slope = 0.01,
                             Location at = Location::current());
CLEAVE_API Tensor hardtanh(const Tensor& self, double min_val = -1, double max_val = 1,
                           Location at = Location::current());
CLEAVE_API Tensor clamp(const Tensor& self, std::optional<Number> min,
                        std::optional<Number> max = std::nullopt,
                        Location at = Location::current());
// More activations, composed of the functions above. Slopes at a kink are PyTorch's.
CLEAVE_UNARY(relu6);        // min(max(x, 0), 6)
CLEAVE_UNARY(selu);         // 1.0507 (x > 0 ? x : 1.67326 expm1(x)), with more digits
CLEAVE_UNARY(hardsigmoid);  // relu6(x + 3) / 6
CLEAVE_UNARY(hardswish);    // x relu6(x + 3) / 6
CLEAVE_UNARY(mish);         // x tanh(softplus(x))
CLEAVE_UNARY(logsigmoid);   // log(sigmoid(x))
CLEAVE_UNARY(softsign);     // x / (1 + |x|)
CLEAVE_UNARY(tanhshrink);   // x - tanh(x)
// x > 0 ? x : alpha expm1(x / alpha)
CLEAVE_API Tensor celu(const Tensor& self, double alpha = 1, Location at = Location::current());
// x - lambd above lambd, x + lambd below -lambd, 0 in between
CLEAVE_API Tensor softshrink(const Tensor& self, double lambd = 0.5,
                             Location at = Location::current());
// 0 in [-lambd, lambd], else x
CLEAVE_API Tensor hardshrink(const Tensor& self, double lambd = 0.5,
                             Location at = Location::current());
// x > threshold ? x : value
CLEAVE_API Tensor threshold(const Tensor& self, double threshold, double value,
                            Location at = Location::current());
// x > 0 ? x : weight x; weight [1], or [C] for self [N,C,*]
CLEAVE_API Tensor prelu(const Tensor& self, const Tensor& weight,
                        Location at = Location::current());
// a sigmoid(b), where a and b are the halves of self along dim
CLEAVE_API Tensor glu(const Tensor& self, int64_t dim = -1, Location at = Location::current());

// ---- of two, broadcast against each other
CLEAVE_API Tensor add(const Operand& self, const Operand& other, const Number& alpha = 1,
                      Location at = Location::current());
CLEAVE_API Tensor sub(const Operand& self, const Operand& other, const Number& alpha = 1,
                      Location at = Location::current());
CLEAVE_BINARY(mul);
CLEAVE_BINARY(pow);
CLEAVE_BINARY(fmod);
CLEAVE_BINARY(remainder);
CLEAVE_BINARY(atan2);
CLEAVE_BINARY(maximum);
CLEAVE_BINARY(minimum);
CLEAVE_BINARY(eq);
CLEAVE_BINARY(ne);
CLEAVE_BINARY(lt);
CLEAVE_BINARY(le);
CLEAVE_BINARY(gt);
CLEAVE_BINARY(ge);
CLEAVE_BINARY(logical_and);
CLEAVE_BINARY(logical_or);
CLEAVE_BINARY(logical_xor);
CLEAVE_BINARY(bitwise_and);
CLEAVE_BINARY(bitwise_or);
CLEAVE_BINARY(bitwise_xor);
// rounding_mode: "" (true division), "trunc" or "floor".
CLEAVE_API Tensor div(const Operand& self, const Operand& other,
                      const std::string& rounding_mode = "", Location at = Location::current());
CLEAVE_API Tensor where(const Tensor& condition, const Operand& self, const Operand& other,
                        Location at = Location::current());
CLEAVE_API Tensor masked_fill(const Tensor& self, const Tensor& mask, const Number& value,
                              Location at = Location::current());
#undef CLEAVE_UNARY
#undef CLEAVE_BINARY

// ---- reductions over dims (all of them when none is given)
CLEAVE_API Tensor sum(const Tensor& self, const DimList& dim = {}, bool keepdim = false,
                      Location at = Location::current());
CLEAVE_API Tensor mean(const Tensor& self, const DimList& dim = {}, bool keepdim = false,
                       Location at = Location::current());
CLEAVE_API Tensor amax(const Tensor& self, const DimList& dim = {}, bool keepdim = false,
                       Location at = Location::current());
CLEAVE_API Tensor amin(const Tensor& self, const DimList& dim = {}, bool keepdim = false,
                       Location at = Location::current());
CLEAVE_API Tensor any(const Tensor& self, const DimList& dim = {}, bool keepdim = false,
                      Location at = Location::current());
CLEAVE_API Tensor all(const Tensor& self, const DimList& dim = {}, bool keepdim = false,
                      Location at = Location::current());
// Divides by the number of elements minus `correction`.
CLEAVE_API Tensor var(const Tensor& self, const DimList& dim = {}, double correction = 1,
                      bool keepdim = false, Location at = Location::current());
CLEAVE_API Tensor prod(const Tensor& self, int64_t dim, bool keepdim = false,
                       Location at = Location::current());
CLEAVE_API Tensor argmax(const Tensor& self, int64_t dim, bool keepdim = false,
                         Location at = Location::current());
CLEAVE_API Tensor argmin(const Tensor& self, int64_t dim, bool keepdim = false,
                         Location at = Location::current());
CLEAVE_API Tensor logsumexp(const Tensor& self, const DimList& dim, bool keepdim = false,
                            Location at = Location::current());
CLEAVE_API Tensor cumsum(const Tensor& self, int64_t dim, Location at = Location::current());
CLEAVE_API Tensor softmax(const Tensor& self, int64_t dim, Location at = Location::current());
CLEAVE_API Tensor log_softmax(const Tensor& self, int64_t dim, Location at = Location::current());

// Returns the same value, through which no gradient flows.
CLEAVE_API Tensor detach(const Tensor& self, Location at = Location::current());

// ---- shapes. `view` is reshape: the elements in row-major order, one -1 is worked out.
CLEAVE_API Tensor view(const Tensor& self, const Sizes& size, Location at = Location::current());
CLEAVE_API Tensor reshape(const Tensor& self, const Sizes& size, Location at = Location::current());
CLEAVE_API Tensor flatten(const Tensor& self, int64_t start_dim = 0, int64_t end_dim = -1,
                          Location at = Location::current());
CLEAVE_API Tensor permute(const Tensor& self, const Sizes& dims, Location at = Location::current());
CLEAVE_API Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1,
                            Location at = Location::current());
CLEAVE_API Tensor t(const Tensor& self, Location at = Location::current());
CLEAVE_API Tensor unsqueeze(const Tensor& self, int64_t dim, Location at = Location::current());
CLEAVE_API Tensor squeeze(const Tensor& self, const DimList& dim,
                          Location at = Location::current());
CLEAVE_API Tensor expand(const Tensor& self, const Sizes& size, Location at = Location::current());
CLEAVE_API Tensor select(const Tensor& self, int64_t dim, int64_t index,
                         Location at = Location::current());
// An end beyond the size means the size.
CLEAVE_API Tensor slice(const Tensor& self, int64_t dim, int64_t start, int64_t end,
                        int64_t step = 1, Location at = Location::current());
CLEAVE_API Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length,
                         Location at = Location::current());
CLEAVE_API Tensors split(const Tensor& self, int64_t split_size, int64_t dim = 0,
                         Location at = Location::current());
CLEAVE_API Tensors split(const Tensor& self, const Sizes& split_sizes, int64_t dim = 0,
                         Location at = Location::current());
CLEAVE_API Tensors chunk(const Tensor& self, int64_t chunks, int64_t dim = 0,
                         Location at = Location::current());
CLEAVE_API Tensor cat(const Tensors& tensors, int64_t dim = 0, Location at = Location::current());
CLEAVE_API Tensor stack(const Tensors& tensors, int64_t dim = 0, Location at = Location::current());
CLEAVE_API Tensor flip(const Tensor& self, const Sizes& dims, Location at = Location::current());
// Windows of `size` elements along a dim, `step` apart; the window becomes the last dim.
CLEAVE_API Tensor unfold(const Tensor& self, int64_t dim, int64_t size, int64_t step,
                         Location at = Location::current());
// Two numbers for each dim, from the last dim on: how many elements to add before and after.
CLEAVE_API Tensor pad(const Tensor& self, const Sizes& pad, const Number& value = 0,
                      Location at = Location::current());
CLEAVE_API Tensor tril(const Tensor& self, int64_t diagonal = 0, Location at = Location::current());
CLEAVE_API Tensor triu(const Tensor& self, int64_t diagonal = 0, Location at = Location::current());

// ---- by index (i64). An index out of range fails the run, and leaves all Variables as they were.
CLEAVE_API Tensor gather(const Tensor& self, int64_t dim, const Tensor& index,
                         Location at = Location::current());
CLEAVE_API Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index,
                               Location at = Location::current());
CLEAVE_API Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Operand& src,
                          Location at = Location::current());
CLEAVE_API Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index,
                              const Tensor& src, Location at = Location::current());
// self[indices]: one index tensor for each dim; an empty Tensor takes the whole dim.
CLEAVE_API Tensor index(const Tensor& self, const Tensors& indices,
                        Location at = Location::current());
CLEAVE_API Tensor one_hot(const Tensor& self, int64_t num_classes,
                          Location at = Location::current());

// ---- constants
CLEAVE_API Tensor full(const Sizes& size, const Number& fill_value, DType dtype = DType::f32,
                       Location at = Location::current());
CLEAVE_API Tensor zeros(const Sizes& size, DType dtype = DType::f32,
                        Location at = Location::current());
CLEAVE_API Tensor ones(const Sizes& size, DType dtype = DType::f32,
                       Location at = Location::current());
CLEAVE_API Tensor full_like(const Tensor& self, const Number& fill_value,
                            Location at = Location::current());
CLEAVE_API Tensor zeros_like(const Tensor& self, Location at = Location::current());
CLEAVE_API Tensor ones_like(const Tensor& self, Location at = Location::current());
CLEAVE_API Tensor arange(const Number& start, const Number& end, const Number& step = 1,
                         std::optional<DType> dtype = std::nullopt,
                         Location at = Location::current());
// A host tensor, copied at the call.
CLEAVE_API Tensor constant(const HostTensor& value, Location at = Location::current());
CLEAVE_API Tensor to(const Tensor& self, DType dtype, Location at = Location::current());

// ---- products
CLEAVE_API Tensor mm(const Tensor& self, const Tensor& mat2, Location at = Location::current());
CLEAVE_API Tensor bmm(const Tensor& self, const Tensor& mat2, Location at = Location::current());
CLEAVE_API Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                        const Number& beta = 1, const Number& alpha = 1,
                        Location at = Location::current());
// Any ranks from 1; batch dims are broadcast.
CLEAVE_API Tensor matmul(const Tensor& self, const Tensor& other,
                         Location at = Location::current());
// x [*, in], weight [out, in], bias [out] or none  ->  [*, out]
CLEAVE_API Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
                         Location at = Location::current());

// ---- layers; losses are in cleave/loss.h, convolutions and pooling in cleave/spatial.h
CLEAVE_API Tensor embedding(const Tensor& indices, const Tensor& weight, int64_t padding_idx = -1,
                            Location at = Location::current());
CLEAVE_API Tensor layer_norm(const Tensor& input, const Sizes& normalized_shape,
                             const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5,
                             Location at = Location::current());
// x / sqrt(mean(x^2) + eps) * weight over the last dims; the default eps is that of f32 (f64).
// Computed in f32 for bf16 and f16.
CLEAVE_API Tensor rms_norm(const Tensor& input, const Sizes& normalized_shape,
                           const Tensor& weight = {}, std::optional<double> eps = std::nullopt,
                           Location at = Location::current());
// input [N,C,*]: normalizes over each group of C / num_groups channels; weight and bias [C].
CLEAVE_API Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight = {},
                             const Tensor& bias = {}, double eps = 1e-5,
                             Location at = Location::current());
// Drops nothing if `training` is false, or in programs traced for evaluation.
CLEAVE_API Tensor dropout(const Tensor& input, double p = 0.5, bool training = true,
                          Location at = Location::current());

struct AttentionOptions {
  Tensor attn_mask = {};  // bool (true takes part) or floating (added), broadcast to [.., L, S]
  double dropout_p = 0;
  bool is_causal = false;
  std::optional<double> scale = std::nullopt;  // 1 / sqrt(E)
};
// query [.., L, E], key [.., S, E], value [.., S, Ev]  ->  [.., L, Ev]
CLEAVE_API Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                               const Tensor& value,
                                               const AttentionOptions& options = {},
                                               Location at = Location::current());

// Sets the value of the Variable after the run (a running mean, a cache). Within this trace it
// still reads as its old value; a second call replaces the first. `next` has its dtype and shape.
// Errors (user): no function is being traced; or a branch or the body of a loop is; a constant.
CLEAVE_API void assign(const Variable& target, const Tensor& next,
                       Location at = Location::current());
// The same of an input of the program with InputSpec::is_updated: the run writes the tensor that it
// is given. Errors (user): `target` is no input, or one that isn't updated.
CLEAVE_API void assign(const Tensor& target, const Tensor& next, Location at = Location::current());

// ---- any operator by its name, as the graph text writes it; cleave/op.h adds new ones
class Attribute {
 public:
  using Value = std::variant<Number, std::string, DType, Sizes>;
  template <class T>
    requires(std::integral<T> || std::floating_point<T>)
  Attribute(T v) : value_(Number(v)) {}
  Attribute(const Number& v) : value_(v) {}
  Attribute(const char* v) : value_(std::string(v)) {}
  Attribute(std::string v) : value_(std::move(v)) {}
  Attribute(DType v) : value_(v) {}
  Attribute(Sizes v) : value_(std::move(v)) {}
  Attribute(std::initializer_list<int64_t> v) : value_(Sizes(v)) {}
  const Value& value() const { return value_; }

 private:
  Value value_;
};
using Attributes = std::vector<std::pair<std::string, Attribute>>;
CLEAVE_API Tensors call(const std::string& op, const std::vector<Operand>& operands,
                        const Attributes& attributes = {}, Location at = Location::current());

}  // namespace cleave
