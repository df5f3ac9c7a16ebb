#include "base/device.h"

#include <charconv>

#include "base/result.h"

namespace cleave {

std::optional<Device> device_named(std::string_view text) {
  if (text == "cpu") return Device::cpu();
  if (text == "cuda") return Device::cuda();
  if (!text.starts_with("cuda:")) return std::nullopt;
  const char *begin = text.data() + 5, *end = text.data() + text.size();
  Device device = Device::cuda();
  const auto [stop, error] = std::from_chars(begin, end, device.index);
  if (error != std::errc() || stop != end || device.index < 0) return std::nullopt;
  return device;
}

Device Device::parse(std::string_view text) {
  const std::optional<Device> device = device_named(text);
  if (!device)
    throw_failure(user_error("the device is \"{}\", expected cpu, cuda or cuda:N", text));
  return *device;
}

std::string Device::text() const { return is_cpu() ? "cpu" : fmt::format("cuda:{}", index); }

}  // namespace cleave
