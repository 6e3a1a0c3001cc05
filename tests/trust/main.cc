// Runs any number of programs of a generator:
//
//   bazel run //tests/trust:main -- --generator=schema --count=100000 --seed=1
//
// --isa=avx2|avx512|native and --passes=PIPELINE hold all programs to these, --code=N compiles
// generated code for one program in N, --models=DIR is where cut finds models, --output=DIR keeps
// programs that fail, --keep-going=N stops after N failures, --seconds=N after that time,
// --coverage shows which decisions of the target were reached, --print shows each program before it
// runs. Exits with 1 when a program failed.
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/trust/trust.h"
#include "tools/common/progress.h"

namespace weft::trust {
namespace {

struct Arguments {
  std::string generator = "schema";
  uint64_t count = 1000;
  uint64_t seed = 1;
  int64_t failures = 1;
  int64_t seconds = 0;  // 0: any time.
  bool coverage = false;
  TrustOptions options;
};

bool Parse(const std::string& argument, Arguments* a) {
  const size_t equals = argument.find('=');
  const std::string name = argument.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
  if (name == "--generator") return a->generator = value, !value.empty();
  if (name == "--isa") return a->options.limits.isa = value, !value.empty();
  if (name == "--passes") return a->options.limits.passes = value, !value.empty();
  if (name == "--models") return a->options.models = value, !value.empty();
  if (name == "--output") return a->options.folder = value, !value.empty();
  if (name == "--count") return absl::SimpleAtoi(value, &a->count);
  if (name == "--seed") return absl::SimpleAtoi(value, &a->seed);
  if (name == "--code") return absl::SimpleAtoi(value, &a->options.limits.code_one_in);
  if (name == "--keep-going") return absl::SimpleAtoi(value, &a->failures);
  if (name == "--seconds") return absl::SimpleAtoi(value, &a->seconds);
  if (name == "--coverage") return a->coverage = true;
  if (name == "--print") return a->options.print_before = true;
  return false;
}

int Run(const Arguments& a) {
  const absl::Time end =
      a.seconds > 0 ? absl::Now() + absl::Seconds(a.seconds) : absl::InfiniteFuture();
  Totals totals;
  int64_t failures = 0;
  tools::ProgressLine progress(a.generator);
  for (uint64_t seed = a.seed; seed < a.seed + a.count && absl::Now() < end; ++seed) {
    const absl::Status status = CheckSeed(a.generator, seed, a.options, &totals);
    progress.Show(static_cast<int64_t>(seed - a.seed + 1), static_cast<int64_t>(a.count));
    if (status.ok()) continue;
    progress.Clear();
    std::cout << status.message() << "\n" << std::flush;
    if (++failures >= a.failures) break;
  }
  progress.Clear();
  std::cout << totals.ToString() << "; " << failures << " failures\n";
  if (a.coverage) {
    std::cout << "\nReached, of layouts and kinds of weights:\n"
              << totals.coverage.Table() << "\nClaimed and never reached:\n"
              << totals.coverage.Unreached();
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace weft::trust

int main(int argc, char** argv) {
  weft::trust::Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    if (weft::trust::Parse(argv[i], &arguments)) continue;
    std::cerr << "unknown argument " << argv[i] << "; main.cc lists them\n";
    return 2;
  }
  return weft::trust::Run(arguments);
}
