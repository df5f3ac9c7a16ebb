// A .pt2 that is as small as can be, and all that may be wrong with one, with the exact messages.
// tests: archive.cpp call_reader.cpp json.cpp model.cpp model_inputs.cpp model_results.cpp
// tests: read_argument.cpp read_graph.cpp read_program.cpp source_line.cpp target.cpp tree.cpp
// tests: types.cpp weights.cpp
#include <gtest/gtest.h>

#include <regex>

#include "cleave/weights.h"
#include "grad/grad.h"
#include "import/exported/model.h"
#include "interp/array_memory.h"
#include "interp/interpret.h"
#include "ir/text.h"
#include "op/registry.h"
#include "test/import/archives.h"

namespace cleave {
namespace {

Result<ImportedModel> imported_of(const std::vector<Part>& parts,
                                  UncoveredCalls* uncovered = nullptr) {
  static const OpRegistry ops = value_or_bug(core_ops());  // the graph's nodes point into it
  CLEAVE_TRY(const ZipArchive zip, ZipArchive::from_bytes(zipped(parts), "m.pt2"));
  return import_exported(zip, ops, {}, uncovered);
}

std::string answer(const std::vector<Part>& parts) {
  const Result<ImportedModel> m = imported_of(parts);
  return m.ok() ? "accepted" : m.failure().message;
}

// The small model with its program changed.
std::vector<Part> altered(const std::string& from, const std::string& to) {
  std::vector<Part> parts = small_model();
  parts[1].bytes = with(parts[1].bytes, from, to);
  return parts;
}

// With its list of weights changed.
std::vector<Part> with_weights(const std::string& from, const std::string& to) {
  std::vector<Part> parts = small_model();
  parts[2].bytes = with(parts[2].bytes, from, to);
  return parts;
}

std::string graph_of(const std::vector<Part>& parts) {
  const Result<ImportedModel> m = imported_of(parts);
  return m.ok() ? print(m->program) : m.failure().message;
}

TEST(Exported, ReadsTheSmallestModel) {
  const Result<ImportedModel> m = imported_of(small_model());
  ASSERT_TRUE(m.ok()) << m.failure().message;
  EXPECT_EQ(print(m->program), R"(graph @main(%w: param f32[2] grad, %x: input f32[4,2]) {
  %y = mul(%w, %x) : f32[4,2]  # net.py:7
  return %y
}
)");
  ASSERT_TRUE(m->weights.contains("w"));
  EXPECT_EQ(m->weights.at("w").to_vector<float>(), (std::vector<float>{2, 3}));
  EXPECT_EQ(m->torch_version, "2.13.0");
}

// The same model as PyTorch 2.6 and 2.8 wrote it.
TEST(Exported, ReadsOlderFilesToTheSameGraph) {
  const OpRegistry ops = value_or_bug(core_ops());
  const auto read = [&](const std::string& name) {
    const std::string path = CLEAVE_SOURCE_DIR "/test/import/exported/" + name;
    return value_or_bug(import_exported(value_or_bug(ZipArchive::open(path)), ops));
  };
  const auto text_of = [](const ImportedModel& m) {
    const std::string text = print(m.program);
    return std::regex_replace(text.substr(text.find('\n')), std::regex("  # [^\n]*"), "");
  };
  const ImportedModel now = read("tiny.pt2");
  for (const char* name : {"tiny26.pt2", "tiny28.pt2"}) {
    const ImportedModel old = read(name);
    EXPECT_TRUE(old.torch_version.starts_with("2.6.") || old.torch_version.starts_with("2.8."));
    EXPECT_EQ(text_of(old), text_of(now)) << name;
    EXPECT_EQ(old.ties, now.ties) << name;
    EXPECT_EQ(old.arguments, now.arguments) << name;
    ASSERT_EQ(old.weights.size(), now.weights.size()) << name;
    for (const auto& [weight, t] : now.weights)
      EXPECT_EQ(old.weights.at(weight).to_vector<float>(), t.to_vector<float>()) << weight;
  }
}

Array array_of(const HostTensor& t) { return from_memory(t.dtype(), t.shape(), t.data()); }

// Weights, buffers, inputs and results of complex numbers, against what PyTorch gave.
TEST(Exported, ReadsComplexNumbersAsPairs) {
  const OpRegistry ops = value_or_bug(core_ops());
  const std::string stem = CLEAVE_SOURCE_DIR "/test/import/exported/waves";
  const ImportedModel m =
      value_or_bug(import_exported(value_or_bug(ZipArchive::open(stem + ".pt2")), ops));
  EXPECT_EQ(m.complex, (std::set<std::string>{"w", "mean", "z", "out.2"}));
  const std::map<std::string, HostTensor> kept = load_tensors(stem + ".safetensors");
  const std::map<std::string, std::string> numbers = {{"x", "in.0"}, {"z", "in.1"}};
  const Graph joint = value_or_bug(make_joint(m.program.main, ops));
  std::map<std::string, Array> given;
  for (const Placeholder& p : joint.placeholders()) {
    const std::string& name = joint.name(p.value);
    const auto input = numbers.find(name);
    Array ones(DType::f32, static_shape(joint.type(p.value)));
    std::ranges::fill(ones.f, 1);
    given[name] = m.weights.contains(name) ? array_of(m.weights.at(name))
                  : input != numbers.end() ? array_of(kept.at(input->second))
                                           : ones;
  }
  const Arrays results = value_or_bug(interpret(joint, given));
  const std::vector<std::string> wanted = {"update.mean", "out.0", "out.1", "out.2", "grad.w"};
  ASSERT_EQ(results.size(), wanted.size());
  for (size_t k = 0; k < wanted.size(); ++k) {
    const Array want = array_of(kept.at(wanted[k]));
    ASSERT_EQ(results[k].shape, want.shape) << wanted[k];
    for (int64_t i = 0; i < want.numel(); ++i)
      EXPECT_NEAR(results[k].number(i), want.number(i),
                  1e-5 * std::max(1.0, std::abs(want.number(i))))
          << wanted[k] << " " << i;
  }
}

// An input may have the name of a parameter.
TEST(Exported, KeepsInputsApartFromParameters) {
  std::vector<Part> parts = altered("\"x\": {\"dtype\"", "\"w\": {\"dtype\"");
  for (int k = 0; k < 3; ++k)
    parts[1].bytes = with(parts[1].bytes, "\"name\": \"x\"", "\"name\": \"w\"");
  const Result<ImportedModel> m = imported_of(parts);
  ASSERT_TRUE(m.ok()) << m.failure().message;
  EXPECT_EQ(print(m->program), R"(graph @main(%w: param f32[2] grad, %w_: input f32[4,2]) {
  %y = mul(%w, %w_) : f32[4,2]  # net.py:7
  return %y
}
)");
  EXPECT_EQ(m->weights.at("w").to_vector<float>(), (std::vector<float>{2, 3}));
}

