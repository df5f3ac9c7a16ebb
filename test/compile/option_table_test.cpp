// Options as text: each field has a row, and its value comes back from its text.
// tests: option_text.cpp option_value.cpp option_word.cpp pytorch_options_text.cpp
#include "compile/option_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "base/split_mix.h"

namespace cleave {
namespace {

// The fields of the two values, by name: a field more, and neither of the bindings compiles.
#define COMPILE_FIELDS                                                                          \
  executor, threads, compiler, target, device, backend, ops, kept_sizes, other_sizes, offload,  \
      deterministic, cudagraphs, cache, cache_dir, cache_bytes, cache_check, dump_dir, repro,   \
      watch, observers, log, memory_budget, partition, autocast, passes_off, passes_on, strict, \
      freeze, rules, functions
#define TRAIN_FIELDS                                                                    \
  compile, frozen, clip_norm, report_grad_norm, accumulate, on_nonfinite, loss_scaling, \
      init_scale, growth_factor, backoff_factor, growth_interval, ema_decay, seed
#define TEXT_OF_(...) #__VA_ARGS__
#define TEXT_OF(...) TEXT_OF_(__VA_ARGS__)

TEST(OptionTable, every_field_has_a_row_in_the_order_of_the_fields) {
  { [[maybe_unused]] const auto& [COMPILE_FIELDS] = CompileOptions(); }
  { [[maybe_unused]] const auto& [TRAIN_FIELDS] = TrainOptions(); }
  std::string rows = "compile";
  for (const OptionRow& row : option_table())
    if (row.owner == OptionOwner::train) rows += fmt::format(", {}", row.name);
  EXPECT_EQ(rows, TEXT_OF(TRAIN_FIELDS));
  rows.clear();
  for (const OptionRow& row : option_table())
    if (row.owner == OptionOwner::compile)
      rows += fmt::format("{}{}", rows.empty() ? "" : ", ", row.name);
  EXPECT_EQ(rows, TEXT_OF(COMPILE_FIELDS));
}

TEST(OptionTable, examples_are_values_and_no_defaults) {
  for (const OptionRow& row : option_table()) {
    if (!row.has_text()) continue;
    const std::string text = fmt::format("{}={}", row.name, row.example);
    const TrainOptions options = TrainOptions::parse(text);
    EXPECT_EQ(row.get(options), row.example);
    // CLEAVE_TEST_TARGET may make the target of the example the default.
    if (row.name != "target") { EXPECT_EQ(options.text(), text); }
  }
}

bool same(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }
bool same(const MemoryBudget& a, const MemoryBudget& b) {
  return a.given() == b.given() && same(a.percentage(), b.percentage()) && a.bytes(0) == b.bytes(0);
}

// The names of fields in which they differ; what has no text is compared by whether it is there.
std::string difference(const TrainOptions& a, const TrainOptions& b) {
  std::string out;
  const auto compare = [&](const char* name, bool equal) {
    if (!equal) out += fmt::format("{} ", name);
  };
  const CompileOptions &x = a.compile, &y = b.compile;
  compare("executor", x.executor == y.executor);
  compare("threads", x.threads == y.threads);
  compare("compiler", x.compiler == y.compiler);
  compare("target", x.target == y.target);
  compare("device", x.device == y.device);
  compare("backend", x.backend == y.backend);
  compare("kept_sizes", x.kept_sizes == y.kept_sizes);
  compare("other_sizes", x.other_sizes == y.other_sizes);
  compare("offload", x.offload == y.offload);
  compare("deterministic", x.deterministic == y.deterministic);
  compare("cudagraphs", x.cudagraphs == y.cudagraphs);
  compare("cache", x.cache == y.cache);
  compare("cache_dir", x.cache_dir == y.cache_dir);
  compare("cache_bytes", x.cache_bytes == y.cache_bytes);
  compare("cache_check", x.cache_check == y.cache_check);
  compare("dump_dir", x.dump_dir == y.dump_dir);
  compare("repro", x.repro == y.repro);
  compare("watch", x.watch == y.watch);
  compare("observers", x.observers == y.observers);
  compare("log", static_cast<bool>(x.log) == static_cast<bool>(y.log));
  compare("memory_budget", same(x.memory_budget, y.memory_budget));
  compare("partition", x.partition == y.partition);
  compare("autocast", x.autocast == y.autocast);
  compare("passes_off", x.passes_off == y.passes_off);
  compare("passes_on", x.passes_on == y.passes_on);
  compare("strict", x.strict == y.strict);
  compare("freeze", x.freeze == y.freeze);
  compare("rules", x.rules.size() == y.rules.size());
  compare("functions", x.functions.size() == y.functions.size());
  compare("frozen", a.frozen.size() == b.frozen.size());
  compare("clip_norm", same(a.clip_norm, b.clip_norm));
  compare("report_grad_norm", a.report_grad_norm == b.report_grad_norm);
  compare("accumulate", a.accumulate == b.accumulate);
  compare("on_nonfinite", a.on_nonfinite == b.on_nonfinite);
  compare("loss_scaling", a.loss_scaling == b.loss_scaling);
  compare("init_scale", same(a.init_scale, b.init_scale));
  compare("growth_factor", same(a.growth_factor, b.growth_factor));
  compare("backoff_factor", same(a.backoff_factor, b.backoff_factor));
  compare("growth_interval", a.growth_interval == b.growth_interval);
  compare("ema_decay", same(a.ema_decay, b.ema_decay));
  compare("seed", a.seed == b.seed);
  return out;
}

class RandomOptions {
 public:
  explicit RandomOptions(uint64_t seed) : state_(seed) {}

