// Tables of tensors that torch.save wrote: what is read, and that nothing else is.
#include "import/exported/tensor_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "import/exported/json.h"
#include "import/exported/weights.h"
#include "test/import/archives.h"

namespace cleave::exported {
namespace {

using namespace std::string_literals;

std::string text_word(const std::string& s) {
  return "X" + std::string(1, static_cast<char>(s.size())) + "\0\0\0"s + s;
}

// {"w": f32[2,3] from `offset` of the storage "0"}, as torch.save writes it.
std::string one_tensor(char offset = 0) {
  return "\x80\x02}q\0("s + text_word("w") + "ctorch._utils\n_rebuild_tensor_v2\n((" +
         text_word("storage") + "ctorch\nFloatStorage\n" + text_word("0") + text_word("cpu") +
         "K\x08tQK"s + offset + "K\x02K\x03\x86K\x03K\x01\x86\x88" +
         "ccollections\nOrderedDict\n)RtRq\x01u."s;
}

Result<Payloads> table_of(const std::string& pickle, const std::string& order = "little") {
  const std::vector<Part> parts = {
      {"a/data.pkl", pickle}, {"a/byteorder", order}, {"a/data/0", std::string(32, '\1')}};
  CLEAVE_TRY(ZipArchive zip, ZipArchive::from_bytes(zipped(parts), "t"));
  return read_tensor_table(std::make_shared<const ZipArchive>(std::move(zip)));
}

// A complex tensor is one of parts: sizes, strides and the offset count numbers of two.
TEST(TensorTable, ReadsComplexNumbersAsPairs) {
  std::string bytes(6 * 8, '\0');
  for (size_t k = 0; k < 12; ++k) {
    const auto x = static_cast<float>(k);
    std::memcpy(bytes.data() + 4 * k, &x, 4);
  }
  const std::string pickle = with(one_tensor(1), "FloatStorage", "ComplexFloatStorage");
  // [2,2] with the strides (1, 3)
  const std::string strided =
      with(with(pickle, "K\x02K\x03\x86", "K\x02K\x02\x86"), "K\x03K\x01\x86", "K\x01K\x03\x86");
  const std::vector<Part> parts = {{"a/data.pkl", strided}, {"a/data/0", bytes}};
  const auto zip =
      std::make_shared<const ZipArchive>(value_or_bug(ZipArchive::from_bytes(zipped(parts), "t")));
  const Payloads table = value_or_bug(read_tensor_table(zip));
  EXPECT_TRUE(table.at("w").meta.is_complex);
  const HostTensor t = value_or_bug(read_tensor(*zip, table.at("w")));
  EXPECT_EQ(t.type_text(), "f32[2,2,2]");
  EXPECT_EQ(t.to_vector<float>(), (std::vector<float>{2, 3, 8, 9, 4, 5, 10, 11}));
}

std::string refusal_of(const std::string& pickle) {
  const Result<Payloads> table = table_of(pickle);
  return table.ok() ? "accepted" : table.failure().message;
}

TEST(TensorTable, ReadsTensorsByName) {
  const Result<Payloads> table = table_of(one_tensor(2));
  ASSERT_TRUE(table.ok()) << table.failure().message;
  ASSERT_TRUE(table->contains("w"));
  const Payload& w = table->at("w");
  EXPECT_EQ(w.file, "a/data/0");
  EXPECT_TRUE(w.meta.requires_grad);
  EXPECT_FALSE(w.is_param);
  const Result<HostTensor> t = read_tensor(*w.archive, w);
  ASSERT_TRUE(t.ok()) << t.failure().message;
  EXPECT_EQ(t->type_text(), "f32[2,3]");
  const Result<Payloads> beyond = table_of(one_tensor(3));
  ASSERT_TRUE(beyond.ok());
  const Result<HostTensor> none = read_tensor(*beyond->at("w").archive, beyond->at("w"));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.failure().message,
            "\"a/data/0\": a tensor reaches to element 9, and the file holds 8");
}

// torch.nn.Parameter with attributes, as PyTorch 2.6 writes those that torch.export has seen.
TEST(TensorTable, SkipsAttributesOfParameters) {
  const std::string tensor = one_tensor();
  const size_t from = tensor.find("ctorch._utils"), to = tensor.find("q\x01u.");
  const auto parameter = [&](const std::string& state) {
    return "\x80\x02}q\0("s + text_word("w") + "ctorch._utils\n_rebuild_parameter_with_state\n(" +
           tensor.substr(from, to - from) + "\x88}" + state + "tRu.";
  };
  const Result<Payloads> table =
      table_of(parameter("}" + text_word("note") + text_word("x") + "s"));
  ASSERT_TRUE(table.ok()) << table.failure().message;
  EXPECT_TRUE(table->at("w").is_param);
  EXPECT_EQ(refusal_of(parameter("")), "t: a parameter that is none");
  EXPECT_EQ(refusal_of(parameter("cposix\nsystem\n(" + text_word("ls") + "tR")),
            "t: it names \"posix.system\": only tables of tensors are read, and nothing is called");
}

TEST(TensorTable, NamesNothingElse) {
  EXPECT_EQ(refusal_of("cposix\nsystem\n(" + text_word("ls") + "tR."),
            "t: it names \"posix.system\": only tables of tensors are read, and nothing is called");
  EXPECT_EQ(
      refusal_of("cbuiltins\neval\n."),
      "t: it names \"builtins.eval\": only tables of tensors are read, and nothing is called");
  EXPECT_EQ(refusal_of("\x80\x02)\x81."), "t: the opcode 129 of pickles");
  EXPECT_EQ(refusal_of("I01\n."), "t: the opcode 73 of pickles");
}

TEST(TensorTable, RefusesOtherTables) {
  EXPECT_EQ(refusal_of("}" + text_word("k") + "K\x01s."), "t: an entry \"k\" that is no tensor");
  EXPECT_EQ(refusal_of("K\x01."), "t: it holds something else than a dict of tensors");
  EXPECT_EQ(refusal_of("}q\0"s + text_word("k") + "h\0s."s), "t: an entry \"k\" that is no tensor");
  EXPECT_EQ(refusal_of("h\x07."), "t: data.pkl recalls what it didn't keep");
  EXPECT_EQ(refusal_of("."), "t: data.pkl takes what isn't there");
  EXPECT_EQ(refusal_of("(u."), "t: data.pkl takes what isn't there");
  EXPECT_EQ(refusal_of("}(K\x01u."), "t: data.pkl has a key without a value");
  EXPECT_EQ(refusal_of("(K\x01tQ."), "t: a storage that it doesn't describe as torch.save does");
  EXPECT_EQ(refusal_of("ctorch\nFloatStorage\n(tR."),
            "t: a tensor that it doesn't describe as torch.save does");
  const Result<Payloads> big = table_of(one_tensor(), "big");
  ASSERT_FALSE(big.ok());
  EXPECT_EQ(big.failure().message, "t: numbers that begin with their high byte");
}

TEST(TensorTable, EndsEarlyNowhereUnseen) {
  const std::string whole = one_tensor();
  ASSERT_EQ(refusal_of(whole), "accepted");
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(refusal_of(whole.substr(0, size)), "accepted") << size;
}

// Python's json writes what is no finite number as a bare word; PyTorch 2.6 leaves it so.
TEST(Json, ReadsBareWordsForNumbers) {
  simdjson::dom::parser parser;
  const auto root =
      parse_json(parser, R"({"a": [NaN, -Infinity,Infinity], "b": "NaN \" -Infinity"})");
  ASSERT_TRUE(root.ok()) << root.failure().message;
  const auto list = value_or_bug(array_of(root->at_key("a").value(), "a"));
  EXPECT_TRUE(std::isnan(value_or_bug(floating_of(list.at(0).value(), "0"))));
  EXPECT_EQ(value_or_bug(floating_of(list.at(1).value(), "1")), -INFINITY);
  EXPECT_EQ(value_or_bug(floating_of(list.at(2).value(), "2")), INFINITY);
  EXPECT_EQ(value_or_bug(text_of(root->at_key("b").value(), "b")), "NaN \" -Infinity");
  for (const char* wrong : {"[Nan]", "[NaN", "[Infinity1]", "[--Infinity]"})
    EXPECT_FALSE(parse_json(parser, wrong).ok()) << wrong;
}

}  // namespace
}  // namespace cleave::exported
