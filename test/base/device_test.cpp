// Devices as text.
#include "base/device.h"

#include <gtest/gtest.h>

namespace cleave {
namespace {

TEST(Device, text_comes_back) {
  for (const Device d : {Device::cpu(), Device::cuda(), Device::cuda(7), Device::cuda(32767)})
    EXPECT_EQ(Device::parse(d.text()), d);
  EXPECT_EQ(Device().text(), "cpu");
  EXPECT_EQ(Device::cuda(1).text(), "cuda:1");
  EXPECT_EQ(Device::parse("cuda"), Device::cuda(0));
}

TEST(Device, other_texts_are_errors) {
  for (const char* text :
       {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "cuda:99999", "cuda1", "CPU"}) {
    EXPECT_FALSE(device_named(text)) << text;
    try {
      Device::parse(text);
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::user);
      EXPECT_EQ(std::string(e.what()),
                "the device is \"" + std::string(text) + "\", expected cpu, cuda or cuda:N");
    }
  }
}

}  // namespace
}  // namespace cleave