  uint64_t bits() { return split_mix(state_ += split_mix_step); }
  uint64_t below(uint64_t n) { return bits() % n; }

  // Of any bits, but for NaN, whose sign and payload have no text.
  double number() {
    constexpr double special[] = {0,
                                  -0.0,
                                  1,
                                  0.1,
                                  1e-320,
                                  std::numeric_limits<double>::max(),
                                  std::numeric_limits<double>::infinity()};
    if (below(2)) return special[below(std::size(special))];
    const double v = std::bit_cast<double>(bits());
    return v == v ? v : 0.3;
  }
  double unit() { return static_cast<double>(1 + below(uint64_t{1} << 53)) * 0x1p-53; }
  std::string word() {
    constexpr std::string_view letters = "aZ_0. ,=:;%\"'\\\n\r\t$#\xc3\xa9";
    std::string out;
    for (uint64_t n = below(6); n > 0; --n) out += letters[below(letters.size())];
    return out;
  }
  std::vector<std::string> words() {
    std::vector<std::string> out(below(4));
    for (std::string& item : out) item = word();
    return out;
  }
  Target target() {
    constexpr const char* names[] = {"native",        "x86-64-v2", "x86-64-v3", "x86-64-v4-bf16",
                                     "x86-64-v4-amx", "aarch64",   "sm_90"};
    Target out = Target::named(names[below(7)]);
    if (below(2)) out.rates.call_ns = unit() * 1e12;
    if (below(2)) out.rates.product_gflops = unit();
    return out;
  }
  std::optional<PytorchOptions> partition() {
    if (below(2)) return std::nullopt;
    PytorchOptions out;
    if (below(2)) out.budget = unit();
    out.solver = static_cast<KnapsackSolver>(below(3));
    out.estimator = static_cast<RuntimeEstimator>(below(3));
    bool* const flags[] = {&out.bans.used_far_apart,
                           &out.bans.long_fusible_chains,
                           &out.bans.materialized_backward,
                           &out.bans.not_in_allowlist,
                           &out.bans.reductions,
                           &out.bans.recompute_views,
                           &out.bans.parameters_are_free,
                           &out.aggressive};
    for (bool* flag : flags) *flag = below(2) != 0;
    if (below(2)) out.bans.max_distance = static_cast<int32_t>(below(1 << 20));
    return out;
  }
  MemoryBudget budget() {
    switch (below(4)) {
      case 0: return {};
      case 1: return MemoryBudget::percent(100 * unit());
      case 2: return MemoryBudget(int64_t{1} << below(62));
      default: return MemoryBudget(1 + below(uint64_t{1} << 40));
    }
  }
  TrainOptions options() {
    return {.compile = {.threads = static_cast<int>(bits()),
                        .compiler = static_cast<CompilerChoice>(below(4)),
                        .target = target(),
                        .device = below(2) ? Device::cuda(static_cast<int16_t>(below(1 << 15)))
                                           : Device::cpu(),
                        .kept_sizes = static_cast<int64_t>(bits()),
                        .other_sizes = static_cast<OtherSizes>(below(2)),
                        .offload = below(2) != 0,
                        .deterministic = below(2) != 0,
                        .cudagraphs = static_cast<CudaGraphs>(below(3)),
                        .cache_dir = word(),
                        .cache_bytes = static_cast<int64_t>(bits()),
                        .cache_check = below(2) == 1,
                        .dump_dir = word(),
                        .repro = word(),
                        .watch = words(),
                        .memory_budget = budget(),
                        .partition = partition(),
                        .autocast = below(3) ? std::optional(static_cast<DType>(
                                                   below(static_cast<uint64_t>(dtype_count))))
                                             : std::nullopt,
                        .passes_off = words(),
                        .passes_on = words(),
                        .strict = below(2) == 1,
                        .freeze = below(2) == 1},
            .clip_norm = number(),
            .report_grad_norm = below(2) == 1,
            .accumulate = static_cast<int64_t>(bits()),
            .on_nonfinite = static_cast<NonFinite>(below(3)),
            .loss_scaling = static_cast<LossScaling>(below(3)),
            .init_scale = number(),
            .growth_factor = number(),
            .backoff_factor = number(),
            .growth_interval = static_cast<int64_t>(bits()),
            .ema_decay = number(),
            .seed = bits()};
  }

