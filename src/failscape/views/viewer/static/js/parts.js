// Pieces that several screens share.
import { html, useState, useEffect, useLayoutEffect, useRef, useHere, count, pictureAddress, fetchJson, questionPath,
  useNews } from "./base.js";

const SIGNS = { pass: "✓", fail: "✗", invalid: "?", none: "·" };
const WORDS = { pass: "passed", fail: "failed", invalid: "invalid", none: "not tested" };

export function Verdict({ verdict, words = true }) {
  return html`<span class="verdict ${verdict}"><i aria-hidden="true">${SIGNS[verdict] || "·"}</i>${
    words ? ` ${WORDS[verdict] || verdict}` : html`<span class="unseen">${WORDS[verdict] || verdict}</span>`}</span>`;
}

export const verdictWord = (verdict) => WORDS[verdict] || verdict;

export function Mark({ mark }) {
  const sign = { yes: "✓", no: "✗", open: "?" }[mark.state];
  return html`<span class="mark ${mark.state}"><i aria-hidden="true">${sign}</i> ${mark.text}</span>`;
}

// A rate with its interval on a scale from 0 to 100 %. `limit` is where failing begins.
export function RateBar({ rate, low, high, limit }) {
  const at = (share) => 100 * Math.min(1, Math.max(0, share));
  return html`<svg class="interval" viewBox="-1 0 102 12" preserveAspectRatio="none" aria-hidden="true">
    <line class="track" x1="0" x2="100" y1="6" y2="6"/>
    ${limit != null && html`<line class="limit" x1=${at(limit)} x2=${at(limit)} y1="0" y2="12"/>`}
    <rect class="span" x=${at(low)} y="3.5" width=${Math.max(0.6, at(high) - at(low))} height="5" rx="1"/>
    <rect class="at" x=${at(rate) - 0.8} y="1" width="1.6" height="10" rx=".5"/></svg>`;
}

export function Picture({ digest, side = 192, alt = "", eager = false }) {
  const here = useHere();
  const [gone, lose] = useState(false);
  useEffect(() => lose(false), [digest]);
  if (!digest || gone) return html`<span class="empty" role="img" aria-label="picture not kept">not kept</span>`;
  return html`<img src=${pictureAddress(here, digest, side)} alt=${alt} loading=${eager ? "eager" : "lazy"}
    decoding="async" onError=${() => lose(true)}/>`;
}

export function Trouble({ error }) {
  return html`<div class="trouble" role="alert"><b>${error.error}</b>${error.fix && html`<p>${error.fix}</p>`}</div>`;
}

// What is shown while an answer is on its way, or when there is none.
export function Waiting({ answer, children }) {
  if (answer.error && !answer.data) return html`<${Trouble} error=${answer.error}/>`;
  if (!answer.data) return html`<${Reading} of=${answer.reading}/>`;
  return children(answer.data);
}

// How far the viewer is with telling the hunt its trials, where it says so.
export function Reading({ of }) {
  const far = of ? ` ${count(of[0])} of ${count(of[1])}` : "";
  return html`<p class="waiting" role="status">Reading the trials …${far}</p>`;
}

// A word that is explained where it stands.
export function Term({ says, children }) {
  return html`<span class="term" tabindex="0" data-says=${says}>${children}<span class="unseen"> (${says})</span></span>`;
}

export function Search({ value, onChange, label }) {
  const [text, type] = useState(value);
  const timer = useRef(0);
  useEffect(() => type(value), [value]);
  const changed = (event) => {
    const now = event.target.value;
    type(now);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(now), 150);
  };
  return html`<input type="search" class="search" value=${text} onInput=${changed} placeholder=${label} aria-label=${label}/>`;
}

// A facet: a choice with how many there are of each.
export function Facet({ name, label, values, chosen, onChange, word = (value) => value }) {
  const shown = values || [];
  const missing = chosen && !shown.some(([value]) => value === chosen);
  if (!shown.length && !chosen) return null;
  return html`<label class="facet"><span>${label}</span>
    <select value=${chosen || ""} data-facet=${name} onChange=${(event) => onChange({ [name]: event.target.value })}>
      <option value="">any</option>
      ${missing && html`<option value=${chosen}>${word(chosen)} (0)</option>`}
      ${shown.map(([value, number]) => html`<option key=${value} value=${value}>${word(value)} (${count(number)})</option>`)}
    </select></label>`;
}

// The part of a long list that is in view, fetched a page at a time. `height` is that of a row of `across` items.
const PAGE = 120;

