// SPDX-License-Identifier: Apache-2.0
// Source lines and stacks.
'use strict';

const keywords = new Set(('alignas alignof asm auto bool break case catch char class const consteval constexpr constinit continue ' +
  'co_await co_return co_yield decltype default delete do double else enum explicit extern false final float for friend goto if inline ' +
  'int long mutable namespace new noexcept nullptr operator override private protected public register restrict return short signed ' +
  'sizeof static static_assert struct switch template this thread_local throw true try typedef typename union unsigned using virtual ' +
  'void volatile while').split(' '));
const tokens = /(\/\/.*$|\/\*.*?(?:\*\/|$))|("(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)|([A-Za-z_]\w*)|(\d[\w.']*)/g;

// The line as text nodes and coloured spans.
function coloured(line) {
  const parts = [];
  let done = 0;
  for (const match of line.matchAll(tokens)) {
    const kind = match[1] ? 't-c' : match[2] ? 't-s' : match[4] ? 't-n' : keywords.has(match[3]) ? 't-k' : null;
    if (!kind) continue;
    parts.push(line.slice(done, match.index), make('span', {class: kind}, match[0]));
    done = match.index + match[0].length;
  }
  parts.push(line.slice(done));
  return parts;
}

function findSnippet(finding, frame) {
  if (!frame || !frame.file || !frame.line) return null;
  return (finding.snippets || []).find((one) => one.file === frame.file && one.line === frame.line) || null;
}

function codeView(snippet, extra) {
  const lines = snippet.lines.map((line, index) => {
    const number = snippet.first_line + index;
    const isHit = number === snippet.line;
    return make('span', {class: isHit ? 'source hit' : 'source'},
      make('span', {class: 'number'}, String(number)), isHit ? make('span', {'aria-label': 'racing line'}) : null, coloured(line), '\n');
  });
  return make('pre', {class: `code ${extra || ''}`, tabindex: 0, 'aria-label': `${baseName(snippet.file)}, line ${snippet.line}`},
    make('span', {class: 'lines'}, lines));
}

function frameView(finding, frame, side) {
  const place = frame.file ? frame.file + (frame.line ? `:${frame.line}` : '') : frame.module ? `${frame.module}+${frame.offset}` : '';
  const words = [make('span', {class: isSystem(frame) ? 'system mono' : 'mono'}, functionOf(frame)),
    frame.inlined ? make('span', {class: 'inlined'}, '  inlined') : null, make('span', {class: 'at'}, place)];
  const snippet = findSnippet(finding, frame);
  if (!snippet) return make('li', null, words);
  return make('li', null, make('details', null, make('summary', null, words), codeView(snippet, `small ${side || ''}`)));
}

// A stack that opens; nothing when it is not known.
function stackView(finding, summary, stack, options) {
  if (!stack || stack.length === 0) return null;
  const list = () => make('ol', {class: 'frames'}, stack.map((frame) => frameView(finding, frame, options && options.side)));
  const view = make('details', {class: 'stack'}, make('summary', null, summary));
  // Made when it is opened: hundreds of races have thousands of frames.
  const open = () => { if (view.children.length === 1) view.append(list()); };
  view.addEventListener('toggle', () => { if (view.open) open(); });
  if (options && options.open) { open(); view.open = true; }
  return view;
}
