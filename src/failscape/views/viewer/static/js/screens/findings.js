// The long list: filter by any facet, search, sort; as a table or as cards.
import { html, useHere, Link, count, some } from "../base.js";
import { Trouble, Picture, RateBar, Search, Facet, Windowed, useWindowed, useWidth } from "../parts.js";

const SORTS = { "": "most certain first", rate: "highest rate", trials: "most pictures", title: "by name" };
const LABELS = { status: "Status", class: "Class", thing: "Thing", attribute: "Attribute" };

export function Findings() {
  const here = useHere();
  const { params, set } = here;
  const list = useWindowed("findings", params, "rows");
  const [frame, width] = useWidth();
  const wide = width > 720;
  const filtered = Object.entries(params).some(([name, value]) => value && name !== "sort" && name !== "view");
  const across = Math.max(1, Math.floor(width / 230));
  return html`<div ref=${frame}>
    <h1>Findings and suspects</h1>
    <div class="filters"><${Search} value=${params.text || ""} label="Search findings" onChange=${(text) => set({ text }, true)}/>
      ${list.data && Object.keys(LABELS).map((name) => html`<${Facet} key=${name} name=${name} label=${LABELS[name]} values=${list.data.facets[name]} chosen=${params[name]} onChange=${(change) => set(change)}/>`)}
      <label class="facet"><span>Fails at least (%)</span><input type="number" min="0" max="100" step="5" value=${params.least || ""} onChange=${(event) => set({ least: event.target.value })}/></label>
      <label class="facet"><span>Sort</span><select value=${params.sort || ""} onChange=${(event) => set({ sort: event.target.value })}>${Object.entries(SORTS).map(([id, name]) => html`<option value=${id}>${name}</option>`)}</select></label>
      <label class="facet"><span>View</span><select value=${params.view || ""} onChange=${(event) => set({ view: event.target.value })}><option value="">list</option><option value="cards">cards</option></select></label>
      ${filtered && html`<${Link} class="small" to=${here.to("findings")}>Clear<//>`}</div>
    ${list.error && html`<${Trouble} error=${list.error}/>`}
    ${list.data && html`<p class="soft num" role="status">${list.data.total === list.data.all ? some(list.data.all, "finding or suspect", "findings and suspects") : `${count(list.data.total)} of ${some(list.data.all, "finding or suspect", "findings and suspects")}`}${list.late ? " …" : ""}</p>
      ${list.data.total && params.view === "cards" ? html`<${Windowed} total=${list.data.total} height=${300} across=${across} kind="grid" label="Findings" draw=${(index) => html`<${Card} key=${index} row=${list.item(index)}/>`}/>`
        : list.data.total ? html`<${Windowed} total=${list.data.total} height=${wide ? 58 : 104} label="Findings" draw=${(index) => html`<${Line} key=${index} row=${list.item(index)} wide=${wide}/>`}/>`
        : html`<p>${list.data.all ? "Nothing matches." : "Nothing found yet."}</p>`}`}
    ${!list.data && !list.error && html`<p class="waiting" role="status">Reading the trials …</p>`}
  </div>`;
}

function Line({ row, wide }) {
  const here = useHere();
  if (!row) return html`<div class="line ${wide ? "" : "tall"} loading"></div>`;
  return html`<div role="listitem" class="line ${wide ? "" : "tall"}"><${Link} to=${here.to("finding", { subject: row.subject })}>
    <span class="title"><b>${row.title}</b><small>${row.missing ? html`<em>${row.missing}</em>` : row.caption !== row.title && row.caption}</small></span>
    <span class="rate num" title=${row.counted}><b>${row.rate_text}</b><small>${row.spread_text}</small></span>
    <span class="bar-cell"><${RateBar} ...${row}/></span>
    <span class="of num">${count(row.failures)} of ${count(row.trials)}<small>failed</small></span>
    <span class="status ${row.look}">${row.status}</span><//></div>`;
}

function Card({ row }) {
  const here = useHere();
  if (!row) return html`<div class="card tile loading"></div>`;
  return html`<div role="listitem" class="card tile"><${Link} to=${here.to("finding", { subject: row.subject })}>
    <span class="thumb"><${Picture} digest=${row.image} alt=${`failed: ${row.title}`}/></span><b>${row.title}</b>
    <span class="soft num" title=${row.counted}>${row.rate_text} fail · ${row.failures} of ${row.trials} · ${row.status}</span><${RateBar} ...${row}/><//></div>`;
}
