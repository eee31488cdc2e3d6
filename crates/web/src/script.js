// What makes reading quicker, for browsers that run scripts. Nothing needs it: each page has all that it says without.
//
// Invariants: it makes elements and text, never markup, so that nothing that is stored can become a page; what it fetches are
// pages of the same server. Its words come from the page that loads it.
(() => {
  'use strict';

  const words = JSON.parse(document.currentScript.dataset.words);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const first = (selector, root = document) => root.querySelector(selector);

  /** An element with properties and children. */
  const make = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  /** What is kept in this browser; nothing, where it keeps nothing. */
  const kept = {
    get(name) {
      try { return localStorage.getItem(name); } catch { return null; }
    },
    set(name, value) {
      try { localStorage.setItem(name, value); } catch { /* Then it holds for this page. */ }
    },
  };

  /** Says something to screen readers, and shows it for those who look. */
  const status = make('p', { className: 'said' });
  status.setAttribute('role', 'status');
  const say = (text) => { status.textContent = text; };

  // Times, in the reader's zone.

  const localTimes = () => {
    const whole = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: 'medium', timeStyle: 'long' });
    for (const time of all('time[datetime]')) {
      const date = new Date(time.dateTime);
      if (Number.isNaN(date.getTime())) continue;
      const text = whole.format(date);
      if (time.classList.contains('full')) time.textContent = text;
      else time.title = text;
    }
  };

  // A filter for lists.

  /** Lists of fewer rows are seen at a glance. */
  const FEW = 8;

  const filterable = () => all('table.list, ul.list').map((list) => {
    const rows = all('tbody > tr:not(.up), :scope > li', list);
    const text = (row) => (first('.name', row) ?? row).textContent.toLowerCase();
    return { list, rows: rows.map((row) => ({ row, text: text(row) })) };
  }).filter(({ rows }) => rows.length > FEW);

  const addFilter = ({ list, rows }) => {
    const input = make('input', { type: 'search', placeholder: words.filter, autocomplete: 'off' });
    input.setAttribute('aria-label', words.filter);
    const narrow = () => {
      const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      for (const { row, text } of rows) {
        row.hidden = !wanted.every((word) => text.includes(word));
        if (!row.hidden) left += 1;
      }
      say(wanted.length > 0 ? words.left.replace('{}', left) : '');
    };
    input.addEventListener('input', narrow);
    input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') first('a', rows.find(({ row }) => !row.hidden)?.row ?? input)?.click();
      if (event.key === 'Escape') { input.value = ''; narrow(); input.blur(); }
    });
    const place = list.parentElement.classList.contains('wide') ? list.parentElement : list;
    place.before(make('p', { className: 'filter' }, input));
  };

  // Links, paths and revisions to be copied.

  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Without https there is no clipboard but that of what is selected.
      const area = make('textarea', { value: text, className: 'away' });
      (first('dialog[open]') ?? document.body).append(area);
      area.select();
      const done = document.execCommand('copy');
      area.remove();
      return done;
    }
  };

  const addCopying = () => {
    const crumbs = first('.crumbs[data-path]');
    if (!crumbs) return;
    const { path, revision, link } = crumbs.dataset;
    const address = () => new URL(link, location.href).href + location.hash;
    const one = (word, text) => {
      const button = make('button', { type: 'button', textContent: word });
      button.addEventListener('click', async () => say((await copy(text())) ? words.copied : words.notCopied));
      return button;
    };
    const buttons = make('span', { className: 'copy' });
    if (link) buttons.append(one(words.copyLink, address));
    if (path !== '/') buttons.append(one(words.copyPath, () => path));
    buttons.append(one(words.copyRevision, () => `r${revision}`));
    crumbs.after(buttons);
  };

  // Long lines, wrapped or not, without another page.

  const wrapInPlace = (event) => {
    const link = event.target.closest?.('a[data-wrap]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    const [here, there] = [location.href, link.href];
    const isWrapped = link.dataset.wrap === '1';
    for (const lines of all('.lines')) {
      lines.classList.toggle('unwrapped', !isWrapped);
      if (isWrapped) lines.removeAttribute('tabindex');
      else lines.tabIndex = 0;
    }
    for (const other of all('a[data-wrap]')) {
      other.dataset.wrap = isWrapped ? '0' : '1';
      other.textContent = isWrapped ? words.unwrapped : words.wrapped;
      other.href = here;
    }
    history.replaceState(null, '', there);
  };

  // The lines between differences, in place.

  /** The page at an address, as a document whose scripts do not run. */
  const pageAt = (address) => new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('GET', address);
    request.responseType = 'document';
    request.onload = () => (request.status === 200 && request.response ? resolve(request.response) : reject(request.status));
    request.onerror = () => reject(0);
    request.send();
  });

  /** The text of a line, in its colours and nothing else. */
  const coloured = (from, to) => {
    for (const node of from.childNodes) {
      const color = node.nodeType === Node.ELEMENT_NODE && /^t-[a-z]$/.exec(node.className);
      to.append(color ? make('span', { className: node.className, textContent: node.textContent }) : node.textContent);
    }
    return to;
  };

  const lineOf = (cell, old, fresh, isSplit) => {
    const number = (value) => make('td', { className: 'n', textContent: value });
    const text = () => coloured(cell, make('td', { className: 'c same' }));
    const cells = isSplit ? [number(old), text(), number(fresh), text()]
      : [number(old), number(fresh), make('td', { className: 's' }), text()];
    return make('tr', { className: 'same' }, ...cells);
  };

  const unfold = async (event) => {
    const link = event.target.closest?.('tr.gap a[data-new]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    const gap = link.closest('tr');
    const [old, fresh, count] = ['old', 'new', 'count'].map((name) => Number(link.dataset[name]));
    let page;
    try { page = await pageAt(link.href); } catch { location.assign(link.href); return; }
    const isSplit = gap.closest('table').classList.contains('split');
    let done = 0;
    for (; done < count; done += 1) {
      const cell = first(`#L${fresh + done} > .c`, page);
      if (!cell) break;
      gap.before(lineOf(cell, old + done, fresh + done, isSplit));
    }
    if (done === 0) { location.assign(link.href); return; }
    say(words.shown.replace('{}', done));
    const shown = gap.previousElementSibling;
    shown.tabIndex = -1;
    shown.focus({ preventScroll: true });
    if (done >= count) { gap.remove(); return; }
    const address = new URL(link.href);
    address.searchParams.set('l', `${fresh + done}-${fresh + count - 1}`);
    address.hash = `L${fresh + done}`;
    Object.assign(link.dataset, { old: old + done, new: fresh + done, count: count - done });
    link.href = address.href;
  };

  // Keys. They are off while one types, and where the reader has switched them off.

  const KEYS_OFF = 'sapwood-keys-off';
  const STOPS = 'section.file, ol.log > li, .hit, .list tbody > tr:not([hidden]), ul.list > li:not([hidden]), table.code tr.first';

  const goBy = (step) => {
    const stops = all(STOPS);
    const at = stops.findIndex((stop) => stop === document.activeElement || stop.contains(document.activeElement));
    const next = at < 0 ? (step > 0 ? 0 : stops.length - 1) : at + step;
    const stop = stops[next];
    if (!stop) return;
    const target = first('a', stop) ?? stop;
    if (target === stop) stop.tabIndex = -1;
    target.focus({ preventScroll: true });
    stop.scrollIntoView({ block: 'nearest' });
  };

  const search = () => {
    const field = first('.search input[name=q], input[type=search]');
    if (field) { field.focus(); field.select(); return; }
    first('a.search-tab')?.click();
  };

  const help = () => {
    const row = ([key, text]) => make('tr', {}, make('th', { scope: 'row' }, make('kbd', { textContent: key })), make('td', { textContent: text }));
    const box = make('input', { type: 'checkbox', checked: kept.get(KEYS_OFF) === null });
    box.addEventListener('change', () => {
      if (box.checked) { try { localStorage.removeItem(KEYS_OFF); } catch { /* They were on. */ } } else kept.set(KEYS_OFF, '1');
      areOff = !box.checked;
    });
    const close = make('button', { type: 'button', textContent: words.close });
    const dialog = make('dialog', {},
      make('h2', { textContent: words.keys, id: 'keys' }),
      make('table', {}, make('tbody', {}, ...Object.entries(words.keyList).map(row))),
      make('p', {}, make('label', {}, box, ` ${words.keysOn}`)), close);
    dialog.setAttribute('aria-labelledby', 'keys');
    close.addEventListener('click', () => dialog.close());
    dialog.addEventListener('close', () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  };

  const ACTIONS = {
    '/': search,
    '?': help,
    j: () => goBy(1),
    k: () => goBy(-1),
    n: () => first('.pages a[rel~=next]')?.click(),
    p: () => first('.pages a[rel~=prev]')?.click(),
    w: () => first('a[data-wrap]')?.click(),
  };

  let areOff = kept.get(KEYS_OFF) !== null;

  const onKey = (event) => {
    if (areOff || event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.defaultPrevented) return;
    if (event.target.closest?.('input, textarea, select, [contenteditable], dialog, audio, video, object')) return;
    const action = Object.hasOwn(ACTIONS, event.key) && ACTIONS[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };

  localTimes();
  filterable().forEach(addFilter);
  addCopying();
  first('footer')?.append(status);
  const button = make('button', { type: 'button', textContent: words.keys });
  button.addEventListener('click', help);
  first('footer')?.append(button);
  document.addEventListener('click', wrapInPlace);
  document.addEventListener('click', unfold);
  document.addEventListener('keydown', onKey);
})();
