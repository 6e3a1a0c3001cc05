// Reads the text form of schedules (kernel_schedule.h).
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "lowering/plan_text_reader.h"

namespace weft {
namespace {

// Limit of a list: more than the stages of a nest, or the loads that it prefetches.
constexpr size_t kMaxListed = 4096;

class ScheduleParser {
 public:
  explicit ScheduleParser(text::TextReader& reader) : reader_(reader) {}

  bool Parse(KernelSchedule* schedule) {
    *schedule = KernelSchedule();
    if (!reader_.ExpectWord("schedule") || !Field("lanes", &schedule->lanes) ||
        !reader_.Expect('{')) {
      return false;
    }
    while (!reader_.Accept('}')) {
      if (!ParseNest(&schedule->nests.emplace_back())) return false;
    }
    return true;
  }

 private:
  bool ParseNest(NestSchedule* nest) {
    if (!reader_.ExpectWord("nest") || !ParseLoop(&nest->lane_loop) ||
        !ParseReduction(&nest->reduction) || !Field("tile", &nest->tile) ||
        (nest->reduction != ReductionOrder::kNone && !Field("block", &nest->block)) ||
        !ParseList("unroll", &nest->unroll,
                   [this](int* out) { return ParseIndex(reader_, out); })) {
      return false;
    }
    if (!reader_.AtWord("prefetch")) return true;
    const auto load = [this](ScheduledLoad* out) {
      return ParseIndex(reader_, &out->stage) && reader_.Expect(':') &&
             ParseIndex(reader_, &out->instr);
    };
    return ParseList("prefetch", &nest->prefetch, load) && Field("stage", &nest->prefetch_stage) &&
           Field("bytes", &nest->prefetch_bytes);
  }

  bool ParseLoop(int* out) {
    if (!reader_.ExpectWord("loop") || !reader_.Expect('=')) return false;
    *out = -1;
    return reader_.AcceptWord("none") || ParseIndex(reader_, out);
  }

  bool ParseReduction(ReductionOrder* out) {
    if (!reader_.ExpectWord("reduction") || !reader_.Expect('=')) return false;
    for (ReductionOrder order :
         {ReductionOrder::kNone, ReductionOrder::kSerial, ReductionOrder::kLanes}) {
      if (!reader_.AcceptWord(ReductionOrderName(order))) continue;
      *out = order;
      return true;
    }
    return reader_.Expected("none, serial or lanes");
  }

  bool Field(absl::string_view name, int* out) {
    return reader_.ExpectWord(name) && reader_.Expect('=') && ParseIndex(reader_, out);
  }
  bool Field(absl::string_view name, int64_t* out) {
    const size_t position = reader_.position();
    if (!reader_.ExpectWord(name) || !reader_.Expect('=') || !reader_.ParseInt(out)) return false;
    return *out >= 0 || reader_.Fail(position, "the number must not be negative");
  }

  template <typename T, typename Fn>
  bool ParseList(absl::string_view name, std::vector<T>* out, Fn parse) {
    const size_t position = reader_.position();
    if (!reader_.ExpectWord(name) || !reader_.Expect('=') || !reader_.Expect('[')) return false;
    while (!reader_.Accept(']')) {
      if (!out->empty() && !reader_.Expect(',')) return false;
      if (out->size() == kMaxListed) return reader_.Fail(position, "the list is too long");
      if (!parse(&out->emplace_back())) return false;
    }
    return true;
  }

  text::TextReader& reader_;
};

}  // namespace

bool ParseScheduleText(text::TextReader& reader, KernelSchedule* schedule) {
  return ScheduleParser(reader).Parse(schedule);
}

}  // namespace weft