// PyTorch 2.6 gives the states of an LSTM a dim too many, where nothing reads them.
TEST(Exported, BelievesTypesOfWhatIsRead) {
  const std::string sizes = R"("y": {"dtype": 7, "sizes": [{"as_int": 4}, {"as_int": 2}])";
  const std::string wrong = R"("y": {"dtype": 7, "sizes": [{"as_int": 4}, {"as_int": 3}])";
  EXPECT_NE(answer(altered(sizes, wrong)).find("it is f32[4,2], and f32[4,3] in the file"),
            std::string::npos);
  std::vector<Part> parts = altered(sizes, wrong);
  parts[1].bytes = with(parts[1].bytes, R"("outputs": [{"as_tensor": {"name": "y"}}],
    "nodes")",
                        R"("outputs": [{"as_tensor": {"name": "x"}}],
    "nodes")");
  parts[1].bytes = with(parts[1].bytes, R"({"user_output": {"arg": {"as_tensor": {"name": "y"}}}})",
                        R"({"user_output": {"arg": {"as_tensor": {"name": "x"}}}})");
  EXPECT_EQ(answer(parts), "accepted");
}

TEST(Exported, RefusesOtherVersions) {
  EXPECT_EQ(answer(altered("\"major\": 8", "\"major\": 9")),
            "m.pt2: \"m/models/model.json\": schema_version 9.20: expected 8.*, of PyTorch 2.6 to "
            "2.13");
  EXPECT_EQ(answer(altered("\"minor\": 20", "\"minor\": 99")), "accepted");
  EXPECT_EQ(answer(altered("\"schema_version\"", "\"version\"")),
            "m.pt2: \"m/models/model.json\": \"schema_version\" is missing");
}

