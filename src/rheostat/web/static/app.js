// The page: asks for the run, follows its changes, and tells each part what to draw.

import { Charts, named } from "./charts.js";
import { ask, follow, identity, takeToken } from "./connection.js";
import { DecisionList } from "./decisions.js";
import { byId, html, show } from "./dom.js";
import { clock, count, duration, executorHours, percent, rate } from "./format.js";
import { OperatorPanel } from "./operator.js";
import { SteeringPanel } from "./steering.js";
import { legend, TopologyPicture } from "./topology.js";

const POINTS = 600;
const WIDE_SHARE = 0.72; // a topology of more than this share of the page has the whole width
const RANGES = [["5 min", 300], ["15 min", 900], ["1 h", 3600], ["6 h", 21600], ["1 day", 86400]];
const STATES = { live: "live", paused: "paused", dry: "dry run", finished: "finished", empty: "waiting", disconnected: "disconnected, trying again", loading: "loading" };

const STANDINGS = { none: "", unknown: "SLA not judged yet", met: "SLA kept", missed: "SLA missed" };

const page = { run: null, controls: null, state: null, points: [], range: null, moment: null, chosen: null, connected: false, spent: 0, judged: 0, missed: 0, lastPoint: -Infinity };
const picture = new TopologyPicture(byId("picture"), (name) => choose(page.chosen === name ? null : name));
const charts = new Charts(byId("charts"), { picked: showMoment, zoomed: zoom, opened: (mark) => openDecision(mark.id, mark.time_s) });
const decisions = new DecisionList({ chosen: (entry) => { charts.chosen = entry?.id; showMoment(entry?.time_s ?? null); }, fail: (error) => notify(error.message) });
const panel = new OperatorPanel(byId("operator"), { closed: () => choose(null), ask: (request) => steering.request(request) });
const steering = new SteeringPanel({ done: steered, notify });

async function open() {
  const { run, controls } = await ask("api/run");
  page.connected = true;
  page.controls = controls;
  if (!run) return draw();
  page.run = run;
  page.spent = run.totals.executor_s;
  page.judged = run.totals.judged;
  page.missed = run.totals.missed;
  page.lastPoint = run.totals.last_s ?? -Infinity;
  picture.setRun(run);
  decisions.setRun(run);
  await Promise.all([load(), decisions.load(), loadState()]);
  draw();
}

// The curves of the chosen range, and what was decided in it.
async function load() {
  const { first_s, last_s } = page.run.totals;
  const until = page.range?.until ?? last_s;
  const from = page.range ? page.range.from ?? until - page.range.length : first_s;
  const span = { from, until: page.range?.until };
  const [points, marks] = await Promise.all([ask("api/timeline", { ...span, points: POINTS }), ask("api/actions", span)]);
  page.points = points.map(named);
  charts.marks = directions(marks);
}

function changed(change) {
  const fresh = change.points.map(named).filter((point) => point.until_s > page.lastPoint);
  page.controls = change.controls;
  if (!page.run || change.goals) return void open().catch((error) => notify(error.message));
  for (const point of fresh) {
    page.spent += point.executor_s;
    page.judged += point.missed == null ? 0 : point.turns;
    page.missed += (point.missed ?? 0) * point.turns;
    page.lastPoint = point.until_s;
    page.run.totals.last_s = point.until_s;
    page.run.totals.first_s ??= point.from_s;
  }
  if (!page.range?.until) {
    const from = page.range ? page.run.totals.last_s - page.range.length : -Infinity;
    const known = page.points[page.points.length - 1]?.until_s ?? -Infinity;
    page.points = [...page.points, ...fresh.filter((point) => point.until_s > known)].filter((point) => point.until_s >= from);
    if (page.points.length > 2 * POINTS) load().then(draw, () => {});
  }
  if (change.decisions) {
    decisions.update(change.decisions);
    const known = new Set(charts.marks.map((mark) => mark.id));
    charts.marks = directions([...change.decisions.filter((entry) => entry.ruling === "accepted" && !known.has(entry.id)), ...charts.marks]);
  }
  if (page.moment == null) {
    page.state = change.state ?? page.state;
    if (page.chosen) detail();
  }
  draw();
}

