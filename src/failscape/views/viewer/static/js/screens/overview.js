// What was asked, what fails, how sure that is, and how the run goes.
import { html, useEffect, useHere, useAnswer, Link, count, some, span, money } from "../base.js";
import { Waiting, Reading, RateBar, Picture, Curve } from "../parts.js";

const ASKED = {
  generator: (data) => `${data.target} was asked to draw ${count(data.spent.images)} pictures; ${data.models.judge || "a judge"} looked at what is in them.`,
  classifier: (data) => `${data.target} was shown ${count(data.counts.pass + data.counts.fail + data.counts.invalid)} pictures of things it should know.`,
  answerer: (data) => `${data.target} was asked ${count(data.counts.pass + data.counts.fail + data.counts.invalid)} questions about pictures.`,
};
const ASKED_OTHERWISE = (data) => `${data.target} was tried ${count(data.counts.pass + data.counts.fail + data.counts.invalid)} times.`;
export function Overview() {
  const answer = useAnswer("overview");
  const reading = answer.data && !answer.data.found && !answer.data.problem;
  useEffect(() => {  // what was found comes later than what was counted
    const timer = reading ? setTimeout(answer.again, 700) : 0;
    return () => clearTimeout(timer);
  }, [answer.data]);
  return html`<${Waiting} answer=${answer}>${(data) => html`<${Page} data=${data}/>`}<//>`;
}

function Page({ data }) {
  const here = useHere();
  const found = data.found;
  return html`<div class="overview">
    <section class="lead"><h1>${headline(data)}</h1>
      <p class="lede">${(ASKED[data.role] || ASKED_OTHERWISE)(data)} ${found && html`<${Sure} data=${data}/>`}</p></section>
    ${data.problem && html`<div class="trouble" role="alert"><b>${data.problem.error}</b><p>${data.problem.fix}</p></div>`}
    ${found && found.answer.themes.length > 0 && html`<section><h2>What these failures have in common</h2><ol class="themes">${found.answer.themes.map((theme) => html`<${Theme} key=${theme.title} theme=${theme}/>`)}</ol></section>`}
    ${found && found.rules.length > 0 && html`<section><h2>Rules: groups that fail as a whole</h2><ul>${found.rules.map((rule) => html`<li key=${rule.text}><b>${rule.text}</b>: ${rule.proof}</li>`)}</ul></section>`}
    ${found && found.headlines.length > 0 && html`<section><h2>Show me</h2><ul class="cards">${found.headlines.map((row) => html`<${Headline} key=${row.subject} row=${row}/>`)}</ul>
      <p><${Link} class="more" to=${here.to("findings")}>${found.findings ? `All ${some(found.findings, "finding")}` : "All"}${found.suspects ? `${found.findings ? " and " : " "}${some(found.suspects, "suspect")}` : ""} →<//></p></section>`}
    ${found && found.answer.seen.length > 0 && html`<section id="seen"><h2>Seen, not tested</h2>
      <p class="note">A plain scan of all recorded trials, apart from the search: these fail more often than usual, and no finding or suspect explains it. Nothing here is proven.</p>
      <ul>${found.answer.seen.slice(0, 12).map((one) => html`<li key=${one.title}><b>${one.title}</b>: <span class="num">${one.rate_text} fail, ${count(one.failures)} of ${count(one.trials)} (usual: ${one.usual_text})</span></li>`)}</ul>
      ${found.answer.seen.length > 12 && html`<p class="note">${count(found.answer.seen.length - 12)} more are in the report.</p>`}</section>`}
    <section class="two"><div><h2>${data.running ? "How the run goes" : "How the run went"}</h2><${Progress} data=${data}/></div>
      <div><h2>Found over time</h2>${found ? html`<${Curve} points=${found.curve} across="trials" up="findings"/>` : html`<${Reading} of=${data.reading}/>`}</div></section>
    ${found && found.worst.length > 0 && html`<section><h2>Where most ${found.findings ? "findings" : "suspects"} are</h2><${Worst} worst=${found.worst}/></section>`}
    <${Health} data=${data}/>
  </div>`;
}

function headline(data) {
  return data.found ? data.found.answer.headline : `What does ${data.target} get wrong?`;
}

function Theme({ theme }) {
  const works = theme.exceptions.slice(0, 3).join("; ");
  const others = theme.exceptions.length - 3;
  return html`<li><div><b>${theme.sentence}</b>
    ${others > 0 && html`<p class="soft">Works: ${works} and ${count(others)} more.</p>`}</div>
    <ul class="cards">${theme.examples.map((row) => html`<${Headline} key=${row.subject} row=${row}/>`)}</ul></li>`;
}

function Sure({ data }) {
  const { guarantees, suspects } = data.found;
  if (!guarantees.length && !suspects) return null;
  const more = suspects ? ` ${count(suspects)}${guarantees.length ? " more" : ""} ${suspects === 1 ? "looks" : "look"} failing, not proven yet.` : "";
  return html`<span>How sure: ${guarantees.join(" ")}${more}</span>`;
}

function Headline({ row }) {
  const here = useHere();
  const { after, before, before_title: other, quotes } = row.example;
  const asked = row.caption && !row.caption.startsWith(row.title) ? row.caption : "";
  return html`<li class="card"><${Link} to=${here.to("finding", { subject: row.subject })}>
    <div class="pair">${before && html`<figure><${Picture} digest=${before} alt="works: ${other}"/><figcaption class="mark yes"><i aria-hidden="true">✓</i> ${other}</figcaption></figure>`}
      <figure><${Picture} digest=${after} alt="fails: ${row.title}"/>${asked && html`<figcaption class="mark no"><i aria-hidden="true">✗</i> ${asked}</figcaption>`}</figure>
      ${quotes.length > 0 && html`<dl class="quotes">${quotes.map((one) => html`<div key=${one.label}><dt>${one.label}</dt><dd>${one.text}</dd></div>`)}</dl>`}</div>
    <b>${row.title}</b><span class="soft num" title=${row.counted}>${row.rate_text} fail · ${row.failures} of ${row.trials} tried</span>
    <${RateBar} ...${row}/><//></li>`;
}

