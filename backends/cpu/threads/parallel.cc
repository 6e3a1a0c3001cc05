#include "backends/cpu/threads/parallel.h"

#include <omp.h>

#include "backends/cpu/threads/host_loop.h"

namespace weft::cpu {
namespace {

void RunOpenMp(int64_t threads, const TeamBody& body) {
#pragma omp parallel num_threads(static_cast <int>(threads))
  body.run(body.data, TeamMember{omp_get_thread_num(), omp_get_num_threads()});
}

}  // namespace

void TeamMember::Meet() const {
  if (count > 1) {
#pragma omp barrier
  }
}

void RunTeam(int64_t threads, const TeamBody& body) {
  if (threads <= 1) return body.run(body.data, TeamMember());
  struct Call {
    const TeamBody* body;
    int64_t count;
  } call = {&body, threads};
  const auto run = [](void* data, int64_t index) {
    const Call& call = *static_cast<const Call*>(data);
    call.body->run(call.body->data, TeamMember{index, call.count});
  };
  if (!RunHostLoop(threads, run, &call)) RunOpenMp(threads, body);
}

void RunMeetingTeam(int64_t threads, const TeamBody& body) {
  if (threads <= 1 || HasHostLoop()) return body.run(body.data, TeamMember());
  RunOpenMp(threads, body);
}

}  // namespace weft::cpu
