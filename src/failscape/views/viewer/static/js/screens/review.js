// Review the judge: blind, by keyboard. Labels are kept as they are given.
import { html, useState, useEffect, useLayoutEffect, useRef, useHere, useAnswer, send, count, some, Link } from "../base.js";
import { Waiting, Trouble, Picture, Term } from "../parts.js";
import { pictureAddress } from "../base.js";

const LABELS = [["yes", "y", "Yes"], ["no", "n", "No"], ["unsure", "u", "Unsure"]];
const HELP = [["y", "yes, it is so"], ["n", "no, it is not"], ["u", "unsure: it counts neither way"], ["z or Backspace", "take the last one back"], ["?", "show or hide this help"]];

export function Review() {
  const here = useHere();
  const reviewer = here.params.reviewer || "";
  const of = here.params.of || "";
  const answer = useAnswer("review", { reviewer, of });
  return html`<div class="review"><h1>${of ? "Audit the modes" : "Review the judge"}</h1><${Waiting} answer=${answer}>${(data) => html`<${Desk} key=${`${reviewer} ${of}`} first=${data} reviewer=${reviewer}/>`}<//></div>`;
}

function Desk({ first, reviewer }) {
  const here = useHere();
  const [data, change] = useState(first);
  const [error, fail] = useState(null);
  const [busy, wait] = useState(0);
  const queue = useRef(Promise.resolve());
  const waiting = useRef(0);
  const acted = useRef(false);
  useEffect(() => {  // news may be older than the last label given here: what is next stays as it was told then
    if (!waiting.current) change((old) => acted.current ? { ...first, review: old.review, next: old.next, done: old.done, items: old.items } : first);
  }, [first]);
  const act = (deed, more = {}) => {
    acted.current = true;
    waiting.current += 1;
    wait(waiting.current);
    queue.current = queue.current.then(() => send(`/api/${encodeURIComponent(here.atlas)}/${here.hunt}/review/${deed}`, { reviewer, of: here.params.of || "", ...more }))
      .then((told) => { waiting.current -= 1; wait(waiting.current); fail(null); if (!waiting.current) change(told); },
        (problem) => { waiting.current -= 1; wait(waiting.current); fail(problem.error ? problem : { error: "The label was not kept.", fix: "Is `failscape view` still running?" }); });
    return queue.current;
  };
  if (!data.decider) return html`<p>This hunt has no judge: there is nothing to review.</p>`;
  if (!reviewer) return html`<${Name} decider=${data.decider}/>`;
  return html`<div>
    ${data.role === "answerer" && html`<p>${data.of ? html`<button type="button" class="small" onClick=${() => here.set({ of: "" })}>Review a sample of all answers instead</button>` : html`<button type="button" class="small" onClick=${() => here.set({ of: "modes" })}>Audit the modes that only the verifier vouches for</button>`}</p>`}
    ${error && html`<${Trouble} error=${error}/>`}
    ${data.review ? html`<${Stage} data=${data} change=${change} act=${act} reviewer=${reviewer} busy=${busy}/>` : html`<${Offer} data=${data} act=${act} busy=${busy}/>`}
    ${data.review && (data.of ? html`<${ModesSoFar} modes=${data.modes}/>` : html`<${KnownSoFar} data=${data} act=${act}/>`)}
  </div>`;
}

function Name({ decider }) {
  const here = useHere();
  const [name, type] = useState(localStorage.getItem("failscape-reviewer") || "");
  const enter = (event) => {
    event.preventDefault();
    const clean = name.trim().replace(/\s+/g, " ").slice(0, 60);
    if (!clean) return;
    localStorage.setItem("failscape-reviewer", clean);
    here.set({ reviewer: clean });
  };
  return html`<form class="name" onSubmit=${enter}><p class="lede">You look at pictures and say whether a statement about them is so. What ${decider} said stays hidden, so that you judge for yourself. A label takes about three seconds.</p>
    <label class="facet"><span>Your name, so that several people can review</span><input type="text" maxlength="60" autofocus value=${name} onInput=${(event) => type(event.target.value)}/></label>
    <p><button class="main" type="submit">Go on</button></p></form>`;
}

function Offer({ data, act, busy }) {
  const begin = useRef(null);
  useEffect(() => { if (begin.current) begin.current.focus(); }, []);
  if (data.of) return html`<div><p class="lede">Each mode that is certified only if ${data.decider} is right is audited by its own first answers, blind and mixed. A few labels a mode decide; settled modes are left out.</p>
    <p><button class="main" ref=${begin} disabled=${busy > 0} onClick=${() => act("begin")}>${busy ? "Drawing the answers …" : "Begin the audit"}</button></p></div>`;
  return html`<div><p class="lede">A blind sample of ${count(data.planned)} ${data.role === "answerer" ? "answers" : "checks"}, the same number from each kind and answer, so that rare mistakes are seen. You can stop at any time and go on later.</p>
    <p><button class="main" ref=${begin} disabled=${busy > 0} onClick=${() => act("begin")}>${busy ? "Drawing the sample …" : "Begin the review"}</button></p></div>`;
}

