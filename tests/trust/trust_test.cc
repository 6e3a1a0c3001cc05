// A small number of programs of each generator; main.cc runs any number. The seeds are chosen for
// CI's time; longer runs use others.
#include "tests/trust/trust.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include "gtest/gtest.h"

namespace weft::trust {
namespace {

namespace fs = std::filesystem;

TrustOptions Options() {
  TrustOptions options;
  const char* folder = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  if (folder != nullptr) options.folder = folder;
  // A compiler runs for each of these.
  options.limits.code_one_in = 150;
  return options;
}

// Models beside the checkout, found through the real path of a file in it.
std::string ModelFolder() {
  const fs::path root = fs::path(std::getenv("TEST_SRCDIR")) / std::getenv("TEST_WORKSPACE");
  const fs::path models =
      fs::canonical(root / "WORKSPACE").parent_path().parent_path() / "shared" / "models";
  if (fs::exists(models)) return models.string();
  std::cerr << "skipped: " << models << " is not there; parts are cut from built models alone\n";
  return "";
}

Totals CheckSeeds(const std::string& generator, uint64_t count, const TrustOptions& options) {
  Totals totals;
  int failures = 0;
  for (uint64_t seed = 1; seed <= count && failures < 5; ++seed) {
    const absl::Status status = CheckSeed(generator, seed, options, &totals);
    if (status.ok()) continue;
    ++failures;
    ADD_FAILURE() << status.message();
  }
  std::cout << generator << ": " << totals.ToString() << "\n";
  return totals;
}

TEST(Trust, OpsAndRoutinesGiveWhatTheReferenceGives) {
  const Totals totals = CheckSeeds("schema", 600, Options());
  EXPECT_GT(totals.compared, 400);
  EXPECT_GT(totals.generated, 0);
  EXPECT_GT(totals.coverage.size(), 100);
}

TEST(Trust, PartsOfModelsGiveWhatTheReferenceGives) {
  TrustOptions options = Options();
  options.models = ModelFolder();
  EXPECT_GT(CheckSeeds("cut", 200, options).compared, 80);
}

TEST(Trust, SizesThatDoNotFitAreRefused) {
  const Totals totals = CheckSeeds("misfit", 400, Options());
  EXPECT_GT(totals.compared, 50);
  EXPECT_GT(totals.refused, 50);
}

TEST(Trust, SelectionCommutesWithPrograms) {
  EXPECT_GT(CheckSeeds("metamorphic", 200, Options()).compared, 150);
}

TEST(Trust, EveryGeneratorIsTested) {
  EXPECT_EQ(GeneratorNames(), (std::vector<std::string>{"schema", "cut", "misfit", "metamorphic"}));
}

}  // namespace
}  // namespace weft::trust
