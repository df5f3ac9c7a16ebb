// A HostTensor as text.
#include <fmt/format.h>

#include <ostream>

#include "cleave/host_tensor.h"

namespace cleave {
namespace {

class Printer {
 public:
  explicit Printer(const HostTensor& t) : t_(t), shortens_(t.numel() > 200) {
    if (!is_floating(t.dtype())) integers_ = t.to_vector<int64_t>();  // beyond 2^53 too
  }

  std::string text() {
    dim(0, 0);
    return std::move(out_);
  }

 private:
  void dim(size_t d, int64_t number) {
    if (d == t_.shape().size()) {
      element(number);
      return;
    }
    const int64_t size = t_.shape()[d];
    const bool is_last = d + 1 == t_.shape().size();
    out_ += '[';
    for (int64_t i = 0; i < size; ++i) {
      if (i > 0) out_ += is_last ? ", " : ",\n" + std::string(d + 1, ' ');
      if (shortens_ && size > 8 && i == 3) {
        out_ += "...";
        i = size - 4;
        continue;
      }
      dim(d + 1, number * size + i);
    }
    out_ += ']';
  }
  void element(int64_t k) {
    if (is_floating(t_.dtype()))
      out_ += fmt::format("{:.6g}", t_.number(k));
    else if (t_.dtype() == DType::boolean)
      out_ += integers_[static_cast<size_t>(k)] != 0 ? "true" : "false";
    else
      out_ += fmt::format("{}", integers_[static_cast<size_t>(k)]);
  }

  const HostTensor& t_;
  bool shortens_;
  std::vector<int64_t> integers_;
  std::string out_;
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const HostTensor& t) {
  return out << t.type_text() << "\n" << Printer(t).text();
}

}  // namespace cleave
