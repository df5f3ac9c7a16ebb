// Small models' configs, and folders that are gone after the test.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "cleave/cleave.h"

namespace cleave::test {

inline const std::string tiny_folder = CLEAVE_SOURCE_DIR "/test/pretrained/tiny/";

class TempFolder {
 public:
  TempFolder() {
    static int number = 0;
    path_ = testing::TempDir() + "cleave_pretrained_" + std::to_string(::getpid()) + "_" +
            std::to_string(number++);
    std::filesystem::create_directories(path_);
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file, and returns its path.
  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(*this / name, std::ios::binary) << text;
    return *this / name;
  }

 private:
  std::string path_;
};

inline std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

// "user: ..." or "unsupported: ..." of what a call throws.
template <class F>
std::string thrown(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    const char* kind = e.kind() == ErrorKind::user          ? "user: "
                       : e.kind() == ErrorKind::unsupported ? "unsupported: "
                                                            : "bug: ";
    return kind + std::string(e.what());
  }
  return "no error";
}

// Configs; `more` is members that are added: ", \"n_inner\": 20".
inline std::string gpt2_config(const std::string& more = "") {
  return R"({"model_type": "gpt2", "vocab_size": 11, "n_positions": 8, "n_embd": 8, "n_layer": 2,
             "n_head": 2)" +
         more + "}";
}
inline std::string llama_config(const std::string& more = "", const std::string& type = "llama") {
  return R"({"model_type": ")" + type +
         R"(", "vocab_size": 11, "hidden_size": 8, "intermediate_size": 12,
             "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
             "max_position_embeddings": 16)" +
         more + "}";
}
inline std::string bert_config(const std::string& more = "") {
  return R"({"model_type": "bert", "vocab_size": 11, "hidden_size": 8, "intermediate_size": 12,
             "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 8)" +
         more + "}";
}
inline std::string vit_config(const std::string& more = "") {
  return R"({"model_type": "vit", "hidden_size": 8, "intermediate_size": 12,
             "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 8, "patch_size": 4,
             "num_channels": 2)" +
         more + "}";
}

// A model of a config's text.
inline Pretrained model_of(const std::string& config, const PretrainedOptions& options = {},
                           uint64_t seed = 1) {
  const TempFolder folder;
  Generator rng(seed);
  return Pretrained::make(folder.put("config.json", config), rng, options);
}

// Whether all Variables of both have the same bits.
inline testing::AssertionResult same_state(const nn::Module& a, const nn::Module& b) {
  const Store own = a.store(), other = b.store();
  if (own.entries().size() != other.entries().size())
    return testing::AssertionFailure() << "another number of names";
  for (const auto& [name, v] : own.entries()) {
    const Variable w = other.find(name);
    if (!w.defined() || !v.value().same_bits(w.value()))
      return testing::AssertionFailure() << name << " differs";
  }
  return testing::AssertionSuccess();
}

}  // namespace cleave::test
