// Every picture of the hunt in a grid that stays fast, whatever its size.
import { html, useHere, useAnswer, useEffect, Link, count, when } from "../base.js";
import { Trouble, Picture, Verdict, Mark, Search, Facet, Windowed, useWindowed, useWidth, verdictWord, Waiting } from "../parts.js";

const LABELS = { verdict: "Verdict", stream: "Drawn for", check: "Missed", reason: "Reason", endpoint: "Endpoint" };

export function Pictures() {
  const here = useHere();
  const { params, set } = here;
  const { trial, ...filters } = params;
  const list = useWindowed("pictures", filters, "items");
  const [frame, width] = useWidth();
  const across = Math.max(2, Math.floor(width / 132));
  const side = Math.floor((width - 8 * (across - 1)) / across);
  const filtered = Object.entries(filters).some(([name, value]) => value && name !== "order");
  return html`<div><h1>Pictures</h1>
    <div class="filters"><${Search} value=${params.text || ""} label="Search what was asked, and reasons" onChange=${(text) => set({ text, trial: "" }, true)}/>
      ${list.data && Object.keys(LABELS).map((name) => html`<${Facet} key=${name} name=${name} label=${LABELS[name]} values=${(list.data.facets || {})[name]} chosen=${params[name]} word=${name === "verdict" ? verdictWord : undefined} onChange=${(change) => set({ ...change, trial: "" })}/>`)}
      <label class="facet"><span>Order</span><select value=${params.order || ""} onChange=${(event) => set({ order: event.target.value })}><option value="">newest first</option><option value="old">oldest first</option></select></label>
      ${list.data && list.data.narrowed_to.map((words) => html`<span class="chip">${words}</span>`)}
      ${filtered && html`<${Link} class="small" to=${here.to("pictures")}>Clear<//>`}</div>
    ${list.error && html`<${Trouble} error=${list.error}/>`}
    ${list.data && html`<p class="soft num" role="status">${count(list.data.total)} of ${count(list.data.all)} trials${list.late ? " …" : ""}</p>`}
    <div ref=${frame}>${list.data && width > 0 && html`<${Windowed} total=${list.data.total} height=${side + 34} across=${across} kind="grid" label="Pictures" draw=${(index) => html`<${Cell} key=${index} item=${list.item(index)} side=${side}/>`}/>`}</div>
    ${trial && html`<${Trial} number=${trial}/>`}</div>`;
}

function Cell({ item, side }) {
  const here = useHere();
  if (!item) return html`<div class="cell loading" style=${{ height: `${side + 26}px` }}></div>`;
  return html`<div role="listitem" class="cell"><${Link} to=${here.to("pictures", { ...here.params, trial: item.id })} title=${item.subject}>
    <span class="thumb" style=${{ height: `${side}px` }}><${Picture} digest=${item.image} alt=${item.subject_words}/></span>
    <span class="under"><${Verdict} verdict=${item.verdict} words=${false}/> ${item.subject_words}</span><//></div>`;
}

function Trial({ number }) {
  const here = useHere();
  const answer = useAnswer("trial", { id: number }, false);
  const close = () => here.set({ trial: "" });
  useEffect(() => {
    const press = (event) => { if (event.key === "Escape") close(); };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
  return html`<div class="shade" onClick=${close}><div class="drawer" role="dialog" aria-label="Trial ${number}" onClick=${(event) => event.stopPropagation()}>
    <p class="crumbs"><b>Trial ${number}</b><button type="button" class="small" autofocus onClick=${close}>Close (Esc)</button></p>
    <${Waiting} answer=${answer}>${(data) => html`<div>
      <${Picture} digest=${data.images[data.images.length - 1]} side="384" alt="the picture" eager=${true}/>
      <p><${Verdict} verdict=${data.verdict}/> <span class="soft">${data.reason}</span></p>
      <p class="marks">${data.marks.map((mark) => html`<${Mark} mark=${mark}/>`)}</p>
      <p><${Link} to=${here.to("finding", { subject: data.subject })}>${data.subject_words}<//> <span class="soft">· ${data.stream} · seed ${data.seed} · ${when(data.started)}</span></p>
      <dl class="said">${data.lines.map((line) => html`<dt>${line.label}</dt><dd>${line.text}</dd>`)}</dl>
      ${data.checks.length > 0 && html`<h3>Checks</h3><ul class="plain">${data.checks.map((check) => html`<li><span class="mark ${check.holds === null ? "open" : check.holds ? "yes" : "no"}"><i aria-hidden="true">${check.holds === null ? "?" : check.holds ? "✓" : "✗"}</i> ${check.statement}</span></li>`)}</ul>`}
      <${Similar} image=${data.images[data.images.length - 1]}/>
      <h3>What the models replied</h3>${data.calls.map((call) => html`<details><summary>${call.role} <span class="soft">${call.model} · ${call.seconds.toFixed(2)} s${call.endpoint ? ` · ${call.endpoint}` : ""}${call.invalid ? " · unusable" : ""}</span></summary>
        <pre>${call.raw || JSON.stringify(call.facts)}</pre>${call.invalid && html`<p class="soft">${call.invalid}</p>`}</details>`)}
    </div>`}<//></div></div>`;
}

function Similar({ image }) {
  const answer = useAnswer("similar", { image }, false);
  if (!answer.data || !answer.data.items.length) return null;
  return html`<h3>Pictures like it</h3><div class="likes">${answer.data.items.map((one) => html`<figure><${Picture} digest=${one.image} side="96" alt="a similar picture"/><figcaption class="num soft">${one.near.toFixed(2)}</figcaption></figure>`)}</div>`;
}
