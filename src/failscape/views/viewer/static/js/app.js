// The frame around all screens: which atlas, which hunt, which screen.
import { html, render, useState, useEffect, Here, Link, useAddress, addressOf, go, fetchJson, followNews, count, useNews }
  from "./base.js";
import { Trouble } from "./parts.js";
import { Overview } from "./screens/overview.js";
import { Findings } from "./screens/findings.js";
import { Finding } from "./screens/finding.js";
import { Map } from "./screens/map.js";
import { Pictures } from "./screens/pictures.js";
import { Review } from "./screens/review.js";
import { Runs } from "./screens/runs.js";
import { Compare } from "./screens/compare.js";

const SCREENS = { overview: ["Overview", Overview], map: ["Map", Map], findings: ["Findings", Findings], pictures: ["Pictures", Pictures],
  compare: ["Compare", Compare], review: ["Review", Review], runs: ["Runs", Runs] };
const HIDDEN = { finding: ["Finding", Finding, "findings"] };

function useLibrary() {
  const [state, change] = useState({ atlases: null, error: null });
  const load = () => fetchJson("/api/library").then((data) => change({ atlases: data.atlases, error: null }),
    (error) => change({ atlases: null, error }));
  useEffect(() => { load(); followNews(); }, []);
  return [state, load];
}

function App() {
  const [library, reload] = useLibrary();
  const address = useAddress();
  useNews(address.atlas, reload);
  if (library.error) return html`<main><${Trouble} error=${library.error}/></main>`;
  if (!library.atlases) return html`<p class="waiting">Opening …</p>`;
  const atlas = library.atlases.find((one) => one.slug === address.atlas) || library.atlases[0];
  const newest = [...atlas.hunts].sort((one, two) => one.trials - two.trials).pop();
  const hunt = atlas.hunts.find((one) => String(one.id) === address.hunt) || newest;
  if (!hunt) return html`<main><${Trouble} error=${{ error: `${atlas.slug} has no hunts yet.`, fix: "failscape run CONFIG starts one." }}/></main>`;
  const here = { atlas: atlas.slug, hunt: String(hunt.id), kind: hunt.kind, role: hunt.role, target: hunt.target, screen: address.screen, params: address.params };
  const [name, Screen, parent] = SCREENS[address.screen] || HIDDEN[address.screen] || SCREENS.overview;
  document.title = `${name} · ${hunt.target} · Failscape`;
  return html`<${Here.Provider} value=${here}>
    <a class="skip" href="#main">Skip to the content</a>
    <header class="bar"><div>
      <${Link} class="brand" to=${addressOf(here.atlas, here.hunt, "overview")}>Failscape<//>
      <${Switch} library=${library.atlases} here=${here}/>
      <nav aria-label="Screens">${Object.entries(SCREENS).map(([id, [title]]) => html`<${Link} key=${id}
        to=${addressOf(here.atlas, here.hunt, id)} aria-current=${id === (parent || address.screen) ? "page" : undefined}>${title}<//>`)}</nav>
      ${hunt.running && html`<span class="live">live</span>`}
    </div></header>
    <main id="main" tabindex="-1"><${Screen} key=${`${here.atlas}/${here.hunt}/${here.screen}`}/></main>
  <//>`;
}

function Switch({ library, here }) {
  const all = library.flatMap((atlas) => atlas.hunts.map((hunt) => ({ ...hunt, atlas: atlas.slug })));
  if (all.length < 2) return html`<span class="which">${here.target} <small>${here.atlas}</small></span>`;
  const change = (event) => { const one = all[event.target.value]; go(addressOf(one.atlas, one.id, "overview")); };
  const at = all.findIndex((one) => one.atlas === here.atlas && String(one.id) === here.hunt);
  return html`<label class="which"><span class="unseen">Hunt</span><select value=${at} onChange=${change}>${all.map((one, index) => html`
    <option value=${index}>${one.target} · ${one.atlas} (${one.kind}, ${count(one.trials)} trials)</option>`)}</select></label>`;
}

render(html`<${App}/>`, document.getElementById("app"));