export function useWindowed(question, params, field) {
  const here = useHere();
  const path = questionPath(here, question, params);
  const pages = useRef({ path: "", known: new Map(), asked: new Set() });
  const [head, change] = useState({ path: "", data: null, error: null });
  const [, redraw] = useState(0);
  const [turn, again] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    fetchJson(questionPath(here, question, { ...params, many: PAGE }), stop.signal).then((data) => {
      pages.current = { path, known: new Map([[0, data[field]]]), asked: new Set([0]) };
      change({ path, data, error: null });
    }, (error) => { if (error.name !== "AbortError") change({ path, data: null, error: error.error ? error : { error: "The viewer does not answer.", fix: "Start `failscape view` again." } }); });
    return () => stop.abort();
  }, [path, turn]);
  useNews(here.atlas, () => { if (scrollY < 400) again((number) => number + 1); });
  const item = (index) => {
    const number = Math.floor(index / PAGE), now = pages.current;
    if (now.known.has(number)) return now.known.get(number)[index % PAGE];
    if (!now.asked.has(number) && now.path === head.path) {
      now.asked.add(number);
      fetchJson(questionPath(here, question, { ...params, start: number * PAGE, many: PAGE })).then((data) => {
        if (pages.current === now) { now.known.set(number, data[field]); redraw((turn) => turn + 1); }
      }, () => now.asked.delete(number));
      if (now.known.size > 60) {  // bounded: far pages are asked for again
        const far = [...now.known.keys()].filter((page) => page && Math.abs(page - number) > 20);
        far.forEach((page) => { now.known.delete(page); now.asked.delete(page); });
      }
    }
    return undefined;
  };
  return { ...head, late: head.path !== path, item };
}

export function Windowed({ total, height, across = 1, draw, kind = "rows", label }) {
  const frame = useRef(null);
  const [view, look] = useState({ first: 0, last: 30 });
  const lines = Math.ceil(total / across);
  useLayoutEffect(() => {
    const measure = () => {
      if (!frame.current) return;
      const top = frame.current.getBoundingClientRect().top;
      const first = Math.max(0, Math.floor(-top / height) - 4);
      const last = Math.min(lines, Math.ceil((innerHeight - top) / height) + 4);
      look((old) => (old.first === first && old.last === last ? old : { first, last }));
    };
    measure();
    addEventListener("scroll", measure, { passive: true });
    addEventListener("resize", measure);
    return () => { removeEventListener("scroll", measure); removeEventListener("resize", measure); };
  }, [lines, height]);
  const shown = [];
  for (let index = view.first * across; index < Math.min(total, view.last * across); index += 1) shown.push(draw(index));
  return html`<div class="windowed" ref=${frame} role="list" aria-label=${label} style=${{ height: `${lines * height}px` }}>
    <div class=${kind} style=${{ transform: `translateY(${view.first * height}px)`, "--across": across }}>${shown}</div></div>`;
}

export function useWidth() {
  const frame = useRef(null);
  const [width, change] = useState(0);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(([entry]) => change(Math.round(entry.contentRect.width)));
    watch.observe(frame.current);
    return () => watch.disconnect();
  }, []);
  return [frame, width];
}

// How a count grew. Points are [x, y] with steps between them.
export function Curve({ points, across, up }) {
  const width = 560, heightAll = 200, left = 44, bottom = 30, top = 10, right = 12;
  const most = points.length ? points[points.length - 1][0] : 1, highest = niceTop(Math.max(1, ...points.map(([, y]) => y)));
  const x = (value) => left + ((width - left - right) * value) / Math.max(1, most);
  const y = (value) => heightAll - bottom - ((heightAll - bottom - top) * value) / highest;
  const path = points.map(([px, py], index) => index ? `H${x(px).toFixed(1)}V${y(py).toFixed(1)}` : `M${x(px)} ${y(py)}`).join("");
  const ticks = [0, highest / 2, highest];
  return html`<svg class="curve" viewBox="0 0 ${width} ${heightAll}" role="img" aria-label="${up} over ${across}: ${count(points.length ? points[points.length - 1][1] : 0)} after ${count(most)}">
    ${ticks.map((tick) => html`<g><line class="grid" x1=${left} x2=${width - right} y1=${y(tick)} y2=${y(tick)}/>
      <text x=${left - 8} y=${y(tick) + 4} text-anchor="end">${count(tick)}</text></g>`)}
    <path class="area" d="${path}V${y(0)}H${left}Z"/><path class="line" d=${path}/>
    <text x=${left} y=${heightAll - 8}>0</text>
    <text x=${width - right} y=${heightAll - 8} text-anchor="end">${count(most)} ${across}</text>
    <text x=${left} y=${top + 4} dx="6">${up}</text></svg>`;
}

function niceTop(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 10].map((step) => step * power).find((step) => step >= value && (step / 2) % 1 === 0) || Math.ceil(value / 2) * 2;
}

export function Copy({ text, children }) {
  const [done, tell] = useState(false);
  const copy = async () => {
    try { await navigator.clipboard.writeText(text()); } catch { fallbackCopy(text()); }
    tell(true);
    setTimeout(() => tell(false), 1500);
  };
  return html`<button type="button" class="small" onClick=${copy}>${done ? "Copied" : children}</button>`;
}

function fallbackCopy(text) {  // without a secure context there is no clipboard
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
