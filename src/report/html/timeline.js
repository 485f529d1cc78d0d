// SPDX-License-Identifier: Apache-2.0
// The two threads side by side, time downwards: where they came from, the locks around
// each access, and between the accesses the order that is missing.
'use strict';

const rowHeight = 46;

function clipped(text, room, perCharacter) {
  const most = Math.max(6, Math.floor(room / perCharacter));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function wrapped(text, room, perCharacter) {
  const most = Math.max(12, Math.floor(room / perCharacter));
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines[lines.length - 1];
    if (last && last.length + 1 + word.length > most) lines.push(word);
    else lines[lines.length - 1] = last ? `${last} ${word}` : word;
  }
  return lines;
}

// What happens, in rows: {lane, kind, words, place, lock}.
function timelineRows(finding) {
  const rows = [];
  const sides = [finding.earlier, finding.later];
  const lane = (id) => sides.findIndex((side) => side.thread.id === id);
  const threads = sides.map((side) => (finding.threads || []).find((thread) => thread.id === side.thread.id) || null);
  const births = threads.map((thread, index) => ({lane: index, thread})).filter(({thread}) => thread && !thread.main && thread.parent !== null);
  // Numbers grow in the order of creation.
  births.sort((one, other) => one.thread.id - other.thread.id);
  const memory = finding.memory;
  const maker = memory && memory.thread !== null && /heap/.test(memory.kind) ? lane(memory.thread) : -1;
  const allocation = {lane: maker, kind: 'point', words: memory ? `allocates ${counted(memory.size, 'byte')}` : '', place: memory ? ownFrame(memory.allocated) : null};
  const isOlder = maker >= 0 && !births.some((birth) => birth.lane === maker);
  if (isOlder) rows.push(allocation);
  for (const birth of births) {
    const from = lane(birth.thread.parent);
    rows.push({lane: birth.lane, kind: 'born', from: from >= 0 && from !== birth.lane ? from : null,
      words: `created by ${describeThread(finding, birth.thread.parent).toLowerCase()}`, place: ownFrame(birth.thread.created)});
  }
  if (maker >= 0 && !isOlder) rows.push(allocation);
  sides.forEach((side, index) => {
    if (index === 1) rows.push({kind: 'gap'});
    if (side.locks_known === false) rows.push({lane: index, kind: 'point', words: 'locks not known any more', place: null});
    for (const lock of side.locks) {
      rows.push({lane: index, kind: 'lock', words: `takes ${describeLock(lock)}`, place: ownFrame(lock.acquired || [])});
    }
    rows.push({lane: index, kind: 'access', words: describeAccess(side), place: ownFrame(side.stack)});
    if (side.locks.length) {
      rows.push({lane: index, kind: 'release', words: `later releases ${side.locks.length === 1 ? 'it' : 'them'}`, place: null});
    }
  });
  return rows;
}

function gapWords(finding) {
  const [one, two] = [finding.earlier, finding.later];
  const name = (lock) => describeLock(lock);
  const has = (side) => (side.locks.length ? side.locks.map(name).join(', ') : 'no lock');
  const locks = one.locks.length || two.locks.length
    ? `The first holds ${has(one)}, the second ${has(two)}.`
    : 'Neither holds a lock.';
  return `${locks} No join, signal or atomic makes the second wait for the first.`;
}

