#include "op/constructor_device.h"

#include "base/device.h"

namespace cleave {

Result<Types> made_on_device(const OpView& op, std::string_view rule, Type type) {
  const std::string* text = op.attr("device").get<std::string>();
  if (text == nullptr) return Types{std::move(type)};
  const std::optional<Device> device = device_named(*text);
  if (!device) return op.broken(rule, "device is {}, expected cpu, cuda or cuda:N", quoted(*text));
  type.device = *device;
  return Types{std::move(type)};
}

}  // namespace cleave
