// SPDX-License-Identifier: Apache-2.0
// What the runs together say: how one race was seen over time, and what sampling found and cost.
'use strict';

const chartWidth = 520;
const chartHeight = 190;
const chartBox = {left: 46, right: 12, top: 12, bottom: 26};

function niceTop(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 5, 7.5, 10].map((step) => step * power).find((step) => step >= value * (1 - 1e-9));
}

// lines: [{values: [{x, y, title}], class, dots, bars, isAsked}]; x is a time in milliseconds.
function chartView(label, lines, format) {
  const all = lines.flatMap((line) => line.values);
  const art = draw('svg', {class: 'chart', viewBox: `0 0 ${chartWidth} ${chartHeight}`, role: 'img', 'aria-label': label});
  if (all.length === 0) {
    art.append(draw('text', {x: chartWidth / 2, y: chartHeight / 2, 'text-anchor': 'middle'}, 'nothing measured yet'));
    return art;
  }
  let [from, to] = [Math.min(...all.map((at) => at.x)), Math.max(...all.map((at) => at.x))];
  if (from === to) [from, to] = [from - 1, to + 1];
  const top = niceTop(Math.max(...all.map((at) => at.y)));
  const x = (time) => chartBox.left + 6 + ((time - from) / (to - from)) * (chartWidth - chartBox.left - chartBox.right - 12);
  const y = (value) => chartHeight - chartBox.bottom - (value / top) * (chartHeight - chartBox.top - chartBox.bottom);
  for (const share of [0, 0.5, 1]) {
    art.append(draw('line', {class: 'grid', x1: chartBox.left, x2: chartWidth - chartBox.right, y1: y(top * share), y2: y(top * share)}),
      draw('text', {x: chartBox.left - 6, y: y(top * share) + 4, 'text-anchor': 'end'}, format(top * share)));
  }
  art.append(draw('text', {x: chartBox.left, y: chartHeight - 7}, when(from)),
    draw('text', {x: chartWidth - chartBox.right, y: chartHeight - 7, 'text-anchor': 'end'}, when(to)));
  for (const line of lines) {
    if (line.bars) {
      const width = Math.max(1.5, Math.min(14, (chartWidth - 70) / Math.max(1, line.values.length) - 2));
      for (const at of line.values) {
        art.append(draw('rect', {class: `fill-${line.class}`, x: x(at.x) - width / 2, y: y(at.y), width, height: Math.max(0, y(0) - y(at.y))}, draw('title', null, at.title)));
      }
      continue;
    }
    if (!line.dotsOnly && line.values.length > 1) {
      const path = line.values.map((at, index) => (index === 0 ? `M${x(at.x).toFixed(1)} ${y(at.y).toFixed(1)}`
        : line.isSteps ? `H${x(at.x).toFixed(1)}V${y(at.y).toFixed(1)}` : `L${x(at.x).toFixed(1)} ${y(at.y).toFixed(1)}`)).join('');
      art.append(draw('path', {class: line.isAsked ? 'asked' : `line ${line.class}`, d: path}));
    }
    if (line.isAsked) continue;
    const radius = line.values.length > 80 ? 2 : 3.2;
    for (const at of line.values) art.append(draw('circle', {class: `fill-${line.class}`, cx: x(at.x), cy: y(at.y), r: radius}, draw('title', null, at.title)));
  }
  return art;
}

function legend(...entries) {
  return make('div', {class: 'legend'}, entries.map(([key, words]) => make('span', null, make('i', {class: `key ${key}`}), words)));
}

// Of one race, from its history in the store.
function historyView(history) {
  const sightings = history.sightings || [];
  const rows = [...sightings].reverse().slice(0, 50).map((seen) => make('tr', null,
    make('td', null, when(seen.first_seen)), make('td', null, seen.run.mode), make('td', null, baseName(seen.run.program || '')), make('td', null, seen.run.machine || ''),
    make('td', {class: 'number'}, seen.run.effective_rate === null ? 'all' : percent(seen.run.effective_rate)),
    make('td', {class: 'number'}, grouped(seen.occurrences)), make('td', {class: 'mono'}, seen.run.id.slice(0, 8))));
  const values = sightings.map((seen) => ({x: Date.parse(seen.first_seen), y: seen.occurrences, title: `${when(seen.first_seen)}: ${counted(seen.occurrences, 'time')}`}));
  return make('section', {class: 'card'}, make('h3', null, 'History'), make('div', {class: 'body'},
    make('p', {class: 'memory-words'}, `Seen in ${counted(history.runs, 'run')}, first ${when(history.first_seen)}, last ${when(history.last_seen)}` +
      `${history.modes.length ? `, by ${history.modes.join(', ')}` : ''}.`),
    sightings.length > 1 ? chartView('Occurrences per run', [{values, class: 'gap', bars: true}], (value) => grouped(Math.round(value * 10) / 10)) : null,
    sightings.length === 0 ? null : make('div', {class: 'table'}, make('table', null,
      make('thead', null, make('tr', null, ['Seen', 'Mode', 'Program', 'Machine'].map((word) => make('th', null, word)),
        make('th', {class: 'number'}, 'Sampled'), make('th', {class: 'number'}, 'Times'), make('th', null, 'Run'))),
      make('tbody', null, rows))),
    sightings.length > 50 ? make('p', {class: 'note'}, `The newest 50 of ${grouped(sightings.length)} runs.`) : null));
}

