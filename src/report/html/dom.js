// SPDX-License-Identifier: Apache-2.0
// Elements and words. Names, paths and source lines may come from anywhere: every text
// reaches the page as a text node or attribute made here, never as markup.
'use strict';

// make('div', {class: 'x', onclick: f}, child, 'text', ...): children may be nested arrays; null is left out.
function make(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function draw(name, attributes, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

const byId = (id) => document.getElementById(id);
const numberFormat = new Intl.NumberFormat('en-US');
const grouped = (number) => numberFormat.format(number);
const counted = (number, word) => `${grouped(number)} ${word}${number === 1 ? '' : 's'}`;
const baseName = (path) => path.slice(path.lastIndexOf('/') + 1);

function percent(share) {
  const value = share * 100;
  return `${value >= 10 || value === 0 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value.toPrecision(2)}%`;
}

// Of "2026-11-17T22:20:58Z" or of milliseconds since 1970, in the time of the reader.
function when(time) {
  const date = new Date(time);
  const pad = (number) => String(number).padStart(2, '0');
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${pad(date.getHours())}:${pad(date.getMinutes())}`;
}

function functionOf(frame) {
  if (frame.function) return frame.function;
  return frame.module ? `${baseName(frame.module)}+${frame.offset}` : '(unknown function)';
}

// Without the parameters, for places with little room.
function shortFunction(frame) {
  const whole = functionOf(frame).replace(/ const$/, '').replace(/\s*\[clone [^\]]*\]/g, '');
  let depth = 0;
  for (let at = whole.length - 1; at > 0; --at) {
    if (whole[at] === ')') ++depth;
    if (whole[at] === '(' && --depth === 0) {
      return at > 9 && whole.slice(at - 8, at) === 'operator' ? whole : whole.slice(0, at);
    }
    if (depth === 0) break;
  }
  return whole;
}

const placeOf = (frame) => (frame.file ? baseName(frame.file) + (frame.line ? `:${frame.line}` : '') : '');

function isSystem(frame) {
  return !frame.file || /^(\/usr\/(include|lib|src)\/|\.\.?\/)/.test(frame.file);
}

// The frame that a person wants to see first: the innermost one in a file of their own.
function ownFrame(stack) {
  return stack.find((frame) => !isSystem(frame)) || stack[0] || null;
}

function briefPlace(frame) {
  if (!frame) return 'place not known';
  const place = placeOf(frame);
  return place ? `${shortFunction(frame)}  ${place}` : shortFunction(frame);
}

const accessWords = {
  'read': 'read', 'write': 'write', 'atomic-read': 'atomic read', 'atomic-write': 'atomic write', 'free': 'free',
};

function describeAccess(access) {
  const words = [access.volatile ? 'volatile' : '', accessWords[access.access] || access.access].filter(Boolean);
  if (access.size) words.push(`of ${counted(access.size, 'byte')}`);
  if (access.vptr) words.push('(virtual table pointer)');
  return words.join(' ');
}

function describeThread(finding, id) {
  const known = (finding.threads || []).find((thread) => thread.id === id);
  const side = [finding.earlier, finding.later].find((access) => access.thread.id === id);
  const name = (known && known.name) || (side && side.thread.name);
  if (name) return `Thread ${id} (${name})`;
  if (known && known.main) return `Thread ${id} (main)`;
  return known && known.fiber ? `Fiber ${id}` : `Thread ${id}`;
}

const describeLock = (lock) => (lock.name || `lock ${lock.address || lock.id}`) + (lock.mode === 'shared' ? ' (shared)' : '');

// What the race is about, in a few words; `isBrief` for places with little room.
function objectOf(finding, isBrief) {
  const offset = (number) => (number ? ` + ${grouped(number)}` : '');
  if (finding.variable) return finding.variable.name + offset(finding.variable.offset);
  const memory = finding.memory;
  if (!memory || memory.kind === 'unknown') return finding.address;
  const inside = Number(BigInt(finding.address) - BigInt(memory.begin));
  if (memory.name) return memory.name + offset(inside);
  const where = memory.allocated && memory.allocated.length ? ownFrame(memory.allocated) : null;
  switch (memory.kind) {
    case 'heap': case 'freed-heap':
      if (isBrief) return `heap block +${grouped(inside)}`;
      return `Heap block of ${counted(memory.size, 'byte')}${where ? ` from ${briefPlace(where)}` : ''}`;
    case 'stack': return memory.thread === null ? 'A stack' : `Stack of thread ${memory.thread}`;
    case 'thread-local': return memory.thread === null ? 'Thread-local memory' : `Thread-local memory of thread ${memory.thread}`;
    case 'mapped': return `Mapping of ${counted(memory.size, 'byte')}`;
    default: return finding.address;
  }
}
