#include "backends/cuda/emulate/state.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "backends/cuda/emulate/activities.h"
#include "backends/cuda/emulate/graphs.h"

namespace weft::cuda::emulate {
namespace {

constexpr CuAddress kHidden = CuAddress{1} << 62;
constexpr size_t kAlignment = 256;

}  // namespace

// --- Memory ------------------------------------------------------------------------------

char* Memory::Reveal(CuAddress address) { return reinterpret_cast<char*>(address & ~kHidden); }

CuAddress Memory::Hide(const char* host) { return reinterpret_cast<CuAddress>(host) | kHidden; }

CuAddress Memory::Allocate(size_t bytes) {
  const size_t rounded = (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  if (rounded > kTotalBytes || live_bytes_ + rounded > kTotalBytes) return 0;
  void* host = std::aligned_alloc(kAlignment, rounded);
  if (host == nullptr) return 0;
  std::memset(host, kPoison, rounded);
  char* const begin = static_cast<char*>(host);
  const CuAddress address = Hide(begin);
  pieces_[address] = {begin, bytes, std::make_unique<Shadow>(begin, bytes), ++made_};
  live_bytes_ += static_cast<int64_t>(bytes);
  return address;
}

bool Memory::Free(CuAddress address) { return Retire(address) != nullptr; }

std::shared_ptr<void> Memory::Retire(CuAddress address) {
  const auto it = pieces_.find(address);
  if (it == pieces_.end()) return nullptr;
  live_bytes_ -= static_cast<int64_t>(it->second.bytes);
  const auto piece = std::make_shared<Piece>(std::move(it->second));
  pieces_.erase(it);
  return std::shared_ptr<void>(piece->host, [piece](void* host) {
    std::memset(host, kPoison, piece->bytes);
    std::free(host);
  });
}

const Memory::Piece* Memory::Find(CuAddress address) const {
  auto it = pieces_.upper_bound(address);
  if (it == pieces_.begin()) return nullptr;
  --it;
  return address - it->first <= it->second.bytes ? &it->second : nullptr;
}

char* Memory::Range(CuAddress address, size_t bytes) const {
  const Piece* piece = Find(address);
  if (piece == nullptr) return nullptr;
  char* const begin = Reveal(address);
  return begin + bytes <= piece->host + piece->bytes ? begin : nullptr;
}

// --- Calls and streams -------------------------------------------------------------------

State& State::Get() {
  static auto& state = *new State;
  return state;
}

State::State() {
  streams[nullptr] = std::make_unique<Stream>();
  streams[nullptr]->number = kFirstStream;
}

CuResult State::Enter(const char* name) {
  ++calls[name];
  if (fail_count > 0 && fail_name == name && --fail_count == 0) {
    if (IsSticky(fail_result)) sticky = fail_result;
    return fail_result;
  }
  if (!initialized && std::strcmp(name, "cuInit") != 0) return kCuNotInitialized;
  return sticky;
}

bool State::IsLocked(const void* address) const {
  const char* const at = static_cast<const char*>(address);
  const auto behind = locked.upper_bound(at);
  if (behind == locked.begin()) return false;
  const auto piece = std::prev(behind);
  return at < piece->first + piece->second;
}

Stream* State::FindStream(CuStream stream) {
  const auto it = streams.find(stream);
  return it == streams.end() ? nullptr : it->second.get();
}

void State::TakeForgets(Task* task) {
  if (forgets.empty()) return;
  task->run = [this, run = std::move(task->run), lost = std::exchange(forgets, {})] {
    for (const Operand& operand : lost) {
      const Memory::Piece* piece = memory.Find(Memory::Hide(operand.begin));
      if (piece == nullptr) continue;
      std::memset(operand.begin, kPoison, operand.bytes);
      piece->shadow->SetWritten(operand.begin, operand.bytes, false);
    }
    return run();
  };
}

CuResult State::Submit(CuStream to, Task task) {
  Stream* const stream = FindStream(to);
  if (stream == nullptr) return kCuInvalidHandle;
  TakeForgets(&task);
  if (stream->capture != nullptr) {
    AddCaptured(stream->capture, std::move(task));
    return kCuSuccess;
  }
  Stream::Work work;
  work.run = std::move(task.run);
  work.activity = std::move(task.activity);
  SetSubmission(&work.activity, stream->number, call);
  stream->queue.push_back(std::move(work));
  return kCuSuccess;
}

bool State::Captures() const {
  return std::any_of(streams.begin(), streams.end(),
                     [](const auto& entry) { return entry.second->capture != nullptr; });
}

bool State::CanRun(const Stream& stream) const {
  if (stream.queue.empty()) return false;
  const Stream::Work& work = stream.queue.front();
  return work.await == nullptr || work.await->completed >= work.number;
}

void State::RunOne(Stream* stream) {
  Stream::Work work = std::move(stream->queue.front());
  stream->queue.pop_front();
  if (work.record != nullptr) {
    work.record->completed = std::max(work.record->completed, work.number);
    work.record->time = NowNanos();
  } else if (work.run && sticky == kCuSuccess) {
    const uint64_t begin = NowNanos();
    sticky = work.run();
    // Some work is over within the clock's resolution.
    SetTimes(&work.activity, begin, std::max(NowNanos(), begin + 1));
    Activities::Get().AddWork(work.activity);
  }
}

CuResult State::Drain(Stream* stream) {
  const auto empty = [&] {
    return stream != nullptr ? stream->queue.empty()
                             : std::all_of(streams.begin(), streams.end(), [](const auto& entry) {
                                 return entry.second->queue.empty();
                               });
  };
  while (!empty()) {
    std::vector<Stream*> ready;
    for (const auto& [handle, other] : streams) {
      if (CanRun(*other)) ready.push_back(other.get());
    }
    if (ready.empty()) return sticky = kCuLaunchFailed;  // Streams wait for each other.
    RunOne(ready[Random(ready.size())]);
  }
  return sticky;
}

}  // namespace weft::cuda::emulate
