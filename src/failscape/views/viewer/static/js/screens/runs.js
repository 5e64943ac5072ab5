// Sessions, events, endpoints, settings and cost.
import { html, useAnswer, count, span, when, money } from "../base.js";
import { Waiting } from "../parts.js";

export function Runs() {
  const answer = useAnswer("runs");
  const costs = useAnswer("costs", {}, false);
  return html`<div><h1>Runs</h1><${Waiting} answer=${answer}>${(data) => html`<div>
    <section><h2>Sessions</h2><div class="scroll"><table><thead><tr><th>started</th><th class="r">took</th><th>ended because</th></tr></thead><tbody>${data.runs.map((run) => html`<tr><td class="num">${when(run.started)}</td><td class="r num">${span(run.seconds)}</td><td>${run.why || html`<span class="soft">still running, or killed</span>`}</td></tr>`)}</tbody></table></div></section>
    <section><h2>Cost by role</h2>${costs.data ? html`<div class="scroll"><table><thead><tr><th>role</th><th class="r">calls</th><th class="r">requests</th><th class="r">time</th><th class="r">tokens in</th><th class="r">tokens out</th><th class="r">cost</th></tr></thead><tbody>${costs.data.roles.map((one) => html`<tr><td>${one.role}</td><td class="r num">${count(one.calls)}</td><td class="r num">${count(one.requests)}</td><td class="r num">${span(one.seconds)}</td><td class="r num">${count(one.tokens_in)}</td><td class="r num">${count(one.tokens_out)}</td><td class="r num">${one.cost > 0 ? money(one.cost) : "–"}</td></tr>`)}</tbody></table></div>` : html`<p class="waiting">Adding up …</p>`}</section>
    <section><h2>Models</h2><div class="scroll"><table><tbody>${data.models.map((one) => html`<tr><td>${one.name}</td><td>${one.provider}</td><td>${one.model}</td></tr>`)}</tbody></table></div></section>
    ${data.endpoints.length > 0 && html`<section><h2>Endpoints</h2><div class="scroll"><table><tbody>${data.endpoints.map((one) => html`<tr>${Object.entries(one).map(([name, value]) => html`<td><small>${name}</small> ${String(value)}</td>`)}</tr>`)}</tbody></table></div></section>`}
    <section><h2>Events</h2><ul class="events">${data.events.map((event) => html`<li class=${event.kind}><time class="num">${when(event.at)}</time> <b>${event.kind}</b> <span>${told(event.detail)}</span></li>`)}</ul>${data.hidden_events > 0 && html`<p class="soft">${count(data.hidden_events)} older ones are not shown.</p>`}</section>
    <section><h2>Settings</h2><pre class="settings">${data.settings}</pre></section></div>`}<//></div>`;
}

const told = (detail) => Object.entries(detail).map(([name, value]) => `${name}: ${typeof value === "object" ? JSON.stringify(value) : value}`).join(" · ");
