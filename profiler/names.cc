#include "profiler/names.h"

#include <deque>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace weft::profiler {
namespace {

struct NameTable {
  absl::Mutex mutex;
  // A deque does not move its elements.
  std::deque<std::string> texts ABSL_GUARDED_BY(mutex) = {""};
  absl::flat_hash_map<absl::string_view, NameId> ids ABSL_GUARDED_BY(mutex) = {{"", 0}};
};

// Never destroyed: threads may record until the process ends.
NameTable& Names() {
  static NameTable& table = *new NameTable;
  return table;
}

}  // namespace

NameId InternName(absl::string_view text) {
  NameTable& table = Names();
  {
    absl::ReaderMutexLock lock(&table.mutex);
    const auto found = table.ids.find(text);
    if (found != table.ids.end()) return found->second;
  }
  absl::MutexLock lock(&table.mutex);
  const auto found = table.ids.find(text);
  if (found != table.ids.end()) return found->second;
  const NameId id = static_cast<NameId>(table.texts.size());
  table.texts.emplace_back(text);
  table.ids.emplace(table.texts.back(), id);
  return id;
}

absl::string_view NameOf(NameId id) {
  NameTable& table = Names();
  absl::ReaderMutexLock lock(&table.mutex);
  return id < table.texts.size() ? absl::string_view(table.texts[id]) : absl::string_view();
}

}  // namespace weft::profiler
