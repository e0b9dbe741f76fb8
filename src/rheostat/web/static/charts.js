// Curves over time under one cursor: input and forecast, latency and SLA, executors, queue, cost; decisions as marks.

import { show, svg } from "./dom.js";
import { clock, count, duration, rate } from "./format.js";

const LEFT = 58, RIGHT = 14, TOP = 30, ROW = 102, PLOT = 66, BOTTOM = 24;
const NARROW = 560; // below this, titles have no keys and values are shorter
const MOST_LINES = 60; // more decisions than this have no lines through the curves

// The columns of a point, in the order in which the server sends them.
export const COLUMNS = ["from_s", "until_s", "turns", "input", "expected", "expected_low", "expected_high", "latency_s", "longest_s", "standing_s", "missed", "queued", "planned", "active", "coming", "standby", "leaving", "executor_s", "paused"];
export const named = (row) => Object.fromEntries(COLUMNS.map((name, at) => [name, row[at]]));

export class Charts {
  // `picked` is told a time that is to be shown, `zoomed` a range of times, `opened` a decision.
  constructor(element, { picked, zoomed, opened }) {
    Object.assign(this, { element, picked, zoomed, opened });
    this.points = [];
    this.marks = [];
    this.goals = [];
    this.cursor = null;
    this.pinned = null;
    element.addEventListener("pointermove", (event) => this.pointer(event));
    element.addEventListener("pointerleave", () => { this.cursor = null; this.drag = null; this.moveCursor(); });
    element.addEventListener("pointerdown", (event) => { this.drag = { from: this.timeAt(event), x: event.clientX }; });
    element.addEventListener("pointerup", (event) => this.released(event));
    element.addEventListener("dblclick", () => this.zoomed(null));
    element.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(element);
  }

  get range() {
    const first = this.points[0], last = this.points[this.points.length - 1];
    return first ? [first.from_s, Math.max(last.until_s, first.from_s + 1)] : [0, 1];
  }

  pointer(event) {
    this.cursor = this.timeAt(event);
    this.moveCursor();
  }

  released(event) {
    const drag = this.drag;
    this.drag = null;
    if (!drag) return;
    const time_s = this.timeAt(event), mark = this.markAt(event);
    if (Math.abs(event.clientX - drag.x) > 8) this.zoomed([Math.min(drag.from, time_s), Math.max(drag.from, time_s)]);
    else if (mark) this.opened(mark);
    else this.picked(time_s);
  }

  // By place and not by element: the picture may be drawn anew while a button is held.
  markAt(event) {
    const box = this.element.getBoundingClientRect();
    if (event.clientY - box.top > TOP - 6) return null;
    const [from, until] = this.range;
    const reach = (7 / Math.max(1, box.width - LEFT - RIGHT)) * (until - from), time_s = this.timeAt(event);
    const near = this.marks.filter((mark) => Math.abs(mark.time_s - time_s) <= reach);
    return near.sort((one, other) => Math.abs(one.time_s - time_s) - Math.abs(other.time_s - time_s))[0] ?? null;
  }

  key(event) {
    const at = this.nearest(this.cursor ?? this.pinned ?? this.range[1]);
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
    if (event.key in steps) {
      const next = Math.max(0, Math.min(this.points.length - 1, at + steps[event.key]));
      this.cursor = this.points[next]?.until_s ?? null;
      this.moveCursor();
    } else if (event.key === "Enter" && this.cursor != null) {
      this.picked(this.cursor);
    } else if (event.key === "Escape") {
      this.cursor = null;
      this.picked(null);
    } else {
      return;
    }
    event.preventDefault();
  }

  timeAt(event) {
    const box = this.element.getBoundingClientRect();
    const [from, until] = this.range;
    const share = (event.clientX - box.left - LEFT) / Math.max(1, box.width - LEFT - RIGHT);
    return from + Math.max(0, Math.min(1, share)) * (until - from);
  }

