// One finding with all its pictures, its parents at the same seeds, and what speaks for it.
import { html, useState, useHere, useAnswer, Link, count } from "../base.js";
import { Waiting, RateBar, Picture, Verdict, Mark, Copy, Term } from "../parts.js";

export function Finding() {
  const { params } = useHere();
  const answer = useAnswer("finding", { subject: params.subject || "" });
  return html`<${Waiting} answer=${answer}>${(data) => html`<${Page} data=${data}/>`}<//>`;
}

function Page({ data }) {
  const here = useHere();
  const prompts = [...new Set(data.own.shots.flatMap((shot) => shot ? shot.lines.filter((line) => line.label === (here.role === "answerer" ? "asked" : "prompt")).map((line) => line.text) : []))];
  return html`<div class="finding">
    <p class="crumbs"><${Link} to=${here.to("findings")}>Findings<//> ${data.number && html`<span class="soft">No. ${data.number}</span>`}
      <span class="near">${data.near.previous && html`<${Link} to=${here.to("finding", { subject: data.near.previous })}>← previous<//>`} ${data.near.next && html`<${Link} to=${here.to("finding", { subject: data.near.next })}>next →<//>`}</span></p>
    <h1>${data.title}</h1>
    ${data.caption && data.caption !== data.title && html`<p class="lede">${data.caption}</p>`}
    <section class="verdict-line"><p class="huge num">${data.rate_text || "–"} <small>fail</small></p>
      <div><${RateBar} ...${data}/><p class="soft num"><${Term} says=${`counted: ${data.counted}`}>${count(data.failures)} of ${count(data.trials)} failed<//> · ${data.spread_text} with 95 % confidence · ${data.status ? html`<${Term} says=${data.meaning}>${data.status}<//>` : "not a finding"}
        ${data.e_text && html` · <${Term} says="evidence against chance: a value of 20 would come up by luck at most once in 20 times">e-value<//> ${data.e_text}`}</p></div></section>
    ${data.missing && html`<p class="lede">Not claimed yet: ${data.missing}.</p>`}
    ${data.notes.map((note) => html`<p>${note}</p>`)}
    <p class="tools"><${Copy} text=${() => prompts.join("\n") || data.caption || data.title}>Copy prompt<//> <${Copy} text=${() => JSON.stringify(data, null, 1)}>Copy JSON<//> <${Copy} text=${() => location.href}>Copy link<//>
      <${Link} class="small" to=${here.to("pictures", { subject: data.subject })}>In the grid<//></p>
    <section><h2>Every picture, by seed</h2><p class="soft">Columns share a seed: what differs is what was asked for. Faded pictures were drawn for something else and are not counted.</p><${Strip} data=${data}/></section>
    <${Tallies} data=${data}/>
    <${Toggles} details=${data.details}/><${WrongLabels} details=${data.details} data=${data}/><${Examples} details=${data.details}/>
    ${data.course.length > 1 && html`<section><h2>Evidence over time</h2><${Course} course=${data.course}/></section>`}
  </div>`;
}

function Strip({ data }) {
  const [open, choose] = useState(null);
  const here = useHere();
  const beside = data.parents.filter((row) => row.shots.some(Boolean)), apart = data.parents.filter((row) => !row.shots.some(Boolean));
  const rows = [data.own, ...beside];
  return html`<div><div class="strip" tabindex="0" aria-label="pictures by seed">${rows.map((row, at) => html`<div class="strip-row"><div class="strip-head"><b>${at ? html`<${Link} to=${here.to("finding", { subject: row.subject })}>${row.title}<//>` : "this"}</b><small class="num" title=${row.counted}>${row.failures} of ${row.trials} failed</small></div>
    ${row.shots.map((shot, place) => shot ? html`<button type="button" class="shot ${shot.verdict}${shot.counts ? "" : " apart"}" aria-pressed=${open === shot} onClick=${() => choose(open === shot ? null : shot)} title=${`seed ${shot.seed}${shot.purpose ? `, ${shot.purpose}` : ""}${shot.counts ? "" : ", not counted"}`}>
      <${Picture} digest=${shot.images[shot.images.length - 1]} alt="seed ${shot.seed}, ${shot.verdict}" eager=${place < 8}/><${Verdict} verdict=${shot.verdict} words=${false}/></button>` : html`<span class="shot none"></span>`)}</div>`)}</div>
    ${open && html`<${Shot} shot=${open}/>`}
    ${apart.some((row) => row.only) && html`<p class="note">Simpler kinds of question, counted over ${apart.find((row) => row.only).only}:</p>`}
    ${apart.length > 0 && html`<ul class="bars">${apart.map((row) => html`<li><${Link} to=${here.to("finding", { subject: row.subject })}><span title=${row.title}>${row.only ? "" : "simpler: "}${row.title}</span><i style=${{ width: `${45 * (row.rate || 0)}%` }}></i><b class="num">${row.failures} of ${row.trials} failed</b><//></li>`)}</ul>`}</div>`;
}

export function Shot({ shot }) {
  return html`<div class="opened"><${Picture} digest=${shot.images[shot.images.length - 1]} side="384" alt="opened picture"/><div>
    <p><${Verdict} verdict=${shot.verdict}/> <span class="soft">${shot.purpose ? `${shot.purpose}${shot.counts ? "" : " (not counted)"} · ` : ""}seed ${shot.seed}${shot.reason ? ` · ${shot.reason}` : ""}</span></p>
    <p class="marks">${shot.marks.map((mark) => html`<${Mark} mark=${mark}/>`)}</p>
    <dl class="said">${shot.lines.map((line) => html`<dt>${line.label}</dt><dd>${line.text}</dd>`)}${shot.replies.map((line) => html`<dt>${line.label} replied</dt><dd><pre>${line.text}</pre></dd>`)}</dl></div></div>`;
}

function Tallies({ data }) {
  const shown = data.tallies.filter((one) => one.missed);
  if (!shown.length || useHere().role !== "generator") return null;
  return html`<section><h2>What was missed</h2><ul class="bars">${shown.map((one) => html`<li><span class="bar-line"><span>${one.text}</span><i style=${{ width: `${(60 * one.missed) / one.decided}%` }}></i><b class="num">${one.missed} of ${one.decided}</b></span></li>`)}</ul></section>`;
}

function Toggles({ details }) {
  if (!details.toggles || !details.toggles.length) return null;
  return html`<section><h2>What makes it fail</h2><p class="soft">The same seeds with one part changed.</p><ul class="bars">
    <li><span class="bar-line"><span>as described</span><i style=${{ width: `${60 * details.toggles[0].full_rate}%` }}></i><b class="num">${Math.round(100 * details.toggles[0].full_rate)}%</b></span></li>
    ${details.toggles.map((one) => html`<li><span class="bar-line"><span>${one.what === "without" ? `without “${one.words}”` : `“${one.instead}” instead`}</span><i style=${{ width: `${60 * one.rate}%` }}></i><b class="num">${Math.round(100 * one.rate)}% <small>${one.pairs} pairs</small></b></span></li>`)}</ul></section>`;
}

function WrongLabels({ details, data }) {
  const wrong = Object.entries(details.wrong || {}).sort((one, two) => two[1] - one[1]).slice(0, 10);
  if (!wrong.length) return null;
  const most = wrong[0][1];
  return html`<section><h2>What it was called instead</h2><ul class="bars">${wrong.map(([label, number]) => html`<li><span class="bar-line"><span>${label}</span><i style=${{ width: `${(60 * number) / most}%` }}></i><b class="num">${number} of ${data.trials}</b></span></li>`)}</ul></section>`;
}

function Examples({ details }) {
  const examples = Array.isArray(details.examples) ? details.examples : [];
  const contrast = details.contrast && details.contrast.example;
  if (!examples.length) return null;
  return html`<section><h2>Questions and answers</h2><ul class="cards">${[...examples, ...(contrast ? [{ ...contrast, right: true }] : [])].map((one) => html`<li class="card">
    <${Picture} digest=${(one.images || [])[0]} alt=""/><p><b>${one.question}</b></p><p class="mark ${one.right ? "yes" : "no"}"><i aria-hidden="true">${one.right ? "✓" : "✗"}</i> ${one.answer}</p>${one.truth && html`<p class="soft">right: ${one.truth}</p>`}</li>`)}</ul></section>`;
}

function Course({ course }) {
  const width = 560, height = 180, left = 40, bottom = 26;
  const last = course[course.length - 1][0];
  const x = (value) => left + ((width - left - 10) * (value - 1)) / Math.max(1, last - 1), y = (share) => 8 + (height - bottom - 8) * (1 - share);
  const line = course.map(([number, rate], index) => `${index ? "L" : "M"}${x(number).toFixed(1)} ${y(rate).toFixed(1)}`).join("");
  const band = [...course.map(([number, , low]) => [number, low]), ...[...course].reverse().map(([number, , , high]) => [number, high])].map(([number, share], index) => `${index ? "L" : "M"}${x(number).toFixed(1)} ${y(share).toFixed(1)}`).join("");
  return html`<svg class="curve" viewBox="0 0 ${width} ${height}" role="img" aria-label="failure rate as pictures came in">
    ${[0, 0.5, 1].map((share) => html`<g><line class="grid" x1=${left} x2=${width - 10} y1=${y(share)} y2=${y(share)}/><text x=${left - 6} y=${y(share) + 4} text-anchor="end">${100 * share}%</text></g>`)}
    <path class="area" d="${band}Z"/><path class="line" d=${line}/><text x=${left} y=${height - 6}>1</text><text x=${width - 10} y=${height - 6} text-anchor="end">${last} that count</text></svg>`;
}
