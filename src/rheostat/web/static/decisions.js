// The list of decisions, refused ones too, with filters; each opens its reason, its prediction and what came of it.

import { byId, html, show } from "./dom.js";
import { ask } from "./connection.js";
import { clock, duration, percent } from "./format.js";

const KINDS = ["scale", "move", "place", "regroup", "fuse", "split"];
const RULINGS = [["accepted", "carried out"], ["refused", "refused"], ["dry-run", "dry run"]];
const SHOWN = 40;
const MOST_PAGES = 10; // that are asked for at once, until there are enough entries
const WORDS = { accepted: "", refused: "refused: ", "dry-run": "dry run: " };

export class DecisionList {
  constructor({ chosen, fail }) {
    Object.assign(this, { chosen, fail });
    this.entries = [];
    this.open = null;
    this.shown = SHOWN;
    this.filter = { operator: "", kind: "", ruling: "" };
    byId("older").addEventListener("click", () => this.older());
  }

  setRun(run) {
    const operators = run.parts.filter((part) => !part.source).map((part) => [part.name, part.name]);
    show(byId("filters"),
      ...this.select("operator", "Operator", [["", "all operators"], ...operators]),
      ...this.select("kind", "Kind", [["", "all kinds"], ...KINDS.map((kind) => [kind, kind])]),
      ...this.select("ruling", "Result", [["", "all results"], ...RULINGS]));
  }

  select(name, label, choices) {
    const id = `filter-${name}`;
    const element = html("select", { id, onchange: (event) => { this.filter[name] = event.target.value; this.load(); } },
      ...choices.map(([value, words]) => html("option", { value }, words)));
    element.value = this.filter[name];
    return [html("label", { for: id }, label), element];
  }

  async load() {
    try {
      Object.assign(this, await this.pages([], undefined));
      this.draw();
    } catch (error) { this.fail(error); }
  }

  async older() {
    this.shown += SHOWN;
    try {
      Object.assign(this, await this.pages(this.entries, this.next));
      this.draw();
    } catch (error) { this.fail(error); }
  }

  // Ask until there is enough to show. The server's pages are of decisions, and equal ones are one entry.
  async pages(entries, next) {
    for (let page = 0; page < MOST_PAGES && next !== null && entries.length < this.shown; page += 1) {
      const found = await ask("api/decisions", { ...this.filter, before: next });
      entries = [...entries, ...found.entries];
      next = found.next;
    }
    return { entries, next };
  }

  // The newest entries have come: they replace what the list has of that time.
  update(newest) {
    if (!newest.length) return;
    const since = Math.min(...newest.map((entry) => entry.time_s));
    const isNew = (entry) => newest.some((other) => other.subject === entry.subject && other.since_s === entry.since_s);
    this.entries = [...newest.filter((entry) => this.isWanted(entry)), ...this.entries.filter((entry) => entry.time_s < since && !isNew(entry))];
    this.draw();
  }

  isWanted({ subject, kind, ruling }) {
    const wanted = this.filter;
    return `+${subject}+`.includes(wanted.operator && `+${wanted.operator}+`) && [kind, ""].includes(wanted.kind) && [ruling, ""].includes(wanted.ruling);
  }

  choose(id, { scroll = true } = {}) {
    this.open = id;
    this.shown = Math.max(this.shown, 1 + this.entries.findIndex((entry) => entry.id === id));
    this.draw();
    const item = byId("decision-list").querySelector(`[data-decision="${id}"]`);
    if (scroll) item?.scrollIntoView({ block: "nearest" });
    item?.querySelector("summary").focus({ preventScroll: true });
  }

  draw() {
    const items = this.entries.slice(0, this.shown).map((entry) => this.item(entry));
    show(byId("decision-list"), ...(items.length ? items : [html("li", { class: "nothing" }, "No decisions.")]));
    byId("older").hidden = this.entries.length <= this.shown && this.next === null;
  }

  item(entry) {
    const done = entry.ruling === "accepted";
    const times = entry.turns > 1 ? ` (${entry.turns} turns since ${clock(entry.since_s)})` : "";
    const details = html("details", { open: entry.id === this.open },
      html("summary", { "data-key": `decision-${entry.id}` },
        html("time", {}, clock(entry.time_s)),
        html("span", { class: "what" }, `${WORDS[entry.ruling]}${entry.subject}: ${entry.what}`),
        html("span", { class: "reason" }, done || !entry.why ? entry.reason : `${entry.why}${times}`)),
      full(entry, done, times));
    details.addEventListener("toggle", () => {
      if (details.open === (this.open === entry.id)) return;
      this.open = details.open ? entry.id : null;
      this.chosen(details.open ? entry : null);
    });
    return html("li", { class: `decision${done ? "" : " not-done"}${entry.id === this.open ? " chosen" : ""}`, "data-decision": entry.id }, details);
  }
}

function full(entry, done, times) {
  const effects = [["latency", "latency_s", duration], ["utilisation", "utilisation", percent], ["executors", "executors", String]]
    .filter(([, name]) => entry.predicted?.[name] != null || entry.observed?.[name] != null);
  return html("div", { class: "full" },
    done ? null : html("p", {}, entry.reason),
    entry.why && times ? html("p", {}, `Not carried out: ${entry.why}${times}`) : null,
    entry.by ? html("p", {}, `Asked for by ${entry.by}.`) : null,
    effects.length ? html("table", {}, html("thead", {}, html("tr", {}, ...["", "predicted", "came"].map((title) => html("th", {}, title)))),
      html("tbody", {}, ...effects.map(([title, name, format]) => html("tr", {}, html("td", {}, title),
        ...[entry.predicted, entry.observed].map((effect) => html("td", {}, effect?.[name] == null ? "–" : format(effect[name]))))))) : null,
    done ? html("p", {}, entry.outcome || (entry.observed ? "" : "What came of it is not known yet.")) : null);
}
