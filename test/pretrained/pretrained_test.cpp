// The public class: what it says of itself, initial values, dropout, clones, errors at the caller's
// line.
// tests: architecture.cpp
#include "cleave/pretrained.h"

#include <cmath>

#include "test/pretrained/small.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::after_line;
using test::bert_config;
using test::gpt2_config;
using test::llama_config;
using test::message;
using test::model_of;
using test::TempFolder;
using test::thrown;
using test::vit_config;

TEST(Pretrained, says_what_it_is) {
  const Pretrained g = model_of(gpt2_config());
  EXPECT_EQ(g.model_type(), "gpt2");
  EXPECT_EQ(g.task(), PretrainedTask::causal_language);
  EXPECT_EQ(g.vocabulary_size(), 11);
  EXPECT_EQ(g.context(), 8);
  const Pretrained v = model_of(vit_config());
  EXPECT_EQ(v.task(), PretrainedTask::image_classes);
  EXPECT_EQ(v.vocabulary_size(), 0);
  EXPECT_EQ(v.context(), 0);
}

TEST(Pretrained, inputs) {
  const Pretrained g = model_of(gpt2_config());
  const std::vector<InputSpec> specs = g.inputs(3, 8);
  EXPECT_EQ(specs[0].name, "input_ids");
  EXPECT_EQ(specs[1].name, "labels");
  EXPECT_EQ(specs[1].shape.largest(), (std::vector<int64_t>{3, 8}));
  EXPECT_EQ(thrown([&] { g.inputs(3, 9); }),
            "user: Pretrained: length is 9, expected 2 to 8 tokens");
  EXPECT_EQ(thrown([&] { g.inputs(3, 1); }),
            "user: Pretrained: length is 1, expected 2 to 8 tokens");
  EXPECT_EQ(thrown([&] { g.inputs(0, 8); }), "user: Pretrained: batch is 0, expected 1 or more");
  EXPECT_EQ(model_of(bert_config()).inputs(1, 1).size(), 2u);
  const std::vector<InputSpec> images = model_of(vit_config()).inputs(3, 0);
  EXPECT_EQ(images[0].name, "pixel_values");
  EXPECT_EQ(images[0].shape.largest(), (std::vector<int64_t>{3, 2, 8, 8}));
  EXPECT_EQ(images[1].shape.largest(), std::vector<int64_t>{3});
}

// Mean and deviation of a parameter's elements.
std::pair<double, double> moments(const Pretrained& m, const std::string& name) {
  const HostTensor& t = m.parameter(name).value();
  double sum = 0, squares = 0;
  for (int64_t k = 0; k < t.numel(); ++k) sum += t.number(k);
  const auto n = static_cast<double>(t.numel());
  for (int64_t k = 0; k < t.numel(); ++k) squares += std::pow(t.number(k) - sum / n, 2);
  return {sum / n, std::sqrt(squares / n)};
}

TEST(Pretrained, initial_values) {
  const std::string wide = R"(, "n_embd": 64, "initializer_range": 0.1)";
  std::string text = gpt2_config(wide);
  text.erase(text.find(R"("n_embd": 8, )"), 13);
  const Pretrained g = model_of(text);
  EXPECT_NEAR(moments(g, "transformer.h.0.attn.c_attn.weight").second, 0.1, 0.005);
  EXPECT_NEAR(moments(g, "transformer.h.1.attn.c_proj.weight").second, 0.05, 0.003);  // / sqrt(4)
  EXPECT_NEAR(moments(g, "transformer.h.1.mlp.c_proj.weight").second, 0.05, 0.003);
  EXPECT_NEAR(moments(g, "transformer.wte.weight").second, 0.1, 0.01);
  EXPECT_EQ(moments(g, "transformer.h.0.attn.c_attn.bias"), std::pair(0.0, 0.0));
  EXPECT_EQ(moments(g, "transformer.ln_f.weight"), std::pair(1.0, 0.0));
  const Pretrained v = model_of(vit_config(R"(, "initializer_range": 2.0)"));
  const HostTensor& p = v.parameter("vit.embeddings.position_embeddings").value();
  for (int64_t k = 0; k < p.numel(); ++k) EXPECT_LE(std::abs(p.number(k)), 2);
  EXPECT_GT(moments(v, "vit.embeddings.position_embeddings").second, 0.5);
  const Pretrained b = model_of(bert_config());  // row 0 is padding
  for (int64_t k = 0; k < 8; ++k)
    EXPECT_EQ(b.parameter("bert.embeddings.word_embeddings.weight").value().number(k), 0);
}

