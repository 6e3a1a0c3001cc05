#include "base/mapped_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <iterator>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/align.h"

namespace weft {
namespace {

// The mappings that are alive: end and number by beginning.
class Mappings {
 public:
  static Mappings& All() {
    static Mappings& all = *new Mappings;
    return all;
  }
  void Add(uintptr_t begin, uintptr_t end) {
    absl::MutexLock lock(&mutex_);
    Place& place = places_[begin];
    place.end = end;
    ++place.owners;
  }
  void Remove(uintptr_t begin) {
    absl::MutexLock lock(&mutex_);
    const auto it = places_.find(begin);
    if (--it->second.owners == 0) places_.erase(it);
  }
  // Runs under the lock, so that the mapping cannot end meanwhile.
  void Release(uintptr_t begin, uintptr_t end) const {
    absl::MutexLock lock(&mutex_);
    const auto after = places_.upper_bound(begin);
    if (after == places_.begin() || end > std::prev(after)->second.end) return;
    // Mappings are read-only, so the file still has the bytes.
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }

 private:
  struct Place {
    uintptr_t end = 0;
    int owners = 0;
  };
  mutable absl::Mutex mutex_;
  std::map<uintptr_t, Place> places_ ABSL_GUARDED_BY(mutex_);
};

uintptr_t Begin(const HostBuffer& buffer) { return reinterpret_cast<uintptr_t>(buffer.data()); }

}  // namespace

MappedMemory::MappedMemory(std::shared_ptr<HostBuffer> mapping) : mapping_(std::move(mapping)) {
  Mappings::All().Add(Begin(*mapping_), Begin(*mapping_) + mapping_->size());
}

MappedMemory::~MappedMemory() { Mappings::All().Remove(Begin(*mapping_)); }

void ReleaseMappedPages(const void* data, int64_t bytes) {
  const uintptr_t page = sysconf(_SC_PAGESIZE);
  const auto start = reinterpret_cast<uintptr_t>(data);
  const uintptr_t begin = AlignUp(start, page);
  const uintptr_t end = (start + bytes) / page * page;
  if (begin < end) Mappings::All().Release(begin, end);
}

}  // namespace weft
