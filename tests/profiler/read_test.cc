// Readers on files that others write, and on bad ones.
#include "profiler/read/read.h"

#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler/sinks/file_sink.h"
#include "tests/profiler/recording_sink.h"
#include "tests/profiler/sample_trace.h"

namespace weft::profiler {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

std::string MessageOf(absl::string_view text, ReadOptions options = {}) {
  RecordingSink sink;
  const absl::Status status = ReadTraceBytes(text, "t", sink, options);
  EXPECT_FALSE(status.ok() || sink.finished) << text.substr(0, 100);
  return std::string(status.message());
}

RecordingSink Good(absl::string_view text) {
  RecordingSink sink;
  const absl::Status status = ReadTraceBytes(text, "t", sink);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(sink.finished);
  return sink;
}

TEST(ReadChromeJsonTest, ObjectsAndLists) {
  const RecordingSink object = Good(
      "\n { \"schemaVersion\":1, \"deviceProperties\": [{\"a\": [1, {}]}], "
      "\"baseTimeNanoseconds\": 17, \"traceEvents\": [\n"
      "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":\"t\",\"ts\":1.5,\"dur\":"
      "2,"
      "\"args\":{\"i\":-1,\"d\":0.25,\"b\":true,\"s\":\"x\",\"n\":null,\"l\":[[1,2],[],\"q\\\"\"],"
      "\"u\":18446744073709551615}, \"unknown\": {\"x\": [1]}}"
      "], \"traceName\": \"n\", \"more\": {\"k\": 1}}");
  EXPECT_THAT(object.events,
              ElementsAre("X cpu_op|a 1/'t' 1500+2000 i=-1 d=0.25 b=true s=\"x\" n=null "
                          "l=[[1, 2], [], \"q\\\"\"] u=18446744073709551615"));
  EXPECT_EQ(object.header.base_time_ns, 17);
  EXPECT_THAT(object.header.fields, ElementsAre(Pair("schemaVersion", "1"),
                                                Pair("deviceProperties", "[{\"a\": [1, {}]}]")));
  EXPECT_THAT(object.trailer.fields,
              ElementsAre(Pair("traceName", "\"n\""), Pair("more", "{\"k\": 1}")));
  EXPECT_THAT(Good("[{\"ph\":\"i\",\"s\":\"g\",\"name\":\"m\",\"ts\":1e3,\"id\":\"0x1F\"}]").events,
              ElementsAre("i |m 0/0 1000000 s=g id=31"));
  EXPECT_TRUE(Good("[]").events.empty());
  EXPECT_TRUE(Good("{\"traceEvents\":[]}").events.empty());
}

TEST(ReadChromeJsonTest, TimesAreExact) {
  const auto time_of = [](const std::string& ts) {
    return Good(absl::StrCat("[{\"ph\":\"C\",\"ts\":", ts, "}]")).events.at(0);
  };
  EXPECT_EQ(time_of("4346095751964.421"), "C | 0/0 4346095751964421");
  EXPECT_EQ(time_of("0.0019"), "C | 0/0 1");
  EXPECT_EQ(time_of("-1.25"), "C | 0/0 -1250");
  EXPECT_EQ(time_of("12.3"), "C | 0/0 12300");
}

TEST(ReadChromeJsonTest, BadInputNamesTheByte) {
  const std::string event = "{\"traceEvents\":[{\"ph\":\"X\",";
  EXPECT_THAT(MessageOf("{"), AllOf(StartsWith("t: byte 1: line 1: "), HasSubstr("unexpected")));
  EXPECT_THAT(MessageOf("{\"traceEvents\":[\n{\"ph\":\"X\"},\n]}"),
              StartsWith("t: byte 30: line 3: syntax error"));
  EXPECT_THAT(MessageOf(""), HasSubstr("byte 0: the file is empty"));
  EXPECT_THAT(MessageOf("   "), HasSubstr("byte 3: "));
  EXPECT_THAT(MessageOf("hello"), HasSubstr("byte "));
  EXPECT_THAT(MessageOf("{}"), HasSubstr("there are no traceEvents"));
  EXPECT_THAT(MessageOf("{\"traceEvents\": 3}"), HasSubstr("traceEvents is not a list"));
  EXPECT_THAT(MessageOf("{\"traceEvents\": {}}"), HasSubstr("traceEvents is not a list"));
  EXPECT_THAT(MessageOf("{\"traceEvents\":[],\"traceEvents\":[]}"), HasSubstr("twice"));
  EXPECT_THAT(MessageOf("[1]"), HasSubstr("an event is not an object"));
  EXPECT_THAT(MessageOf("[[]]"), HasSubstr("an event is not an object"));
  EXPECT_THAT(MessageOf("[{}]"), HasSubstr("no ph"));
  EXPECT_THAT(MessageOf("[{\"ph\":\"XX\"}]"), HasSubstr("ph is not one letter"));
  EXPECT_THAT(MessageOf("[{\"ph\":5}]"), HasSubstr("ph is not one letter"));
  EXPECT_THAT(MessageOf(event + "\"ts\":\"1\"}]}"),
              HasSubstr("byte 34: an event's ts is no number"));
  EXPECT_THAT(MessageOf(event + "\"ts\":1e30}]}"), HasSubstr("ts is out of range"));
  EXPECT_THAT(MessageOf(event + "\"ts\":99999999999999999}]}"), HasSubstr("ts is out of range"));
  EXPECT_THAT(MessageOf(event + "\"ts\":9223372036854774,\"dur\":9223372036854774}]}"),
              HasSubstr("end is out of range"));
  EXPECT_THAT(MessageOf(event + "\"dur\":-1}]}"), HasSubstr("dur is negative"));
  EXPECT_THAT(MessageOf(event + "\"pid\":1.5}]}"), HasSubstr("pid is neither"));
  EXPECT_THAT(MessageOf(event + "\"ts\":1e999}]}"), HasSubstr("byte "));
  EXPECT_THAT(MessageOf("[{\"ph\":\"X\",\"name\":\"\xFF\"}]"), HasSubstr("invalid string"));
}

TEST(ReadChromeJsonTest, DepthAndSizesAreBounded) {
  const std::string deep(100'000, '[');
  EXPECT_THAT(MessageOf("{\"a\":" + deep), HasSubstr("too deep"));
  EXPECT_THAT(MessageOf("[{\"ph\":\"X\",\"args\":{\"a\":" + deep), HasSubstr("too deep"));
  EXPECT_THAT(MessageOf("[{\"ph\":\"X\",\"other\":" + deep), HasSubstr("too deep"));
  ReadOptions options;
  options.max_item_bytes = 10'000;
  const std::string big(20'000, 'a');
  EXPECT_THAT(MessageOf("[{\"ph\":\"X\",\"name\":\"" + big + "\"}]", options),
              HasSubstr("too long"));
  EXPECT_THAT(MessageOf("{\"a\": " + std::string(20'000, '1'), options), HasSubstr("too long"));
  std::string list = "[1";
  for (int i = 0; i < 20'000; ++i) list += ",1";
  EXPECT_THAT(MessageOf("[{\"ph\":\"X\",\"args\":{\"a\":" + list, options), HasSubstr("too long"));
  std::string fields = "{";
  for (int i = 0; i < 5'000; ++i) absl::StrAppend(&fields, "\"field ", i, "\": 1, ");
  EXPECT_THAT(MessageOf(fields, options), HasSubstr("outside of traceEvents"));
  std::string args = "[{\"ph\":\"X\",\"args\":{";
  for (int i = 0; i < 5'000; ++i) absl::StrAppend(&args, "\"arg ", i, "\": 1, ");
  EXPECT_THAT(MessageOf(args, options), HasSubstr("event is too long"));
}

// The lexer does not hold them.
TEST(ReadChromeJsonTest, BlanksAreNoItem) {
  ReadOptions options;
  options.max_item_bytes = 1000;
  const std::string blanks(100'000, ' ');
  const std::string mixed = blanks + std::string(100'000, '\t') + std::string(100'000, '\n');
  RecordingSink sink;
  const absl::Status status = ReadTraceBytes(mixed + "[" + mixed + "{" + mixed + "\"ph\"" + mixed +
                                                 ":\"X\",\"name\":\"a  b\"}" + mixed + "]",
                                             "t", sink, options);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(sink.events, ElementsAre(HasSubstr("a  b")));
}

TEST(ReadChromeJsonTest, ASinkMayStopIt) {
  class Stops : public RecordingSink {
   public:
    absl::Status Add(const TraceEvent& event) override { return absl::CancelledError("enough"); }
  };
  Stops sink;
  EXPECT_EQ(ReadTraceBytes("[{\"ph\":\"X\"},{\"ph\":\"X\"}]", "t", sink).code(),
            absl::StatusCode::kCancelled);
}

std::string Perfetto(const Trace& trace) {
  const std::string path = testing::TempDir() + "/read_test.pftrace";
  auto sink = MakeFileSink(path);
  EXPECT_TRUE(ExportTrace(trace, **sink).ok());
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

TEST(ReadPerfettoTest, EveryTruncationIsReportedOrAPacketsEnd) {
  const std::string whole = Perfetto(SampleTrace());
  int whole_packets = 0;
  for (size_t size = 1; size < whole.size(); ++size) {
    RecordingSink sink;
    const absl::Status status = ReadTraceBytes(absl::string_view(whole).substr(0, size), "t", sink);
    whole_packets += status.ok();
    if (status.ok()) continue;
    EXPECT_THAT(std::string(status.message()), StartsWith("t: byte "));
  }
  EXPECT_GT(whole_packets, 10);
  EXPECT_LT(whole_packets, 100);
}

TEST(ReadPerfettoTest, BadInputNamesTheByte) {
  EXPECT_THAT(MessageOf("\x0A\xFF\xFF\xFF\xFF\x7F"), HasSubstr("byte 6: a packet has"));
  EXPECT_THAT(MessageOf("\x0A\x05zz"), HasSubstr("ends within a packet"));
  EXPECT_THAT(MessageOf("\x0A\x02zz"), HasSubstr("bad"));
  EXPECT_THAT(MessageOf(absl::string_view("\x0A\x00\x0B", 3)),
              HasSubstr("byte 2: this is no packet"));
  // A track event of a track that is not there.
  EXPECT_THAT(MessageOf("\x0A\x06\x5A\x04\x48\x03\x58\x63"), HasSubstr("no track 99"));
  ReadOptions options;
  options.max_item_bytes = 1000;
  EXPECT_THAT(MessageOf(Perfetto(SampleTrace()), options), HasSubstr("byte "));
}

// 260 MB of blanks in 260 KB.
TEST(ReadFileTest, WhatInflatesTooMuchIsRefused) {
  const std::string path = testing::TempDir() + "/bomb.json.gz";
  gzFile file = gzopen(path.c_str(), "wb6");
  const std::string blanks(1 << 20, ' ');
  gzputs(file, "[");
  for (int i = 0; i < 260; ++i) gzwrite(file, blanks.data(), static_cast<unsigned>(blanks.size()));
  gzputs(file, "]");
  gzclose(file);
  RecordingSink sink;
  const absl::Status status = ReadTrace(path, sink);
  EXPECT_THAT(std::string(status.message()), HasSubstr("inflates to more than 250 times"));
}

TEST(ReadFileTest, ProgressAndErrors) {
  const std::string path = testing::TempDir() + "/read_test.json.gz";
  auto sink = MakeFileSink(path);
  ASSERT_TRUE(ExportTrace(SampleTrace(), **sink).ok());
  int64_t last = 0, total = 0;
  ReadOptions options;
  options.progress = [&](int64_t done, int64_t size) {
    last = done;
    total = size;
  };
  RecordingSink recorded;
  ASSERT_TRUE(ReadTrace(path, recorded, options).ok());
  EXPECT_EQ(total, static_cast<int64_t>(std::filesystem::file_size(path)));
  EXPECT_EQ(last, total);
  std::filesystem::resize_file(path, total / 2);
  EXPECT_THAT(std::string(ReadTrace(path, recorded).message()), HasSubstr("ends too soon"));
  EXPECT_THAT(std::string(ReadTrace(path + ".none", recorded).message()),
              HasSubstr("No such file"));
  EXPECT_THAT(std::string(ReadTrace(testing::TempDir(), recorded).message()),
              HasSubstr("it is a folder"));
}

}  // namespace
}  // namespace weft::profiler