TEST(Exported, RefusesOperatorsByNameAllAtOnce) {
  std::vector<Part> parts = altered("aten.mul.Tensor", "mylib.blend.default");
  const std::string node =
      R"({"target": "torch.ops.aten.nonzero.default", "inputs": [{"name": "self", "arg": )"
      R"({"as_tensor": {"name": "x"}}, "kind": 1}], "outputs": [{"as_tensor": {"name": "z"}}], )"
      R"("metadata": {}}, )";
  parts[1].bytes = with(parts[1].bytes, "\"nodes\": [", "\"nodes\": [" + node + node);
  UncoveredCalls uncovered;
  const Result<ImportedModel> m = imported_of(parts, &uncovered);
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.failure().kind, ErrorKind::unsupported);
  EXPECT_EQ(m.failure().message,
            "m.pt2: 2 operators are not covered: aten.nonzero.default (2 calls), "
            "mylib.blend.default (1 call); run_decompositions() in Python may take them apart");
  EXPECT_EQ(uncovered, (UncoveredCalls{{"aten.nonzero.default", 2}, {"mylib.blend.default", 1}}));
}

TEST(Exported, RefusesCustomObjectsAndPickles) {
  EXPECT_EQ(
      answer(altered(R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}})",
                     R"({"custom_obj": {"arg": {"name": "x"}, "custom_obj_name": "queue"}})")),
      "m.pt2: \"m/models/model.json\": input_specs 1: the custom object \"queue\": cleave runs "
      "tensors alone");
  EXPECT_EQ(
      answer(with_weights("\"use_pickle\": false", "\"use_pickle\": true")),
      "m.pt2: \"m/data/weights/model_weights_config.json\": held as pickles, which can run any "
      "code when they are read: \"w\"; custom objects and subclasses of Tensor are not covered");
}

TEST(Exported, RefusesOtherLayouts) {
  EXPECT_EQ(answer({{"x", "1"}}),
            "m.pt2: layout: no archive of torch.export.save: "
            "\"archive_format\" is missing");
  std::vector<Part> parts = small_model();
  parts[0].bytes = "zip";
  EXPECT_EQ(answer(parts), "m.pt2: layout: archive_format is \"zip\", expected pt2");
  EXPECT_EQ(answer({{"serialized_exported_program.json", "{}"}}),
            "m.pt2: \"serialized_exported_program.json\": \"schema_version\" is missing");
  EXPECT_NE(answer({{"m/archive_format", "pt2"}, {"m/data/aotinductor/model/a.so", "x"}})
                .find("code compiled by AOTInductor"),
            std::string::npos);
  parts = small_model();
  parts[4].name = "m/data/weights/weight_1";
  EXPECT_EQ(answer(parts), "m.pt2: layout: \"m/data/weights/weight_0\" is missing");
  parts = small_model();
  parts.push_back({"m/models/other.json", "{}"});
  EXPECT_EQ(answer(parts), "m.pt2: layout: it holds 2 models: \"model\", \"other\"; expected one");
  EXPECT_EQ(answer(with_weights("weight_0", "../weight_0")),
            "m.pt2: \"m/data/weights/model_weights_config.json\": \"w\": path_name "
            "\"../weight_0\": expected the name of a file");
}