TEST(Pretrained, initial_values_that_are_not_drawn) {
  const TempFolder folder;
  Generator rng(1), other(1);
  for (const std::string& text : {gpt2_config(), vit_config()}) {
    const Pretrained m = Pretrained::make(folder.put("config.json", text), rng, {.draws = false});
    for (const auto& [name, p] : m.named_parameters()) {
      const bool is_one = name.ends_with("weight") && p.shape().size() == 1;  // of a norm
      EXPECT_EQ(moments(m, name), std::pair(is_one ? 1.0 : 0.0, 0.0)) << name;
    }
  }
  EXPECT_EQ(rng.next(), other.next());
}

TEST(Pretrained, ties) {
  const Pretrained tied = model_of(gpt2_config());
  EXPECT_EQ(tied.parameter("lm_head.weight"), tied.parameter("transformer.wte.weight"));
  const Pretrained untied = model_of(gpt2_config(R"(, "tie_word_embeddings": false)"));
  EXPECT_FALSE(untied.parameter("lm_head.weight") == untied.parameter("transformer.wte.weight"));
  const Pretrained b = model_of(bert_config());
  EXPECT_EQ(b.parameter("cls.predictions.decoder.bias"), b.parameter("cls.predictions.bias"));
  EXPECT_EQ(b.parameter("cls.predictions.decoder.weight"),
            b.parameter("bert.embeddings.word_embeddings.weight"));
}

int count_of(const Graph& g, const std::string& op) {
  int count = 0;
  const std::string text = print(g);
  for (size_t at = text.find(" = " + op); at != text.npos; at = text.find(" = " + op, at + 1))
    ++count;
  return count;
}

Graph traced(const Pretrained& m, trace::Mode mode) {
  return test::traced(
      m.inputs(2, 4), [&](const Tensor& x, const Tensor& y) { return m.loss(x, y); }, mode, &m);
}

TEST(Pretrained, dropout_of_the_config_and_of_the_options) {
  const auto drops = [](const std::string& text, const PretrainedOptions& options, bool eval) {
    Pretrained m = model_of(text, options);
    if (eval) m.eval();
    const Graph g = traced(m, trace::Mode::training);
    const std::string all = print(g);
    return std::pair(count_of(g, "native_dropout("), all.find("dropout_p=") != all.npos);
  };
  using Pair = std::pair<int, bool>;
  EXPECT_EQ(drops(gpt2_config(), {}, false), Pair(5, true));  // 2 a layer, of embeddings
  EXPECT_EQ(drops(gpt2_config(), {.dropout = 0}, false), Pair(0, false));
  EXPECT_EQ(drops(gpt2_config(), {}, true), Pair(0, false));
  EXPECT_EQ(drops(gpt2_config(R"(, "attn_pdrop": 0)"), {}, false), Pair(5, false));
  EXPECT_EQ(drops(gpt2_config(R"(, "resid_pdrop": 0)"), {}, false), Pair(1, true));
  EXPECT_EQ(drops(bert_config(), {}, false), Pair(5, true));
  EXPECT_EQ(drops(vit_config(), {}, false), Pair(0, false));
  EXPECT_EQ(drops(vit_config(), {.dropout = 0.1}, false), Pair(5, true));
  EXPECT_EQ(drops(llama_config(), {}, false), Pair(0, false));
  EXPECT_EQ(drops(llama_config(), {.dropout = 0.1}, false), Pair(0, true));
}

