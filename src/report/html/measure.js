// SPDX-License-Identifier: Apache-2.0
// With "?measure" in the address: how long opening and filtering take, as text in the page. Tests read it.
'use strict';

function measure(begun) {
  const times = (action, count) => {
    let worst = 0;
    for (let index = 0; index < count; ++index) {
      const from = performance.now();
      action(index);
      void document.body.offsetHeight;  // layout is part of what one waits for
      worst = Math.max(worst, performance.now() - from);
    }
    return Math.round(worst * 10) / 10;
  };
  void document.body.offsetHeight;
  const opened = Math.round((performance.now() - begun) * 10) / 10;
  const words = ['a', 'race', 'main', 'no such word', 'write', '.cpp', 'lock', ''];
  const filter = times((index) => { state.filters.text = words[index % words.length]; showList(); }, 2 * words.length);
  const detail = times((index) => byId('main').replaceChildren(raceView(state.rows[index].finding)), Math.min(20, state.rows.length));
  while (state.drawn < state.shown.length) drawMore();
  const result = {races: state.rows.length, opened_ms: opened, loaded_ms: Math.round(performance.now()), filter_worst_ms: filter, race_worst_ms: detail, rows: byId('list').children.length};
  document.body.append(make('pre', {id: 'measured'}, JSON.stringify(result)));
}

start();