 private:
  uint64_t state_;
};

TEST(OptionText, comes_back_as_the_same_options_and_the_same_text) {
  RandomOptions random(21);
  for (int k = 0; k < 500; ++k) {
    const TrainOptions options = random.options();
    const std::string text = options.text();
    EXPECT_EQ(text.find_first_of("\n\r\t"), text.npos) << text;
    const TrainOptions again = TrainOptions::parse(text);
    EXPECT_EQ(difference(options, again), "") << text;
    EXPECT_EQ(again.text(), text);
    const std::string compile_text = options.compile.text();
    EXPECT_EQ(
        difference({.compile = CompileOptions::parse(compile_text)}, {.compile = options.compile}),
        "")
        << compile_text;
    EXPECT_TRUE(text.starts_with(compile_text)) << text;
  }
}

TEST(OptionText, each_field_alone) {
  RandomOptions random(5);
  const TrainOptions defaults;
  for (const OptionRow& row : option_table()) {
    if (!row.has_text()) continue;
    int given = 0;
    for (int k = 0; k < 20; ++k) {
      const std::string value = row.get(random.options());
      const TrainOptions one = defaults.with({{std::string(row.name), value}});
      if (value == row.get(defaults)) {
        EXPECT_EQ(one.text(), "");
        continue;
      }
      ++given;
      EXPECT_EQ(difference(one, defaults), fmt::format("{} ", row.name)) << value;
      EXPECT_EQ(row.get(one), value);
    }
    EXPECT_GT(given, 0) << row.name;
  }
}

TEST(OptionText, of_what_differs_from_the_defaults_in_the_tables_order) {
  EXPECT_EQ(CompileOptions().text(), "");
  EXPECT_EQ(TrainOptions().text(), "");
  Target target = Target::named("x86-64-v3");
  target.rates.call_ns = 300;
  const CompileOptions options{.executor = make_thread_pool(1),
                               .threads = 4,
                               .compiler = CompilerChoice::none,
                               .target = target,
                               .dump_dir = "my dir",
                               .watch = {"h", "a, b", ""},
                               .memory_budget = 64 << 20,
                               .autocast = DType::bf16,
                               .passes_off = {"fuse_attention", "cat_mm"},
                               .strict = true,
                               .rules = {{"name", "text"}}};
  EXPECT_EQ(options.text(),
            "threads=4 compiler=none target=x86-64-v3,call_ns:300 dump_dir=\"my dir\" "
            "watch=h,\"a, b\",\"\" memory_budget=64MiB autocast=bf16 "
            "passes_off=fuse_attention,cat_mm strict=true");
  EXPECT_EQ(CompileOptions({.memory_budget = MemoryBudget::percent(12.5)}).text(),
            "memory_budget=12.5%");
  EXPECT_EQ(CompileOptions({.memory_budget = 1000}).text(), "memory_budget=1000");
  const TrainOptions step{.compile = {.strict = true},
                          .clip_norm = std::numeric_limits<double>::infinity(),
                          .on_nonfinite = NonFinite::skip_step,
                          .ema_decay = 0.1,
                          .seed = 18446744073709551615u};
  EXPECT_EQ(step.text(),
            "strict=true clip_norm=inf on_nonfinite=skip_step ema_decay=0.1 "
            "seed=18446744073709551615");
}

TEST(OptionText, of_lists_of_nothing) {
  EXPECT_EQ(CompileOptions({.watch = {""}}).text(), "watch=\"\",");
  EXPECT_EQ(CompileOptions::parse("watch=\"\",").watch, std::vector<std::string>{""});
  for (const char* text : {"watch=\"\"", "watch=''", "watch=", "dump_dir=\"\" watch="})
    EXPECT_EQ(CompileOptions::parse(text).text(), "") << text;
}

TEST(OptionText, is_read_in_any_order_between_any_spaces) {
  const char* sorted = "dump_dir=\"a b\" watch=h,\"x y\" strict=true seed=7";
  for (const char* text :
       {"seed=7 strict=true watch=h,'x y' dump_dir='a b'",
        "  strict=true\n\tdump_dir=\"a b\"\r\n watch=\"h\",\"x y\", seed='7' threads=0 "})
    EXPECT_EQ(TrainOptions::parse(text).text(), sorted);
  EXPECT_EQ(TrainOptions::parse(" \n").text(), "");
  EXPECT_EQ(CompileOptions::parse("dump_dir=a\"b,c=d\\e'").dump_dir, "a\"b,c=d\\e'");
  EXPECT_EQ(CompileOptions::parse("dump_dir='a\\'\\\\\\n'").dump_dir, "a'\\\n");
}

TEST(OptionText, with_changes_a_copy) {
  const CompileOptions before{.executor = make_thread_pool(1), .threads = 4, .strict = true};
  const CompileOptions after =
      before.with({{"strict", "false"}, {"dump_dir", "\"a b"}, {"passes_off", "cat_mm,\"x y\""}});
  EXPECT_EQ(before.text(), "threads=4 strict=true");
  EXPECT_EQ(after.text(), "threads=4 dump_dir=\"\\\"a b\" passes_off=cat_mm,\"x y\"");
  EXPECT_EQ(after.executor, before.executor);
  EXPECT_EQ(after.with({{"memory_budget", "60%"}}).with({{"memory_budget", "none"}}).text(),
            after.text());
  EXPECT_EQ(before.with({}).text(), before.text());
  const TrainOptions step = TrainOptions().with({{"clip_norm", "1"}, {"threads", "2"}});
  EXPECT_EQ(step.text(), "threads=2 clip_norm=1");
}

template <class Call>
std::string said(Call call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::user) << e.what();
    return e.what();
  }
  return "nothing";
}