TEST(Exported, RefusesTensorsThatReachOutOfTheirFile) {
  const std::string size = R"("sizes": [{"as_int": 2}])",
                    at = "m.pt2: \"w\": \"m/data/weights/weight_0\": ";
  EXPECT_EQ(answer(with_weights(size, R"("sizes": [{"as_int": 3}])")),
            at + "a tensor reaches to element 3, and the file holds 2");
  EXPECT_EQ(answer(with_weights(size, R"("sizes": [{"as_int": -1}])")),
            at + "sizes: -1 is negative");
  EXPECT_EQ(answer(with_weights(R"("strides": [{"as_int": 1}])", R"("strides": [{"as_int": -1}])")),
            at + "strides: -1 is negative");
  EXPECT_EQ(answer(with_weights(R"("storage_offset": {"as_int": 0})",
                                R"("storage_offset": {"as_int": 1})")),
            at + "a tensor reaches to element 3, and the file holds 2");
  EXPECT_EQ(answer(with_weights(R"("storage_offset": {"as_int": 0})",
                                R"("storage_offset": {"as_int": 9223372036854775807})")),
            at + "sizes: they reach beyond 63 bits");
  EXPECT_EQ(
      answer(with_weights(R"("sizes": [{"as_int": 2}], "requires_grad": true,
  "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 1}])",
                          R"("sizes": [{"as_int": 4611686018427387904}], "requires_grad": true,
  "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 4}])")),
      at + "sizes: they reach beyond 63 bits");
  EXPECT_EQ(answer(with_weights(R"("sizes": [{"as_int": 2}], "requires_grad": true,
  "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 1}])",
                                R"("sizes": [{"as_int": 1000000000}], "requires_grad": true,
  "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 0}])")),
            at + "a tensor of 1000000000 elements of 2");
  EXPECT_EQ(answer(with_weights("\"dtype\": 7", "\"dtype\": 9")), at + "the dtype complex32");
  EXPECT_EQ(answer(with_weights("\"dtype\": 7", "\"dtype\": 10")),
            at + "a tensor reaches to element 4, and the file holds 2");
}

TEST(Exported, RefusesWhatContradictsItself) {
  EXPECT_EQ(answer(altered(R"({"as_tensor": {"name": "p_w"}}, "kind")",
                           R"({"as_tensor": {"name": "y"}}, "kind")")),
            "m.pt2: \"y\" = aten.mul.Tensor at net.py:7: \"y\" is read before it is made");
  EXPECT_EQ(answer(altered(R"("y": {"dtype": 7)", R"("y": {"dtype": 8)")),
            "m.pt2: \"y\" = aten.mul.Tensor at net.py:7: it is f32[4,2], and f64[4,2] in the file");
  EXPECT_EQ(answer(with_weights("\"dtype\": 7", "\"dtype\": 4")),
            "m.pt2: \"w\" is i32[2] in the archive, and f32[2] in the graph");
  EXPECT_EQ(answer(with_weights("{\"w\":", "{\"v\":")),
            "m.pt2: input \"w\": the archive has no tensor of that name");
  EXPECT_EQ(answer(altered(R"({"as_tensor": {"name": "p_w"}}, {"as_tensor": {"name": "x"}})",
                           R"({"as_tensor": {"name": "x"}})")),
            "m.pt2: signature: 2 inputs, and the graph has 1");
  EXPECT_EQ(answer(altered("\"name\": \"other\"", "\"name\": \"others\"")),
            "m.pt2: \"y\" = aten.mul.Tensor at net.py:7: its argument \"others\" is not "
            "covered");
}

TEST(Exported, RefusesDamagedText) {
  EXPECT_EQ(answer(altered("\"nodes\": [", "\"nodes\": 3, \"n\": [")),
            "m.pt2: \"m/models/model.json\": nodes: expected a list");
  EXPECT_NE(answer(altered("{\"graph_module\"", "{graph_module")).find("JSON: "),
            std::string::npos);
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  EXPECT_EQ(answer(altered("\"range_constraints\": {}", "\"range_constraints\": " + deep)),
            "m.pt2: \"m/models/model.json\": JSON: nested more than 64 deep");
  EXPECT_EQ(
      answer(altered("{\"as_int\": 4}", "{\"as_int\": 4, \"as_expr\": {\"expr_str\": \"s0\"}}")),
      "m.pt2: \"m/models/model.json\": tensor_values \"x\": a size: \"as_int\" and \"as_expr\" "
      "exclude each other");
}