  nearest(time_s) {
    let low = 0, high = this.points.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.points[middle].until_s < time_s) low = middle + 1; else high = middle;
    }
    return low;
  }

  draw() {
    const width = Math.max(280, this.element.clientWidth || 800);
    const [from, until] = this.range;
    const x = (time_s) => LEFT + ((time_s - from) / (until - from)) * (width - LEFT - RIGHT);
    const rows = [input, latency, executors, queue, cost];
    const height = TOP + rows.length * ROW + BOTTOM;
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, "aria-hidden": "true" });
    this.values = [];
    const plain = { points: this.points, goals: this.goals, values: this.values, x, from, until, width, isNarrow: width < NARROW };
    rows.forEach((row, number) => picture.append(svg("g", { transform: `translate(0 ${TOP + number * ROW})` }, ...row(plain))));
    picture.prepend(...this.decisionLines(x, height));
    picture.append(...this.timeAxis(x, width, height), ...this.decisionMarks(x));
    this.selection = svg("rect", { class: "selection", y: TOP, height: height - TOP - BOTTOM });
    this.line = svg("line", { y1: TOP - 6, y2: height - BOTTOM });
    this.time = svg("text", { class: "cursor-time", y: height - 6, "text-anchor": "middle" });
    picture.append(this.selection, this.line, this.time);
    this.x = x;
    this.width = width;
    show(this.element, picture);
    this.moveCursor();
  }

  // What depends on the cursor alone: the line, the values beside the titles, and the range that is being chosen.
  moveCursor() {
    const [from, until] = this.range, at = this.cursor ?? this.pinned;
    const point = this.points.length ? this.points[at == null ? this.points.length - 1 : this.nearest(at)] : null;
    for (const [element, value] of this.values) element.textContent = value(point);
    const place = at != null && at >= from && at <= until ? this.x(at) : -10;
    this.line.setAttribute("class", `cursor${this.cursor == null ? " pinned" : ""}`);
    this.line.setAttribute("x1", place);
    this.line.setAttribute("x2", place);
    this.time.setAttribute("x", Math.max(LEFT, Math.min(this.width - RIGHT - 20, place)));
    this.time.textContent = place < 0 ? "" : clock(at, until - from);
    const [one, other] = this.drag && this.cursor != null ? [this.x(this.drag.from), place] : [0, 0];
    this.selection.setAttribute("x", Math.min(one, other));
    this.selection.setAttribute("width", Math.abs(other - one));
  }

  timeAxis(x, width, height) {
    const [from, until] = this.range;
    const ticks = timeTicks(from, until, Math.max(2, Math.floor(width / 110)));
    return [svg("text", { class: "tick", x: LEFT - 8, y: 17, "text-anchor": "end" }, "changes"), ...ticks.map((time_s) => {
      const isLast = x(time_s) > width - RIGHT - 24;
      return svg("text", { class: "tick", x: isLast ? width - RIGHT : x(time_s), y: height - 6, "text-anchor": isLast ? "end" : "middle" }, clock(time_s, until - from));
    })];
  }

  get shownMarks() {
    const [from, until] = this.range;
    return this.marks.filter((mark) => mark.time_s >= from && mark.time_s <= until);
  }

  decisionLines(x, height) {
    const marks = this.shownMarks;
    const lined = marks.length > MOST_LINES ? marks.filter((mark) => mark.id === this.chosen) : marks;
    return lined.map((mark) => svg("line", { class: `decided${mark.id === this.chosen ? " chosen" : ""}`, x1: x(mark.time_s), x2: x(mark.time_s), y1: TOP - 10, y2: height - BOTTOM }));
  }

  decisionMarks(x) {
    return this.shownMarks.map((mark) => {
      const place = x(mark.time_s);
      const shape = mark.direction > 0 ? `M${place - 5} 17 L${place + 5} 17 L${place} 8 Z`
        : mark.direction < 0 ? `M${place - 5} 9 L${place + 5} 9 L${place} 18 Z`
          : `M${place - 4.5} 13 L${place} 8.5 L${place + 4.5} 13 L${place} 17.5 Z`;
      return svg("path", { class: `mark${mark.by ? " asked" : ""}${mark.id === this.chosen ? " chosen" : ""}`, d: shape, "data-decision": mark.id },
        svg("title", {}, `${clock(mark.time_s)} ${mark.subject}: ${mark.what}`));
    });
  }
}

