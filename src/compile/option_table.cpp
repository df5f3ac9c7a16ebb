#include "compile/option_table.h"

#include "compile/option_value.h"

namespace cleave {
namespace {

template <auto field>
constexpr OptionOwner owner_of =
    requires(TrainOptions o) { o.*field; } ? OptionOwner::train : OptionOwner::compile;

template <auto field>
auto& field_of(auto& options) {
  if constexpr (owner_of<field> == OptionOwner::train)
    return options.*field;
  else
    return options.compile.*field;
}

template <auto field>
std::string get(const TrainOptions& options) {
  return text_of(field_of<field>(options));
}

template <auto field>
Status set(const OptionRow& row, std::string_view text, TrainOptions& options) {
  Status read = read_value(text, field_of<field>(options));
  if (read.ok() || !read.failure().message.empty()) return read;
  return user_error("{}={}: expected {}, such as {}={}", row.name, text.substr(0, 60), row.kind,
                    row.name, row.example);
}

template <auto field>
constexpr OptionRow row(std::string_view name, std::string_view example, std::string_view meaning) {
  using T = std::remove_cvref_t<decltype(field_of<field>(std::declval<TrainOptions&>()))>;
  return {owner_of<field>, name,      kind_of(static_cast<const T*>(nullptr)),
          example,         meaning,   std::is_same_v<T, std::vector<std::string>>,
          get<field>,      set<field>};
}

template <auto field>
constexpr OptionRow set_in_cpp(std::string_view name, std::string_view example,
                               std::string_view meaning) {
  return {owner_of<field>, name, "set in C++", example, meaning, false, nullptr, nullptr};
}

constexpr OptionRow rows[] = {
    set_in_cpp<&CompileOptions::executor>(
        "executor", "make_thread_pool(4)",
        "the host program's threads, in the place of cleave's own"),
    row<&CompileOptions::threads>("threads", "4", "cleave's own threads; 0: one for each core"),
    row<&CompileOptions::compiler>(
        "compiler", "cc", "what compiles kernels; none: they are interpreted, with the same bits"),
    row<&CompileOptions::target>(
        "target", "x86-64-v3",
        "the processor that programs are for, with those of its rates that differ "
        "from the common ones: x86-64-v3,call_ns:300"),
    row<&CompileOptions::device>("device", "cuda:0", "where its values lie and its kernels run"),
    set_in_cpp<&CompileOptions::backend>("backend", "other.backend",
                                         "that of other programs, in the place of its own"),
    set_in_cpp<&CompileOptions::ops>("ops", "operators", "custom operators beside cleave's own"),
    row<&CompileOptions::kept_sizes>("kept_sizes", "4",
                                     "how many programs are kept for inputs whose sizes vary"),
    row<&CompileOptions::other_sizes>(
        "other_sizes", "grow",
        "what a run does with other sizes than the numbers it was compiled for"),
    row<&CompileOptions::offload>(
        "offload", "false",
        "whether values may lie in the host's memory for a while to meet a memory_budget"),
    row<&CompileOptions::deterministic>(
        "deterministic", "false",
        "whether each run gives the same bits, at the price of slower gradients of attention on a "
        "GPU"),
    row<&CompileOptions::cudagraphs>(
        "cudagraphs", "off", "whether the calls of a run on a GPU are started as one CUDA graph"),
    set_in_cpp<&CompileOptions::cache>("cache", "Cache::memory()",
                                       "a cache that several programs share, in the place of "
                                       "cache_dir"),
    row<&CompileOptions::cache_dir>(
        "cache_dir", "/var/cache/cleave",
        "the folder that keeps compiled code for other processes; empty: nothing is kept"),
    row<&CompileOptions::cache_bytes>("cache_bytes", "1073741824",
                                      "how large it may grow; then what is used least is dropped"),
    row<&CompileOptions::cache_check>(
        "cache_check", "true",
        "what the cache has is compiled as well, and compared with it bit for bit"),
    row<&CompileOptions::dump_dir>(
        "dump_dir", "stages",
        "the folder that each stage of the compilation is written to; empty: none"),
    row<&CompileOptions::repro>(
        "repro", "repros",
        "the folder in which a defect of cleave leaves what repeats it; empty: none"),
    row<&CompileOptions::watch>("watch", "h,grad.h",
                                "values whose contents are there after a run, by name"),
    set_in_cpp<&CompileOptions::observers>("observers", "{std::make_shared<MyObserver>()}",
                                           "called before and after each stage of the compilation"),
    set_in_cpp<&CompileOptions::log>(
        "log", "[](LogLevel, const std::string& text) { ... }",
        "gets warnings, and begin and end of each compilation; without it warnings go to stderr"),
    row<&CompileOptions::memory_budget>(
        "memory_budget", "60%",
        "the most that the peak may be: bytes, or a share of what it is "
        "without a budget"),
    row<&CompileOptions::partition>(
        "partition", "pytorch,budget:0.5,solver:greedy",
        "what runs again for the backward, by the rules of PyTorch's partitioner "
        "(doc/partition.md) in the place of cleave's choice"),
    row<&CompileOptions::autocast>(
        "autocast", "bf16", "mixed precision: products, convolutions and attention in this dtype"),
    row<&CompileOptions::passes_off>("passes_off", "fuse_attention,cat_mm",
                                     "passes that don't run (doc/passes.md); all: none runs"),
    row<&CompileOptions::passes_on>(
        "passes_on", "fold_binary",
        "passes that run only where they are asked for, with settings (doc/passes.md)"),
    row<&CompileOptions::strict>("strict", "true", "no pass may change how a result is rounded"),
    row<&CompileOptions::freeze>(
        "freeze", "true",
        "inference with the values that Variables have now; what depends on them alone is computed "
        "once"),
    set_in_cpp<&CompileOptions::rules>("rules", "{{.name = \"quick_gelu\", .text = text}}",
                                       "rewrite rules beside cleave's own"),
    set_in_cpp<&CompileOptions::functions>(
        "functions", "{{.name = \"mine\", .version = \"1\", .function = f}}",
        "passes beside cleave's own: functions from a graph's text to another's"),
    set_in_cpp<&TrainOptions::frozen>(
        "frozen", "{{\"teacher\", teacher}}",
        "other modules that the loss reads, whose parameters are constants"),
    row<&TrainOptions::clip_norm>(
        "clip_norm", "1",
        "the most that the global norm of the gradients may be; 0: any; inf: it is "
        "computed"),
    row<&TrainOptions::report_grad_norm>(
        "report_grad_norm", "true", "the norm of the gradients is computed without clipping, too"),
    row<&TrainOptions::accumulate>(
        "accumulate", "4", "runs whose gradients are averaged for one update of the parameters"),
    row<&TrainOptions::on_nonfinite>("on_nonfinite", "skip_step",
                                     "what becomes of a run whose loss or gradients aren't finite"),
    row<&TrainOptions::loss_scaling>(
        "loss_scaling", "off",
        "whether the loss is scaled for its gradients; automatic: with autocast to f16"),
    row<&TrainOptions::init_scale>("init_scale", "1024", "of the loss, if the store has none"),
    row<&TrainOptions::growth_factor>(
        "growth_factor", "1.5", "of the scale, after growth_interval steps that weren't skipped"),
    row<&TrainOptions::backoff_factor>("backoff_factor", "0.25",
                                       "of the scale, after a step that was skipped"),
    row<&TrainOptions::growth_interval>(
        "growth_interval", "100", "steps in a row without a skipped one, before the scale grows"),
    row<&TrainOptions::ema_decay>("ema_decay", "0.999",
                                  "of the averages of the parameters that are kept; 0: none are"),
    row<&TrainOptions::seed>("seed", "7", "of the step's random numbers, if its store has none"),
};

}  // namespace

std::string_view name_of(OptionOwner owner) {
  return owner == OptionOwner::train ? "TrainOptions" : "CompileOptions";
}

std::span<const OptionRow> option_table() { return rows; }

}  // namespace cleave
