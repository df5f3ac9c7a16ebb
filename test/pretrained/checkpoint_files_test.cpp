// Files of checkpoints: which one a folder means, indexes that lie or lead elsewhere.
#include "pretrained/checkpoint_files.h"

#include "test/pretrained/small.h"

namespace cleave::pretrained {
namespace {

using test::TempFolder;
namespace fs = std::filesystem;

std::string open_refusal(const std::string& path) {
  const Result<CheckpointFiles> r = open_checkpoint(path);
  return r.ok() ? "no error" : r.failure().message;
}
std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  const CheckpointFiles files = value_or_throw(open_checkpoint(path));
  for (const TensorEntry& e : files.entries) names.push_back(e.name);
  return names;
}

// A folder with shards of one tensor each: a in one.safetensors, b in two.safetensors.
struct Sharded : testing::Test {
  TempFolder folder;
  std::string index = folder / index_name;
  Sharded() {
    save_tensors(folder / "one.safetensors", {{"a", HostTensor::from<float>({1, 2})}});
    save_tensors(folder / "two.safetensors", {{"b", HostTensor::from<float>({3})}});
    lists(R"("a": "one.safetensors", "b": "two.safetensors")");
  }
  void lists(const std::string& members) const {
    folder.put(index_name, R"({"metadata": {"total_size": 12}, "weight_map": {)" + members + "}}");
  }
  std::string refused() const {
    const std::string text = open_refusal(index);
    return text.starts_with(index + ": ") ? text.substr(index.size() + 2) : text;
  }
};

TEST_F(Sharded, are_read_in_order) {
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(names_in(index), (std::vector<std::string>{"a", "b"}));
  const auto before = fs::current_path();
  fs::current_path(folder.path());
  EXPECT_EQ(names_in(index_name), (std::vector<std::string>{"a", "b"}));
  fs::current_path(before);
}

TEST_F(Sharded, one_file_comes_before_an_index) {
  save_tensors(folder / "model.safetensors", {{"c", HostTensor::from<float>({3})}});
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"c"});
}

TEST_F(Sharded, names_that_do_not_fit) {
  lists(R"("a": "one.safetensors", "c": "two.safetensors")");
  EXPECT_EQ(refused(), "weight_map says that \"c\" is in \"two.safetensors\", where it isn't");
  lists(R"("a": "one.safetensors", "b": "one.safetensors")");
  EXPECT_EQ(refused(), "weight_map says that \"b\" is in \"one.safetensors\", where it isn't");
  save_tensors(folder / "two.safetensors",
               {{"a", HostTensor::from<float>({3})}, {"b", HostTensor::from<float>({3})}});
  lists(R"("a": "one.safetensors", "b": "two.safetensors")");
  EXPECT_EQ(refused(), "\"two.safetensors\" holds \"a\", which weight_map doesn't list there");
}

TEST_F(Sharded, texts_that_are_no_index) {
  folder.put(index_name, "{}");
  EXPECT_EQ(refused(), "\"weight_map\" is missing");
  folder.put(index_name, "[1]");
  EXPECT_EQ(refused(), "index: expected an object");
  folder.put(index_name, "{");
  EXPECT_EQ(refused().substr(0, 6), "JSON: ");
  lists("");
  EXPECT_EQ(refused(), "weight_map lists no tensors");
  lists(R"("a": 1)");
  EXPECT_EQ(refused(), "weight_map: \"a\": expected a text");
  lists(R"("a": "one.safetensors", "a": "two.safetensors")");
  EXPECT_EQ(refused(), "weight_map lists \"a\" twice");
}

TEST_F(Sharded, files_elsewhere) {
  const TempFolder other;
  const std::string secret = other / "secret.safetensors";
  save_tensors(secret, {{"a", HostTensor::from<float>({3})}});
  for (const std::string& name :
       {std::string("../") + fs::path(other.path()).filename().string() + "/secret.safetensors",
        secret, std::string("."), std::string(".."), std::string(""),
        std::string("below/one.safetensors")}) {
    lists("\"a\": \"" + name + "\"");
    EXPECT_EQ(refused().substr(0, 26), "weight_map names the file ") << name;
  }
  lists(R"("a": "one.safetensors\u0000.safetensors")");
  EXPECT_EQ(refused().substr(0, 26), "weight_map names the file ");
  fs::create_symlink(secret, folder / "link.safetensors");
  lists(R"("a": "link.safetensors")");
  EXPECT_EQ(refused(),
            "weight_map names \"link.safetensors\", a link that leads out of the index's folder");
  lists(R"("a": "none.safetensors")");
  EXPECT_EQ(refused(), "weight_map names \"none.safetensors\": No such file or directory");
  fs::create_symlink("one.safetensors", folder / "inside.safetensors");
  lists(R"("a": "inside.safetensors")");
  EXPECT_EQ(names_in(index), std::vector<std::string>{"a"});
}

// Hugging Face's cache: models--x/snapshots/COMMIT/NAME is a link to models--x/blobs/HASH.
TEST_F(Sharded, links_of_the_cache) {
  const TempFolder cache;
  fs::create_directories(cache / "snapshots/1");
  fs::create_directories(cache / "blobs");
  fs::copy_file(folder / "one.safetensors", cache / "blobs/7a");
  fs::create_symlink("../../blobs/7a", cache / "snapshots/1/one.safetensors");
  cache.put("snapshots/1/" + std::string(index_name),
            R"({"weight_map": {"a": "one.safetensors"}})");
  EXPECT_EQ(names_in(cache / "snapshots/1"), std::vector<std::string>{"a"});
}

TEST(CheckpointFiles, of_torch_save) {
  const TempFolder folder;
  const std::string path = folder.put("pytorch_model.bin", "PK");
  const std::string expected =
      path +
      ": files of torch.save can run any code when they are read; write it again in Python:\n"
      "  import torch, safetensors.torch\n"
      "  safetensors.torch.save_file({k: v.contiguous().clone() for k, v in torch.load(\"" +
      path + "\", weights_only=True).items()}, \"model.safetensors\", {\"format\": \"pt\"})";
  EXPECT_EQ(open_refusal(path), expected);
  EXPECT_EQ(open_refusal(folder.path()), expected);
  std::filesystem::remove(path);
  const std::string index = folder.put("pytorch_model.bin.index.json", "{}");
  EXPECT_NE(
      open_refusal(folder.path())
          .find("\n  import glob, torch, safetensors.torch\n  safetensors.torch.save_file({k: "
                "v.contiguous().clone() for p in glob.glob(\"" +
                folder.path() + "/pytorch_model-*.bin\") for k, v in torch.load(p, "),
      std::string::npos)
      << open_refusal(index);
  for (const char* name : {"a.pt", "a.pth", "a.ckpt"})
    EXPECT_NE(open_refusal(folder.put(name, "")).find("torch.save"), std::string::npos) << name;
}

TEST(CheckpointFiles, that_are_not_there) {
  const TempFolder folder;
  EXPECT_EQ(open_refusal(folder.path()), folder.path() +
                                             ": it has neither model.safetensors nor "
                                             "model.safetensors.index.json");
  EXPECT_NE(open_refusal(folder / "x.safetensors").find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace cleave::pretrained
