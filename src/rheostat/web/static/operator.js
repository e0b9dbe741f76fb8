// One operator in full: its executors, its substreams, and which executor serves which of them, as a heat map.

import { html, show } from "./dom.js";
import { bytes, count, duration, percent, rate } from "./format.js";

const COLUMNS = ["index", "executor", "planned", "rate", "queued", "wait_s", "state_bytes"];
const HOTTEST = 12;
const WORDS = new Set(["executor", "phase", "node", "topic"]);
const LABEL = 132, ROW_GAP = 3, LARGEST_CELL = 26;

export class OperatorPanel {
  constructor(element, { closed, ask }) {
    Object.assign(this, { element, closed, ask });
    this.picked = new Set();
  }

  hide() {
    this.name = null;
    this.element.hidden = true;
  }

  draw(detail, part, steerable) {
    if (this.name !== detail.name) this.picked.clear();
    this.name = detail.name;
    this.element.hidden = false;
    const substreams = detail.substreams.map((row) => Object.fromEntries(COLUMNS.map((name, at) => [name, row[at]])));
    const nodes = new Map(detail.executors.map((each) => [each.id, each.node]));
    const shared = detail.shared_with.length ? `, shared with ${detail.shared_with.join(", ")}` : "";
    const about = part.key ? `keyed by ${part.key}, ${substreams.length} substreams` : `stateless${detail.grouping ? `, ${detail.grouping}` : ""}`;
    show(this.element,
      html("div", { class: "top" },
        html("div", {}, html("h3", { id: "operator-title" }, detail.name), html("p", { class: "tip" }, `${about}; pool ${detail.pool}${shared}`)),
        steerable ? this.asks(detail, substreams) : null,
        html("button", { type: "button", class: "quiet", "data-key": "close", onclick: () => this.closed() }, "Close")),
      substreams.length ? this.heatMap(detail, substreams) : (this.paint = null),
      html("div", { class: "columns" }, executorTable(detail), substreams.length ? substreamTable(substreams, nodes) : null, detail.partitions?.length ? partitionTable(detail.partitions) : null));
    this.paint?.();
  }

  asks(detail, substreams) {
    const size = detail.executors.filter((each) => each.phase === "active").length;
    const number = html("input", { type: "number", min: 1, value: this.wanted ?? size, "aria-label": "Executors", "data-key": "size" });
    const parts = [number, html("button", { type: "button", "data-key": "scale", onclick: () => this.ask({ do: "scale", pool: detail.pool, executors: Number(number.value) }) }, "Scale")];
    if (substreams.length) {
      const which = html("input", { type: "text", placeholder: "substreams 0, 3", "aria-label": "Substreams to move", "data-key": "which", value: [...this.picked].join(", ") });
      const target = html("input", { type: "number", min: 0, placeholder: "executor", "aria-label": "Executor that gets them", "data-key": "target" });
      parts.push(which, target, html("button", { type: "button", "data-key": "move", onclick: () => this.ask({
        do: "move", operator: detail.name, target: Number(target.value), substreams: which.value.split(/[\s,]+/).filter(Boolean).map(Number) }) }, "Move"));
      this.which = which;
    }
    return html("div", { class: "asks" }, ...parts);
  }

  heatMap(detail, substreams) {
    const tip = html("p", { class: "tip" }, "Each square is a substream in the row of the executor that serves it. Framed ones are about to move.");
    const most = Math.max(0, ...substreams.map((each) => each.rate ?? 0));
    const scale = html("p", { class: "scale" }, rate(0), html("i", {}), rate(most));
    const canvas = html("canvas", { role: "img", "aria-label": `Substreams of ${detail.name} by executor` });
    const rows = heatRows(detail, substreams);
    this.paint = () => paint(canvas, rows, Math.max(1e-9, most));
    const at = (event) => cellAt(canvas, rows, event);
    canvas.addEventListener("pointermove", (event) => {
      const found = at(event);
      if (found) tip.textContent = `Substream ${found.index}: ${rate(found.rate)}, ${count(found.queued)} queued, a record waits ${duration(found.wait_s)}, state ${bytes(found.state_bytes)}, executor ${found.executor ?? "none (moves)"}`;
    });
    canvas.addEventListener("click", (event) => {
      const found = at(event);
      if (!found || !this.which) return;
      if (!this.picked.delete(found.index)) this.picked.add(found.index);
      this.which.value = [...this.picked].join(", ");
    });
    return html("div", { class: "heat" }, html("div", { class: "scroll" }, canvas), html("div", { class: "under" }, tip, scale));
  }
}

// Executors that stand by have numbers below zero.
const nameOf = ({ id, instance }) => (id < 0 ? `standby ${-id}` : `${id}`) + (instance ? ` (${instance})` : "");

