#include "op/constructor_device.h"

#include <charconv>

namespace cleave {
namespace {

std::optional<Device> device_named(std::string_view text) {
  if (text == "cpu") return Device{};
  if (text == "cuda") return Device{DeviceKind::cuda, 0};
  if (!text.starts_with("cuda:")) return std::nullopt;
  const char *begin = text.data() + 5, *end = text.data() + text.size();
  Device device{DeviceKind::cuda, 0};
  const auto [stop, error] = std::from_chars(begin, end, device.index);
  if (error != std::errc() || stop != end || device.index < 0) return std::nullopt;
  return device;
}

}  // namespace

Result<Types> made_on_device(const OpView& op, std::string_view rule, Type type) {
  const std::string* text = op.attr("device").get<std::string>();
  if (text == nullptr) return Types{std::move(type)};
  const std::optional<Device> device = device_named(*text);
  if (!device) return op.broken(rule, "device is {}, expected cpu, cuda or cuda:N", quoted(*text));
  type.device = *device;
  return Types{std::move(type)};
}

}  // namespace cleave
