#include "tool/door_samples.h"

#include <zip.h>

#include <array>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace cleave::tool {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view weight = "\0\0\0\x40\0\0\x40\x40"sv;  // {2, 3}, little endian

constexpr std::string_view program = R"({"graph_module": {"graph": {
"inputs": [{"as_tensor": {"name": "p_w"}}, {"as_tensor": {"name": "x"}}],
"outputs": [{"as_tensor": {"name": "y"}}],
"nodes": [{"target": "torch.ops.aten.mul.Tensor",
 "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "p_w"}}, "kind": 1},
  {"name": "other", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}],
 "outputs": [{"as_tensor": {"name": "y"}}], "metadata": {}}],
"tensor_values": {
 "p_w": {"dtype": 7, "sizes": [{"as_int": 2}], "requires_grad": true,
  "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 1}],
  "storage_offset": {"as_int": 0}, "layout": 7},
 "x": {"dtype": 7, "sizes": [{"as_int": 4}, {"as_int": 2}], "requires_grad": false,
  "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 2}, {"as_int": 1}],
  "storage_offset": {"as_int": 0}, "layout": 7},
 "y": {"dtype": 7, "sizes": [{"as_int": 4}, {"as_int": 2}], "requires_grad": false,
  "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 2}, {"as_int": 1}],
  "storage_offset": {"as_int": 0}, "layout": 7}},
"sym_int_values": {}, "sym_bool_values": {}},
"signature": {
 "input_specs": [{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}},
  {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
 "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "y"}}}}]},
"module_call_graph": []},
"range_constraints": {}, "schema_version": {"major": 8, "minor": 20},
"torch_version": "2.13.0"})";

constexpr std::string_view weights = R"({"config": {"w": {"path_name": "weight_0",
"is_param": true, "use_pickle": false, "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 2}],
"requires_grad": true, "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 1}],
"storage_offset": {"as_int": 0}, "layout": 7}}}})";

constexpr std::array<std::pair<const char*, std::string_view>, 5> parts = {
    {{"m/archive_format", "pt2"},
     {"m/models/model.json", program},
     {"m/data/weights/model_weights_config.json", weights},
     {"m/data/constants/model_constants_config.json", R"({"config": {}})"},
     {"m/data/weights/weight_0", weight}}};

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

}  // namespace

// Empty where memory is short: that is no archive, which its reader says.
std::vector<std::byte> sample_pt2() {
  const std::unique_ptr<zip_source_t, void (*)(zip_source_t*)> to(
      zip_source_buffer_create(nullptr, 0, 0, nullptr), zip_source_free);
  if (!to) return {};
  zip_source_keep(to.get());  // the archive has the other reference
  zip_t* z = zip_open_from_source(to.get(), ZIP_TRUNCATE, nullptr);
  if (z == nullptr) return {};
  for (const auto& [name, bytes] : parts) {
    const zip_int64_t k = zip_file_add(z, name, zip_source_buffer(z, bytes.data(), bytes.size(), 0),
                                       ZIP_FL_ENC_UTF_8);
    zip_set_file_compression(z, static_cast<zip_uint64_t>(k), ZIP_CM_STORE, 0);
  }
  zip_stat_t s;
  if (zip_close(z) != 0 || zip_source_stat(to.get(), &s) != 0) return {};
  std::vector<std::byte> out(s.size);
  if (zip_source_open(to.get()) != 0) return {};
  zip_source_read(to.get(), out.data(), out.size());
  zip_source_close(to.get());
  return out;
}

// Fields of ModelProto (onnx.proto), as protocol buffers write them: number * 8 + kind, length.
std::vector<std::byte> sample_onnx() {
  constexpr std::string_view node =
      "\x0a\x01w"
      "\x0a\x01x"
      "\x12\x01y"
      "\x22\x03Mul"sv;
  constexpr std::string_view tensor =
      "\x08\x02"   // dims: 2
      "\x10\x01"   // data_type: FLOAT
      "\x42\x01w"  // name
      "\x4a\x08"sv;
  constexpr std::string_view type =  // tensor_type: FLOAT, [4, 2]
      "\x0a\x0c\x08\x01\x12\x08\x0a\x02\x08\x04\x0a\x02\x08\x02"sv;
  const auto field = [](char tag, std::string_view a, std::string_view b = {},
                        std::string_view c = {}) {
    std::string out{tag, static_cast<char>(a.size() + b.size() + c.size())};
    return out.append(a).append(b).append(c);
  };
  std::string graph = field('\x0a', node);
  graph += field('\x2a', tensor, weight);
  graph += field('\x5a', "\x0a\x01x"sv, field('\x12', type));
  graph += field('\x62', "\x0a\x01y"sv);
  std::string model = "\x08\x0a";  // ir_version: 10
  model += field('\x3a', graph);
  model += "\x42\x04\x0a\x00\x10\x15"sv;  // opset_import: "", 21
  return bytes_of(model);
}

std::vector<std::byte> sample_safetensors() {
  constexpr std::string_view header = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  std::string out(8, '\0');
  out[0] = static_cast<char>(header.size());
  return bytes_of(out.append(header).append(weight));
}

}  // namespace cleave::tool