std::vector<Part> with_size(const std::string& expression, const std::string& least) {
  std::vector<Part> parts = small_model();
  for (int k = 0; k < 2; ++k)
    parts[1].bytes =
        with(parts[1].bytes, "{\"as_int\": 4}",
             "{\"as_expr\": {\"expr_str\": \"" + expression + "\", \"hint\": {\"as_int\": 8}}}");
  parts[1].bytes =
      with(parts[1].bytes, "\"range_constraints\": {}",
           "\"range_constraints\": {\"s0\": {\"min_val\": " + least + ", \"max_val\": 64}}");
  return parts;
}

std::string symbolic(const std::string& expression, const std::string& least = "2") {
  return graph_of(with_size(expression, least));
}

TEST(Exported, ReadsSizesThatAreSymbolic) {
  EXPECT_EQ(
      symbolic("Symbol('s0', positive=True, integer=True)"),
      R"(graph @main(%s0: symint range(0,64) hint(8), %w: param f32[2] grad, %x: input f32[s0,2]) {
  %y = mul(%w, %x) : f32[s0,2]  # net.py:7
  return %y
}
)");
  // A least of 2 says only that the program isn't made for 0 and 1 alone.
  const std::string s0 = "Symbol('s0', positive=True, integer=True)";
  EXPECT_NE(symbolic(s0, "3").find("%s0: symint range(3,64) hint(8)"), std::string::npos);
  EXPECT_NE(symbolic("Symbol('u0')").find("a size that depends on the data"), std::string::npos);
}

// x[:1].expand(4, 2)
TEST(Exported, LeavesOutASizeThatTheProgramCantHave) {
  std::vector<Part> parts = with_size("Symbol('s0', positive=True, integer=True)", "2");
  for (const auto& [name, rows] : {std::pair("first", "1"), std::pair("wide", "4")}) {
    const std::string type =
        fmt::format(R"("{}": {{"dtype": 7, "sizes": [{{"as_int": {}}}, {{"as_int": 2}}],
          "requires_grad": false, "device": {{"type": "cpu", "index": null}}, "layout": 7,
          "strides": [{{"as_int": 2}}, {{"as_int": 1}}], "storage_offset": {{"as_int": 0}}}}, )",
                    name, rows);
    parts[1].bytes = with(parts[1].bytes, "\"tensor_values\": {", "\"tensor_values\": {" + type);
  }
  const std::string nodes =
      R"({"target": "torch.ops.aten.slice.Tensor", "metadata": {}, "inputs": [
           {"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
           {"name": "dim", "arg": {"as_int": 0}, "kind": 1},
           {"name": "end", "arg": {"as_int": 1}, "kind": 1}],
         "outputs": [{"as_tensor": {"name": "first"}}]},
         {"target": "torch.ops.aten.expand.default", "metadata": {}, "inputs": [
           {"name": "self", "arg": {"as_tensor": {"name": "first"}}, "kind": 1},
           {"name": "size", "arg": {"as_ints": [4, 2]}, "kind": 1}],
         "outputs": [{"as_tensor": {"name": "wide"}}]}, )";
  parts[1].bytes = with(parts[1].bytes, "\"nodes\": [", "\"nodes\": [" + nodes);
  const std::string text = graph_of(parts);
  EXPECT_NE(text.find("%s0: symint range(1,64) hint(8)"), text.npos) << text;
}

// Adds a node before the others.
std::vector<Part> preceded(const std::string& node, const std::string& made) {
  std::vector<Part> parts = altered("\"nodes\": [", "\"nodes\": [" + node + ", ");
  const std::string type =
      R"(: {"dtype": 7, "sizes": [{"as_int": 4}, {"as_int": 2}], "requires_grad": false,
    "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 2}, {"as_int": 1}],
    "storage_offset": {"as_int": 0}, "layout": 7}, )";
  parts[1].bytes =
      with(parts[1].bytes, "\"tensor_values\": {", "\"tensor_values\": {\"" + made + "\"" + type);
  return parts;
}