function Progress({ data }) {
  const { counts, spent, budget } = data;
  const valid = counts.pass + counts.fail, trials = valid + counts.invalid + counts.none;
  const used = budget.images ? Math.min(1, spent.images / budget.images) : null;
  return html`<div>
    <dl class="facts">
      <div><dt>Trials</dt><dd>${count(trials)}</dd></div>
      <div><dt>Images drawn</dt><dd>${count(spent.images)}${budget.images ? html` <small>of ${count(budget.images)}</small>` : ""}</dd></div>
      <div><dt>Time</dt><dd>${span(spent.seconds)}${spent.seconds > 1 ? html` <small>${(trials / spent.seconds).toFixed(trials > 20 * spent.seconds ? 0 : 1)} trials a second</small>` : ""}</dd></div>
      ${spent.money > 0 && html`<div><dt>Cost</dt><dd>${money(spent.money)}</dd></div>`}
      <div><dt>Requests to models</dt><dd>${count(spent.requests)}</dd></div>
    </dl>
    ${used !== null && html`<progress max="1" value=${used}>${Math.round(100 * used)}%</progress>`}
    <p class="soft">${data.running ? `Running${data.found ? `: ${data.found.phase}` : ""}. This page follows it.` : `Finished${data.stopped ? `: ${data.stopped}` : ""}.`}</p>
    <p class="verdicts num">${["fail", "pass", "invalid"].map((verdict) => html`<span class="verdict ${verdict}"><b>${count(counts[verdict])}</b> ${verdict === "fail" ? "failed" : verdict === "pass" ? "passed" : "invalid"}</span>`)}</p>
    <p class="note">Counts of all trials. The search goes where failures are, so this is not how often the model fails in general${valid ? "" : " (nothing valid yet)"}.${data.found && data.found.whole ? ` Of random pictures ${data.found.whole.rate_text} fail (${data.found.whole.spread_text}).` : ""}</p>
  </div>`;
}

function Worst({ worst }) {
  const here = useHere();
  const most = Math.max(...worst.map((one) => one.findings));
  return html`<ul class="bars">${worst.map((one) => html`<li key=${one.name}><${Link} to=${here.to("findings", { thing: one.name })}><span>${one.name}</span>
    <i style=${{ width: `${(70 * one.findings) / most}%` }}></i><b class="num">${count(one.findings)}</b><//></li>`)}</ul>`;
}

function Health({ data }) {
  if (!data.warnings.length) return null;
  return html`<section><h2>Health</h2><ul class="warnings">${data.warnings.map((one) => html`<li><b>${one.kind}</b> <span>${one.text}</span> ${one.fix && html`<em>${one.fix}</em>`}</li>`)}</ul></section>`;
}
