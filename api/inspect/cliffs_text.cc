// A report of cliffs as text and as JSON.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/inspect/cliffs.h"
#include "base/quote.h"
#include "nlohmann/json.hpp"

namespace weft {
namespace {

std::string Time(double us) {
  return us < 10000 ? absl::StrFormat("%.3g us", us) : absl::StrFormat("%.3g ms", us / 1000);
}

std::string LineOf(const Cliff& cliff, double all) {
  std::string line =
      absl::StrFormat("%6.1f %%  %9s  %5.1f %%  ", all > 0 ? 100 * cliff.us / all : 0,
                      Time(cliff.us), 100 * cliff.share());
  absl::StrAppend(&line, "@", cliff.plan, " ", cliff.step, ": ", cliff.what, ": ", cliff.reason);
  if (cliff.turns > 1) absl::StrAppend(&line, "; ", cliff.turns, " turns");
  if (!cliff.sources.empty()) {
    constexpr size_t kMaxNames = 3;
    const auto end = cliff.sources.begin() + std::min(cliff.sources.size(), kMaxNames);
    absl::StrAppend(
        &line, " (from ",
        absl::StrJoin(cliff.sources.begin(), end, ", ",
                      [](std::string* out, const std::string& name) { *out += Quote(name); }),
        cliff.sources.size() > kMaxNames ? ", ..." : "", ")");
  }
  return line + "\n";
}

}  // namespace

std::string CliffReport::ToString() const {
  double sum = 0;
  for (const Cliff& cliff : cliffs) sum += cliff.us;
  std::string text = absl::StrFormat(
      "cliffs on %s: %d of %d steps, %s of %s, estimated for %.3g GB/s and %.3g GFLOP/s", target,
      cliffs.size(), steps, Time(sum), Time(us), gbytes, gflops);
  if (!sizes.empty()) {
    absl::StrAppend(&text, ", ", absl::StrJoin(sizes, ", ", absl::PairFormatter("=")));
  }
  text += "\n";
  if (cliffs.empty()) return text;
  absl::StrAppend(&text, "of time       time  of roofline  step\n");
  for (const Cliff& cliff : cliffs) text += LineOf(cliff, us);
  return text;
}

std::string CliffReport::ToJson() const {
  nlohmann::ordered_json json;
  json["target"] = target;
  json["sizes"] = sizes;
  json["gbytes"] = gbytes;
  json["gflops"] = gflops;
  json["steps"] = steps;
  json["us"] = us;
  json["cliffs"] = nlohmann::ordered_json::array();
  for (const Cliff& cliff : cliffs) {
    nlohmann::ordered_json entry;
    entry["kind"] = std::string(CliffKindName(cliff.kind));
    entry["plan"] = cliff.plan;
    entry["step"] = cliff.step;
    entry["what"] = cliff.what;
    entry["reason"] = cliff.reason;
    entry["sources"] = cliff.sources;
    entry["turns"] = cliff.turns;
    entry["bytes"] = cliff.bytes;
    entry["flops"] = cliff.flops;
    entry["us"] = cliff.us;
    entry["share"] = cliff.share();
    json["cliffs"].push_back(std::move(entry));
  }
  // Names of a model may be no UTF-8.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace weft
