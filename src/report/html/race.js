// SPDX-License-Identifier: Apache-2.0
// One race: why it is one, both accesses, timeline, memory, history.
'use strict';

function copyTag(text, words) {
  return make('button', {type: 'button', class: 'tag mono', title: 'Copy', onclick: (event) => {
    const button = event.currentTarget;
    const done = () => { button.textContent = 'copied'; setTimeout(() => { button.textContent = words; }, 900); };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => {});
  }}, words);
}

function accessView(finding, side, name) {
  const frame = ownFrame(side.stack);
  const innermost = side.stack[0];
  const snippet = findSnippet(finding, frame) || findSnippet(finding, innermost);
  const thread = (finding.threads || []).find((one) => one.id === side.thread.id);
  const locks = side.locks_known === false ? [make('span', null, 'Locks held: not known any more')]
    : side.locks.length === 0 ? [make('span', null, 'No lock held')]
      : [make('span', null, 'Holds'), side.locks.map((lock) => make('span', {class: 'tag mono'}, describeLock(lock)))];
  const words = describeAccess(side);
  const missing = frame && frame.file ? `The source file ${frame.file} could not be read when this report was written.`
    : 'No line is known for this place: the program was built without debug information (-g).';
  return make('section', {class: `card access ${name}`},
    make('div', {class: 'body'},
      make('div', {class: 'order'}, name === 'earlier' ? 'Earlier access' : 'Later access'),
      make('h3', null, `${words[0].toUpperCase()}${words.slice(1)} by ${describeThread(finding, side.thread.id).replace(/^T/, 't').replace(/^F/, 'f')}`),
      make('p', {class: 'where mono'}, frame ? `${functionOf(frame)}  ${placeOf(frame)}` : ''),
      innermost && frame !== innermost ? make('p', {class: 'where'}, 'inside ', make('code', null, shortFunction(innermost))) : null,
      make('div', {class: 'held'}, locks)),
    snippet ? [snippet.newer ? make('p', {class: 'caution'}, 'This file was changed after the program was built; the lines may not be those that ran.') : null,
      codeView(snippet, name)] : make('p', {class: 'code-missing'}, missing),
    stackView(finding, [make('b', null, 'Stack'), ` of ${counted(side.stack.length, 'frame')}`], side.stack, {side: name, open: side.stack.length <= 6}),
    thread ? stackView(finding, [make('b', null, 'Thread created'), ' at ', briefPlace(ownFrame(thread.created))], thread.created) : null,
    side.locks.map((lock) => [
      stackView(finding, [make('b', null, `${describeLock(lock)} taken`), ' at ', briefPlace(ownFrame(lock.acquired || []))], lock.acquired),
      stackView(finding, [make('b', null, `${describeLock(lock)} first used`), ' at ', briefPlace(ownFrame(lock.created || []))], lock.created)]));
}

function sentences(text) {
  return text ? `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}` : '';
}

function headView(finding) {
  const history = finding.history;
  const tags = [make('span', {class: 'tag kind'}, finding.title),
    history && history.state !== 'open' ? make('span', {class: `tag ${history.state}`}, history.state) : null,
    make('span', {class: 'tag'}, counted(finding.occurrences, 'time')),
    finding.process && finding.process.program ? make('span', {class: 'tag', title: finding.process.program}, baseName(finding.process.program)) : null,
    finding.first_run ? make('span', {class: 'tag'}, `seen in ${counted(finding.runs_seen, 'run')}, first in run ${finding.first_run}`) : null,
    copyTag(finding.fingerprint, finding.fingerprint)];
  return make('div', {class: 'head'}, make('div', {class: 'tags'}, tags), make('h2', null, objectOf(finding)),
    make('p', {class: 'why'}, sentences(finding.explanation)),
    (finding.advice || []).map((line) => make('p', {class: 'why'}, sentences(line))),
    history && history.note ? make('p', {class: 'why'}, make('b', null, 'Note: '), history.note) : null);
}

// A crash or deadlock of a hunt: what it says, without two sides.
function otherView(finding) {
  const stacks = (finding.cycle || []).map((waiter) => make('section', {class: 'card'},
    make('div', {class: 'body'}, make('b', null, `Thread ${waiter.thread}`), ' waits for ', make('code', null, waiter.waits_for.name || waiter.waits_for.address)),
    stackView(finding, [make('b', null, 'Stack')], waiter.stack, {open: true})));
  return make('article', {class: 'race'}, make('div', {class: 'head'}, make('div', {class: 'tags'}, make('span', {class: 'tag kind'}, finding.kind), copyTag(finding.fingerprint, finding.fingerprint)),
    make('h2', null, finding.title)), stacks,
    finding.last_output ? make('section', {class: 'card'}, make('h3', null, 'Last output'), make('pre', {class: 'code'}, finding.last_output)) : null);
}

// Under which locks the memory is accessed otherwise.
function lockingView(finding) {
  const locking = finding.locking;
  if (!locking || locking.accesses < 3) return null;
  const since = locking.since === 'race' ? ' after the race was seen' : '';
  const until = locking.complete === false ? 'the first ' : '';
  const rows = locking.locks.slice(0, 5).map((lock) => {
    const missing = [['earlier', finding.earlier], ['later', finding.later]]
      .filter(([, side]) => side.locks_known !== false && !side.locks.some((held) => held.id === lock.id)).map(([name]) => name);
    return make('tr', null, make('td', null, make('code', null, lock.name || `lock ${lock.id}`)),
      make('td', null, make('progress', {max: locking.accesses, value: lock.accesses})),
      make('td', null, `${grouped(lock.accesses)} of ${grouped(locking.accesses)}`),
      make('td', null, missing.length ? `not the ${missing.join(' and the ')} access` : 'both accesses'));
  });
  return make('section', {class: 'card locking'}, make('h3', null, 'Locks of this memory'),
    make('div', {class: 'body'}, rows.length ? `Of ${until}${grouped(locking.accesses)} accesses to it${since}, so many held`
      : `None of ${until}${grouped(locking.accesses)} accesses to it${since} holds a lock.`,
      rows.length ? make('table', null, make('tbody', null, rows)) : null));
}

function raceView(finding, actions) {
  if (!finding.earlier) return otherView(finding);
  return make('article', {class: 'race', 'aria-label': `${finding.title}: ${objectOf(finding)}`},
    make('a', {class: 'back', href: '#'}, '← All races'),
    headView(finding), actions || null,
    make('div', {class: 'pair'}, accessView(finding, finding.earlier, 'earlier'), accessView(finding, finding.later, 'later')),
    timelineView(finding), lockingView(finding), memoryView(finding), finding.history ? historyView(finding.history) : null);
}
