#include "test/import/archives.h"

#include <gtest/gtest.h>
#include <zip.h>

#include <bit>
#include <cstring>

namespace cleave {
namespace {

constexpr const char* model_json = R"({"graph_module": {
  "graph": {
    "inputs": [{"as_tensor": {"name": "p_w"}}, {"as_tensor": {"name": "x"}}],
    "outputs": [{"as_tensor": {"name": "y"}}],
    "nodes": [{"target": "torch.ops.aten.mul.Tensor",
      "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "p_w"}}, "kind": 1},
                 {"name": "other", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}],
      "outputs": [{"as_tensor": {"name": "y"}}],
      "metadata": {
        "stack_trace": "File \"a/net.py\", line 7, in f\n  File \"/lib/torch/n.py\", line 9"}}],
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

constexpr const char* weights_json = R"({"config": {"w": {"path_name": "weight_0", "is_param": true,
  "use_pickle": false, "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 2}], "requires_grad": true,
  "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 1}],
  "storage_offset": {"as_int": 0}, "layout": 7}}}})";

}  // namespace

std::vector<std::byte> zipped(const std::vector<Part>& parts) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* to = zip_source_buffer_create(nullptr, 0, 0, &error);
  zip_source_keep(to);
  zip_t* z = zip_open_from_source(to, ZIP_TRUNCATE, &error);
  for (const Part& p : parts) {
    zip_source_t* from = zip_source_buffer(z, p.bytes.data(), p.bytes.size(), 0);
    const zip_int64_t k = zip_file_add(z, p.name.c_str(), from, ZIP_FL_ENC_UTF_8);
    EXPECT_GE(k, 0) << p.name;
    zip_set_file_compression(z, static_cast<zip_uint64_t>(k),
                             p.deflated ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
    // One date for all: the same parts are the same bytes, whenever they are written.
    zip_file_set_dostime(z, static_cast<zip_uint64_t>(k), 0, (46 << 9) | (1 << 5) | 1, 0);
  }
  EXPECT_EQ(zip_close(z), 0);
  zip_stat_t s;
  zip_source_stat(to, &s);
  std::vector<std::byte> bytes(s.size);
  zip_source_open(to);
  EXPECT_EQ(zip_source_read(to, bytes.data(), bytes.size()), static_cast<zip_int64_t>(s.size));
  zip_source_close(to);
  zip_source_free(to);
  return bytes;
}

std::vector<Part> small_model() {
  const float w[] = {2, 3};
  std::string bytes(sizeof w, ' ');
  std::memcpy(bytes.data(), w, sizeof w);
  return {{"m/archive_format", "pt2"},
          {"m/models/model.json", model_json},
          {"m/data/weights/model_weights_config.json", weights_json},
          {"m/data/constants/model_constants_config.json", R"({"config": {}})"},
          {"m/data/weights/weight_0", bytes}};
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  if (at != text.npos) text.replace(at, from.size(), to);
  return text;
}

}  // namespace cleave
