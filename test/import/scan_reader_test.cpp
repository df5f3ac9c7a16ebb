// Scans and maps, whose bodies are written out for each row.
#include "test/import/reading.h"

namespace cleave::exported {
namespace {

// carry, y = carry * row, row + 1; without a carry, as map has it, the first result is one more y.
Node scan(const std::string& op, std::vector<Argument> lists,
          const std::vector<std::string>& results) {
  Graph inner;
  inner.inputs = {tensor("a"), tensor("b")};
  inner.outputs = {tensor("product"), tensor("more")};
  for (const char* name : {"a", "b", "product", "more"}) inner.tensors[name] = meta_of({2});
  inner.nodes.push_back({"torch.ops.aten.mul.Tensor",
                         {{"self", tensor("a")}, {"other", tensor("b")}},
                         {tensor("product")},
                         {},
                         0});
  inner.nodes.push_back({"torch.ops.aten.add.Tensor",
                         {{"self", tensor("b")}, {"other", number(1)}},
                         {tensor("more")},
                         {},
                         0});
  Argument body = of_kind(Kind::graph, "body");
  body.graph = std::make_shared<const Graph>(std::move(inner));
  std::vector<Argument> outputs;
  for (const std::string& name : results) outputs.push_back(tensor(name));
  Node n{"torch.ops.higher_order." + op, {{"", body}}, std::move(outputs), {}, 0};
  for (Argument& a : lists) n.inputs.push_back({"", std::move(a)});
  return n;
}

void read_scan(Reading& r, std::vector<int64_t> rows, std::vector<int64_t> carry) {
  r.param("x", std::move(rows));
  r.input("c", std::move(carry));
  r.source.tensors["last"] = meta_of({2});
  r.source.tensors["ys"] = meta_of({3, 2});
  r.source.nodes.push_back(
      scan("scan", {list({tensor("c")}), list({tensor("x")}), list({})}, {"last", "ys"}));
}

TEST(ScanReader, ScansAreWrittenOut) {
  const std::map<std::string, Numbers> inputs = {{"x", {1, 2, 3, 4, 5, 6}}, {"c", {10, 100}}};
  Reading carried, stacked;
  read_scan(carried, {3, 2}, {2});
  const Answer last = answer(carried, "last", inputs);
  EXPECT_EQ(last.failure, "");
  expect_near(last.value, {150, 4800});
  expect_near(last.gradient, {150, 2400, 50, 1200, 30, 800});
  EXPECT_TRUE(carried.file.subgraphs.empty());
  read_scan(stacked, {3, 2}, {2});
  expect_near(answer(stacked, "ys", inputs).value, {2, 3, 4, 5, 6, 7});
}

TEST(ScanReader, MapsAreWrittenOut) {
  Reading r;
  r.param("x", {3, 2});
  r.input("c", {2});
  for (const char* name : {"first", "second"}) r.source.tensors[name] = meta_of({3, 2});
  r.source.nodes.push_back(
      scan("map_impl", {list({tensor("x")}), list({tensor("c")})}, {"first", "second"}));
  const Answer a = answer(r, "first", {{"x", {1, 2, 3, 4, 5, 6}}, {"c", {10, 100}}});
  EXPECT_EQ(a.failure, "");
  expect_near(a.value, {10, 200, 30, 400, 50, 600});
  expect_near(a.gradient, {10, 100, 10, 100, 10, 100});
}

TEST(ScanReader, ScansThatAreRefused) {
  for (const auto& [rows, carry, message] :
       {std::tuple(std::vector<int64_t>{0, 2}, std::vector<int64_t>{2},
                   "a scan or map over no rows"),
        std::tuple(std::vector<int64_t>{8193, 2}, std::vector<int64_t>{2},
                   "a scan or map over 8193 rows of 2 calls each, expected at most 16384 in all"),
        std::tuple(std::vector<int64_t>{3, 2}, std::vector<int64_t>{1},
                   "a scan whose carried value 0 is f32[1] and becomes f32[2]")}) {
    Reading r;
    read_scan(r, rows, carry);
    const std::string text = r.text("last");
    EXPECT_NE(text.find(message), text.npos) << text;
  }
}

}  // namespace
}  // namespace cleave::exported
