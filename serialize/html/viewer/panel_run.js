// The parts of the panel that come from the trace and the plan.

// Steps of the plan by the key of their node.
function stepsOfKey(data, key) {
  if (data.stepsByKey === undefined) {
    data.stepsByKey = new Map();
    data.plan.key.forEach((k, step) => {
      if (data.stepsByKey.has(k)) data.stepsByKey.get(k).push(step);
      else data.stepsByKey.set(k, [step]);
    });
  }
  return key < 0 ? [] : data.stepsByKey.get(key) || [];
}

// The figures of the whole run.
function runSummary(panel) {
  const {data, heat} = panel.app, {timeline} = data;
  const list = panel.section('Trace');
  panel.pair(list, 'a run', formatTime(heat.total) + ' in kernels');
  panel.pair(list, 'runs', String(data.runs));
  panel.pair(list, 'kernels', String(data.kernels.name.length));
  if (timeline.memoryBytes.length > 0) {
    const most = timeline.memoryBytes.reduce((a, b) => Math.max(a, b));
    panel.pair(list, 'memory', formatBytes(most) + ' at its peak');
  }
}

// The times of a node or group, and its kernels.
function heatSections(panel, item) {
  const {data, heat, tree} = panel.app;
  if (heat === null || heat.time[item] === 0 && heat.bytes[item] === 0) return;
  if (data.errors) {
    panel.pair(panel.section('Error'), 'signal to noise', formatHeat(data, heat.time[item]));
    return;
  }
  const list = panel.section('Trace');
  const share = heat.total > 0 ? 100 * heat.time[item] / heat.total : 0;
  panel.pair(list, 'time', formatTime(heat.time[item]) + ' a run (' + share.toFixed(1) + ' %)');
  if (heat.bytes[item] > 0) panel.pair(list, 'bytes', formatBytes(heat.bytes[item]));
  const kernels = heat.ofKey.get(tree.key[item]) || [];
  if (kernels.length === 0) return;
  const links = panel.section('Kernels (' + kernels.length + ')');
  for (const k of kernels.slice(0, kMaxListed)) {
    panel.link(links, data.kernels.name[k],
               formatTime(data.kernels.us[k]) + ', ' + data.kernels.routine[k],
               () => panel.app.showKernel(k));
  }
  panel.more(links, kernels.length - kMaxListed);
}

// The figures of a kernel, and its steps in the plan.
function kernelSections(panel, k) {
  const {data, heat} = panel.app, {kernels} = data;
  if (data.errors) {
    panel.pair(panel.section('Error'), 'signal to noise', formatHeat(data, kernels.us[k]));
    return;
  }
  const list = panel.section('Trace'), us = kernels.us[k];
  if (kernels.routine[k] !== '') panel.pair(list, 'routine', kernels.routine[k]);
  panel.pair(list, 'median', formatTime(us) + ' a call');
  panel.pair(list, 'calls', kernels.calls[k] + ' in ' + plural(data.runs, 'run'));
  const {control, us: ofRun, steps} = heat.costs[k];
  panel.pair(list, 'a run', control ? 'the time of the kernels that it runs' :
      formatTime(ofRun) + ' (' + (100 * ofRun / heat.total).toFixed(1) + ' %)');
  if (kernels.bytes[k] > 0) {
    panel.pair(list, 'moves', formatBytes(kernels.bytes[k]) + ', ' +
        formatRate(kernels.bytes[k], us) + ' GB/s');
  }
  if (kernels.flops[k] > 0) {
    panel.pair(list, 'computes', (kernels.flops[k] / 1e6).toFixed(3) + ' Mflop, ' +
        formatRate(kernels.flops[k], us) + ' GFLOP/s');
  }
  planSections(panel, steps);
}

// The lines of steps in the plan, the kernels that they run with their schedules, and the code.
function planSections(panel, steps) {
  if (steps.length === 0) return;
  const {plan} = panel.app.data;
  const list = panel.section(steps.length === 1 ? 'Step of the plan' :
      'Steps of the plan (' + steps.length + ')');
  for (const step of steps.slice(0, kMaxListed)) {
    list.append(element('pre', 'wrapped', plan.text[step]));
    const kernel = plan.kernel[step];
    if (kernel < 0) continue;
    folded(list, 'Kernel and schedule', plan.kernelText[kernel]);
    if (plan.kernelCode[kernel] !== '') folded(list, 'C++', plan.kernelCode[kernel]);
  }
  panel.more(list, steps.length - kMaxListed);
}

// A text behind a title that opens it.
function folded(list, title, text) {
  const details = element('details');
  details.append(element('summary', '', title));
  details.addEventListener('toggle', () => {
    if (details.childElementCount === 1) details.append(element('pre', '', text.trim()));
  });
  list.append(details);
}
