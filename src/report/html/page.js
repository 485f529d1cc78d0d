// SPDX-License-Identifier: Apache-2.0
// The list with its filters, and which view is shown. The address after '#' is a
// fingerprint, 'runs', or nothing. Races come with the page or, when it is served, from the server
// (live.js); either way a row of the list has the same members.
'use strict';

const state = {rows: [], shown: [], drawn: 0, runs: null, live: null, open: null, filters: {text: '', kind: '', mode: '', state: '', file: ''}};
const chunk = 120;

// A row for the list, and the text that the filter searches.
function rowOf(finding, mode) {
  const isRace = Boolean(finding.earlier);
  const stacks = isRace ? [finding.earlier.stack, finding.later.stack] : (finding.cycle || []).map((waiter) => waiter.stack);
  const own = stacks.map(ownFrame);
  const history = finding.history || {};
  const row = {fingerprint: finding.fingerprint, kind: finding.kind, title: finding.title, name: isRace ? objectOf(finding, true) : finding.title,
    places: own.map(briefPlace), files: [...new Set(own.filter((frame) => frame && frame.file).map((frame) => frame.file))],
    occurrences: finding.occurrences || 0, state: history.state || '', modes: history.modes || (mode ? [mode] : []), finding};
  row.searched = [row.fingerprint, row.kind, row.title, row.name, ...stacks.flat().map((frame) => `${functionOf(frame)} ${frame.file || ''}:${frame.line || ''}`),
    ...(isRace ? [...finding.earlier.locks, ...finding.later.locks].map(describeLock) : [])].join('\n').toLowerCase();
  return row;
}

function passes(row, filters) {
  return (!filters.kind || row.kind === filters.kind) && (!filters.state || row.state === filters.state) &&
    (!filters.mode || row.modes.includes(filters.mode)) && (!filters.file || row.files.includes(filters.file)) &&
    filters.text.toLowerCase().split(/\s+/).every((word) => row.searched.includes(word));
}

function rowView(row) {
  return make('li', null, make('a', {class: 'row', href: `#${row.fingerprint}`, 'aria-current': row.fingerprint === state.open ? 'true' : null},
    make('span', {class: 'row-top'}, make('span', {class: 'row-name'}, row.name),
      row.state && row.state !== 'open' ? make('span', {class: `tag ${row.state}`}, row.state) : null,
      row.occurrences ? make('span', {class: 'times', title: counted(row.occurrences, 'time')}, `${grouped(row.occurrences)}×`) : null,
      make('span', {class: 'tag kind'}, row.kind)),
    row.places.map((place, index) => make('span', {class: index === 0 ? 'row-place' : 'row-place later', title: place}, place))));
}

function drawMore() {
  const list = byId('list');
  const next = state.shown.slice(state.drawn, state.drawn + chunk);
  list.append(...next.map(rowView));
  state.drawn += next.length;
}

function showList() {
  state.shown = state.rows.filter((row) => passes(row, state.filters));
  state.drawn = 0;
  byId('list').replaceChildren();
  drawMore();
  const all = state.rows.length;
  byId('count').textContent = state.shown.length === all ? counted(all, 'race') : `${grouped(state.shown.length)} of ${counted(all, 'race')}`;
  if (state.shown.length === 0) byId('list').append(make('li', {class: 'empty'}, all ? 'No race passes these filters.' : 'No race was found.'));
}

function choice(name, label, values, words) {
  if (values.length < 2 && !state.filters[name]) return null;
  const select = make('select', {'aria-label': label, name, onchange: (event) => { state.filters[name] = event.target.value; showList(); }},
    make('option', {value: ''}, label), values.map((value) => make('option', {value}, words ? words(value) : value)));
  select.value = state.filters[name];
  return select;
}

function showFilters() {
  const distinct = (members) => [...new Set(state.rows.flatMap(members))].filter(Boolean).sort();
  const search = make('input', {type: 'search', placeholder: 'Search function, file, lock …  ( / )', 'aria-label': 'Search', name: 'text', autocomplete: 'off', spellcheck: 'false',
    value: state.filters.text, oninput: (event) => { state.filters.text = event.target.value; showList(); }});
  byId('filters').replaceChildren(search, ...[
    choice('kind', 'Any kind', distinct((row) => [row.kind])), choice('file', 'Any file', distinct((row) => row.files), baseName),
    choice('mode', 'Any mode', distinct((row) => row.modes)), choice('state', 'Any state', distinct((row) => [row.state]))].filter(Boolean));
}

function showTabs() {
  const view = location.hash === '#runs' ? 'runs' : 'races';
  const tab = (name, href, words) => make('a', {href, 'aria-current': view === name ? 'page' : null}, words);
  byId('tabs').replaceChildren(...(state.runs || state.live ? [tab('races', '#', 'Races'), tab('runs', '#runs', 'Runs')] : []));
}

async function findingOf(row) {
  if (!row.finding && state.live) row.finding = await state.live.race(row.fingerprint);
  return row.finding;
}

