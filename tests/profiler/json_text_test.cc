#include "profiler/json_text.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace weft::profiler {
namespace {

std::string Quoted(absl::string_view text) {
  std::string out;
  AppendJsonString(text, &out);
  return out;
}

std::string Micros(int64_t nanoseconds) {
  std::string out;
  AppendMicroseconds(nanoseconds, &out);
  return out;
}

std::string Number(double value) {
  std::string out;
  AppendJsonDouble(value, &out);
  return out;
}

TEST(JsonTextTest, Escapes) {
  EXPECT_EQ(Quoted(""), "\"\"");
  EXPECT_EQ(Quoted("a \"b\"\\c\n\r\t\x01\x7f/"), "\"a \\\"b\\\"\\\\c\\n\\r\\t\\u0001\\u007f/\"");
  EXPECT_EQ(Quoted(absl::string_view("a\0b", 3)), "\"a\\u0000b\"");
}

TEST(JsonTextTest, KeepsUtf8AndReplacesWhatIsNone) {
  EXPECT_EQ(Quoted("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "\"gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80\"");
  const char* bad = "\xEF\xBF\xBD";
  for (const char* bytes : {"\x80", "\xC3", "\xFF", "\xC0", "\xF5"}) {
    EXPECT_EQ(Quoted(bytes), std::string("\"") + bad + "\"");
  }
  // Longer than need be, a surrogate, beyond the last character, cut short.
  for (const char* bytes : {"\xE0\x80\x80", "\xED\xA0\x80"}) {
    EXPECT_EQ(Quoted(bytes), std::string("\"") + bad + bad + bad + "\"");
  }
  EXPECT_EQ(Utf8Length("\xF4\x90\x80\x80"), 0);
  EXPECT_EQ(Quoted("\xE2\x82"), std::string("\"") + bad + bad + "\"");
}

TEST(JsonTextTest, MicrosecondsHaveThreeDigits) {
  EXPECT_EQ(Micros(0), "0.000");
  EXPECT_EQ(Micros(1), "0.001");
  EXPECT_EQ(Micros(4346095751964420), "4346095751964.420");
  EXPECT_EQ(Micros(-1500), "-1.500");
  EXPECT_EQ(Micros(std::numeric_limits<int64_t>::min()), "-9223372036854775.808");
}

TEST(JsonTextTest, Doubles) {
  EXPECT_EQ(Number(0.1), "0.1");
  EXPECT_EQ(Number(3), "3");
  EXPECT_EQ(std::stod(Number(1.0 / 3)), 1.0 / 3);
  EXPECT_EQ(Number(NAN), "null");
  EXPECT_EQ(Number(-INFINITY), "null");
}

}  // namespace
}  // namespace weft::profiler
