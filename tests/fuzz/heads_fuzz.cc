// Any bytes as a part that is read before a file is used: the head of a replay file, the tag of a
// plugin, the record of a cached kernel. The result is a value or a status, never a crash.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "api/plugin_tag.h"
#include "api/replay.h"
#include "backends/cpu/jit/kernel_library.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto replay = weft::ParseReplayHead(bytes);
  if (replay.ok()) weft::ParseReplayHead(weft::ReplayHead(*replay, "fuzz")).status().IgnoreError();
  weft::ReadPluginTag(bytes).status().IgnoreError();
  absl::string_view rest = bytes;
  const auto record = weft::cpu::ConsumeObjectRecord(&rest);
  if (record) {
    std::string again = weft::cpu::FormatObjectRecord(*record);
    absl::string_view line = again;
    const auto same = weft::cpu::ConsumeObjectRecord(&line);
    WEFT_CHECK(same && same->bytes == record->bytes && same->digest == record->digest) << again;
  }
  return 0;
}