// Where its operator came from is the one trace of what an alias was.
TEST(Exported, AliasesThatWereDetach) {
  const auto calls = [](const std::string& metadata) {
    const std::string text = graph_of(preceded(
        R"({"target": "torch.ops.aten.alias.default", "metadata": {)" + metadata + R"(}, "inputs": [
             {"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}],
           "outputs": [{"as_tensor": {"name": "held"}}]})",
        "held"));
    return text.find("detach(") != text.npos;
  };
  EXPECT_FALSE(calls(""));
  EXPECT_FALSE(calls(R"("torch_fn": "__getitem___1;wrapper_descriptor.__getitem__")"));
  EXPECT_FALSE(
      calls(R"("from_node": "[{\"name\": \"detach\", \"target\": \"aten.alias.default\"}]")"));
  EXPECT_TRUE(calls(R"("torch_fn": "detach_1;method_descriptor.detach")"));
  EXPECT_TRUE(calls(R"("from_node": "[{\"name\": \"a\", \"target\": \"aten.detach.default\"}]")"));
}

TEST(Exported, WritesInPlaceBecomeUpdates) {
  const std::string node =
      R"({"target": "torch.ops.aten.add_.Tensor", "metadata": {}, "inputs": [
           {"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
           {"name": "other", "arg": {"as_int": 1}, "kind": 1}],
         "outputs": [{"as_tensor": {"name": "add_"}}]})";
  EXPECT_EQ(graph_of(preceded(node, "add_")),
            R"(graph @main(%w: param f32[2] grad, %x: input f32[4,2]) {
  %add_ = add(%x; other=1) : f32[4,2]
  %y = mul(%w, %add_) : f32[4,2]  # net.py:7
  return %add_ -> %x, %y
}
)");
}

TEST(Exported, NamesAreThoseThatAGraphCanHave) {
  std::string text = small_model()[1].bytes;
  std::vector<Part> parts = small_model();
  parts[1].bytes = with(text, "\"parameter_name\": \"w\"", "\"parameter_name\": \"a b\\u0001%\"");
  parts[2].bytes = with(parts[2].bytes, "{\"w\":", "{\"a b\\u0001%\":");
  const std::string graph = graph_of(parts);
  EXPECT_NE(graph.find("%a_b__: param f32[2] grad"), std::string::npos) << graph;
}

TEST(Exported, OneTensorOfTwoNamesIsOnePlaceholder) {
  std::vector<Part> parts = small_model();
  parts[1].bytes =
      with(parts[1].bytes, R"("inputs": [{"as_tensor": {"name": "p_w"}}, )",
           R"("inputs": [{"as_tensor": {"name": "p_v"}}, {"as_tensor": {"name": "p_w"}}, )");
  parts[1].bytes =
      with(parts[1].bytes, R"("input_specs": [)",
           R"("input_specs": [{"parameter": {"arg": {"name": "p_v"}, "parameter_name": "v"}}, )");
  parts[1].bytes = with(parts[1].bytes, R"("tensor_values": {)", R"("tensor_values": {
    "p_v": {"dtype": 7, "sizes": [{"as_int": 2}], "requires_grad": true,
            "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 1}],
            "storage_offset": {"as_int": 0}, "layout": 7},)");
  const std::string own = parts[2].bytes.substr(parts[2].bytes.find("{\"path_name\""));
  const std::string one = own.substr(0, own.size() - 2);
  parts[2].bytes = "{\"config\": {\"v\": " + one + ", \"w\": " + one + "}}";
  const Result<ImportedModel> tied = imported_of(parts);
  ASSERT_TRUE(tied.ok()) << tied.failure().message;
  EXPECT_EQ(tied->weights.size(), 1u);
  EXPECT_EQ(tied->ties,
            (std::map<std::string, std::string>{{"v", "w"}}));  // w is the one that is read
  // Half of w, which is trained, is another tensor: it would be two.
  parts[1].bytes = with(parts[1].bytes, R"("p_v": {"dtype": 7, "sizes": [{"as_int": 2}])",
                        R"("p_v": {"dtype": 7, "sizes": [{"as_int": 1}])");
  parts[2].bytes =
      with(parts[2].bytes, R"("sizes": [{"as_int": 2}])", R"("sizes": [{"as_int": 1}])");
  EXPECT_EQ(answer(parts),
            "m.pt2: \"v\" and \"w\" are views of one storage, and one of them is "
            "trained or written; clone() one of them in the model");
}

}  // namespace
}  // namespace cleave
