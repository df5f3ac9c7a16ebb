#include "tool/option_list.h"

#include <CLI/CLI.hpp>

namespace cleave::tool {

void OptionList::required(const std::string& name, std::string& value, const std::string& what) {
  app_.add_option(name, value, what)->required();
}
void OptionList::optional(const std::string& name, std::string& value, const std::string& what) {
  app_.add_option(name, value, what);
}
void OptionList::option(const std::string& names, std::string& value, const std::string& what) {
  app_.add_option(names, value, what);
}
void OptionList::option(const std::string& names, int& value, const std::string& what) {
  app_.add_option(names, value, what);
}
void OptionList::option(const std::string& names, int64_t& value, const std::string& what) {
  app_.add_option(names, value, what);
}
void OptionList::option(const std::string& names, uint64_t& value, const std::string& what) {
  app_.add_option(names, value, what);
}
void OptionList::option(const std::string& names, double& value, const std::string& what) {
  app_.add_option(names, value, what);
}
void OptionList::option(const std::string& names, std::vector<std::string>& value,
                        const std::string& what) {
  app_.add_option(names, value, what)->delimiter(',')->allow_extra_args(false);
}
void OptionList::flag(const std::string& name, bool& value, const std::string& what) {
  app_.add_flag(name, value, what);
}

}  // namespace cleave::tool
