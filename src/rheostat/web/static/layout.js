// Layout of a topology: columns by the longest way from a source, rows by where the neighbours are. Streams that lead
// back, the loops, are found first and do not count. A stream over several columns has a place in each between, so that
// it passes beside the operators there.

export function layers(parts, edges) {
  const names = parts.map((part) => part.name);
  const back = loops(names, edges);
  const forward = edges.filter((edge) => !back.has(edge));
  const column = longestWays(names, forward);
  const columns = [];
  for (const name of names) (columns[column.get(name)] ??= []).push(name);
  const ways = new Map();
  const links = forward.flatMap((edge) => {
    const between = [];
    for (let at = column.get(edge.producer) + 1; at < column.get(edge.consumer); at += 1) {
      const name = `\u0000${edge.name}\u0000${edge.consumer}\u0000${at}`;
      columns[at].push(name);
      between.push(name);
    }
    ways.set(edge, between);
    const stops = [edge.producer, ...between, edge.consumer];
    return between.concat(edge.consumer).map((consumer, at) => ({ producer: stops[at], consumer }));
  });
  for (let sweep = 0; sweep < 4; sweep += 1) order(columns, links, sweep % 2 === 1);
  return { columns, back, ways };
}

export const isPassage = (name) => name.startsWith("\u0000");

function loops(names, edges) {
  const out = new Map(names.map((name) => [name, []]));
  for (const edge of edges) out.get(edge.producer).push(edge);
  const state = new Map();
  const back = new Set();
  for (const start of names) {
    if (state.has(start)) continue;
    const path = [{ name: start, next: 0 }];
    state.set(start, "open");
    while (path.length) {
      const top = path[path.length - 1];
      const edge = out.get(top.name)[top.next];
      top.next += 1;
      if (!edge) {
        state.set(top.name, "done");
        path.pop();
      } else if (state.get(edge.consumer) === "open") {
        back.add(edge);
      } else if (!state.has(edge.consumer)) {
        state.set(edge.consumer, "open");
        path.push({ name: edge.consumer, next: 0 });
      }
    }
  }
  return back;
}

function longestWays(names, edges) {
  const column = new Map(names.map((name) => [name, 0]));
  for (let changed = true; changed;) {
    changed = false;
    for (const { producer, consumer } of edges) {
      if (column.get(consumer) <= column.get(producer)) {
        column.set(consumer, column.get(producer) + 1);
        changed = true;
      }
    }
  }
  return column;
}

function order(columns, edges, reversed) {
  const place = new Map();
  for (const column of columns) column.forEach((name, at) => place.set(name, at / column.length));
  const [from, to] = reversed ? ["consumer", "producer"] : ["producer", "consumer"];
  const near = new Map();
  for (const edge of edges) {
    if (!near.has(edge[to])) near.set(edge[to], []);
    near.get(edge[to]).push(edge[from]);
  }
  const mean = (name) => {
    const places = (near.get(name) ?? []).map((each) => place.get(each));
    return places.length ? places.reduce((sum, each) => sum + each, 0) / places.length : place.get(name);
  };
  for (const column of columns) {
    const means = new Map(column.map((name) => [name, mean(name)]));
    column.sort((one, other) => means.get(one) - means.get(other));
    column.forEach((name, at) => place.set(name, at / column.length));
  }
}
