#include "tests/trust/trust.h"

#include <fstream>
#include <iostream>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"
#include "tests/trust/cut_programs.h"
#include "tests/trust/metamorphic_programs.h"
#include "tests/trust/misfit_programs.h"
#include "tests/trust/schema_programs.h"

namespace weft::trust {
namespace {

using Make = absl::StatusOr<TestProgram> (*)(uint64_t seed, Random&, const TrustOptions&);
using Check = absl::Status (*)(const TestProgram&, const Configuration&, Totals*);

struct Generator {
  const char* name;
  Make make;
  Check check;
};

const Generator kGenerators[] = {
    {"schema",
     [](uint64_t seed, Random& random, const TrustOptions&) {
       return MakeSchemaProgram(seed, random);
     },
     CheckAgainstReference},
    {"cut",
     [](uint64_t, Random& random, const TrustOptions& options) {
       return MakeCutProgram(random, options.models);
     },
     CheckAgainstReference},
    {"misfit",
     [](uint64_t, Random& random, const TrustOptions&) { return MakeMisfitProgram(random); },
     CheckAgainstReference},
    {"metamorphic",
     [](uint64_t, Random& random, const TrustOptions&) { return MakeMetamorphicProgram(random); },
     CheckSelection},
};

const Generator* Find(absl::string_view name) {
  for (const Generator& generator : kGenerators) {
    if (name == generator.name) return &generator;
  }
  return nullptr;
}

std::string Describe(const TestProgram& program, const Configuration& configuration) {
  PrintOptions print;
  print.max_inline_elements = 64;
  std::string text =
      absl::StrCat(configuration.ToString(), "\n", PrintModule(*program.module, print));
  for (const HostTensor& input : program.inputs) {
    if (!input.valid() || input.numel() > 64 || IsComplex(input.dtype())) continue;
    absl::StrAppend(&text, "// input of ", input.type().ToString(), ":");
    for (double v : input.ReadDoubles()) absl::StrAppend(&text, " ", v);
    absl::StrAppend(&text, "\n");
  }
  return text;
}

void Write(const TestProgram& program, const std::string& path) {
  std::ofstream file(path);
  file << PrintModule(*program.module);
  file.close();
  if (!file) std::cerr << "cannot write " << path << "\n";
}

}  // namespace

std::vector<std::string> GeneratorNames() {
  std::vector<std::string> names;
  for (const Generator& generator : kGenerators) names.push_back(generator.name);
  return names;
}

absl::Status CheckSeed(absl::string_view name, uint64_t seed, const TrustOptions& options,
                       Totals* totals) {
  const Generator* generator = Find(name);
  if (generator == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("no generator is called ", name));
  }
  Random random(seed);
  auto program = generator->make(seed, random, options);
  if (!program.ok()) {
    ++totals->skipped;
    return absl::OkStatus();
  }
  Configuration configuration = RandomConfiguration(random, options.limits);
  if (!program->passes.empty() && options.limits.passes.empty()) {
    configuration.passes = program->passes;
  }
  // Narrow parts of an infinity are infinities and NaN.
  if (program->edge_values) configuration.options.f32_precision = "highest";
  if (options.print_before) {
    std::cout << "seed " << seed << ", " << Describe(*program, configuration) << std::endl;
  }
  absl::Status status = Verify(*program->module);
  if (status.ok()) status = generator->check(*program, configuration, totals);
  if (status.ok()) return status;
  if (!options.folder.empty()) {
    Write(*program, absl::StrCat(options.folder, "/", name, "_", seed, ".weft"));
  }
  return absl::Status(
      status.code(), absl::StrCat("generator ", name, ", seed ", seed, ": ", status.message(), "\n",
                                  Describe(*program, configuration)));
}

}  // namespace weft::trust
