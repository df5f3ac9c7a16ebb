// Tensor: its properties, and the member functions.
#include "cleave/tensor.h"

#include <ostream>

#include "cleave/function.h"
#include "trace/recording.h"

namespace cleave {

Tensor::Tensor(const Variable& variable) : leaf_(variable) {}

namespace {

const Type& type_of(const Tensor& t) {
  const trace::RecordingPtr& r = trace::Access::recording(t);
  if (!r->open())
    throw_failure(user_error("a tensor of {} is used after its trace is over", r->what()));
  return r->graph().type(trace::Access::value(t));
}

void require(const Tensor& t) {
  if (!t.defined()) throw_failure(user_error("Tensor: it is empty, expected a value"));
}

}  // namespace

DType Tensor::dtype() const {
  require(*this);
  return leaf_.defined() ? leaf_.dtype() : type_of(*this).dtype;
}

std::vector<int64_t> Tensor::sizes() const {
  require(*this);
  if (leaf_.defined()) return leaf_.shape();
  const Type& type = type_of(*this);
  if (!type.is_static())
    throw_failure(unsupported("Tensor: sizes: {} has symbolic sizes", type.text()));
  return static_shape(type);
}

int64_t Tensor::dim() const {
  require(*this);
  return leaf_.defined() ? trace::Access::host(leaf_).rank() : type_of(*this).rank();
}

int64_t Tensor::size(int64_t d) const {
  const std::vector<int64_t> all = sizes();
  const int64_t rank = static_cast<int64_t>(all.size());
  if (d < -rank || d >= rank)
    throw_failure(
        user_error("Tensor: size: dim {} is outside [{}, {}) of {}", d, -rank, rank, type_text()));
  return all[d < 0 ? d + rank : d];
}

int64_t Tensor::numel() const {
  int64_t n = 1;
  for (const int64_t s : sizes()) n *= s;
  return n;
}

std::string Tensor::type_text() const {
  if (!defined()) return "none";
  return leaf_.defined() ? trace::Access::host(leaf_).type_text() : type_of(*this).text();
}

Tensor Tensor::named(const std::string& name) const {
  require(*this);
  value_or_throw(trace::check_name(name));
  if (leaf_.defined() || !recording_->open()) return *this;
  Graph& g = recording_->graph();
  const ValueId v{value_};
  if (g.value(v).def.valid() && g.name(v) != name) value_or_throw(g.rename(v, g.fresh_name(name)));
  return *this;
}

Tensor Tensor::view(const std::vector<int64_t>& size, Location at) const {
  return cleave::view(*this, size, at);
}
Tensor Tensor::reshape(const std::vector<int64_t>& size, Location at) const {
  return cleave::view(*this, size, at);
}
Tensor Tensor::permute(const std::vector<int64_t>& dims, Location at) const {
  return cleave::permute(*this, dims, at);
}
Tensor Tensor::transpose(int64_t dim0, int64_t dim1, Location at) const {
  return cleave::transpose(*this, dim0, dim1, at);
}
Tensor Tensor::flatten(int64_t start_dim, int64_t end_dim, Location at) const {
  return cleave::flatten(*this, start_dim, end_dim, at);
}
Tensor Tensor::unsqueeze(int64_t dim, Location at) const {
  return cleave::unsqueeze(*this, dim, at);
}
Tensor Tensor::squeeze(int64_t dim, Location at) const { return cleave::squeeze(*this, dim, at); }
Tensor Tensor::expand(const std::vector<int64_t>& size, Location at) const {
  return cleave::expand(*this, size, at);
}
Tensor Tensor::select(int64_t dim, int64_t index, Location at) const {
  return cleave::select(*this, dim, index, at);
}
Tensor Tensor::slice(int64_t dim, int64_t start, int64_t end, int64_t step, Location at) const {
  return cleave::slice(*this, dim, start, end, step, at);
}
std::vector<Tensor> Tensor::split(int64_t size, int64_t dim, Location at) const {
  return cleave::split(*this, size, dim, at);
}
std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dim, Location at) const {
  return cleave::chunk(*this, chunks, dim, at);
}
Tensor Tensor::sum(const DimList& dim, bool keepdim, Location at) const {
  return cleave::sum(*this, dim, keepdim, at);
}
Tensor Tensor::mean(const DimList& dim, bool keepdim, Location at) const {
  return cleave::mean(*this, dim, keepdim, at);
}
Tensor Tensor::relu(Location at) const { return cleave::relu(*this, at); }
Tensor Tensor::sigmoid(Location at) const { return cleave::sigmoid(*this, at); }
Tensor Tensor::tanh(Location at) const { return cleave::tanh(*this, at); }
Tensor Tensor::exp(Location at) const { return cleave::exp(*this, at); }
Tensor Tensor::log(Location at) const { return cleave::log(*this, at); }
Tensor Tensor::sqrt(Location at) const { return cleave::sqrt(*this, at); }
Tensor Tensor::abs(Location at) const { return cleave::abs(*this, at); }
Tensor Tensor::softmax(int64_t dim, Location at) const { return cleave::softmax(*this, dim, at); }
Tensor Tensor::matmul(const Tensor& other, Location at) const {
  return cleave::matmul(*this, other, at);
}
Tensor Tensor::to(DType dtype, Location at) const { return cleave::to(*this, dtype, at); }
Tensor Tensor::masked_fill(const Tensor& mask, const Number& value, Location at) const {
  return cleave::masked_fill(*this, mask, value, at);
}

Tensor& Tensor::operator+=(const Operand& other) {
  return *this = Operand(*this, other.at()) + other;
}
Tensor& Tensor::operator-=(const Operand& other) {
  return *this = Operand(*this, other.at()) - other;
}
Tensor& Tensor::operator*=(const Operand& other) {
  return *this = Operand(*this, other.at()) * other;
}
Tensor& Tensor::operator/=(const Operand& other) {
  return *this = Operand(*this, other.at()) / other;
}

std::ostream& operator<<(std::ostream& out, const Tensor& t) {
  if (!t.defined()) return out << "an empty Tensor";
  const Variable& leaf = trace::Access::leaf(t);
  if (leaf.defined()) return out << leaf.name() << ": " << t.type_text();
  const trace::RecordingPtr& r = trace::Access::recording(t);
  if (!r->open()) return out << "a Tensor of " << r->what() << ", whose trace is over";
  const Graph& g = r->graph();
  const ValueId v = trace::Access::value(t);
  out << "%" << g.name(v) << ": " << g.type(v).text();
  const NodeId n = g.value(v).def;
  const std::string line = n.valid() ? g.loc_text(g.node(n).loc) : "";
  return line.empty() ? out : out << ", " << line;
}

}  // namespace cleave