// Whether a scale adds or removes executors shows in comparison with the one before it on the same pool.
function directions(newestFirst) {
  const sizes = new Map();
  return [...newestFirst].sort((one, other) => one.id - other.id).map((mark) => {
    const before = sizes.get(mark.subject);
    if (mark.executors != null) sizes.set(mark.subject, mark.executors);
    const direction = mark.executors == null ? 0 : before == null ? (/\bin\b/.test(mark.reason.match(/scale (in|out)/)?.[0] ?? "") ? -1 : 1) : Math.sign(mark.executors - before);
    return { ...mark, direction };
  }).reverse();
}

// The state at the moment that is shown; an answer about another moment comes too late and is dropped.
async function loadState() {
  const moment = page.moment;
  try {
    const state = await ask("api/state", { at: moment });
    if (page.moment !== moment) return;
    page.state = state;
    if (page.chosen) await detail();
  } catch (error) { notify(error.message); }
}

// Show another moment than the present one; null goes back to now.
async function showMoment(time_s) {
  page.moment = time_s;
  charts.pinned = time_s;
  await loadState();
  draw();
}

function zoom(range) {
  page.range = range && { from: range[0], until: range[1] };
  load().then(draw, (error) => notify(error.message));
}

async function choose(name) {
  page.chosen = name;
  if (name) await detail(); else panel.hide();
  draw();
}

async function detail() {
  const name = page.chosen, moment = page.moment;
  try {
    const found = await ask("api/operator", { name, at: moment });
    if (found && page.chosen === name && page.moment === moment && !byId("operator").contains(editing())) {
      panel.draw(found, page.run.parts.find((part) => part.name === name), mayAsk());
    }
  } catch (error) { notify(error.message); }
}

// A field that somebody types in is not drawn anew.
function editing() {
  return document.activeElement?.tagName === "INPUT" ? document.activeElement : null;
}

const mayAsk = () => page.controls.steerable && Boolean(identity.token) && page.moment == null;

function openDecision(id, time_s) {
  charts.chosen = id;
  decisions.choose(id);
  showMoment(time_s);
}

function steered(controls, request) {
  if (controls) page.controls = controls;
  if (request?.do === "scale" || request?.do === "move") notify("Asked for: the guards judge it in the next turn. Unless it is paused, the policy may change it again.", false);
  else notify("");
  if (page.chosen) detail();
  draw();
}

function notify(words, lasting = true) {
  const notice = byId("notice");
  notice.textContent = words;
  notice.hidden = !words;
  clearTimeout(notify.timer);
  if (words) notify.timer = setTimeout(() => { notice.hidden = true; }, lasting ? 12000 : 6000);
}

let due = false;
function draw() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => { due = false; drawNow(); });
}

function drawNow() {
  document.body.dataset.state = stateName();
  byId("status").textContent = STATES[stateName()];
  if (!page.run) {
    byId("empty").textContent = page.connected ? "The run has not begun yet." : "Connecting …";
    return;
  }
  const goal = page.run.goals[page.run.goals.length - 1];
  const last = page.points.length ? page.points[page.moment == null ? page.points.length - 1 : charts.nearest(page.moment)] : null;
  document.title = `${page.run.topology} – Rheostat`;
  byId("title").textContent = page.run.topology;
  byId("subtitle").textContent = [`policy ${goal.policy}`, ...goal.slas.map((sla) => `SLA ${sla}`), goal.total == null ? "" : `at most ${goal.total} executors`].filter(Boolean).join(" · ");
  const standing = goal.slas.length === 0 ? "none" : last?.missed == null ? "unknown" : last.missed > 0 ? "missed" : "met";
  document.body.dataset.standing = standing;
  byId("standing").textContent = STANDINGS[standing];
  show(byId("figures"), ...figures(goal, last));
  show(byId("change"), ...lastChange());
  byId("main").dataset.topology = picture.width() > WIDE_SHARE * byId("main").clientWidth ? "wide" : "short";
  picture.draw(page.state, page.chosen, goal.limit_s);
  charts.points = page.points;
  charts.goals = page.run.goals;
  charts.draw();
  drawRanges();
  steering.draw(page.controls, goal, page.run.parts);
  const then = page.moment == null ? "" : page.state ? `as of ${clock(page.state.time_s)} ` : `nothing is kept of ${clock(page.moment)} `;
  show(byId("moment"), then, page.moment == null ? null : html("button", { type: "button", class: "quiet", "data-key": "now", onclick: () => showMoment(null) }, "back to now"));
  const problems = page.state?.problems ?? [];
  byId("footer").textContent = [`Rheostat ${page.run.version}`, ...problems].join(" · ");
}

