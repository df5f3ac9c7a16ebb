// TensorBoard's event files.
//
//   record   length u64 | crc of the length u32 | an Event | crc of the Event u32
//   Event    1: wall_time (double)   2: step (varint)   3: file_version   5: Summary
//   Summary  1: Value { 1: tag, 2: simple_value (float) }
//
// The formats: tensorflow/core/lib/io/record_writer.h, tensorflow/core/util/event.proto.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace cleave::data {

uint32_t crc32c(std::string_view bytes);

// The first record of a file, and the record of a scalar. wall_time: seconds since 1970.
std::string version_record(double wall_time);
std::string scalar_record(double wall_time, int64_t step, const std::string& name, double value);

}  // namespace cleave::data
