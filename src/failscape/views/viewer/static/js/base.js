// What all screens use: the address as state, questions to the server, numbers as words.
import { html, render, createContext, useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useContext }
  from "../vendor/htm-preact.js";

export { html, render, createContext, useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useContext };

// ---- The address: /atlas/hunt/screen?filters

const listeners = new Set();

export function readAddress() {
  const parts = location.pathname.split("/").filter(Boolean).map(decodeURIComponent);
  return { atlas: parts[0] || "", hunt: parts[1] || "", screen: parts[2] || "overview",
    params: Object.fromEntries(new URLSearchParams(location.search)) };
}

export function addressOf(atlas, hunt, screen, params = {}) {
  const kept = Object.entries(params).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const query = new URLSearchParams(kept).toString();
  return `/${[atlas, hunt, screen].map(encodeURIComponent).join("/")}${query ? `?${query}` : ""}`;
}

export function go(address, replace = false) {
  if (replace) history.replaceState(null, "", address);
  else { history.pushState(null, "", address); scrollTo(0, 0); }
  listeners.forEach((tell) => tell());
}

addEventListener("popstate", () => listeners.forEach((tell) => tell()));

export function useAddress() {
  const [address, change] = useState(readAddress);
  useEffect(() => {
    const tell = () => change(readAddress());
    listeners.add(tell);
    return () => listeners.delete(tell);
  }, []);
  return address;
}

export const Here = createContext(null);

// The hunt on show, and ways to other addresses in it.
export function useHere() {
  const here = useContext(Here);
  const to = (screen, params) => addressOf(here.atlas, here.hunt, screen, params);
  const set = (changes, replace = false) => go(to(here.screen, { ...here.params, ...changes }), replace);
  return { ...here, to, set };
}

export function Link({ to, children, ...rest }) {
  const follow = (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go(to);
  };
  return html`<a href=${to} onClick=${follow} ...${rest}>${children}</a>`;
}

// ---- Questions

const news = new Set();
let source = null;

export function followNews() {
  if (source) return;
  source = new EventSource("/api/news");
  let before = false;
  source.onopen = () => {  // back again: something may have happened in between
    if (before) news.forEach((listen) => listen(null));
    before = true;
  };
  source.onmessage = (event) => {
    const told = JSON.parse(event.data);
    news.forEach((listen) => listen(told));
  };
}

export function useNews(atlas, act) {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const listen = (told) => { if (!told || told.atlas === atlas) latest.current(); };
    news.add(listen);
    return () => news.delete(listen);
  }, [atlas]);
}

// `late` is told how far the viewer is while it reads: [trials told, all trials], or null.
export async function fetchJson(path, signal, late = () => {}) {
  for (;;) {
    const reply = await fetch(path, { signal });
    const data = await reply.json().catch((error) => {  // nobody waits for an answer that was broken off
      throw error.name === "AbortError" ? error : { error: "The viewer gave no answer.", fix: "Is it still running?" };
    });
    if (!reply.ok) throw data;
    if (reply.status !== 202) return data;
    late(data.reading);
    await new Promise((done) => setTimeout(done, 400));
  }
}

export async function send(path, data) {
  const reply = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify(data) });
  const told = await reply.json().catch(() => ({ error: "The viewer gave no answer.", fix: "Is it still running?" }));
  if (!reply.ok) throw told;
  return told;
}

export function questionPath(here, question, params = {}) {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value)).toString();
  return `/api/${encodeURIComponent(here.atlas)}/${here.hunt}/${question}${query ? `?${query}` : ""}`;
}

// {data, error, late}: `late` while the first answer is on its way. What was shown stays until news is there.
export function useAnswer(question, params = {}, live = true) {
  const here = useContext(Here);
  const path = questionPath(here, question, params);
  const [state, change] = useState({ path: "", data: null, error: null });
  const [turn, again] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const late = (reading) => { if (!stop.signal.aborted) change((old) => ({ ...old, reading })); };
    fetchJson(path, stop.signal, late).then(
      (data) => { if (!stop.signal.aborted) change({ path, data, error: null }); },
      (error) => { if (error.name !== "AbortError") change((old) => ({ ...old, path, error: asError(error) })); });
    return () => stop.abort();
  }, [path, turn]);
  useNews(here.atlas, () => { if (live) again((number) => number + 1); });
  return { ...state, late: state.path !== path, again: () => again((number) => number + 1) };
}

function asError(error) {
  return error.error ? error : { error: "The viewer does not answer.", fix: "Start `failscape view` again." };
}

// ---- Numbers

export const count = (number) => (number ?? 0).toLocaleString("en-US");
export const some = (number, one, many) => `${count(number)} ${number === 1 ? one : many || `${one}s`}`;

export function span(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds), hours = Math.floor(whole / 3600), minutes = Math.floor((whole % 3600) / 60);
  if (hours) return `${hours} h ${String(minutes).padStart(2, "0")} min`;
  return minutes ? `${minutes} min ${String(whole % 60).padStart(2, "0")} s` : `${whole} s`;
}

export const when = (at) => new Date(at * 1000).toLocaleString("sv-SE").slice(0, 16);
export const money = (amount) => `$${amount < 10 ? amount.toFixed(2) : count(Math.round(amount))}`;

export const pictureAddress = (here, digest, side) =>
  `/pictures/${encodeURIComponent(here.atlas)}/${encodeURIComponent(digest)}${side ? `?side=${side}` : ""}`;
