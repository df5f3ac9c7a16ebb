#include <simdjson.h>

#include <cmath>
#include <optional>

#include "cleave/generator.h"
#include "cleave/graph_dumper.h"
#include "ir/type.h"

namespace cleave {
namespace {

namespace dom = simdjson::dom;

// Whole numbers from 0 on.
std::optional<std::vector<int64_t>> naturals(dom::element value) {
  dom::array items;
  if (value.get_array().get(items) != simdjson::SUCCESS) return std::nullopt;
  std::vector<int64_t> out;
  for (const dom::element item : items) {
    int64_t number = 0;
    if (item.get_int64().get(number) != simdjson::SUCCESS || number < 0) return std::nullopt;
    out.push_back(number);
  }
  return out;
}

int digits_of(DType floating) {
  switch (floating) {
    case DType::f32: return 24;
    case DType::bf16: return 8;
    case DType::f16: return 11;
    default: return 53;
  }
}

class Inputs {
 public:
  Inputs(std::string path, uint64_t seed) : path_(std::move(path)), random_(seed) {}

  Status add_all(dom::element list) {
    dom::array items;
    if (list.get_array().get(items) != simdjson::SUCCESS)
      return user_error("{}: expected a list of inputs, or two of them", path_);
    for (const dom::element item : items) CLEAVE_CHECK(item.is_array() ? add_all(item) : add(item));
    return {};
  }
  HostTensors take() { return std::move(made_); }

 private:
  Status add(dom::element input) {
    std::string_view kind;
    if (input["kind"].get_string().get(kind) != simdjson::SUCCESS) return wrong("kind", "a text");
    if (kind == "int") return fill(DType::i64, {}, {});
    if (kind == "float") return fill(DType::f64, {}, {});
    if (kind == "bool") return fill(DType::boolean, {}, {});
    if (kind != "tensor") return wrong("kind", "tensor, int, float or bool");
    std::string_view name;
    std::optional<DType> dtype;
    if (input["dtype"].get_string().get(name) == simdjson::SUCCESS) dtype = dtype_named(name);
    if (!dtype) return wrong("dtype", "one of cleave's, such as \"f32\"");
    dom::element shape, stride;
    if (input["shape"].get(shape) != simdjson::SUCCESS) return wrong("shape", "a list");
    if (input["stride"].get(stride) != simdjson::SUCCESS) return wrong("stride", "a list");
    const auto sizes = naturals(shape), strides = naturals(stride);
    if (!sizes) return wrong("shape", "numbers from 0 on; those of symints are to be put in");
    if (!strides || strides->size() != sizes->size())
      return wrong("stride", "a number from 0 on for each dim");
    return fill(*dtype, *sizes, *strides);
  }
  Status wrong(std::string_view field, std::string_view expected) const {
    return user_error("{}: input {}: {}: expected {}", path_, made_.size(), field, expected);
  }
  Status fill(DType dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
    Type type(dtype, Shape(sizes.begin(), sizes.end()));
    type.strides.emplace(strides.begin(), strides.end());
    if (const Status s = check_type_limits(type); !s.ok())
      return user_error("{}: input {}: {}", path_, made_.size(), s.failure().message);
    HostTensor& t = made_.emplace_back(dtype, std::move(sizes), std::move(strides));
    if (!is_floating(dtype)) return {};
    const double steps = std::ldexp(1, digits_of(dtype));  // so that none is rounded to 1
    for (int64_t k = 0; k < t.numel(); ++k)
      t.set_number(k, std::floor(random_.uniform() * steps) / steps);
    return {};
  }

  const std::string path_;
  Generator random_;
  HostTensors made_;
};

Result<HostTensors> read(const std::string& path, uint64_t seed) {
  dom::parser parser;
  dom::element root;
  if (const auto error = parser.load(path).get(root); error != simdjson::SUCCESS)
    return user_error("{}: {}", path,
                      error == simdjson::IO_ERROR ? "the file can't be read" : "it is no JSON");
  Inputs inputs(path, seed);
  CLEAVE_CHECK(inputs.add_all(root));
  return inputs.take();
}

}  // namespace

HostTensors get_inputs(const std::string& path, uint64_t seed) {
  return value_or_throw(read(path, seed));
}

}  // namespace cleave
