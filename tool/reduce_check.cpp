#include "tool/reduce_check.h"

#include <algorithm>
#include <cctype>

#include "base/shell_word.h"
#include "ir/text.h"
#include "tool/graph_file.h"
#include "tool/run_inputs.h"

namespace cleave::tool {
namespace {

constexpr double usual_limit_seconds = 60, longest_seconds = 600;
constexpr double least_difference = 0.5;  // seconds that a busy machine doesn't take by chance
constexpr std::string_view defect = "cleave: this is a defect of cleave: ", differs = "compare: ";

// `text` with `word` in the place of each `mark`. Whether there was one.
bool put_in(std::string& text, std::string_view mark, const std::string& word) {
  bool found = false;
  for (size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += word.size()) {
    text.replace(at, mark.size(), word);
    found = true;
  }
  return found;
}

// The first line of a defect's message, empty if there is none.
std::string defect_of(const std::string& messages) {
  const size_t at = messages.find(defect);
  if (at == std::string::npos) return "";
  const size_t begin = at + defect.size();
  return messages.substr(begin, messages.find('\n', begin) - begin);
}

// Without names of values, graphs and shapes, without numbers, and without the stage: what a rule
// or pass finds broken may be found in another one.
std::string without_names(std::string message) {
  if (const size_t stage = message.find(": ");
      message.starts_with("stage ") && message.find(' ', 6) > stage)
    message.erase(0, stage + 2);
  std::string out;
  const auto is_named = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' ||
           c == '/';
  };
  for (size_t at = 0; at < message.size(); ++at) {
    const char c = message[at];
    if (c == '%' || c == '@')
      while (at + 1 < message.size() && is_named(message[at + 1])) ++at;
    else if (c == '[')
      at = std::min(message.find(']', at), message.size());
    else if (!std::isdigit(static_cast<unsigned char>(c)))
      out += c;
  }
  return out.substr(0, 80);
}

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const size_t before = text.rfind('\n', end);
  return text.substr(before == std::string::npos ? 0 : before + 1,
                     end - (before == std::string::npos ? 0 : before + 1) + 1);
}

}  // namespace

bool CheckChoice::needs_inputs() const {
  return check == "wrong" || (is_command() && check.find("{in}") != std::string::npos);
}

ReduceCheck::ReduceCheck(CheckChoice choice, std::string folder, std::function<bool()> stop)
    : choice_(std::move(choice)), graph_path_(folder + "/graph.clv"),
      inputs_path_(folder + "/inputs.safetensors"), stop_(std::move(stop)),
      limit_seconds_(choice_.limit_seconds > 0 ? choice_.limit_seconds : usual_limit_seconds) {}

std::vector<std::string> ReduceCheck::command(const GivenGraph& g) const {
  if (choice_.is_command()) {
    std::string text = choice_.check;
    put_in(text, "{in}", shell_word(inputs_path_));
    if (!put_in(text, "{}", shell_word(graph_path_))) text += " " + shell_word(graph_path_);
    return {"/bin/sh", "-c", text};
  }
  std::vector<std::string> out = {"/proc/self/exe", "run", graph_path_, "--cache", "off"};
  if (has_inputs(g) && !g.inputs.empty()) {
    out.insert(out.end(), {"--in", inputs_path_});
  } else {
    out.emplace_back("--random");
    for (const auto& [name, value] : g.symbols)
      if (g.g.find(name).valid())
        out.insert(out.end(), {"--size", fmt::format("{}={}", name, value)});
  }
  out.insert(out.end(), choice_.words.begin(), choice_.words.end());
  if (choice_.check == "wrong") out.emplace_back("--compare");
  return out;
}

Result<ChildEnd> ReduceCheck::run(const GivenGraph& g, double limit_seconds) {
  CLEAVE_CHECK(write_text(graph_path_, print(g.g)));
  if (has_inputs(g) && !g.inputs.empty())
    CLEAVE_CHECK(write_tensors(inputs_path_, named_inputs(g.g, g.inputs)));
  ++tries_;
  const ChildLimits limits{limit_seconds, choice_.memory_bytes};
  return run_child(command(g), limits, stop_);
}

std::string ReduceCheck::kind_of(const ChildEnd& end) const {
  if (end.how == ChildEnd::How::stopped) return "";
  if (choice_.check == "slow") return end.seconds >= limit_seconds_ ? "slow" : "";
  const std::string said = defect_of(end.messages);
  if (choice_.check == "wrong")
    return end.how == ChildEnd::How::exit && said.starts_with(differs) ? "wrong" : "";
  if (end.how == ChildEnd::How::time) return "no end";
  if (end.how == ChildEnd::How::signal) return fmt::format("signal {}", end.number);
  if (choice_.is_command()) return end.number == 0 ? "" : fmt::format("status {}", end.number);
  return end.number == 3 ? "defect: " + without_names(said) : "";
}

Status ReduceCheck::begin(const GivenGraph& given) {
  if (choice_.check == "slow" && choice_.limit_seconds <= 0) return find_limit(given);
  CLEAVE_TRY(const ChildEnd end, run(given, limit_seconds_));
  if (choice_.is_command() && end.how == ChildEnd::How::exit &&
      (end.number == 126 || end.number == 127))
    return user_error("--check {}: the command can't be run: {}", choice_.check,
                      last_line(end.messages));
  kind_ = kind_of(end);
  const std::string how = end.text({limit_seconds_}), said = defect_of(end.messages);
  if (kind_.empty())
    return user_error("--check {}: the given graph doesn't fail: {} after {:.2f} s{}{}",
                      choice_.check, how, end.seconds, end.number == 0 ? "" : ": ",
                      end.number == 0 ? "" : last_line(end.messages));
  failure_ = kind_ == "slow" ? fmt::format("it takes longer than {:g} s", limit_seconds_)
             : said.empty()  ? how
                             : said;
  return {};
}

// Halfway between the given graph and one without calls.
Status ReduceCheck::find_limit(const GivenGraph& given) {
  CLEAVE_TRY(const ChildEnd whole, run(given, longest_seconds));
  GivenGraph nothing;
  CLEAVE_TRY(const ValueId x, nothing.g.add_placeholder(Role::input, "x", Type(DType::f32, {1})));
  nothing.g.add_return({x, ReturnKind::result, {}});
  CLEAVE_TRY(const ChildEnd least, run(nothing, longest_seconds));
  if (whole.seconds < least.seconds + least_difference)
    return user_error(
        "--check slow: the given graph takes {:.2f} s, and one without calls {:.2f} s, which isn't "
        "slow; --limit says what is",
        whole.seconds, least.seconds);
  kind_ = "slow";
  limit_seconds_ = (whole.seconds + least.seconds) / 2;
  failure_ = fmt::format("it takes longer than {:.2f} s, half of what the given graph does",
                         limit_seconds_);
  return {};
}

Result<bool> ReduceCheck::fails(const GivenGraph& g) {
  CLEAVE_TRY(ChildEnd end, run(g, limit_seconds_));
  if (choice_.check == "slow" && kind_of(end) == kind_) {  // the machine may have been busy
    CLEAVE_TRY(end, run(g, limit_seconds_));
  }
  return kind_of(end) == kind_;
}

}  // namespace cleave::tool