// What the address asks for.
async function route() {
  const wanted = location.hash.slice(1);
  const main = byId('main');
  showTabs();
  state.open = null;
  if (wanted === 'runs') {
    const runs = state.live ? await state.live.runs() : state.runs || [];
    byId('frame').className = 'frame detail runs';
    main.replaceChildren(runsView(runs));
    return;
  }
  const isNarrow = matchMedia('(max-width: 860px)').matches;
  const row = state.rows.find((one) => one.fingerprint === wanted) || (isNarrow ? null : state.shown[0]);
  byId('frame').className = row && wanted ? 'frame detail' : 'frame';
  if (!row) {
    main.replaceChildren(make('p', {class: 'empty'}, wanted && state.rows.length ? 'This race is not in the report.' : state.rows.length ? '' : 'No race was found.'));
    return;
  }
  state.open = row.fingerprint;
  try {
    const finding = await findingOf(row);
    if (state.open !== row.fingerprint) return;  // another one was asked for meanwhile
    main.replaceChildren(raceView(finding, state.live ? state.live.actions(finding) : null));
    if (wanted) document.title = `${objectOf(finding)} – Deadheat`;
  } catch (problem) {
    main.replaceChildren(make('p', {class: 'empty failed'}, `This race could not be loaded: ${problem.message}`));
  }
  for (const link of document.querySelectorAll('.row')) {
    if (link.getAttribute('href') === `#${row.fingerprint}`) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  }
}

function step(by) {
  const at = state.shown.findIndex((row) => row.fingerprint === state.open);
  const next = state.shown[Math.max(0, Math.min(state.shown.length - 1, at + by))];
  if (!next) return;
  while (state.drawn <= state.shown.indexOf(next)) drawMore();
  location.hash = next.fingerprint;
  const link = document.querySelector(`.row[href="#${CSS.escape(next.fingerprint)}"]`);
  if (link) link.scrollIntoView({block: 'nearest'});
}

function listenToKeys() {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === 'Escape' && isTyping) event.target.blur();
    if (isTyping) return;
    if (event.key === '/') { byId('filters').elements.text.focus(); event.preventDefault(); }
    if (event.key === 'j') step(1);
    if (event.key === 'k') step(-1);
  });
}

function applyTheme(theme) { document.documentElement.dataset.theme = theme; }

function startTheme() {
  const asked = new URLSearchParams(location.search).get('theme');
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let chosen = asked;
  try { chosen = asked || localStorage.getItem('deadheat-theme'); } catch (problem) { /* a file may have no storage */ }
  const theme = () => (chosen === 'dark' || chosen === 'light' ? chosen : dark.matches ? 'dark' : 'light');
  applyTheme(theme());
  dark.addEventListener('change', () => applyTheme(theme()));
  byId('theme').addEventListener('click', () => {
    chosen = theme() === 'dark' ? 'light' : 'dark';
    applyTheme(chosen);
    try { localStorage.setItem('deadheat-theme', chosen); } catch (problem) { /* see above */ }
  });
}

function modeOf(report) {
  return report.hunt ? 'hunt' : report.watch ? 'watch' : report.trace ? 'analyze' : report.run ? 'run' : '';
}

function showSubject(report) {
  const about = report.store ? report.store.place : report.run ? report.run.program : report.trace ? report.trace.path : report.hunt ? [report.hunt.command].flat().join(' ') : null;
  const run = report.run || {};
  const end = run.signal ? `killed by signal ${run.signal}` : typeof run.exit_status === 'number' ? `ended with status ${run.exit_status}` : '';
  const rate = report.sampling ? `sampled ${percent(report.sampling.effective_rate)} of the work at a cost of ${percent(report.sampling.cost)}` : '';
  const problem = run.problem || (report.trace && report.trace.problem) || '';
  byId('subject').replaceChildren(about ? make('b', {title: about}, baseName(about)) : '', [end, rate, problem].filter(Boolean).map((words) => ` · ${words}`).join(''));
}

// All races of the filter, for paper.
function listenToPrinting() {
  let before = null;
  addEventListener('beforeprint', () => {
    if (location.hash === '#runs' || state.live) return;
    before = [...byId('main').childNodes];
    byId('main').replaceChildren(...state.shown.map((row) => raceView(row.finding)));
  });
  addEventListener('afterprint', () => { if (before) byId('main').replaceChildren(...before); before = null; });
}

function start() {
  const begun = performance.now();
  startTheme();
  listenToKeys();
  listenToPrinting();
  const list = byId('list');
  const isNear = (box) => box.scrollHeight - box.scrollTop - box.clientHeight < 800;
  list.addEventListener('scroll', () => { if (state.drawn < state.shown.length && isNear(list)) drawMore(); }, {passive: true});
  addEventListener('scroll', () => { if (state.drawn < state.shown.length && isNear(document.documentElement)) drawMore(); }, {passive: true});
  byId('filters').addEventListener('submit', (event) => event.preventDefault());
  addEventListener('hashchange', route);
  const data = byId('report');
  if (!data) return startLive();
  const report = JSON.parse(data.textContent);
  const mode = modeOf(report);
  state.rows = [...(report.races || []), ...report.findings].map((finding) => rowOf(finding, mode));
  state.runs = report.store ? report.runs || [] : null;
  showSubject(report);
  document.title = `${counted(state.rows.length, 'race')} – Deadheat`;
  showFilters();
  showList();
  route();
  if (new URLSearchParams(location.search).has('measure')) measure(begun);
}