function heatRows(detail, substreams) {
  const rows = new Map(detail.executors.filter((each) => each.phase !== "warm").map((each) => [each.id, { label: `executor ${nameOf(each)}`, side: percent(each.utilisation), cells: [] }]));
  for (const each of substreams) {
    const owner = each.executor ?? "moving";
    if (!rows.has(owner)) rows.set(owner, { label: owner === "moving" ? "moving" : `executor ${owner}`, side: "", cells: [] });
    rows.get(owner).cells.push(each);
  }
  return [...rows.values()].filter((row) => row.cells.length || rows.size <= 40);
}

function geometry(canvas, rows) {
  const width = Math.max(160, canvas.clientWidth || 600);
  const widest = Math.max(1, ...rows.map((row) => row.cells.length));
  const size = Math.max(3, Math.min(LARGEST_CELL, Math.floor((width - LABEL) / widest)));
  const perRow = Math.max(1, Math.floor((width - LABEL) / size));
  let y = 0;
  const tops = rows.map((row) => {
    const top = y;
    y += Math.max(13, size * Math.ceil(Math.max(1, row.cells.length) / perRow)) + ROW_GAP;
    return top;
  });
  return { width, size, perRow, tops, height: y };
}

function paint(canvas, rows, hottest) {
  const { width, size, perRow, tops, height } = geometry(canvas, rows);
  const style = getComputedStyle(document.documentElement);
  const [low, high] = ["--heat-low", "--heat-high"].map((name) => style.getPropertyValue(name).split(",").map(Number));
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  pen.textBaseline = "middle";
  rows.forEach((row, number) => {
    pen.fillStyle = style.getPropertyValue("--muted");
    pen.fillText(row.label, 0, tops[number] + Math.max(7, size / 2));
    pen.textAlign = "right";
    pen.fillText(row.side, LABEL - 10, tops[number] + Math.max(7, size / 2));
    pen.textAlign = "left";
    row.cells.forEach((cell, at) => {
      const x = LABEL + (at % perRow) * size, y = tops[number] + Math.floor(at / perRow) * size;
      const share = cell.rate == null ? 0 : Math.sqrt(cell.rate / hottest);
      pen.fillStyle = `rgb(${low.map((part, each) => Math.round(part + share * (high[each] - part))).join(",")})`;
      pen.fillRect(x, y, size - 1, size - 1);
      if (cell.planned != null && cell.planned !== cell.executor) {
        pen.strokeStyle = style.getPropertyValue("--ink");
        pen.strokeRect(x + 0.5, y + 0.5, size - 2, size - 2);
      }
    });
  });
}

function cellAt(canvas, rows, event) {
  const box = canvas.getBoundingClientRect();
  const { size, perRow, tops } = geometry(canvas, rows);
  const [x, y] = [event.clientX - box.left - LABEL, event.clientY - box.top];
  const row = tops.findLastIndex((top) => y >= top);
  if (row < 0 || x < 0) return null;
  return rows[row].cells[Math.floor((y - tops[row]) / size) * perRow + Math.floor(x / size)] ?? null;
}

// Columns whose titles are in WORDS are text, all others numbers.
function table(titles, rows) {
  const kind = titles.map((title) => (WORDS.has(title) ? "words" : null));
  const line = (tag, cells) => html("tr", {}, ...cells.map((cell, at) => html(tag, { class: kind[at] }, String(cell))));
  return html("div", { class: "wide scroll" }, html("table", {}, html("thead", {}, line("th", titles)), html("tbody", {}, ...rows.map((row) => line("td", row)))));
}

function executorTable(detail) {
  return html("div", {}, html("h2", {}, `Executors of pool ${detail.pool}`), table(["executor", "phase", "busy", "rate", "queue", "substreams", "node"],
    detail.executors.map((each) => [nameOf(each), each.phase, percent(each.utilisation), rate(each.rate), count(each.queued), each.substreams, each.node ?? "–"])));
}

function partitionTable(partitions) {
  return html("div", {}, html("h2", {}, "Partitions of topics"), table(["topic", "partition", "arrivals", "queue"],
    partitions.map((each) => [each.topic, each.number, rate(each.rate), count(each.queued)])));
}

function substreamTable(substreams, nodes) {
  const hottest = [...substreams].sort((one, other) => (other.rate ?? 0) - (one.rate ?? 0)).slice(0, HOTTEST);
  return html("div", {}, html("h2", {}, `Substreams with the most load, of ${substreams.length}`), table(["substream", "load", "queue", "wait", "state", "executor", "node"],
    hottest.map((each) => [each.index, rate(each.rate), count(each.queued), duration(each.wait_s), bytes(each.state_bytes), each.executor ?? "moves", nodes.get(each.executor) ?? "–"])));
}
