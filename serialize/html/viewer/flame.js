// The spans of a trace as rows of slices, and where each is drawn.

const kRowHeight = 17, kTrackHead = 16, kRulerHeight = 18, kMemoryHeight = 58;

// {rows: {y, slices: by begin}, tracks: {name, y}, height, liveY: of the curve of what is alive,
// runs: {begin, end}, end}. A slice is a number in the timeline's columns.
function layOutTimeline(timeline, hasLive) {
  const {track, begin, duration} = timeline;
  const flame = {rows: [], tracks: [], height: kRulerHeight, runs: runsOf(timeline), end: 1};
  if (timeline.memoryTime.length > 0) flame.height += kMemoryHeight;
  flame.liveY = flame.height;
  if (hasLive) flame.height += kMemoryHeight;
  let open = [], first = 0;  // Ends of the slices around; the first row of the track.
  for (let s = 0; s < begin.length; ++s) {
    if (s === 0 || track[s] !== track[s - 1]) {
      flame.tracks.push({name: timeline.tracks[track[s]], y: flame.height});
      flame.height += kTrackHead;
      first = flame.rows.length;
      open = [];
    }
    while (open.length > 0 && open[open.length - 1] <= begin[s]) open.pop();
    const row = first + open.length;
    if (row === flame.rows.length) {
      flame.rows.push({y: flame.height, slices: []});
      flame.height += kRowHeight;
    }
    flame.rows[row].slices.push(s);
    open.push(begin[s] + duration[s]);
    flame.end = Math.max(flame.end, begin[s] + duration[s]);
  }
  for (const time of timeline.memoryTime) flame.end = Math.max(flame.end, time);
  return flame;
}

// The runs of the program: for each step of the profiler that has kernels in it, the time from the
// first to the last of them.
function runsOf(timeline) {
  const {begin, duration, name, names, kernel} = timeline;
  const slices = slicesByBegin(timeline);
  const runs = [];
  let end = -1, run = null;  // The end of the step, and its run once it has a kernel.
  for (const s of slices) {
    if (names[name[s]].startsWith('ProfilerStep#')) {
      end = begin[s] + duration[s];
      run = null;
    } else if (kernel[s] >= 0 && begin[s] < end) {
      if (run === null) runs.push(run = {begin: begin[s], end: 0});
      run.end = Math.max(run.end, begin[s] + duration[s]);
    }
  }
  return runs;
}

function slicesByBegin({begin}) {
  return begin.map((_, s) => s).sort((a, b) => begin[a] - begin[b]);
}

// The place of the first slice of a row that ends after a time.
function firstAfter(timeline, slices, time) {
  let low = 0, high = slices.length;
  while (low < high) {
    const middle = (low + high) >> 1, s = slices[middle];
    if (timeline.begin[s] + timeline.duration[s] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Calls `visit` with the slices of a row between two times; of several slices within one pixel,
// only with the first.
function eachVisible(timeline, slices, from, to, pixel, visit) {
  let i = firstAfter(timeline, slices, from);
  while (i < slices.length && timeline.begin[slices[i]] < to) {
    const s = slices[i], end = timeline.begin[s] + timeline.duration[s];
    visit(s);
    i = timeline.duration[s] >= pixel ? i + 1 :
        Math.max(i + 1, firstAfter(timeline, slices, end + pixel));
  }
}

// A step of 1, 2 or 5 times a power of ten that is at least `least`.
function roundStep(least) {
  const power = Math.pow(10, Math.floor(Math.log10(least)));
  return [1, 2, 5, 10].map((f) => f * power).find((step) => step >= least);
}
