// The fields that events of a trace file have, by kind of event; for comparing Weft's traces with
// those of torch.profiler.
#ifndef WEFT_TESTS_PROFILER_KINETO_FIELDS_H_
#define WEFT_TESTS_PROFILER_KINETO_FIELDS_H_

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "nlohmann/json.hpp"

namespace weft::profiler {

// A trace that torch.profiler wrote, which lies beside the checkout (../shared/traces). Tests that
// read it have //:WORKSPACE as data, and the tag "local": the way there is the checkout's own.
std::filesystem::path GoldenTrace();

// Compressed or not.
nlohmann::json ParseFile(const std::filesystem::path& path);

// "integer", "decimal", or nlohmann's name.
std::string TypeOf(const nlohmann::json& value);

struct Kind {
  int count = 0;
  // Path of a field and its types: "args.Input Dims" -> {array}.
  std::map<std::string, std::set<std::string>> fields;
  // How many events have the field.
  std::map<std::string, int> presence;
};
// Fields by phase and category. Track facts, marks, and tracks that are not threads are
// distinguished by their names.
std::map<std::string, Kind> KindsOf(const nlohmann::json& trace);

// Expects of Weft's events `name` what torch's are: every field of theirs, of the same types, and
// in every event where all of theirs have it. The number of fields compared.
int ExpectSameFields(const std::string& name, const Kind& weft, const Kind& torch);

}  // namespace weft::profiler

// In tests that compare with GoldenTrace().
#define SKIP_WITHOUT_GOLDEN_TRACE()                                \
  if (!std::filesystem::exists(weft::profiler::GoldenTrace())) {   \
    std::cerr << "skipped: torch.profiler's trace is expected at " \
              << weft::profiler::GoldenTrace() << "\n";            \
    GTEST_SKIP() << "no " << weft::profiler::GoldenTrace();        \
  }

#endif  // WEFT_TESTS_PROFILER_KINETO_FIELDS_H_
