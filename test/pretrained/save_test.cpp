// Folders that are saved: shards, indexes, what an earlier save left, config.json.
// tests: save_config.cpp
#include "pretrained/save.h"

#include "test/pretrained/small.h"

namespace cleave {
namespace {

using test::gpt2_config;
using test::model_of;
using test::same_state;
using test::TempFolder;
using test::text_of;
using test::thrown;
namespace fs = std::filesystem;

std::set<std::string> files_in(const std::string& folder) {
  std::set<std::string> names;
  for (const fs::directory_entry& e : fs::directory_iterator(folder))
    names.insert(e.path().filename().string());
  return names;
}

TEST(Save, models_come_back) {
  for (const std::string& config :
       {gpt2_config(), gpt2_config(R"(, "tie_word_embeddings": false)"), test::llama_config(),
        test::llama_config(R"(, "tie_word_embeddings": true)", "qwen2"), test::bert_config(),
        test::bert_config(R"(, "tie_word_embeddings": false)"), test::vit_config()}) {
    for (const int64_t shard : {int64_t{1} << 40, int64_t{2000}}) {
      const TempFolder folder;
      const Pretrained model = model_of(config, {}, 1);
      model.save(folder.path(), shard);
      Generator rng(2);
      Pretrained again = Pretrained::make(folder.path(), rng);
      const LoadReport r = again.load(folder.path());
      EXPECT_TRUE(same_state(model, again));
      EXPECT_EQ(r.loaded.size(), model.named_parameters().size());
      EXPECT_TRUE(r.missing.empty() && r.extra.empty());
    }
  }
}

TEST(Save, dtypes_stay) {
  for (const DType dtype : {DType::f64, DType::bf16, DType::f16}) {
    const TempFolder folder;
    const Pretrained model = model_of(gpt2_config(), {.dtype = dtype}, 1);
    model.save(folder.path());
    Generator rng(2);
    Pretrained again = Pretrained::make(folder.path(), rng, {.dtype = dtype});
    EXPECT_TRUE(again.load(folder.path()).converted.empty());
    EXPECT_TRUE(same_state(model, again));
  }
}

TEST(Save, shards_are_no_larger_than_asked) {
  const TempFolder folder;
  const Pretrained model = model_of(gpt2_config());
  const int64_t most = 1500;
  model.save(folder.path(), most);
  const std::string index = text_of(folder / "model.safetensors.index.json");
  int64_t total = 0;
  size_t shards = 0, tensors = 0;
  for (const std::string& name : files_in(folder.path())) {
    if (!name.ends_with(".safetensors")) continue;
    ++shards;
    int64_t bytes = 0;
    const NamedTensors part = load_tensors(folder / name);
    for (const auto& [tensor, t] : part) {
      bytes += t.bytes();
      EXPECT_NE(index.find("\"" + tensor + "\": \"" + name + "\""), std::string::npos) << tensor;
    }
    EXPECT_TRUE(bytes <= most || part.size() == 1) << name << " has " << bytes;
    total += bytes;
    tensors += part.size();
  }
  EXPECT_GT(shards, 3u);
  const Store store = model.store();
  EXPECT_EQ(tensors, store.entries().size());
  EXPECT_NE(index.find("\"total_size\": " + std::to_string(total) + "\n"), std::string::npos);
  EXPECT_TRUE(
      fs::exists(folder / ("model-00001-of-0000" + std::to_string(shards) + ".safetensors")));
}

// transformers prefers model.safetensors to an index, so one of another model must not stay.
TEST(Save, replaces_what_an_earlier_save_left) {
  const TempFolder folder;
  folder.put("tokenizer.json", "{}");
  folder.put("model-x-of-y.safetensors", "");
  const Pretrained model = model_of(gpt2_config());
  model.save(folder.path());
  const std::set<std::string> whole = {"config.json", "model.safetensors",
                                       "model-x-of-y.safetensors", "tokenizer.json"};
  EXPECT_EQ(files_in(folder.path()), whole);
  model.save(folder.path(), 1500);
  EXPECT_FALSE(fs::exists(folder / "model.safetensors"));
  EXPECT_TRUE(fs::exists(folder / "model.safetensors.index.json"));
  const size_t many = files_in(folder.path()).size();
  model.save(folder.path(), 3000);
  EXPECT_LT(files_in(folder.path()).size(), many);
  model.save(folder.path());
  EXPECT_EQ(files_in(folder.path()), whole);
}

TEST(Save, the_file_says_that_it_is_of_pytorch) {
  const TempFolder folder;
  model_of(gpt2_config()).save(folder / "new/folder");
  const std::string text = text_of(folder / "new/folder/model.safetensors");
  EXPECT_NE(text.find(R"("__metadata__":{"format":"pt"})"), std::string::npos);
}

TEST(Save, errors) {
  const TempFolder folder;
  const Pretrained model = model_of(gpt2_config());
  EXPECT_EQ(thrown([&] { model.save(folder.path(), 0); }),
            "user: save: max_shard_bytes is 0, expected 1 or more");
  const std::string file = folder.put("file", "");
  EXPECT_EQ(thrown([&] { model.save(file + "/below"); }).substr(0, 6), "user: ");
}

std::string config_of(const std::string& text, const PretrainedOptions& options = {}) {
  const TempFolder folder;
  model_of(text, options).save(folder.path());
  return text_of(folder / "config.json");
}

TEST(SavedConfig, has_the_fields_of_the_one_that_was_read) {
  EXPECT_EQ(config_of(R"({"n_embd": 8, "n_layer": 1, "n_head": 2, "vocab_size": 5, "n_positions": 4,
                          "model_type": "gpt2", "layer_norm_epsilon": 1e-05, "empty": {},
                          "list": [1, [], {"a": null}], "text": "a\"{[,:\\",
                          "big": 18446744073709551615,
                          "half": 0.5, "architectures": ["GPT2Model"]})"),
            R"({
  "n_embd": 8,
  "n_layer": 1,
  "n_head": 2,
  "vocab_size": 5,
  "n_positions": 4,
  "model_type": "gpt2",
  "layer_norm_epsilon": 1e-05,
  "empty": {},
  "list": [
    1,
    [],
    {
      "a": null
    }
  ],
  "text": "a\"{[,:\\",
  "big": 18446744073709551615,
  "half": 0.5,
  "architectures": [
    "GPT2LMHeadModel"
  ],
  "dtype": "float32"
}
)");
}

TEST(SavedConfig, dtype_and_dropout) {
  const std::string older =
      config_of(gpt2_config(R"(, "torch_dtype": "float16")"), {.dtype = DType::bf16});
  EXPECT_NE(older.find(R"("torch_dtype": "bfloat16")"), std::string::npos) << older;
  EXPECT_EQ(older.find(R"("dtype")"), std::string::npos);
  EXPECT_EQ(older.find("pdrop"), std::string::npos);
  const std::string text = config_of(gpt2_config(R"(, "attn_pdrop": 0.3)"), {.dropout = 0.25});
  for (const char* field : {"attn_pdrop", "embd_pdrop", "resid_pdrop"})
    EXPECT_NE(text.find("\"" + std::string(field) + "\": 0.25"), std::string::npos) << field;
}

}  // namespace
}  // namespace cleave
