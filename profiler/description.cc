#include "profiler/description.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace weft::profiler {
namespace {

struct DescriptionTable {
  absl::Mutex mutex;
  std::vector<std::shared_ptr<const Description>> entries ABSL_GUARDED_BY(mutex) = {nullptr};
  std::vector<DescriptionId> free ABSL_GUARDED_BY(mutex);
  // Descriptions whose handles were destroyed while a session records.
  std::vector<DescriptionId> gone ABSL_GUARDED_BY(mutex);
  int holders ABSL_GUARDED_BY(mutex) = 0;
  // Ids of InternDescription(), by KeyOf().
  absl::flat_hash_map<std::string, DescriptionId> interned ABSL_GUARDED_BY(mutex);

  DescriptionId Add(std::shared_ptr<const Description> entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (free.empty()) {
      entries.push_back(std::move(entry));
      return static_cast<DescriptionId>(entries.size() - 1);
    }
    const DescriptionId id = free.back();
    free.pop_back();
    entries[id] = std::move(entry);
    return id;
  }

  void Free(DescriptionId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    entries[id] = nullptr;
    free.push_back(id);
  }
};

DescriptionTable& Table() {
  static DescriptionTable& table = *new DescriptionTable;
  return table;
}

// Builds a key that is equal only for equal descriptions: each text and list has its length before
// it.
class KeyBuilder {
 public:
  void Add(int64_t value) { key_.append(reinterpret_cast<const char*>(&value), sizeof(value)); }
  void Add(int value) { Add(int64_t{value}); }
  void Add(absl::string_view text) {
    Add(static_cast<int64_t>(text.size()));
    key_.append(text.data(), text.size());
  }
  void Add(const std::string& text) { Add(absl::string_view(text)); }
  void Add(const TensorDescription& t) { AddAll(t.type, t.dims, t.strides, t.value); }
  template <typename T>
  void Add(const std::pair<std::string, T>& pair) {
    AddAll(pair.first, pair.second);
  }
  template <typename T>
  void Add(const std::vector<T>& list) {
    Add(static_cast<int64_t>(list.size()));
    for (const T& element : list) Add(element);
  }
  template <typename... Parts>
  void AddAll(const Parts&... parts) {
    (Add(parts), ...);
  }
  std::string Take() { return std::move(key_); }

 private:
  std::string key_;
};

std::string KeyOf(const Description& d) {
  KeyBuilder key;
  key.AddAll(d.inputs, d.outputs, d.flops, d.bytes, d.threads, d.kernel, d.symbols, d.provenance,
             d.rules, d.facts);
  return key.Take();
}

}  // namespace

DescriptionHandle::DescriptionHandle(Description description) {
  auto entry = std::make_shared<const Description>(std::move(description));
  DescriptionTable& table = Table();
  absl::MutexLock lock(&table.mutex);
  id_ = table.Add(std::move(entry));
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

DescriptionId InternDescription(Description description) {
  std::string key = KeyOf(description);
  DescriptionTable& table = Table();
  absl::MutexLock lock(&table.mutex);
  if (table.holders == 0) return 0;
  auto [it, inserted] = table.interned.emplace(std::move(key), 0);
  if (inserted) it->second = table.Add(std::make_shared<const Description>(std::move(description)));
  return it->second;
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
  // Sorted by id, so that later ids do not depend on the order of a hash table.
  std::vector<DescriptionId> ids;
  for (const auto& [key, id] : table.interned) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  for (DescriptionId id : ids) table.Free(id);
  table.interned.clear();
}

int64_t NumDescriptions() {
  DescriptionTable& table = Table();
  absl::MutexLock lock(&table.mutex);
  return static_cast<int64_t>(table.entries.size() - 1 - table.free.size());
}

}  // namespace internal
}  // namespace weft::profiler
