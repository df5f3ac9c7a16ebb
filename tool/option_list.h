// The options of one command, declared with the variables that receive their values and hold the
// defaults. Only command_line.cpp includes the parsing library.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cleave::tool {

class OptionList {
 public:
  explicit OptionList(CLI::App& app) : app_(app) {}

  // A required word, by position ("GRAPH") or by name ("--text").
  void required(const std::string& name, std::string& value, const std::string& what);
  // An optional word, by position.
  void optional(const std::string& name, std::string& value, const std::string& what);
  // An option that takes a word or a number: "--out", or "-o,--out" with a short form.
  void option(const std::string& names, std::string& value, const std::string& what);
  void option(const std::string& names, int& value, const std::string& what);
  void option(const std::string& names, int64_t& value, const std::string& what);
  void option(const std::string& names, uint64_t& value, const std::string& what);
  void option(const std::string& names, double& value, const std::string& what);
  // A number whose default depends on other options: the text says it.
  void option(const std::string& names, std::optional<int64_t>& value, const std::string& what);
  void option(const std::string& names, std::optional<double>& value, const std::string& what);
  // May be given several times, or with several words between commas.
  void option(const std::string& names, std::vector<std::string>& value, const std::string& what);
  // An option without a value.
  void flag(const std::string& name, bool& value, const std::string& what);

 private:
  CLI::App& app_;
};

}  // namespace cleave::tool
