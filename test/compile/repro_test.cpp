// What a defect leaves behind is read back by the command that it names.
#include "compile/repro.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/shell_word.h"
#include "base/write_file.h"
#include "compile/stages.h"
#include "exec/executable.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;
using test::core, test::parsed;

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class ReproFolder : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("cleave_repro.{}", ::getpid());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string folder() const { return folder_.string(); }

 private:
  fs::path folder_;
};

const char* const text = "graph @net(%x: input f32[2] grad) {\n  %y = cos(%x)\n  return %y\n}\n";

// cos, whose lowering finds a broken invariant.
OpRegistry with_broken_cos() {
  OpRegistry out;
  for (const auto& op : core().all()) {
    OpDef def = *op;
    if (def.name == "cos")
      def.lower =
          loop::elementwise([](loop::KernelBuilder&, const OpView&,
                               const loop::Exprs&) -> loop::Exprs { throw_bug("cos is broken"); });
    value_or_throw(out.add(std::move(def)));
  }
  return out;
}

TEST_F(ReproFolder, of_a_compilation) {
  const OpRegistry ops = with_broken_cos();
  const Graph g = value_or_throw(parse(text, "test", ops)).main;
  StageOptions options{{.threads = 1, .compiler = CompilerChoice::none, .strict = true}};
  options.repro = folder() + "/a";
  options.dump_dir = folder() + "/dumped";
  options.write_inputs = [](const std::string& path) { return write_file(path, "inputs"); };
  for (int k = 0; k < 2; ++k) {
    const auto program = CompiledProgram::compile(g, ops, options);
    ASSERT_FALSE(program.ok());
    EXPECT_EQ(program.failure().kind, ErrorKind::bug);
    const std::string at = fmt::format("{}/a/net_{}", folder(), k);
    const std::string command = fmt::format(
        "cleave run {0}/graph.clv --in {0}/inputs.safetensors --options @{0}/options.txt", at);
    EXPECT_TRUE(program.failure().message.ends_with("cos is broken\n  repeat it with: " + command))
        << program.failure().message;
    EXPECT_EQ(text_of(at + "/repeat.txt"), command + "\n");
    EXPECT_EQ(text_of(at + "/graph.clv"), print(g));
    EXPECT_EQ(text_of(at + "/inputs.safetensors"), "inputs");
    EXPECT_EQ(text_of(at + "/options.txt"), "threads=1 compiler=none strict=true\n");
  }
}

TEST_F(ReproFolder, of_a_program_whose_code_is_compiled_elsewhere) {
  const OpRegistry ops = with_broken_cos();
  StageOptions options;
  options.repro = folder();
  Report report;
  const auto program =
      write_program(value_or_throw(parse(text, "test", ops)).main, ops, options, report);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(text_of(folder() + "/net_0/repeat.txt"),
            fmt::format("cleave run {}/net_0/graph.clv --random\n", folder()));
}

TEST_F(ReproFolder, of_a_stage_in_front) {
  const OpRegistry ops = with_broken_cos();
  StageOptions options;
  options.repro = folder();
  options.grad = true;
  Graph g = value_or_throw(parse(text, "test", ops)).main;
  g.set_returns({{g.find("y"), ReturnKind::result, {}}});
  const Failure f = ReproOf(g, options, " --compare").told(bug("wrong"));
  EXPECT_EQ(f.message,
            fmt::format("wrong\n  repeat it with: cleave run {}/net_0/graph.clv --random "
                        "--grad --compare",
                        folder()));
  EXPECT_FALSE(fs::exists(folder() + "/net_0/inputs.safetensors"));
}

TEST_F(ReproFolder, is_left_by_defects_alone_and_where_it_is_asked_for) {
  const Graph g = parsed(text);
  StageOptions options;
  EXPECT_EQ(ReproOf(g, options).told(bug("wrong")).message, "wrong");
  options.repro = folder();
  EXPECT_EQ(ReproOf(g, options).told(user_error("yours")).message, "yours");
  EXPECT_FALSE(fs::exists(folder()));
  options.repro = "/proc/none";
  EXPECT_EQ(ReproOf(g, options)
                .told(bug("wrong"))
                .message.find("wrong\n  what repeats it can't be written: /proc/none: "),
            0U);
}

TEST_F(ReproFolder, says_what_the_files_lack_and_what_is_only_compiled) {
  StageOptions options;
  options.repro = folder() + "/it's here";
  options.rules = {{.name = "mine", .text = ""}};
  options.freeze = true;
  ReproOf(parsed(text), options).told(bug("wrong"));
  const std::string at = folder() + "/it's here/net_0";
  EXPECT_EQ(text_of(at + "/repeat.txt"),
            fmt::format("# without rule mine of the host program\ncleave compile {} --options {}\n",
                        shell_word(at + "/graph.clv"), shell_word("@" + at + "/options.txt")));
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace cleave
