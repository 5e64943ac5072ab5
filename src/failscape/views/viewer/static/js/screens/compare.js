// The hunt on show beside others of its kind: statuses, rates, the same cases side by side, the trend.
import { html, useHere, useAnswer, useState, useEffect, count, some, pictureAddress } from "../base.js";
import { Waiting, Trouble, Verdict, RateBar, Term } from "../parts.js";

const points = (low, high) => [low, high].map((end) => `${end < 0 ? "" : "+"}${(100 * end).toFixed(1)}`).join(" to ");
const share = (rate) => (rate == null ? "–" : `${(100 * rate).toFixed(rate < 0.1 ? 1 : 0)}%`);

export function Compare() {
  const here = useHere();
  const { params, set } = here;
  const answer = useAnswer("compare", { with: params.with, subject: params.subject }, false);
  const chosen = (params.with || "").split(",").filter(Boolean);
  const toggle = (id) => set({ with: (chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]).join(","), subject: "" });
  return html`<h1>${here.target} beside others</h1>
    <${Waiting} answer=${answer}>${(data) => html`
      ${data.others.length ? html`<fieldset class="others"><legend>Compare with, in the order chosen</legend>${data.others.map((one) => html`
        <label key=${one.id}><input type="checkbox" checked=${chosen.includes(one.id)} onChange=${() => toggle(one.id)}/> ${one.target} <small class="soft">${one.id}, ${some(one.trials, "trial")}</small></label>`)}</fieldset>`
        : html`<p class="note">There is no other hunt of this kind here. Open several atlases: failscape view A B.</p>`}
      ${data.refused && html`<${Trouble} error=${data.refused}/>`}
      ${data.compared && html`<${Result} data=${data.compared} cases=${data.cases} late=${answer.late}/>`}`}<//>`;
}

function Result({ data, cases }) {
  const here = useHere();
  const status = here.params.status || "";
  const rows = data.rows.filter((row) => (status ? row.status === status : row.proven));
  return html`<p class="lede num">${some(data.subjects, "shared subject")}, ${some(data.pairs, "pair")}: the same cases on each model, the last against the first.</p>
    <div class="statuses" role="group" aria-label="Status">${Object.entries(data.totals).map(([name, number]) => html`
      <button key=${name} class="small" aria-pressed=${status === name} onClick=${() => here.set({ status: status === name ? "" : name })}><b class="num">${count(number)}</b> <${Term} says=${data.says[name]}>${name}<//></button>`)}</div>
    ${data.overall && html`<p class="num">Overall ${data.models[0]} fails ${share(data.overall.rates[0])}, ${data.models[data.models.length - 1]} ${share(data.overall.rates[1])}: <b>${points(...data.overall.interval)} points</b> <span class="soft">(${count(data.overall.pairs)} ${data.overall.counted})</span></p>`}
    ${data.trend && html`<${Trend} trend=${data.trend}/>`}
    <table class="compared"><thead><tr><th>Subject</th><th>Status</th><th class="r">${data.models[0]}</th><th class="r">${data.models[data.models.length - 1]}</th><th class="r">Difference</th><th class="r">Pairs</th></tr></thead>
      <tbody>${rows.map((row) => html`<${Row} key=${row.subject} row=${row} models=${data.models} cases=${cases}/>`)}</tbody></table>
    ${!rows.length && html`<p>${status ? `Nothing is ${status}.` : "No difference is proven yet."}</p>`}
    <p class="note num">Power: ${data.power}.</p>${data.notes.map((note) => html`<p class="note">${note}.</p>`)}`;
}

function Row({ row, models, cases }) {
  const here = useHere();
  const open = here.params.subject === row.subject;
  return html`<tr><td><button class="linklike" aria-expanded=${open} onClick=${() => here.set({ subject: open ? "" : row.subject }, true)}>${row.title}</button></td>
      <td><span class="status ${row.status}">${row.status}</span></td><td class="r num">${row.rates[0]}</td><td class="r num">${row.rates[1]}</td><td class="r num">${row.difference}</td><td class="r num">${count(row.pairs)}</td></tr>
    ${open && cases && html`<tr class="cases"><td colspan="6">${models.map((model, side) => html`<div key=${model} class="same"><span class="soft">${model}</span><div>${cases.map((row, index) => html`<${Shot} key=${index} shot=${row[side]}/>`)}</div></div>`)}</td></tr>`}`;
}

function Shot({ shot }) {
  const [gone, lose] = useState(false);
  useEffect(() => lose(false), [shot && shot.image]);
  if (!shot) return html`<span class="frame"></span>`;
  return html`<span class="frame ${shot.verdict}" title=${`seed ${shot.seed}`}>${shot.image && !gone
    ? html`<img src=${pictureAddress({ atlas: shot.atlas }, shot.image, 192)} alt="" loading="lazy" onError=${() => lose(true)}/>` : html`<span class="empty">not kept</span>`}<${Verdict} verdict=${shot.verdict} words=${false}/></span>`;
}

function Trend({ trend }) {
  return html`<section><h2>Trend</h2><p class="note num">Every model on the ${count(trend.models[0].cases)} cases that all of them share, ${trend.counted}.</p>
    <table class="compared"><tbody>${trend.models.map((point, index) => html`<tr key=${index}><td>${point.model}</td><td class="r num">${share(point.rate)}</td>
      <td class="bar-cell">${point.rate != null && html`<${RateBar} rate=${point.rate} low=${point.interval[0]} high=${point.interval[1]}/>`}</td>
      <td class="r num">${index && trend.steps[index - 1] ? `${points(...trend.steps[index - 1].interval)} since the one before` : ""}</td></tr>`)}</tbody></table></section>`;
}