// All runs: newest first, as the store lists them.
function runsView(runs) {
  const ordered = runs.map((run) => ({...run, at: Date.parse(run.started)})).sort((one, other) => one.at - other.at);
  let known = 0;
  const total = ordered.map((run) => ({x: run.at, y: (known += run.new_races), title: `${when(run.started)}: ${counted(known, 'race')} known`}));
  const fresh = ordered.filter((run) => run.new_races > 0).map((run) => ({x: run.at, y: run.new_races, title: `${when(run.started)}: ${grouped(run.new_races)} new`}));
  const measured = (name) => ordered.filter((run) => run[name] !== null && run[name] !== undefined)
    .map((run) => ({x: run.at, y: run[name], title: `${when(run.started)} ${run.machine}: ${percent(run[name])}`}));
  const mean = (values) => (values.length ? percent(values.reduce((sum, at) => sum + at.y, 0) / values.length) : '–');
  const rates = measured('effective_rate');
  const costs = measured('overhead');
  const machines = new Set(ordered.map((run) => run.machine).filter(Boolean));
  const figure = (value, words) => make('div', {class: 'card'}, make('div', {class: 'figure'}, value), make('span', null, words));
  const card = (title, ...children) => make('section', {class: 'card'}, make('h3', null, title), make('div', {class: 'body'}, children));
  const rows = [...ordered].reverse().slice(0, 200).map((run) => make('tr', null,
    make('td', null, when(run.started)), make('td', null, run.mode), make('td', null, baseName(run.program || '')), make('td', null, run.machine),
    make('td', null, run.status), make('td', {class: 'number'}, run.rate === null ? 'all' : percent(run.rate)),
    make('td', {class: 'number'}, run.effective_rate === null ? '–' : percent(run.effective_rate)),
    make('td', {class: 'number'}, run.overhead === null ? '–' : percent(run.overhead)),
    make('td', {class: 'number'}, grouped(run.races)), make('td', {class: 'number'}, grouped(run.new_races)), make('td', {class: 'mono'}, run.id.slice(0, 8))));
  const numbers = ['Asked', 'Sampled', 'Overhead', 'Races', 'New'];
  return make('div', {class: 'race'},
    make('div', {class: 'figures'}, figure(grouped(ordered.length), ordered.length === 1 ? 'run' : 'runs'), figure(grouped(machines.size), machines.size === 1 ? 'machine' : 'machines'),
      figure(grouped(known), 'races found'), figure(mean(rates), 'sampled, mean of sampling runs'), figure(mean(costs), 'overhead, mean of sampling runs')),
    make('div', {class: 'charts'},
      card('Detection', chartView('Distinct races known over time', [{values: fresh, class: 'one', bars: true}, {values: total, class: 'gap', isSteps: true}], (value) => grouped(Math.round(value * 10) / 10)),
        legend(['one', 'new in the run'], ['two-gap', 'known so far'])),
      card('Sampling rate', chartView('Effective sampling rate per run', [{values: measured('rate'), isAsked: true, class: 'one'}, {values: rates, class: 'one', dotsOnly: true}], percent),
        legend(['one', 'reached, each run'], ['dash', 'asked for'])),
      card('Overhead', chartView('Overhead per run', [{values: costs, class: 'two', dotsOnly: true}], percent), legend(['two', 'share of the time that detection took, each run']))),
    card('Runs', make('div', {class: 'table'}, make('table', null,
      make('thead', null, make('tr', null, ['Started', 'Mode', 'Program', 'Machine', 'End'].map((word) => make('th', null, word)),
        numbers.map((word) => make('th', {class: 'number'}, word)), make('th', null, 'Run'))),
      make('tbody', null, rows))),
      ordered.length > 200 ? make('p', {class: 'note'}, `The newest 200 of ${grouped(ordered.length)} runs.`) : null));
}
