#include "backends/cuda/emulate/state.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

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
  pieces_[address] = {begin, bytes, std::make_unique<Shadow>(begin, bytes)};
  live_bytes_ += static_cast<int64_t>(bytes);
  return address;
}

bool Memory::Free(CuAddress address) {
  const auto it = pieces_.find(address);
  if (it == pieces_.end()) return false;
  std::memset(it->second.host, kPoison, it->second.bytes);
  live_bytes_ -= static_cast<int64_t>(it->second.bytes);
  std::free(it->second.host);
  pieces_.erase(it);
  return true;
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

State::State() { streams[nullptr] = std::make_unique<Stream>(); }

CuResult State::Enter(const char* name) {
  ++calls[name];
  if (fail_count > 0 && fail_name == name && --fail_count == 0) {
    if (IsSticky(fail_result)) sticky = fail_result;
    return fail_result;
  }
  if (!initialized && std::strcmp(name, "cuInit") != 0) return kCuNotInitialized;
  return sticky;
}

Stream* State::FindStream(CuStream stream) {
  const auto it = streams.find(stream);
  return it == streams.end() ? nullptr : it->second.get();
}

bool State::CanRun(const Stream& stream) const {
  if (stream.queue.empty()) return false;
  const Stream::Work& work = stream.queue.front();
  return work.await == nullptr || work.await->completed >= work.number;
}

void State::RunOne(Stream* stream) {
  const Stream::Work work = std::move(stream->queue.front());
  stream->queue.pop_front();
  if (work.record != nullptr) {
    work.record->completed = std::max(work.record->completed, work.number);
  } else if (work.run && sticky == kCuSuccess) {
    sticky = work.run();
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
    RunOne(ready[random_() % ready.size()]);
  }
  return sticky;
}

}  // namespace weft::cuda::emulate