function scale(values, least = 0) {
  const top = Math.max(least, ...values.filter((value) => value != null && Number.isFinite(value)));
  const rounded = nice(top || 1);
  return { top: rounded, y: (value) => PLOT + 24 - (Math.min(value, rounded) / rounded) * PLOT };
}

function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * power >= value * 0.999);
}

// `keys` say which line or area is what; `value` stands at the other end: of the point under the cursor, or the last.
function frame({ width, values, isNarrow }, title, keys, value, { top, y }, format) {
  const shown = svg("text", { class: "chart-value", x: width - RIGHT, y: 14, "text-anchor": "end" });
  values.push([shown, value]);
  const drawn = isNarrow ? [] : keys.flatMap(([kind, sign, words]) => [svg("tspan", { class: `key ${kind}`, dx: 14 }, sign), svg("tspan", { dx: 5 }, words)]);
  return [
    svg("text", { class: "chart-title", x: LEFT, y: 14 }, svg("tspan", { class: "title" }, title), ...drawn),
    shown,
    ...[0, top].flatMap((level) => [
      svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(level), y2: y(level) }),
      svg("text", { class: "tick", x: LEFT - 8, y: y(level) + 4, "text-anchor": "end" }, format(level)),
    ]),
  ];
}

// A path through what is known; unknown values are left out, and long gaps are not bridged.
function path(points, x, y, value) {
  let text = "", before = null;
  for (const point of points) {
    const known = value(point);
    if (known == null) continue;
    const place = (point.from_s + point.until_s) / 2;
    const gap = before != null && point.from_s - before > Math.max(60, 8 * (point.until_s - point.from_s));
    text += `${text && !gap ? "L" : "M"}${x(place).toFixed(1)} ${y(known).toFixed(1)}`;
    before = point.until_s;
  }
  return text;
}

function steps(points, x, y, value) {
  let text = "";
  for (const point of points) {
    const height = y(value(point)).toFixed(1);
    text += `${text ? "V" + height + "H" : "M" + x(point.from_s).toFixed(1) + " " + height + "H"}${x(point.until_s).toFixed(1)}`;
  }
  return text;
}

function area(line, points, x, y) {
  if (!line) return "";
  return `${line}V${y(0)}H${x(points[0].from_s).toFixed(1)}Z`;
}

function input(it) {
  const { points, x } = it;
  const size = scale(points.flatMap((each) => [each.input, each.expected, each.expected_high]));
  const known = points.filter((each) => each.expected_low != null);
  const middle = (each) => x((each.from_s + each.until_s) / 2).toFixed(1);
  const band = known.length > 1
    ? `M${known.map((each) => `${middle(each)} ${size.y(each.expected_high).toFixed(1)}`).join("L")}L${known.toReversed().map((each) => `${middle(each)} ${size.y(each.expected_low).toFixed(1)}`).join("L")}Z` : "";
  const foretold = points.some((each) => each.expected != null);
  const keys = foretold ? [["curve", "—", "measured"], ["expected", "┅", "forecast"], ...(known.length ? [["band", "■", "its band"]] : [])] : [];
  const value = (point) => rate(point?.input) + (point?.expected == null || it.isNarrow ? "" : `, forecast ${rate(point.expected)}`);
  return [...frame(it, "Input, records/s", keys, value, size, count),
    svg("path", { class: "band", d: band }),
    svg("path", { class: "curve expected", d: path(points, x, size.y, (each) => each.expected) }),
    svg("path", { class: "curve", d: path(points, x, size.y, (each) => each.input) })];
}

