// Any bytes as a .weftb file: a file or a status, never a crash. A module that is read writes to a
// file that reads back to the same module.
//
// The bytes are read as they are, and with the sizes and the hashes that a reader expects, so that
// faults behind these checks are met, too.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/hash.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "lowering/plan.h"
#include "lowering/plan_text.h"
#include "serialize/flat/weftb_builder.h"
#include "serialize/flat/weftb_file.h"
#include "serialize/flat/weftb_format.h"
#include "serialize/flat/weftb_module.h"
#include "serialize/flat/weftb_plan.h"

namespace {

void ReadPlans(const weft::WeftbFile& file) {
  for (const auto& plan : file.contents().plans) {
    const absl::string_view target = file.contents().targets[plan.target].name;
    const auto read = weft::ReadPlanFromWeftb(file, plan.function, target);
    if (!read.ok()) continue;
    weft::WeftbBuilder builder;
    WEFT_CHECK(weft::AddPlanToWeftb(*read, builder.AddTarget(target, ""), &builder).ok());
    const auto bytes = builder.Bytes();
    WEFT_CHECK(bytes.ok()) << bytes.status().ToString();
    const auto again = weft::WeftbFile::Parse(*bytes, "again");
    WEFT_CHECK(again.ok()) << again.status().ToString();
    const auto reread = weft::ReadPlanFromWeftb(**again, read->name, target);
    WEFT_CHECK(reread.ok()) << reread.status().ToString();
    WEFT_CHECK(weft::PrintPlan(*reread) == weft::PrintPlan(*read));
  }
}

void ReadAll(absl::string_view bytes) {
  const auto file = weft::WeftbFile::Parse(bytes, "fuzz.weftb");
  if (!file.ok()) return;
  (*file)->CheckAll().IgnoreError();
  ReadPlans(**file);
  const auto module = weft::ReadModuleFromWeftb(**file, weft::ops::Registry());
  if (!module.ok()) return;
  weft::WeftbBuilder builder;
  WEFT_CHECK(weft::AddModuleToWeftb(**module, {}, &builder).ok());
  const auto again_bytes = builder.Bytes();
  WEFT_CHECK(again_bytes.ok()) << again_bytes.status().ToString();
  const auto again = weft::WeftbFile::Parse(*again_bytes, "again");
  WEFT_CHECK(again.ok()) << again.status().ToString();
  const auto reread = weft::ReadModuleFromWeftb(**again, weft::ops::Registry());
  WEFT_CHECK(reread.ok()) << reread.status().ToString();
  WEFT_CHECK(weft::PrintModule(**reread) == weft::PrintModule(**module));
}

// With the present version, the right sizes, and the hash of the description.
std::string Repaired(absl::string_view bytes) {
  std::string repaired(bytes);
  repaired.replace(4, 4, weft::kWeftbIdentifier);
  weft::WeftbHeader header = weft::ReadWeftbHeader(repaired);
  header.header_bytes = weft::kWeftbHeaderBytes;
  header.major = weft::kWeftbMajor;
  header.file_bytes = repaired.size();
  if (header.meta_bytes > repaired.size() || header.meta_bytes < weft::kWeftbHeaderBytes) {
    header.meta_bytes = repaired.size();
  }
  weft::WriteWeftbHeader(header, repaired.data());
  header.meta_hash = weft::HashWeftbMeta(absl::string_view(repaired).substr(0, header.meta_bytes));
  weft::WriteWeftbHeader(header, repaired.data());
  return repaired;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  ReadAll(bytes);
  if (size >= weft::kWeftbHeaderBytes) ReadAll(Repaired(bytes));
  return 0;
}
