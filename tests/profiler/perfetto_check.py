#!/usr/bin/env python3
"""Opens traces of Weft with what others read traces with, from PyPI:

    pip install perfetto HolisticTraceAnalysis
    perfetto_check.py TRACE.json|TRACE.json.gz|TRACE.pftrace ...

* Perfetto's trace processor, which the package downloads when it is first asked for: counts of
  slices, and errors of the import. Without a network that is said, and the next line stands in.
* A .pftrace file is parsed by Perfetto's own message definitions: every field must be known to
  them, slices must be balanced on each track.
* HTA, of a .json or .json.gz file: the trace's parser and the columns that analyses key on.

Exit status 1 when one of them rejects a trace; 2 when nothing could be asked.
"""

import collections
import gzip
import json
import os
import shutil
import sys
import tempfile


def by_trace_processor(path):
    """None when the processor cannot be had, else whether it takes the trace."""
    from perfetto.trace_processor import TraceProcessor
    try:
        processor = TraceProcessor(trace=path)
    except Exception as error:  # pylint: disable=broad-except
        print(f"{path}: no trace processor here: {str(error).splitlines()[0][:100]}")
        return None
    try:
        slices = next(iter(processor.query("select count(*) as n from slice"))).n
        bad = list(processor.query("select name, value from stats"
                                   " where severity = 'error' and value > 0"))
        print(f"{path}: trace processor: {slices} slices, {len(bad)} kinds of errors")
        for row in bad:
            print(f"  {row.name}: {row.value}")
        return slices > 0 and not bad
    finally:
        processor.close()


def has_unknown_fields(message):
    """Whether bytes are left that the message's definition does not explain."""
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    return known.SerializeToString(deterministic=True) != message.SerializeToString(
        deterministic=True)


def by_messages(path):
    """Whether Perfetto's definitions explain a .pftrace file."""
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages
    opener = gzip.open if path.endswith(".gz") else open
    trace = messages.Trace()
    with opener(path, "rb") as file:
        trace.ParseFromString(file.read())
    problems = []
    if has_unknown_fields(trace):
        problems.append("fields that Perfetto does not know")
    depth = collections.Counter()
    tracks, names = set(), set()
    for packet in trace.packet:
        names.update(entry.iid for entry in packet.interned_data.event_names)
        if packet.HasField("track_descriptor"):
            tracks.add(packet.track_descriptor.uuid)
    # Importers sort by time, and keep the order of what is equal.
    events = [packet for packet in trace.packet if packet.HasField("track_event")]
    for packet in sorted(events, key=lambda packet: packet.timestamp):
        event = packet.track_event
        if event.track_uuid not in tracks:
            problems.append(f"track {event.track_uuid} is not described")
        if event.name_iid and event.name_iid not in names:
            problems.append(f"name {event.name_iid} is not there")
        change = {event.TYPE_SLICE_BEGIN: 1, event.TYPE_SLICE_END: -1}.get(event.type, 0)
        depth[event.track_uuid] += change
        if depth[event.track_uuid] < 0:
            problems.append(f"a slice of track {event.track_uuid} ends that did not begin")
    problems += [f"slices of track {track} do not end" for track, open_ in depth.items() if open_]
    print(f"{path}: {len(trace.packet)} packets of Perfetto's messages, {len(problems)} problems")
    for problem in problems[:10]:
        print(f"  {problem}")
    return not problems


def by_hta(path):
    """Whether HTA parses a JSON trace to the events that it holds."""
    from hta.common.trace import Trace
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    # It may write beside the file.
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, os.path.basename(path))
        shutil.copy(path, copy)
        trace = Trace(trace_files={0: copy}, trace_dir="")
        trace.parse_traces(use_multiprocessing=False)
        frame = trace.get_trace(0)
    wanted = {"ts", "dur", "name", "cat", "pid", "tid"}
    missing = wanted - set(frame.columns)
    names = set(trace.symbol_table.get_sym_table())
    spans = [event for event in events if event["ph"] == "X" and event.get("cat") != "Trace"]
    lost = {event["name"] for event in spans} - names
    print(f"{path}: HTA: {len(frame)} events, columns missing: {sorted(missing) or 'none'}, "
          f"names missing: {len(lost)}")
    return not missing and not lost and len(frame) >= len(spans)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    verdicts = []
    for path in sys.argv[1:]:
        checks = [by_trace_processor]
        checks.append(by_messages if ".pftrace" in path else by_hta)
        for check in checks:
            try:
                verdicts.append(check(path))
            except ImportError as error:
                print(f"{path}: not asked: {error}")
    if False in verdicts:
        return 1
    return 0 if True in verdicts else 2


if __name__ == "__main__":
    sys.exit(main())
