// SPDX-License-Identifier: Apache-2.0
// What the bytes belong to, and which of them both threads touched.
'use strict';

const memoryWords = {
  'global': 'Global variable', 'heap': 'Heap block', 'freed-heap': 'Heap block, freed since', 'stack': 'Stack',
  'thread-local': 'Thread-local memory', 'mapped': 'Mapped memory', 'unknown': 'Memory',
};

// {begin, size} of the object as numbers relative to its begin, or null.
function layoutOf(finding) {
  const memory = finding.memory;
  const address = BigInt(finding.address);
  if (finding.variable && !(memory && memory.size)) {
    return {offset: finding.variable.offset, size: null, address};
  }
  if (!memory || memory.kind === 'unknown' || !memory.size) return {offset: Number(address & 63n), size: null, address, isLoose: true};
  return {offset: Number(address - BigInt(memory.begin)), size: memory.size, address};
}

function elementWords(finding, layout) {
  const sweep = finding.later.sweep;
  if (sweep) {
    const index = Number((layout.address - BigInt(sweep.begin)) / BigInt(sweep.step || 1));
    return `Element ${grouped(index)} of a sweep over ${counted(sweep.count, 'element')}, ${counted(sweep.step, 'byte')} apart`;
  }
  if (layout.size && finding.size && layout.size > finding.size && layout.offset % finding.size === 0 && layout.size % finding.size === 0) {
    return `As an array of ${finding.size}-byte elements: element ${grouped(layout.offset / finding.size)} of ${grouped(layout.size / finding.size)}`;
  }
  return null;
}

function byteStrip(finding, layout) {
  const hitEnd = layout.offset + Math.max(1, finding.size);
  const end = layout.size === null ? Infinity : layout.size;
  const wordsShown = 4;
  let begin = Math.floor(layout.offset / 8) * 8 - 8;
  begin = Math.max(0, Math.min(begin, end === Infinity ? begin : Math.ceil(end / 8) * 8 - wordsShown * 8));
  const words = [];
  for (let word = begin; word < begin + wordsShown * 8 && word < end; word += 8) {
    const cells = [];
    for (let at = word; at < word + 8; ++at) {
      const isHit = at >= layout.offset && at < hitEnd;
      const isOutside = at >= end;
      cells.push(make('span', {class: `cell${isHit ? ' hit' : ''}${isOutside ? ' outside' : ''}`,
        title: isHit ? `byte ${at}: both threads` : `byte ${at}`}, isHit ? '✕' : '·'));
    }
    words.push(make('span', {class: 'word'}, make('span', {class: 'cells'}, cells), make('span', {class: 'offset'}, `+${grouped(word)}`)));
  }
  const last = Math.max(layout.offset, hitEnd - 1);
  const label = last > layout.offset ? `Bytes ${layout.offset} to ${last}` : `Byte ${layout.offset}`;
  return make('div', {class: 'bytes', role: 'img', 'aria-label': `${label} touched by both threads`}, words);
}

function memoryView(finding) {
  const memory = finding.memory || null;
  const layout = layoutOf(finding);
  const kind = memory ? memoryWords[memory.kind] || 'Memory' : 'Memory';
  const name = memory && memory.name ? memory.name : finding.variable ? finding.variable.name : null;
  const body = make('div', {class: 'body'});
  const last = layout.offset + Math.max(1, finding.size) - 1;
  const range = last > layout.offset ? `bytes ${grouped(layout.offset)} to ${grouped(last)}` : `byte ${grouped(layout.offset)}`;
  body.append(make('p', {class: 'memory-words'}, make('b', null, kind), name ? [' ', make('code', null, name)] : null,
    layout.size ? ` of ${counted(layout.size, 'byte')} at ` : ' at ', make('code', null, memory && memory.size ? memory.begin : finding.address),
    memory && memory.kind === 'stack' && memory.thread !== null ? ` of thread ${memory.thread}` : null,
    layout.isLoose ? `: ${counted(finding.size, 'byte')} touched by both` : `: ${range} touched by both`, '. ',
    elementWords(finding, layout) ? `${elementWords(finding, layout)}.` : null));
  if (layout.size && layout.size > 48) {
    const mark = make('i');
    mark.style.left = `${(layout.offset / layout.size) * 100}%`;
    mark.style.width = `${(Math.max(1, finding.size) / layout.size) * 100}%`;
    body.append(make('div', {class: 'block', 'aria-hidden': 'true'}, mark),
      make('div', {class: 'ends', 'aria-hidden': 'true'}, make('span', null, '+0'), make('span', null, `+${grouped(layout.size)}`)));
  }
  if (!layout.isLoose) body.append(byteStrip(finding, layout));
  const part = (side) => (side.size && side.size !== finding.size ? `${describeAccess(side)}, ${finding.size} of them here` : describeAccess(side));
  body.append(make('div', {class: 'legend'},
    make('span', null, make('i', {class: 'key one'}), `Earlier: ${part(finding.earlier)}`),
    make('span', null, make('i', {class: 'key two'}), `Later: ${part(finding.later)}`),
    make('span', null, make('i', {class: 'key both'}), 'Touched by both')));
  const by = (id) => (id === null || id === undefined ? '' : ` by thread ${id}`);
  return make('section', {class: 'card'}, make('h3', null, 'Memory'), body,
    memory ? stackView(finding, [make('b', null, `Allocated${by(memory.thread)}`), ' at ', briefPlace(ownFrame(memory.allocated))], memory.allocated) : null,
    memory ? stackView(finding, [make('b', null, `Freed${by(memory.freed_by)}`), ' at ', briefPlace(ownFrame(memory.freed))], memory.freed) : null);
}