function Stage({ data, change, act, reviewer, busy }) {
  const here = useHere();
  const [help, show] = useState(false);
  const item = data.next[0];
  const give = (label) => {
    if (!item) return;
    change({ ...data, next: data.next.slice(1), done: data.done + 1 });
    act("label", { item: item.item, label });
  };
  const undo = () => { if (data.done) act("undo"); };
  useEffect(() => {
    data.next.slice(1).forEach((one) => { if (one.image) new Image().src = pictureAddress(here, one.image, 384); });
  }, [item && item.item]);
  useLayoutEffect(() => {  // at once: a key pressed right after another must meet the next check
    const press = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
      const label = LABELS.find(([, key]) => key === event.key.toLowerCase());
      if (label) give(label[0]);
      else if (event.key === "z" || event.key === "Backspace") undo();
      else if (event.key === "?") show(!help);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
  return html`<section class="stage" aria-label="Check">
    <p class="soft num" role="status">${reviewer}: ${count(data.done)} of ${count(data.items)} labelled${busy ? " · keeping …" : ""}</p>
    <progress max=${data.items} value=${data.done}></progress>
    ${item ? html`<div class="check"><div class="look"><${Picture} digest=${item.image} side="384" alt="the picture to judge" eager=${true}/></div>
      <div class="ask"><p class="statement">${item.statement}</p><p class="soft">${item.question}</p>
        <p class="answers">${LABELS.map(([label, key, word]) => html`<button type="button" class=${`answer ${label}`} onClick=${() => give(label)}>${word} <kbd>${key}</kbd></button>`)}</p>
        <p><button type="button" class="small" disabled=${!data.done} onClick=${undo}>Undo <kbd>z</kbd></button> <button type="button" class="small" aria-expanded=${help} onClick=${() => show(!help)}>Help <kbd>?</kbd></button></p>
        ${help && html`<dl class="help">${HELP.map(([key, says]) => html`<dt><kbd>${key}</kbd></dt><dd>${says}</dd>`)}</dl>`}</div></div>`
      : data.done + data.settled >= data.items ? html`<div class="done"><p><b>${data.of ? "Nothing is left to look at." : "All of this sample is labelled."}</b> ${data.of ? "A further audit shows what was asked since." : "Another sample makes the numbers below narrower."}</p>
        <p><button class="main" onClick=${() => act("begin")}>${data.of ? "Audit what is new" : "Draw another sample"}</button> <button type="button" class="small" disabled=${!data.done} onClick=${undo}>Undo <kbd>z</kbd></button></p></div>`
      : html`<p class="waiting">Next …</p>`}</section>`;
}

function ModesSoFar({ modes }) {
  const here = useHere();
  return html`<section><h2>What people say of each mode</h2>
    <div class="scroll"><table class="known"><thead><tr><th>mode</th><th class="r">looked at</th><th class="r">wrong</th><th class="r">right</th><th class="r">unsure</th><th>by these labels</th></tr></thead>
      <tbody>${modes.map((one) => html`<tr key=${one.subject} class=${one.state === "borne out" ? "reached" : ""}><td>${one.subject}</td><td class="r num">${count(one.labels)} of ${count(one.items)}</td><td class="r num">${count(one.wrong)}</td><td class="r num">${count(one.right)}</td><td class="r num">${count(one.unsure)}</td><td>${one.state}</td></tr>`)}</tbody></table></div>
    <p class="note">A mode whose labels alone would prove it is certified; one that they cannot prove any more is a suspect. <${Link} to=${here.to("findings")}>See the findings<//></p></section>`;
}

function KnownSoFar({ data, act }) {
  const here = useHere();
  const all = data.known.find((one) => one.kind === "all checks") || data.known[0];
  const labels = all ? all.labels : 0;
  const holds = data.role === "answerer" ? "answers are right" : "checks hold";
  return html`<section><h2>What is known by now</h2>
    ${labels > 0 ? html`<p class="lede">${data.decider} was right in <b class="num">${all.right_text}</b> <span class="num">${all.half_text}</span> of its answers. By its word ${all.judged_text} of the ${holds}; with your labels <b class="num">${all.true_text}</b> <span class="num">(${all.true_spread})</span>.</p>` : html`<p class="soft">Nothing yet: the first labels count at once.</p>`}
    <div class="scroll"><table class="known"><thead><tr><th>kind of check</th><th class="r">labels</th><th class="r">judge right</th><th class="r">known to</th><th class="r"><${Term} says="labels in all until accuracy is known to ±${100 * data.goal}%, shared out over the judge's answers and kinds">needed<//></th><th>so far</th></tr></thead>
      <tbody>${data.known.map((one) => html`<tr key=${one.kind} class=${one.half_width <= data.goal ? "reached" : ""}><td>${one.kind}</td><td class="r num">${count(one.labels)}</td><td class="r num">${one.labels ? one.right_text : "–"}</td><td class="r num">${one.labels ? one.half_text : "–"}</td><td class="r num">${count(one.needed)}</td><td><progress max=${one.needed || 1} value=${Math.min(one.labels, one.needed)}></progress></td></tr>`)}</tbody></table></div>
    <p class="note">Known to ±${100 * data.goal}% takes ${all ? some(all.needed, "label") : ""} for all checks together, because the judge's own answers are used too; a plain sample would take ${all ? count(all.alone) : ""}.</p>
    ${data.people.length > 1 && html`<p>${data.people.map(([name, number]) => `${name} (${count(number)})`).join(", ")}. ${data.shared ? `They agree on ${data.shared.share_text} of ${count(data.shared.answers)} shared labels${data.shared.kappa == null ? "" : `, kappa ${data.shared.kappa.toFixed(2)}`}.` : "They share no label yet."}</p>`}
    <div class="use"><p>${data.in_use ? "Findings and rates are reckoned with this review, and move with each label." : `Findings are reckoned with: ${data.accuracy || "the judge taken at its word"}.`}
      ${data.in_use ? html` <button type="button" class="small" onClick=${() => act("stop-using")}>Stop using the review</button>` : html` <button type="button" class="small" disabled=${!labels} onClick=${() => act("use")}>Reckon with this review</button>`} <${Link} to=${here.to("findings")}>See the findings<//></p>
      ${!data.in_use && html`<p class="note">With few labels the judge is hardly known, and little can be certified: better after the numbers above are narrow.</p>`}</div></section>`;
}
