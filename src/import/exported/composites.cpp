#include "import/exported/composites.h"

#include <map>

#include "import/exported/complex_rules.h"
#include "import/exported/complex_views.h"
#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

// ATen's, less where memory lies; `Tensor|Scalar` joins the overloads of both.
constexpr const char* signatures[] = {
    "__lshift__(Tensor self, Tensor|Scalar other) -> Tensor",
    "_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, "
    "bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
    "Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> "
    "(Tensor, Tensor, Tensor, Tensor)",
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, "
    "Tensor zero_point, Tensor fake_quant_enabled, int quant_min, int quant_max) -> "
    "(Tensor output, Tensor mask)",
    "_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, "
    "int[] sumdim, int unroll_dim=1) -> Tensor",
    "_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, "
    "float? scales_h=None, float? scales_w=None) -> Tensor",
    "_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, "
    "float? scales_h=None, float? scales_w=None) -> Tensor",
    "_weight_norm_interface_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, "
    "Tensor saved_norms, int dim) -> (Tensor, Tensor)",
    "adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)",
    "adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)",
    "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    "angle(Tensor self) -> Tensor",
    "as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, "
    "SymInt? storage_offset=None) -> Tensor",
    "bitwise_left_shift(Tensor self, Tensor|Scalar other) -> Tensor",
    "bitwise_right_shift(Tensor self, Tensor|Scalar other) -> Tensor",
    "bucketize(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> "
    "Tensor",
    "cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
    "cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
    "copysign(Tensor self, Tensor|Scalar other) -> Tensor",
    "cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
    "cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
    "dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
    "fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, "
    "int axis, int quant_min, int quant_max) -> (Tensor output, Tensor mask)",
    "fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, "
    "int quant_min, int quant_max) -> (Tensor output, Tensor mask)",
    "fmax(Tensor self, Tensor other) -> Tensor",
    "fmin(Tensor self, Tensor other) -> Tensor",
    "hypot(Tensor self, Tensor other) -> Tensor",
    "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, "
    "bool include_self=True) -> Tensor",
    "kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> "
    "(Tensor values, Tensor indices)",
    "ldexp(Tensor self, Tensor|Scalar other) -> Tensor",
    "logcumsumexp(Tensor self, int dim) -> Tensor",
    "median(Tensor self) -> Tensor",
    "median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    "nanmedian(Tensor self) -> Tensor",
    "nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
    "Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    "searchsorted(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, "
    "bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
    "signbit(Tensor self) -> Tensor",
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, "
    "bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
    "tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=None) -> Tensor",
    "triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=None) -> Tensor",
    "upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, "
    "float? scales_h=None, float? scales_w=None) -> Tensor",
    "upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, "
    "float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
    "var_mean.correction(Tensor self, int[]? dim=None, *, Scalar? correction=None, "
    "bool keepdim=False) -> (Tensor, Tensor)"};

// Those that have complex tensors alone.
constexpr const char* complex_signatures[] = {
    "_conj(Tensor self) -> Tensor",
    "_conj_physical(Tensor self) -> Tensor",
    "_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor",
    "_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor",
    "_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
    "_neg_view(Tensor self) -> Tensor",
    "complex(Tensor real, Tensor imag) -> Tensor",
    "conj(Tensor self) -> Tensor",
    "conj_physical(Tensor self) -> Tensor",
    "imag(Tensor self) -> Tensor",
    "polar(Tensor abs, Tensor angle) -> Tensor",
    "real(Tensor self) -> Tensor",
    "resolve_conj(Tensor self) -> Tensor",
    "resolve_neg(Tensor self) -> Tensor",
    "sgn(Tensor self) -> Tensor",
    "view_as_complex(Tensor self) -> Tensor",
    "view_as_real(Tensor self) -> Tensor"};

OpDef entry(std::string name, std::string signature) {
  const Absent none{"a composite has no rules"};
  return {.name = std::move(name),
          .signature = std::move(signature),
          .summary = {},
          .source = "PyTorch 2.13",
          .traits = Trait::none,
          .infer = none,
          .reference = none,
          .decompose = none,
          .grad = none,
          .lower = none,
          .cost = none,
          .samples = {},
          .rejects = {}};
}

// A call's operands and attributes as the arguments that a rule asks for.
class Arguments {
 public:
  Arguments(const NodeSpec& call, std::string overload) {
    node_.target = "torch.ops.aten." + call.op->name + "." + overload;
    const Schema& schema = call.op->schema;
    size_t next = 0;
    for (uint16_t index = 0; index < schema.args.size(); ++index) {
      const ArgDef& arg = schema.args[index];
      Argument a;
      if (arg.is_operand() && arg.list) {
        a.kind = Argument::Kind::list;
        for (uint32_t k = 0; k < call.list_size; ++k) a.items.push_back(of(call.inputs[next++]));
      } else if (arg.is_operand() && !call.inputs[next].is_number()) {
        a = of(call.inputs[next++]);
      } else {
        next += arg.is_operand() ? 1 : 0;
        const AttrValue* const given = call.attrs.find(index);
        a = given || arg.has_default ? of(given ? *given : arg.default_value) : Argument();
      }
      node_.inputs.push_back({arg.name, std::move(a)});
    }
  }

  // With what the text says of which are complex; its types are those of `g`.
  void note(const cleave::Graph& g, const NodeSpec& call, const ComplexCall& complex) {
    for (size_t k = 0; k < call.inputs.size(); ++k)
      if (const ValueId v = call.inputs[k]; v.valid())
        metas_[name_of(v)] = {.dtype = g.type(v).dtype, .is_complex = complex.inputs[k]};
    for (size_t k = 0; k < complex.results.size(); ++k) {
      const std::string name = fmt::format("result {}", k);
      metas_[name] = {.dtype = complex.result_types[k].dtype, .is_complex = complex.results[k]};
      node_.outputs.push_back({.kind = Argument::Kind::tensor, .text = name});
    }
  }

  const Node& node() const { return node_; }
  // It refers to this.
  Call::Context context() {
    return {
        .tensor = [this](const std::string& name) -> Result<ValueId> { return tensors_.at(name); },
        .symbol = [this](const std::string& name) -> Result<AttrValue> {
          return symbols_.at(name);
        },
        .rng = []() -> Result<ValueId> {
          return unsupported("random numbers: call random operators by their entries");
        },
        .stream = [] { return int64_t{0}; },
        .write = [](const std::string&, ValueId) -> Status {
          return unsupported("a write into the memory of an operand");
        },
        .meta = [this](const std::string& name) -> const TensorMeta* {
          const auto at = metas_.find(name);
          return at == metas_.end() ? nullptr : &at->second;
        },
        .item = [](const std::string&) { return ValueId::none(); }};
  }

 private:
  static std::string name_of(ValueId v) { return fmt::format("{}", v.v); }

  Argument of(ValueId v) {
    if (!v.valid()) return {};
    const std::string name = name_of(v);
    tensors_.emplace(name, v);
    return {.kind = Argument::Kind::tensor, .text = name};
  }

  Argument of(const AttrValue& value) {
    if (const bool* on = value.get<bool>())
      return {.kind = Argument::Kind::boolean, .number = *on ? 1 : 0};
    if (const double* x = value.get<double>())
      return {.kind = Argument::Kind::floating, .floating = *x};
    if (const auto* text = value.get<std::string>())
      return {.kind = Argument::Kind::text, .text = *text};
    if (const Dim* d = value.get<Dim>(); d && d->is_const())
      return {.kind = Argument::Kind::integer, .number = d->value()};
    if (const auto* list = value.get<AttrList>()) {
      Argument a{.kind = Argument::Kind::list};
      for (const AttrValue& item : *list) a.items.push_back(of(item));
      return a;
    }
    if (value.is_none()) return {};
    // Sizes with symbols, dtypes and memory formats are given on as they are.
    const std::string name = fmt::format("{}", symbols_.size());
    symbols_.emplace(name, value);
    return {.kind = Argument::Kind::symbol, .text = name};
  }

  Node node_;
  std::map<std::string, ValueId> tensors_;
  std::map<std::string, AttrValue> symbols_;
  std::map<std::string, TensorMeta> metas_;
};

// The results of a call of complex tensors that shows memory of its operand.
Values viewed(Call& call, const std::string& name) {
  const ValueId self = call.tensor("self");
  if (!call.ok()) return {};
  const Views views = complex_views_of(name, call, self, true);
  Values out;
  for (const std::vector<ViewStep>& steps : views.results) {
    ValueId v = self;
    for (const ViewStep& step : steps) v = call.op(step.op, {v}, step.attrs);
    out.push_back(v);
  }
  return out;
}

// The dtype that a rule's results of f32 are rounded to, where it computes in f32: its operands'.
std::optional<DType> narrow_dtype(const cleave::Graph& g, const NodeSpec& call) {
  for (const ValueId v : call.inputs) {
    if (!v.valid()) continue;
    const DType t = g.type(v).dtype;
    if (t == DType::f16 || t == DType::bf16) return t;
  }
  return std::nullopt;
}

class AtenComposites : public Composites {
 public:
  explicit AtenComposites(bool takes_complex_apart) : takes_complex_apart_(takes_complex_apart) {
    for (const char* const text : signatures) add(text);
    if (!takes_complex_apart) return;
    for (const char* const text : complex_signatures) add(text);
  }

  bool takes_complex_apart() const override { return takes_complex_apart_; }

  const OpDef* find(std::string_view name, size_t results) const override {
    const auto [first, last] = entries_.equal_range(name);
    for (auto at = first; at != last; ++at)
      if (at->second.def.schema.results == static_cast<int>(results)) return &at->second.def;
    return first == last ? nullptr : &first->second.def;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& [name, entry] : entries_)
      if (out.empty() || out.back() != name) out.push_back(name);
    return out;
  }

  Result<Values> expand(Builder& b, const NodeSpec& call) const override {
    const std::string& overload = *overloads_.at(call.op);
    const Rule rule = find_rule(call.op->name, overload);
    if (!rule && covers_complex(call.op->name, overload))
      return user_error("{} has complex tensors, expected the type of its result, such as c64[2]",
                        call.op->name);
    if (!rule) return bug("{} has no rule", call.op->name);
    Arguments arguments(call, overload);
    const Call::Context context = arguments.context();
    Call at(arguments.node(), b, context);
    Values results = rule(at);
    CLEAVE_CHECK(b.status());
    const std::optional<DType> narrow = narrow_dtype(b.graph(), call);
    for (ValueId& v : results)
      if (at.computes_in_f32() && narrow && v.valid() && b.type(v).dtype == DType::f32)
        v = b.convert(v, *narrow);
    CLEAVE_CHECK(b.status());
    return results;
  }

  Result<Values> expand_complex(Builder& b, const NodeSpec& call,
                                const ComplexCall& complex) const override {
    const std::string& name = call.op->name;
    const Rule rule = find_complex_rule(name, "");
    if (!rule && !is_complex_view(name))
      return unsupported("the operator {} of complex tensors is not covered", name);
    Arguments arguments(call, "");
    arguments.note(b.graph(), call, complex);
    const Call::Context context = arguments.context();
    Call at(arguments.node(), b, context);
    Values results = rule ? rule(at) : viewed(at, name);
    CLEAVE_CHECK(b.status());
    return results;
  }

 private:
  struct Entry {
    OpDef def;
    std::string overload;
  };

  void add(std::string_view signature) {
    const std::string_view target = signature.substr(0, signature.find('('));
    const size_t dot = target.find('.');
    const std::string name(target.substr(0, dot));
    std::string overload(dot == target.npos ? "" : target.substr(dot + 1));
    OpDef def = entry(name, std::string(signature.substr(target.size())));
    def.schema = value_or_bug(parse_schema(def.signature));
    const auto at = entries_.emplace(name, Entry{std::move(def), std::move(overload)});
    overloads_.emplace(&at->second.def, &at->second.overload);
  }

  const bool takes_complex_apart_;
  std::multimap<std::string, Entry, std::less<>> entries_;
  std::map<const OpDef*, const std::string*> overloads_;
};

const AtenComposites& all_composites() {
  static const AtenComposites all(true);
  return all;
}

}  // namespace

const Composites& aten_composites() { return all_composites(); }
const Composites& aten_composites_of_real() {
  static const AtenComposites of_real(false);
  return of_real;
}
std::vector<std::string> aten_composite_names() { return all_composites().names(); }

}  // namespace cleave::exported
