// Writes the sample files of the present version of the format, VERSION-NAME.weftb, with their
// modules as text: make_files FOLDER.
#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/output_file.h"
#include "base/status_macros.h"
#include "serialize/flat/weftb_format.h"
#include "tests/serialize/flat/sample_files.h"

namespace weft {
namespace {

absl::Status Write(const std::string& folder, const std::string& name,
                   const absl::StatusOr<SampleFile>& sample) {
  WEFT_RETURN_IF_ERROR(sample.status());
  const std::string path = absl::StrCat(folder, "/", kWeftbMajor, ".", kWeftbMinor, "-", name);
  WEFT_RETURN_IF_ERROR(WriteFile(path + ".weft", sample->text));
  return WriteFile(path + ".weftb", sample->bytes);
}

absl::Status MakeFiles(const std::string& folder) {
  WEFT_RETURN_IF_ERROR(Write(folder, "module", ModuleSample()));
  return Write(folder, "plan", PlanSample());
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_files FOLDER\n");
    return 2;
  }
  const absl::Status status = weft::MakeFiles(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
