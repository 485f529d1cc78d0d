// SPDX-License-Identifier: Apache-2.0
// A served page: its races come from the server, and come again when the store has changed.
'use strict';

async function ask(path, options) {
  const response = await fetch(path, {credentials: 'same-origin', ...options});
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error || `status ${response.status}`);
  return answer;
}

// "deposit(long) /home/bank/bank.cpp:42", as the store has it, as a frame. Without debug information there is no file.
function frameOf(place) {
  const parts = /^(.*) ([^ ]+):(\d+)$/.exec(place);
  return parts ? {function: parts[1], file: parts[2], line: Number(parts[3])} : {function: place};
}

function liveRow(race) {
  const frames = [race.earlier, race.later].map(frameOf);
  const row = {fingerprint: race.fingerprint, kind: race.kind, title: race.title, name: race.variable || race.title, places: frames.map(briefPlace),
    files: [...new Set(frames.filter((frame) => frame.file).map((frame) => frame.file))], occurrences: race.occurrences,
    state: race.history.state, modes: race.history.modes, finding: null, lastSeen: race.history.last_seen};
  row.searched = [row.fingerprint, row.kind, row.title, row.name, race.earlier, race.later, race.history.note].join('\n').toLowerCase();
  return row;
}

async function setState(finding, verdict, note) {
  await ask(`/api/races/${encodeURIComponent(finding.fingerprint)}/state`, {method: 'POST',
    headers: {'Content-Type': 'application/json', 'X-Deadheat': '1'}, body: JSON.stringify({state: verdict, note})});
  await refresh();
}

function actionsView(finding) {
  if (!state.live.mayWrite || !finding.history) return null;
  const note = make('input', {type: 'text', placeholder: 'Note (why?)', 'aria-label': 'Note', value: finding.history.note || '', maxlength: 500});
  const message = make('span', {class: 'failed', role: 'alert'});
  const button = (verdict, words) => make('button', {type: 'button', class: 'action', disabled: finding.history.state === verdict,
    onclick: () => setState(finding, verdict, note.value).catch((problem) => { message.textContent = problem.message; })}, words);
  return make('div', {class: 'actions'}, button('resolved', 'Resolve'), button('ignored', 'Ignore'), button('open', 'Reopen'), note, message);
}

async function refresh() {
  const answer = await ask('/api/races');
  const old = new Map(state.rows.map((row) => [row.fingerprint, row]));
  state.rows = answer.races.map(liveRow);
  state.live.mayWrite = answer.may_write;
  // What is being read stays as it is, unless it changed.
  const [was, is] = [old.get(state.open), state.rows.find((row) => row.fingerprint === state.open)];
  const isSame = was && is && was.lastSeen === is.lastSeen && was.state === is.state && was.occurrences === is.occurrences;
  if (isSame) is.finding = was.finding;
  byId('subject').replaceChildren(make('i', {class: 'pulse', title: 'live'}), make('b', {title: answer.place}, baseName(answer.place)));
  document.title = `${counted(state.rows.length, 'race')} – Deadheat`;
  const isTyping = byId('filters').contains(document.activeElement);
  if (!isTyping) showFilters();
  const top = byId('list').scrollTop;
  const drawn = state.drawn;
  showList();
  while (state.drawn < drawn && state.drawn < state.shown.length) drawMore();
  byId('list').scrollTop = top;
  if (!isSame || location.hash === '#runs') await route();
}

function startLive() {
  const asked = new URLSearchParams(location.search);
  // The token is in a cookie now; it need not stay in the address.
  if (asked.has('token')) history.replaceState(null, '', location.pathname + location.hash);
  state.live = {mayWrite: false, race: (fingerprint) => ask(`/api/races/${encodeURIComponent(fingerprint)}`),
    runs: async () => (await ask('/api/runs')).runs, actions: actionsView};
  const lost = () => { for (const pulse of document.querySelectorAll('.pulse')) pulse.classList.add('lost'); };
  refresh().catch((problem) => byId('main').replaceChildren(make('p', {class: 'empty failed'}, `The races could not be loaded: ${problem.message}`)));
  if (asked.has('still')) return;  // for pictures and tests: as it is now
  const events = new EventSource('/api/events');
  let isWaiting = false;
  events.onmessage = () => {
    if (isWaiting) return;
    isWaiting = true;
    // Many writes in a row are one refresh.
    setTimeout(() => { isWaiting = false; refresh().catch(lost); }, 300);
  };
  events.onerror = lost;
}
