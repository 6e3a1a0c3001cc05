#include "profiler/description.h"

#include "absl/synchronization/mutex.h"

namespace weft::profiler {
namespace {

struct DescriptionTable {
  absl::Mutex mutex;
  std::vector<std::shared_ptr<const Description>> entries ABSL_GUARDED_BY(mutex) = {nullptr};
  std::vector<DescriptionId> free ABSL_GUARDED_BY(mutex);
  // Those whose handles went while a session records.
  std::vector<DescriptionId> gone ABSL_GUARDED_BY(mutex);
  int holders ABSL_GUARDED_BY(mutex) = 0;

  void Free(DescriptionId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    entries[id] = nullptr;
    free.push_back(id);
  }
};

DescriptionTable& Table() {
  static DescriptionTable& table = *new DescriptionTable;
  return table;
}

}  // namespace

DescriptionHandle::DescriptionHandle(Description description) {
  auto entry = std::make_shared<const Description>(std::move(description));
  DescriptionTable& table = Table();
  absl::MutexLock lock(&table.mutex);
  if (table.free.empty()) {
    id_ = static_cast<DescriptionId>(table.entries.size());
    table.entries.push_back(std::move(entry));
  } else {
    id_ = table.free.back();
    table.free.pop_back();
    table.entries[id_] = std::move(entry);
  }
}

DescriptionHandle::~DescriptionHandle() {
  if (id_ == 0) return;
  DescriptionTable& table = Table();
  absl::MutexLock lock(&table.mutex);
  if (table.holders > 0) {
    table.gone.push_back(id_);
  } else {
    table.Free(id_);
  }
}

namespace internal {

std::shared_ptr<const Description> FindDescription(DescriptionId id) {
  DescriptionTable& table = Table();
  absl::MutexLock lock(&table.mutex);
  return id < table.entries.size() ? table.entries[id] : nullptr;
}

void HoldDescriptions() {
  DescriptionTable& table = Table();
  absl::MutexLock lock(&table.mutex);
  ++table.holders;
}

void ReleaseDescriptions() {
  DescriptionTable& table = Table();
  absl::MutexLock lock(&table.mutex);
  if (--table.holders > 0) return;
  for (DescriptionId id : table.gone) table.Free(id);
  table.gone.clear();
}

int64_t NumDescriptions() {
  DescriptionTable& table = Table();
  absl::MutexLock lock(&table.mutex);
  return static_cast<int64_t>(table.entries.size() - 1 - table.free.size());
}

}  // namespace internal
}  // namespace weft::profiler