TEST(OptionText, errors) {
  const std::pair<const char*, const char*> wrong[] = {
      {"stirct=true",
       "there is no option 'stirct', did you mean 'strict'?; doc/options.md lists all"},
      {"qqqqqqqqqqq=1", "there is no option 'qqqqqqqqqqq'; doc/options.md lists all"},
      {"=1", "there is no option ''; doc/options.md lists all"},
      {"strict=true strict=true", "strict is given twice, the second time as strict=true"},
      {"strict = true",
       "strict: expected NAME=VALUE without spaces around the =, such as strict=true"},
      {"strict=yes", "strict=yes: expected true or false, such as strict=true"},
      {"strict=", "strict=: expected true or false, such as strict=true"},
      {"threads=2147483648",
       "threads=2147483648: expected an integer of 32 bits, such as threads=4"},
      {"threads=4.0", "threads=4.0: expected an integer of 32 bits, such as threads=4"},
      {"kept_sizes=many", "kept_sizes=many: expected an integer of 64 bits, such as kept_sizes=4"},
      {"compiler=gcc", "compiler=gcc: expected automatic, clang, cc or none, such as compiler=cc"},
      {"autocast=half", "autocast=half: expected a dtype, or none, such as autocast=bf16"},
      {"memory_budget=120%",
       "memory_budget=120%: expected a size above 0, a percentage above 0% and at most 100%, or "
       "none, such as memory_budget=60%"},
      {"memory_budget=0",
       "memory_budget=0: expected a size above 0, a percentage above 0% and at most 100%, or none, "
       "such as memory_budget=60%"},
      {"target=x86-64-v9",
       "target x86-64-v9: expected native, x86-64-v2, x86-64-v3, x86-64-v4, x86-64-v4-bf16, "
       "x86-64-v4-amx, aarch64, cuda, or a GPU's architecture such as sm_90"},
      {"target=x86-64-v3,speed:3",
       "target x86-64-v3,speed:3: `speed:3`, expected a rate such as call_ns:300, of "
       "product_gflops, half_product_gflops, pointwise_gflops, memory_gigabytes, cache_gigabytes, "
       "call_ns, cache_bytes, host_gigabytes"},
      {"target=x86-64-v3,call_ns:-1",
       "target x86-64-v3,call_ns:-1: call_ns: `-1`, expected a number above 0"},
      {"watch=,h", "watch=,h: expected names between commas, such as watch=h,grad.h"},
      {"watch=\"a\"b", "watch=\"a\"b: expected names between commas, such as watch=h,grad.h"},
      {"dump_dir=\"a b", "dump_dir: the closing \" of \"a b is missing"},
      {"watch=h,'a b", "watch: the closing ' of 'a b is missing"},
      {"dump_dir=\"a b\"c", "dump_dir: \"a b\"c goes on after its closing \""},
      {"executor=4", "executor has no text, it is set in C++: {.executor = make_thread_pool(4)}"},
      {"rules=",
       "rules has no text, it is set in C++: {.rules = {{.name = \"quick_gelu\", .text = text}}}"},
  };
  for (const auto& [text, message] : wrong) {
    EXPECT_EQ(said([&] { CompileOptions::parse(text); }),
              fmt::format("CompileOptions: {}", message));
    EXPECT_EQ(said([&] { TrainOptions::parse(text); }), fmt::format("TrainOptions: {}", message));
  }
  EXPECT_EQ(said([] { CompileOptions::parse("clip_norm=1"); }),
            "CompileOptions: clip_norm is an option of training steps alone, TrainOptions has it");
  EXPECT_EQ(said([] { CompileOptions::parse("clip_nrm=1"); }),
            "CompileOptions: there is no option 'clip_nrm'; doc/options.md lists all");
  EXPECT_EQ(said([] { TrainOptions::parse("clip_norm=one"); }),
            "TrainOptions: clip_norm=one: expected a number, such as clip_norm=1");
  EXPECT_EQ(said([] { TrainOptions::parse("seed=-1"); }),
            "TrainOptions: seed=-1: expected an integer of 64 bits, 0 or more, such as seed=7");
  EXPECT_EQ(said([] { TrainOptions::parse("on_nonfinite=stop"); }),
            "TrainOptions: on_nonfinite=stop: expected keep, skip_step or error, such as "
            "on_nonfinite=skip_step");
  EXPECT_EQ(said([] { TrainOptions::parse("frozen=x"); }),
            "TrainOptions: frozen has no text, it is set in C++: {.frozen = {{\"teacher\", "
            "teacher}}}");
  EXPECT_EQ(said([] { CompileOptions().with({{"strict", "true"}, {"strict", "false"}}); }),
            "CompileOptions: strict is given twice, the second time as strict=false");
  EXPECT_EQ(said([] { CompileOptions().with({{"watch", "a, b"}}); }),
            "CompileOptions: watch=a, b: expected names between commas, such as watch=h,grad.h");
}

// Texts with a letter of another's in the place of one: options, or an error of the caller's.
TEST(OptionText, of_no_text_is_anything_else) {
  RandomOptions random(8);
  int wrong = 0;
  for (int k = 0; k < 1000; ++k) {
    std::string text = random.options().text();
    const std::string other = random.options().text();
    for (uint64_t n = random.below(3); n < 3; ++n)
      text[random.below(text.size())] = other[random.below(other.size())];
    try {
      const std::string read = TrainOptions::parse(text).text();
      EXPECT_EQ(TrainOptions::parse(read).text(), read) << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::user) << text;
      EXPECT_TRUE(std::string(e.what()).starts_with("TrainOptions: ")) << e.what();
      ++wrong;
    }
  }
  EXPECT_GT(wrong, 500);
}

}  // namespace
}  // namespace cleave