function drawTimeline(finding, width) {
  const rows = timelineRows(finding);
  const column = width / 2;
  const margin = 14;
  const room = column - margin - 36;
  const laneX = [margin, column + margin];
  const colour = ['one', 'two'];
  const gapLines = wrapped(gapWords(finding), column - 46, 6.7);
  const heightOf = (row) => (row.kind === 'gap' ? 42 + gapLines.length * 18 : row.place ? rowHeight : 34);
  const top = 34;
  let y = top;
  for (const row of rows) { row.y = y + 16; y += heightOf(row); row.end = y; }
  const height = y + 12;
  const bottom = y + 4;
  const art = draw('svg', {class: 'timeline', viewBox: `0 0 ${width} ${height}`, height, role: 'img',
    'aria-label': `Timeline: ${describeThread(finding, finding.earlier.thread.id)} and ${describeThread(finding, finding.later.thread.id)}; nothing orders the two accesses`});
  const add = (...shapes) => art.append(...shapes);
  const gap = rows.find((row) => row.kind === 'gap');
  const accesses = rows.filter((row) => row.kind === 'access');

  // The missing order, behind everything.
  const gapTop = gap.y - 16;
  add(draw('rect', {class: 'gap-area', x: 0, y: gapTop + 2, width, height: heightOf(gap) - 10, rx: 8}));

  [finding.earlier, finding.later].forEach((side, index) => {
    const x = laneX[index];
    const born = rows.find((row) => row.kind === 'born' && row.lane === index);
    const begin = born ? born.y : top;
    add(draw('text', {class: 't-head', x: x - 6, y: 16}, clipped(describeThread(finding, side.thread.id), column - margin, 8)));
    const mine = rows.filter((row) => row.lane === index && (row.kind === 'lock' || row.kind === 'release' || row.kind === 'access'));
    const last = mine[mine.length - 1].y;
    add(draw('line', {class: `lane ${colour[index]}`, x1: x, x2: x, y1: begin, y2: last}));
    add(draw('line', {class: `lane fade ${colour[index]}`, x1: x, x2: x, y1: last, y2: bottom}));
    // Held locks: bands that begin where each is taken.
    const taken = mine.filter((row) => row.kind === 'lock');
    taken.forEach((row, depth) => {
      const release = mine.find((one) => one.kind === 'release');
      add(draw('rect', {class: `soft-${colour[index]}`, x: x - 7 + depth * 2, y: row.y - 4, width: 14 - depth * 4, height: release.y - row.y + 8, rx: 5}));
    });
    if (taken.length) add(draw('line', {class: `lane ${colour[index]}`, x1: x, x2: x, y1: taken[0].y, y2: last}));
  });

  for (const row of rows) {
    if (row.kind === 'gap') continue;
    const x = laneX[row.lane];
    if (row.kind === 'born') {
      if (row.from !== null) {
        const from = laneX[row.from];
        add(draw('path', {class: 'spawn', d: `M${from} ${row.y - 13}H${x}V${row.y}`}));  // above the words
      }
      add(draw('circle', {class: `born ${colour[row.lane]}`, cx: x, cy: row.y, r: 5}));
    } else if (row.kind === 'access') {
      add(draw('path', {class: `fill-${colour[row.lane]}`, d: `M${x} ${row.y - 9}l9 9l-9 9l-9 -9z`}));
    } else {
      add(draw('circle', {class: `fill-${colour[row.lane]}`, cx: x, cy: row.y, r: row.kind === 'release' ? 3 : 4}));
    }
    const label = row.kind === 'access' ? 't-head' : row.kind === 'release' ? 't-soft' : '';
    add(draw('text', {class: label, x: x + 18, y: row.y + (row.place ? 0 : 4)},
      draw('title', null, row.words), clipped(row.words, room, row.kind === 'access' ? 7.9 : 7.1)));
    if (row.place) {
      const place = briefPlace(row.place);
      add(draw('text', {class: 't-mono', x: x + 18, y: row.y + 16}, draw('title', null, place), clipped(place, room, 7.3)));
    }
  }

  // From the one access to the other, broken by the words.
  const second = accesses[1];
  const before = rows[rows.indexOf(gap) - 1];
  const middle = column - 8;
  add(draw('path', {class: 'gap-line', d: `M${laneX[0] + 3} ${Math.min(before.y + 12, gapTop - 6)}L${laneX[0] + 22} ${gapTop + 8}`}));
  const after = gapTop + heightOf(gap) - 10;
  add(draw('path', {class: 'gap-line', d: `M${Math.min(middle, laneX[1] - 40)} ${after}L${laneX[1] - 10} ${second.y - 5}`}));
  add(draw('text', {class: 'gap-text', x: 28, y: gapTop + 24}, column < 260 ? 'No order here' : 'No order between these two'));
  gapLines.forEach((line, index) => add(draw('text', {class: 'gap-more', x: 28, y: gapTop + 44 + index * 18}, line)));
  return art;
}

// Drawn again when the room changes, so that its letters keep their size.
function timelineView(finding) {
  const body = make('div', {class: 'body'});
  let drawn = 0;
  const update = () => {
    const width = Math.max(300, Math.min(1100, Math.floor(body.clientWidth ? body.clientWidth - 36 : 1000)));
    if (width === drawn) return;
    drawn = width;
    body.replaceChildren(drawTimeline(finding, width),
      make('p', {class: 'note'}, 'The two accesses are in the order of this run; what is above each came before it, distances mean nothing. Without an order, another run may do it the other way round, or both at once.'));
  };
  new ResizeObserver(update).observe(body);
  update();
  return make('section', {class: 'card'}, make('h3', null, 'Timeline'), body);
}