function stateName() {
  if (!page.connected && !page.controls) return "loading";
  if (page.controls?.finished) return "finished";
  if (!page.connected) return "disconnected";
  if (!page.run) return "empty";
  return page.controls.paused ? "paused" : page.controls.dry_run ? "dry" : "live";
}

function figures(goal, last) {
  const state = page.state;
  const standing = last?.standing_s ?? null;
  const missed = last?.missed > 0;
  const queued = (state?.operators ?? []).map((each) => each.queued).filter((each) => each != null);
  const counts = (state?.operators ?? []).reduce((all, each) => all.set(each.pool, each), new Map());
  const sum = (name) => [...counts.values()].reduce((total, each) => total + each[name], 0);
  const [serving, planned, standby] = [sum("executors"), sum("planned"), sum("standby")];
  return [
    figure(goal.window_s == null ? "Latency" : `Latency over ${duration(goal.window_s)}`, duration(standing ?? state?.latency_s), goal.limit_s == null ? "no SLA" : `SLA ${duration(goal.limit_s)}`, { missed, share: goal.limit_s == null ? null : (standing ?? state?.latency_s ?? 0) / goal.limit_s }),
    figure("SLA kept", page.judged ? percent(1 - page.missed / page.judged, 1) : "–", page.judged ? `of ${count(page.judged)} windows` : "no window is over yet"),
    figure("Input", rate(state?.input), last?.expected == null ? "" : `forecast ${rate(last.expected)}`),
    figure("Queue", count(queued.length ? queued.reduce((one, other) => one + other, 0) : null), "records"),
    figure("Executors", count(serving), [serving === planned ? "as planned" : `${planned} planned`, standby ? `${standby} stand by` : ""].filter(Boolean).join(", ")),
    figure("Cost", executorHours(page.spent), "executor-hours so far"),
  ];
}

function figure(title, value, below, { missed = false, share = null } = {}) {
  return html("dl", { class: `figure${missed ? " missed" : ""}` }, html("dt", {}, title), html("dd", {}, value), html("p", {}, below),
    share == null ? null : html("meter", { min: 0, max: 1, value: Math.min(1, share), "aria-label": "share of the SLA" }));
}

function lastChange() {
  const done = charts.marks[0] ?? decisions.entries.find((entry) => entry.ruling === "accepted");
  if (!done) return [html("h2", {}, "Last change"), html("p", { class: "tip" }, "Nothing was changed yet.")];
  const ago = (page.run.totals.last_s ?? done.time_s) - done.time_s;
  return [
    html("h2", {}, `Last change, ${duration(Math.max(0, Math.round(ago)))} ${page.controls.finished ? "before the end" : "ago"}`),
    html("b", {}, `${done.subject}: ${done.what}`),
    html("p", {}, done.by ? `Asked for by ${done.by}.` : done.reason),
  ];
}

function drawRanges() {
  const { first_s, last_s } = page.run.totals;
  const button = (words, range, pressed) => html("button", { type: "button", "data-key": `range-${words}`, "aria-pressed": String(pressed), onclick: () => { page.range = range; load().then(draw, (error) => notify(error.message)); } }, words);
  show(byId("ranges"), ...RANGES.filter(([, length]) => length < last_s - first_s).map(([words, length]) => button(words, { length }, page.range?.length === length)),
    button("all", null, page.range == null), page.range?.until ? html("span", { class: "tip" }, `${clock(page.range.from, 1e6)} to ${clock(page.range.until, 1e6)}`) : null);
}

show(byId("legend"), ...legend());
takeToken();
follow({
  opened: open,
  changed,
  lost: (error) => {
    page.connected = false;
    if (error?.status === 401) steering.askToken("This page can be read only with the token.");
    draw();
  },
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !byId("dialog").open && page.moment != null) showMoment(null); });
draw();
