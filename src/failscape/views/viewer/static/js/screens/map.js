// Where failures lie: things across, attributes down. Click to open what a row or column is made of.
import { html, useEffect, useHere, useAnswer, Link, count } from "../base.js";
import { Waiting } from "../parts.js";

export function Map() {
  const { params } = useHere();
  const answer = useAnswer("map", { class: params.class, sub: params.sub, thing: params.thing, kind: params.kind });
  const waiting = answer.data && answer.data.reading;
  useEffect(() => {  // the tree and what holds for the whole space need the hunt read
    const timer = waiting ? setTimeout(answer.again, 800) : 0;
    return () => clearTimeout(timer);
  }, [answer.data]);
  return html`<div><h1>Where it fails</h1><${Waiting} answer=${answer}>${(data) => html`<div>
    ${data.heat && html`<${Heat} heat=${data.heat} whole=${data.whole}/>`}
    ${data.tree ? html`<${Rings} tree=${data.tree}/>` : data.by_skill && html`<p class="waiting">Reading the trials …</p>`}
    ${data.confusions && data.confusions.total > 0 && html`<${Confusions} confusions=${data.confusions}/>`}</div>`}<//></div>`;
}

const NEXT = { class: "class", sub: "sub", thing: "thing" };

function Heat({ heat, whole }) {
  const here = useHere();
  const { params } = here;
  const open = (changes) => here.to("map", { ...params, ...changes });
  const narrow = (row, column) => {
    const parts = [heat.level === "thing" && column, row && heat.opened && `${heat.opened}=${row}`].filter(Boolean);
    return parts.length ? here.to("pictures", { under: parts.join("; "), verdict: "fail" }) : null;
  };
  const columns = ["", ...heat.columns], rows = ["", ...heat.rows];
  const columnTo = (name) => heat.level === "thing" ? (params.thing ? null : open({ thing: name })) : open({ [NEXT[heat.level]]: name });
  const cellTo = (row, column) => narrow(row, column) || (column && columnTo(column)) || (row && row !== "alone" && !heat.opened && open({ kind: row }));
  const estimates = whole && heat.level === "class" && !heat.opened && heat.columns.some((name) => whole.columns[name]);
  const crumbs = [["class", params.class], ["sub", params.sub], ["thing", params.thing]].filter(([, value]) => value);
  return html`<section class="lead"><p class="crumbs">${crumbs.length || heat.opened ? html`<${Link} to=${here.to("map")}>everything<//>` : html`<b>everything</b>`}
      ${crumbs.map(([name, value], index) => html`<span aria-hidden="true">›</span>${index === crumbs.length - 1 ? html`<b>${value}</b>` : html`<${Link} to=${open(Object.fromEntries(crumbs.slice(index + 1).map(([later]) => [later, ""])))}>${value}<//>`}`)}
      ${heat.opened && html`<span class="chip">${heat.opened} <${Link} to=${open({ kind: "" })} aria-label="close ${heat.opened}">✕<//></span>`}
      ${(crumbs.length > 0 || heat.opened) && html`<${Link} class="small" to=${here.to("findings", { class: params.thing ? "" : params.class, thing: params.thing, attribute: heat.opened })}>Findings here<//>`}</p>
    <p class="note">Share of trials that failed, among those tried; the search looks harder where failures are. Darker is worse; hatched cells have few trials. Click a name to open it, a cell to see its failed pictures.</p>
    ${whole && html`<p><b class="num">${whole.rate_text}</b> of random pictures of the whole space fail <span class="soft num">(${whole.spread_text}; ${count(whole.nodes)} nodes)</span>${estimates && ": the row “whole space” says it for each class, without what the search preferred."}</p>`}
    <div class="scroll"><table class="heat"><thead><tr><td></td>${columns.map((name) => html`<th scope="col">${name ? columnTo(name) ? html`<${Link} to=${columnTo(name)}>${name}<//>` : name : html`<b>all</b>`}</th>`)}</tr></thead>
    <tbody>${estimates && html`<tr class="whole"><th scope="row"><b>whole space</b></th>${columns.map((name) => html`<${Estimate} rate=${name ? whole.columns[name] : whole} name=${name || "everything"}/>`)}</tr>`}
    ${rows.map((row, down) => html`<tr><th scope="row">${row ? row === "alone" || heat.opened ? row : html`<${Link} to=${open({ kind: row })}>${row}<//>` : html`<b>all</b>`}</th>
      ${columns.map((column, across) => html`<${Cell} cell=${heat.cells[down][across]} to=${cellTo(row, column)} name=${`${row || "all"}, ${column || "all"}`}/>`)}</tr>`)}</tbody></table></div>
    ${(heat.hidden[0] > 0 || heat.hidden[1] > 0) && html`<p class="soft">${count(heat.hidden[0])} more rows and ${count(heat.hidden[1])} more columns were tried less and are not shown.</p>`}</section>`;
}

function Cell({ cell, to, name }) {
  if (!cell) return html`<td class="none"></td>`;
  const vague = cell.high - cell.low > 0.5;
  const inner = html`<span class="num">${cell.rate_text}</span><span class="unseen"> of ${count(cell.trials)} trials failed: ${name}</span>`;
  return html`<td class=${vague ? "vague" : ""} style=${{ "--part": cell.rate.toFixed(3) }} title="${name}: ${count(cell.failures)} of ${count(cell.trials)} trials failed (${cell.spread_text})">
    ${to ? html`<${Link} to=${to}>${inner}<//>` : inner}</td>`;
}

function Estimate({ rate, name }) {
  if (!rate) return html`<td class="none"></td>`;
  return html`<td style=${{ "--part": rate.rate.toFixed(3) }} title="${name}: about ${rate.rate_text} of random pictures fail (${rate.spread_text})"><span class="num">${rate.rate_text}</span></td>`;
}

function Confusions({ confusions }) {
  const here = useHere();
  const most = Math.max(1, ...confusions.counts.flat());
  return html`<section><h2>What is taken for what</h2><p class="note">How often a thing (down) was called something else (across), over ${count(confusions.total)} failed trials.</p>
    <div class="scroll"><table class="heat confusions"><thead><tr><td></td>${confusions.columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${confusions.rows.map((row, down) => html`<tr><th scope="row">${row}</th>${confusions.columns.map((column, across) => {
      const number = confusions.counts[down][across];
      return number ? html`<td style=${{ "--part": (number / most).toFixed(3) }}><${Link} to=${here.to("pictures", { under: row, reason: `called ${column}` })}><span class="num">${count(number)}</span><span class="unseen"> times ${row} was called ${column}</span><//></td>` : html`<td class="none"></td>`;
    })}</tr>`)}</tbody></table></div></section>`;
}

// Rings of skills: families in the middle, kinds of question outside. Angle is how much was asked.
const RADII = [58, 112, 166, 222], SIDE = 460;

function Rings({ tree }) {
  const here = useHere();
  const sectors = [];
  const walk = (node, start, size, level) => {
    const total = node.children.reduce((sum, child) => sum + child.trials, 0) || 1;
    let at = start;
    node.children.forEach((child) => {
      const part = (size * child.trials) / total;
      if (part >= 0.012) {
        sectors.push({ node: child, start: at, size: part, level });
        if (level + 2 < RADII.length) walk(child, at, part, level + 1);
      }
      at += part;
    });
  };
  walk(tree, 0, 2 * Math.PI, 0);
  const leaves = sectors.filter((one) => one.level === 2).sort((one, two) => two.node.rate - one.node.rate || two.node.trials - one.node.trials);
  return html`<section class="rings-row"><div><svg class="rings" viewBox="0 0 ${SIDE} ${SIDE}" role="img" aria-label="${count(tree.trials)} questions by family, skills and kind; ${Math.round(100 * tree.rate)}% failed">
      ${sectors.map((one) => html`<a href=${here.to("pictures", { text: words(one.node), verdict: "fail" })}><path class=${`sector${one.node.state === "failing" ? " sure" : ""}`} style=${{ "--part": one.node.rate.toFixed(3) }} d=${sector(one)}><title>${`${one.node.name}: ${one.node.failures} of ${one.node.trials} failed`}</title></path></a>`)}
      ${sectors.filter((one) => one.size > 0.24).map((one) => html`<${Label} one=${one}/>`)}
      <text class="hub" x=${SIDE / 2} y=${SIDE / 2 - 2} text-anchor="middle">${Math.round(100 * tree.rate)}%</text><text x=${SIDE / 2} y=${SIDE / 2 + 16} text-anchor="middle">fail</text></svg></div>
    <div><p class="note">From the middle out: families of skills, combinations, kinds of question. Width is how much was asked, colour how much of it failed, a dark rim marks what is certified. Questions of the search are no fair sample.</p>
      <ul class="bars">${leaves.slice(0, 14).map(({ node }) => html`<li><${Link} to=${here.to("pictures", { text: words(node), verdict: "fail" })}><span>${node.name}</span><i style=${{ width: `${45 * node.rate + 1}%` }}></i><b class="num">${node.failures} of ${node.trials}</b><//></li>`)}</ul></div></section>`;
}

const words = (node) => (node.subject || node.name).replace(/[|,+]/g, " ").replace(/\s+/g, " ").trim();

function sector({ start, size, level }) {
  const inner = RADII[level], outer = RADII[level + 1], end = start + Math.min(size, 2 * Math.PI - 1e-4), large = size > Math.PI ? 1 : 0;
  const point = (radius, angle) => `${(SIDE / 2 + radius * Math.sin(angle)).toFixed(1)} ${(SIDE / 2 - radius * Math.cos(angle)).toFixed(1)}`;
  return `M${point(outer, start)}A${outer} ${outer} 0 ${large} 1 ${point(outer, end)}L${point(inner, end)}A${inner} ${inner} 0 ${large} 0 ${point(inner, start)}Z`;
}

function Label({ one }) {
  const angle = one.start + one.size / 2, radius = (RADII[one.level] + RADII[one.level + 1]) / 2;
  const name = one.node.name.length > 12 ? `${one.node.name.slice(0, 11)}…` : one.node.name;
  return html`<text class="ring-label" x=${SIDE / 2 + radius * Math.sin(angle)} y=${SIDE / 2 - radius * Math.cos(angle) + 4} text-anchor="middle">${name}</text>`;
}
