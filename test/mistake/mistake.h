// A mistake that users make, and what cleave says, word for word:
//
//   MISTAKE(name, "A title",
//           "program.cpp:1: what is said") {
//     code that throws;
//   }
//
// script/mistakes writes doc/mistakes.md from these entries: the page shows the body. In a message
// `program.cpp` is the source of the test, whose lines count from the first one of the body, mlp.h
// is this file from `struct Mlp` on, and TMP/ the folder of the test's files.
#pragma once
#include <gtest/gtest.h>

#include <fstream>

#include "cleave/cleave.h"
#include "cleave/progress.h"

namespace cleave::mistake {

// The message of what `body` throws, with `program.cpp` and its lines.
std::string said(const std::string& file, const std::string& name, void (*body)());
// Replaces each `from`.
std::string replaced(std::string text, const std::string& from, const std::string& to);

// A file of this process.
std::string tmp(const std::string& name);

// ---- what the entries use
inline constexpr DType f32 = DType::f32, i64 = DType::i64;

struct Mlp : nn::Module {
  nn::Linear fc1, fc2;
  explicit Mlp(Generator& rng)
      : fc1(add_module("fc1", nn::Linear(2, 8, rng))),
        fc2(add_module("fc2", nn::Linear(8, 1, rng))) {}
  Tensor operator()(const Tensor& x) const { return fc2(relu(fc1(x))); }
};

// A step of an Mlp on x: f32[4,2] and y: f32[4,1].
TrainStep mlp_step(const Mlp& model, const TrainOptions& options = {},
                   Location at = Location::current());

// Runs a line of the command in a folder with graphs (see the definition) and x.safetensors, where
// x is f32[2,3]; throws what is said.
void command(const std::string& line);

}  // namespace cleave::mistake

#define MISTAKE(name, title, message)                                                 \
  static void name##_body();                                                          \
  TEST(Mistake, name) {                                                               \
    EXPECT_EQ(cleave::mistake::said(__FILE__, #name, name##_body), message) << title; \
  }                                                                                   \
  static void name##_body()