// The scales of the attentions in a graph's text; heads are 4 wide.
TEST(Pretrained, scales_of_attention) {
  const auto scales = [](const std::string& more) {
    const std::string text = print(traced(model_of(gpt2_config(more)), trace::Mode::evaluation));
    std::vector<std::string> out;
    for (size_t at = text.find(" scale="); at != text.npos; at = text.find(" scale=", at + 1))
      out.push_back(text.substr(at + 7, text.find_first_of(",)", at) - at - 7));
    return out;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(scales(""), Texts());  // the operator's own
  EXPECT_EQ(scales(R"(, "scale_attn_by_inverse_layer_idx": true)"), Texts({"0.5", "0.25"}));
  EXPECT_EQ(scales(R"(, "scale_attn_weights": false)"), Texts({"1.0", "1.0"}));
}

HostTensor ids_of(const std::vector<int64_t>& ids) {
  return HostTensor::from<int64_t>(ids, {1, static_cast<int64_t>(ids.size())});
}
double loss_of(const Pretrained& m, const HostTensor& ids, const HostTensor& labels) {
  return compile(
             m, [&](const Tensor& x, const Tensor& y) { return m.loss(x, y); },
             m.inputs(1, ids.shape()[1]))
      .run({ids, labels})[0]
      .item();
}

TEST(Pretrained, a_row_of_padding_gets_no_gradient) {
  const auto gradient = [](const std::string& more) {
    const Pretrained m = model_of(llama_config(more));
    const HostTensor ids = ids_of({1, 3, 2, 3});
    const HostTensor g =
        compile(
            m,
            [&](const Tensor& x, const Tensor& y) {
              return grad(m.loss(x, y), {m.parameter("model.embed_tokens.weight")})[0];
            },
            m.inputs(1, 4))
            .run({ids, ids})[0];
    double sum = 0;
    for (int64_t k = 0; k < 8; ++k) sum += std::abs(g.number(3 * 8 + k));
    return sum;
  };
  EXPECT_GT(gradient(""), 0);
  EXPECT_EQ(gradient(R"(, "pad_token_id": 3)"), 0);
}

// The label of a position is the next one's; the first label counts for nothing.
TEST(Pretrained, labels_of_causal_models_are_shifted) {
  const Pretrained m = model_of(gpt2_config(R"(, "initializer_range": 1.0)"));
  const HostTensor ids = ids_of({1, 2, 3});
  const HostTensor logits =
      compile(m, [&](const Tensor& x) { return m.logits(x); }, {{"x", DType::i64, {1, 3}}})
          .run({ids})[0];
  const auto nll = [&](int64_t t, int64_t label) {
    double sum = 0;
    for (int64_t c = 0; c < 11; ++c) sum += std::exp(logits.number(t * 11 + c));
    return std::log(sum) - logits.number(t * 11 + label);
  };
  EXPECT_NEAR(loss_of(m, ids, ids), (nll(0, 2) + nll(1, 3)) / 2, 1e-5);
  EXPECT_NEAR(loss_of(m, ids, ids_of({7, 2, 3})), (nll(0, 2) + nll(1, 3)) / 2, 1e-5);
  EXPECT_NEAR(loss_of(m, ids, ids_of({1, -100, 3})), nll(1, 3), 1e-5);
}

TEST(Pretrained, labels_of_masked_models_stay) {
  const Pretrained m = model_of(bert_config(R"(, "initializer_range": 1.0)"));
  const HostTensor ids = ids_of({1, 2, 3});
  const double first = loss_of(m, ids, ids_of({4, -100, -100}));
  const double last = loss_of(m, ids, ids_of({-100, -100, 5}));
  EXPECT_NEAR(loss_of(m, ids, ids_of({4, -100, 5})), (first + last) / 2, 1e-5);
}

TEST(Pretrained, a_clone_has_parameters_of_its_own) {
  const Pretrained m = model_of(gpt2_config());
  const Pretrained twin = nn::clone(m);
  const HostTensor ids = ids_of({1, 2, 3});
  const double before = loss_of(m, ids, ids);
  EXPECT_EQ(loss_of(twin, ids, ids), before);
  twin.parameter("transformer.wte.weight").set(HostTensor(DType::f32, {11, 8}));
  EXPECT_EQ(loss_of(m, ids, ids), before);
  EXPECT_NEAR(loss_of(twin, ids, ids), std::log(11), 1e-5);
  Pretrained from = m;
  const Pretrained to = std::move(from);
  EXPECT_EQ(loss_of(from, ids, ids), before);  // NOLINT: a module that was moved from is the same
  EXPECT_EQ(loss_of(to, ids, ids), before);
}

TEST(Pretrained, inputs_that_do_not_fit) {
  const Pretrained m = model_of(gpt2_config()), v = model_of(vit_config());
  const auto refusal = [&](const Pretrained& model, const InputSpec& x, const InputSpec& y) {
    int line = 0;
    const std::string text = message([&] {
      compile(model, [&](const Tensor& a, const Tensor& b) { return model.loss(a, b); }, {x, y});
    });
    return after_line(text, __FILE__, &line).substr(0, 85);
  };
  const InputSpec ids{"x", DType::i64, {2, 4}}, labels{"y", DType::i64, {2, 4}};
  EXPECT_EQ(refusal(m, {"x", DType::f32, {2, 4}}, labels)
                .find("Pretrained: input_ids is f32[2,4], expected i64[batch,length]"),
            0u);
  EXPECT_EQ(refusal(m, {"x", DType::i64, {2, 9}}, labels)
                .find("Pretrained: input_ids is i64[2,9], the model's context is 8 tokens"),
            0u);
  EXPECT_EQ(refusal(m, ids, {"y", DType::i64, {2, 3}})
                .find("Pretrained: labels is i64[2,3], expected i64[2,4]"),
            0u);
  EXPECT_EQ(refusal(m, {"x", DType::i64, {2, 1}}, {"y", DType::i64, {2, 1}})
                .find("Pretrained: labels is i64[2,1], a next token takes a length of 2 or more"),
            0u);
  EXPECT_EQ(refusal(v, {"x", DType::f32, {2, 2, 8, 9}}, {"y", DType::i64, {2}})
                .find("Pretrained: pixel_values is f32[2,2,8,9], expected f32[batch,2,8,8]"),
            0u);
}

TEST(Pretrained, a_token_outside_of_the_vocabulary_fails_the_run) {
  const Pretrained m = model_of(gpt2_config());
  const HostTensor ids = ids_of({1, 11, 3});
  EXPECT_NE(thrown([&] { loss_of(m, ids, ids_of({1, 2, 3})); }).find("user: "), std::string::npos);
}

TEST(Pretrained, options_that_do_not_fit) {
  EXPECT_EQ(thrown([] { model_of(gpt2_config(), {.dtype = DType::i32}); }),
            "user: Pretrained: dtype is i32, expected a floating one");
  EXPECT_NE(thrown([] {
              model_of(gpt2_config(), {.dropout = 2});
            }).find("dropout is 2, expected a probability from 0 to 1"),
            std::string::npos);
  const TempFolder folder;
  Generator rng(1);
  EXPECT_EQ(thrown([&] { Pretrained::make(folder.path(), rng); }),
            "user: " + (folder / "config.json") + ": open: No such file or directory");
}

// Lengths may vary: each is traced for itself.
TEST(Pretrained, lengths_vary) {
  const Pretrained m = model_of(llama_config());
  CompiledFunction f = compile(m, [&](const Tensor& x) { return m.logits(x); },
                               {{"x", DType::i64, {1, dyn("T", 1, 16)}}});
  EXPECT_EQ(f.run({ids_of({1, 2, 3})})[0].shape(), (std::vector<int64_t>{1, 3, 11}));
  EXPECT_EQ(f.run({ids_of({1, 2, 3, 4, 5})})[0].shape(), (std::vector<int64_t>{1, 5, 11}));
}

}  // namespace
}  // namespace cleave