function latency(it) {
  const { points, goals, x, from, until } = it;
  const limits = goals.map((goal, at) => ({ from: Math.max(from, goal.from_s), until: Math.min(until, goals[at + 1]?.from_s ?? Infinity), limit: goal.limit_s })).filter((each) => each.limit != null && each.until > each.from);
  const limit = Math.max(0, ...limits.map((each) => each.limit));
  const longest = points.map((each) => each.longest_s).filter((each) => each != null).sort((one, other) => one - other);
  const size = scale([Math.min(longest[longest.length - 1] ?? 0, 3 * Math.max(limit, longest[Math.floor(longest.length * 0.98)] ?? 0))], 1.25 * limit);
  const since = (at) => Math.max(points[at - 1]?.until_s ?? from, points[at].from_s - Math.max(60, points[at].until_s - points[at].from_s));
  const shades = points.flatMap((each, at) => each.missed > 0
    ? [svg("rect", { class: "violation", x: x(since(at)), width: Math.max(1.5, x(each.until_s) - x(since(at)) + 0.3), y: 24, height: PLOT })] : []);
  const keys = [["curve", "—", "mean"], ...(points.some((each) => each.turns > 1) ? [["thin", "—", "longest"]] : []), ...(limit ? [["limit", "┅", "SLA"], ["violation", "■", "missed"]] : [])];
  const value = (point) => duration(point?.latency_s) + (point?.standing_s == null || it.isNarrow ? "" : `, over the SLA's window ${duration(point.standing_s)}`);
  return [...shades, ...frame(it, "Latency", keys, value, size, duration),
    svg("path", { class: "limit", d: limits.map((each) => `M${x(each.from)} ${size.y(each.limit)}H${x(each.until)}`).join("") }),
    svg("path", { class: "curve thin", d: path(points, x, size.y, (each) => each.longest_s) }),
    svg("path", { class: "curve", d: path(points, x, size.y, (each) => each.latency_s) })];
}

function executors(it) {
  const { points, x } = it;
  const there = (each) => each.active + each.coming + each.standby + each.leaving;
  const size = scale(points.flatMap((each) => [there(each), each.planned]), 1);
  const serving = steps(points, x, size.y, (each) => each.active), all = steps(points, x, size.y, there);
  const keys = [["area", "■", "serve"], ["faint", "■", "start, stand by or leave"], ["planned", "—", "planned"]];
  const parts = [["active", "serve"], ["planned", "planned"], ["coming", "start"], ["standby", "stand by"], ["leaving", "leave"]];
  const value = (point) => (point ? parts.filter(([name], at) => at < 2 || (point[name] > 0 && !it.isNarrow)).map(([name, words]) => `${count(point[name])} ${words}`).join(", ") : "");
  return [...frame(it, "Executors", keys, value, size, count),
    svg("path", { class: "area faint", d: area(all, points, x, size.y) }), svg("path", { class: "area", d: area(serving, points, x, size.y) }),
    svg("path", { class: "curve planned", d: steps(points, x, size.y, (each) => each.planned) })];
}

function queue(it) {
  const { points, x } = it;
  const size = scale(points.map((each) => each.queued), 1);
  return [...frame(it, "Queue, records", [], (point) => count(point?.queued), size, count), svg("path", { class: "curve", d: path(points, x, size.y, (each) => each.queued) })];
}

function cost(it) {
  const { points, x } = it;
  let sum = 0;
  const spent = points.map((each) => ({ ...each, spent: (sum += each.executor_s / 3600) }));
  const size = scale([sum]);
  const value = (point) => count(+(spent[points.indexOf(point)]?.spent ?? 0).toPrecision(3));
  return [...frame(it, "Cost, executor-hours", [], value, size, count), svg("path", { class: "curve", d: path(spent, x, size.y, (each) => each.spent) })];
}

function timeTicks(from, until, most) {
  const lengths = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
  const length = lengths.find((each) => (until - from) / each <= most) ?? 604800;
  const offset = from < 1e9 ? 0 : -new Date(from * 1000).getTimezoneOffset() * 60;
  const ticks = [];
  for (let tick = Math.ceil((from + offset) / length) * length - offset; tick <= until; tick += length) ticks.push(tick);
  return ticks;
}
