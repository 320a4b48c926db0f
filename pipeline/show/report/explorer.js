"use strict";
(() => {
  const datasets = JSON.parse(document.getElementById("explorer-data").textContent);
  if (!datasets.length) return;

  const byId = (id) => document.getElementById(id);
  const canvas = byId("graph"), pen = canvas.getContext("2d");
  const slider = byId("time"), search = byId("search"), play = byId("play");
  // Okabe and Ito's colours: communities beyond these share grey.
  const COMMUNITY = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a500"];
  const LEVELS = 6, STEP_MS = 650, SHOWN = 12, CHANGED = 0.04, MOST_TIES = 400, SIMILAR = 5;
  const state = { dataset: null, variant: null, graph: null, step: 0, node: -1, timer: 0, request: 0 };
  let colours = {}, view = { scale: 1, left: 0, top: 0, width: 0, height: 0 };

  function option(value, text) {
    const element = document.createElement("option");
    element.value = value;
    element.textContent = text;
    return element;
  }

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["paper", "ink", "quiet", "steady", "stronger", "weaker"]) colours[name] = style.getPropertyValue("--" + name).trim();
  }

  function inflated(packed) {
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
  }

  // Packed arrays: all u, all v, all predicted partners, their densities (16 bit), then edge weights, predictions a node (8 bit).
  async function unpack(dataset, variant) {
    const buffer = await inflated(variant.packed).arrayBuffer();
    const edges = variant.counts.reduce((sum, count) => sum + count, 0), many = variant.predictions, nodes = dataset.names.length;
    let at = 0;
    const words = (count) => { const part = new Uint16Array(buffer, at, count); at += 2 * count; return part; };
    const small = (count) => { const part = new Uint8Array(buffer, at, count); at += count; return part; };
    const graph = { u: words(edges), v: words(edges), partner: words(many), density: words(many), weight: small(edges), partnerCounts: small(nodes) };
    graph.reasons = variant.reasons ? (await inflated(variant.reasons).text()).split("\n") : [];
    graph.start = [0];
    for (const count of variant.counts) graph.start.push(graph.start.at(-1) + count);
    graph.firstPrediction = [0];
    for (const count of graph.partnerCounts) graph.firstPrediction.push(graph.firstPrediction.at(-1) + count);
    return graph;
  }

  const key = (u, v) => u * 65536 + v;
  const strength = (byte) => (byte / 255) ** 2 * state.variant.top;

  function weightsAt(step) {
    const { u, v, weight, start } = state.graph, weights = new Map();
    for (let edge = start[step]; edge < start[step + 1]; edge++) weights.set(key(u[edge], v[edge]), weight[edge] / 255);
    return weights;
  }

  // Ties at this step, with how each changed since the step before; ties that just vanished are kept as fading.
  function ties() {
    const now = weightsAt(state.step), before = state.step ? weightsAt(state.step - 1) : now, drawn = [];
    for (const [pair, weight] of now) {
      const change = weight - (before.get(pair) ?? 0);
      drawn.push({ u: Math.floor(pair / 65536), v: pair % 65536, weight, change: change > CHANGED ? 1 : change < -CHANGED ? -1 : 0, gone: false });
    }
    for (const [pair, weight] of before) {
      if (!now.has(pair)) drawn.push({ u: Math.floor(pair / 65536), v: pair % 65536, weight: weight * 0.5, change: -1, gone: true });
    }
    return drawn;
  }

  // The strongest ties, one per node on average, and all of the chosen node; or all.
  function tiesToDraw(drawn, near) {
    if (byId("ties").value === "all") return drawn;
    const many = Math.min(MOST_TIES, state.dataset.names.length);
    const ordered = [...drawn].sort((a, b) => b.weight - a.weight);
    return ordered.filter((tie, place) => place < many || (near && (tie.u === state.node || tie.v === state.node)));
  }

  function fit() {
    const box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    canvas.width = Math.max(1, Math.round(box.width * ratio));
    canvas.height = Math.max(1, Math.round(box.height * ratio));
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    view = { scaleX: box.width / 2 - 30, scaleY: box.height / 2 - 34, left: box.width / 2, top: box.height / 2 - 8, width: box.width, height: box.height };
  }

  const placeX = (node) => view.left + state.dataset.x[node] * view.scaleX;
  const placeY = (node) => view.top + state.dataset.y[node] * view.scaleY;

  function drawTies(drawn, near) {
    const buckets = new Map();
    for (const tie of drawn) {
      const dim = near && tie.u !== state.node && tie.v !== state.node;
      const level = Math.min(LEVELS - 1, Math.floor(tie.weight * LEVELS));
      const name = `${tie.change}|${level}|${dim ? 1 : 0}`;
      let path = buckets.get(name);
      if (!path) buckets.set(name, (path = new Path2D()));
      path.moveTo(placeX(tie.u), placeY(tie.u));
      path.lineTo(placeX(tie.v), placeY(tie.v));
    }
    const ordered = [...buckets].map(([name, path]) => [...name.split("|").map(Number), path]).sort((a, b) => b[2] - a[2] || a[1] - b[1]);
    const crowd = Math.min(1, Math.sqrt(900 / Math.max(1, drawn.length)));
    for (const [change, level, dim, path] of ordered) {
      const share = (level + 0.5) / LEVELS;
      pen.strokeStyle = change > 0 ? colours.stronger : change < 0 ? colours.weaker : colours.steady;
      pen.globalAlpha = dim ? 0.05 : (near ? 0.5 + 0.5 * share : (0.18 + 0.75 * share) * (0.35 + 0.65 * crowd));
      pen.lineWidth = (0.5 + 3.4 * share) * (near && !dim ? 1.3 : 0.45 + 0.55 * crowd);
      pen.setLineDash(change < 0 ? [4, 3] : []);
      pen.stroke(path);
    }
    pen.setLineDash([]);
    pen.globalAlpha = 1;
  }

  function drawNodes(drawn, near) {
    const { names, community } = state.dataset, partners = new Set([state.node]);
    if (near) for (const tie of drawn) if (!tie.gone) { if (tie.u === state.node) partners.add(tie.v); if (tie.v === state.node) partners.add(tie.u); }
    const radius = Math.max(1.8, Math.min(5, 60 / Math.sqrt(names.length)));
    for (let group = 0; group <= COMMUNITY.length; group++) {
      for (const lit of [false, true]) {
        pen.beginPath();
        for (let node = 0; node < names.length; node++) {
          if (Math.min(community[node], COMMUNITY.length) !== group || (near && !partners.has(node)) === lit) continue;
          const x = placeX(node), y = placeY(node), size = node === state.node ? radius * 1.7 : radius;
          pen.moveTo(x + size, y);
          pen.arc(x, y, size, 0, 2 * Math.PI);
        }
        pen.globalAlpha = lit ? 1 : 0.2;
        pen.fillStyle = COMMUNITY[group] ?? colours.quiet;
        pen.fill();
        if (lit && names.length <= 600) { pen.strokeStyle = colours.paper; pen.lineWidth = 1; pen.stroke(); }
      }
    }
    pen.globalAlpha = 1;
    return partners;
  }

  function drawNames(drawn, partners, near) {
    const { names } = state.dataset;
    let shown = [...partners].filter((node) => node >= 0);
    if (!near) {
      const most = drawn.filter((tie) => !tie.gone).sort((a, b) => b.weight - a.weight).slice(0, 6);
      shown = [...new Set(most.flatMap((tie) => [tie.u, tie.v]))].slice(0, 8);
    }
    pen.font = "12px system-ui, 'Liberation Sans', sans-serif";
    pen.textAlign = "center";
    pen.lineJoin = "round";
    const taken = [];
    for (const node of shown) {
      const name = names[node].length > 24 ? names[node].slice(0, 23) + "…" : names[node];
      const half = pen.measureText(name).width / 2;
      const x = Math.min(Math.max(placeX(node), half + 4), view.width - half - 4), y = Math.max(14, placeY(node) - 9);
      if (node !== state.node && taken.some((box) => Math.abs(box.x - x) < box.half + half + 3 && Math.abs(box.y - y) < 14)) continue;
      taken.push({ x, y, half });
      pen.strokeStyle = colours.paper;
      pen.lineWidth = 4;
      pen.strokeText(name, x, y);
      pen.fillStyle = colours.ink;
      pen.fillText(name, x, y);
    }
  }

  function row(list, text, much, share, node, reason) {
    const item = document.createElement("li"), button = document.createElement("button");
    const who = document.createElement("span"), amount = document.createElement("span"), meter = document.createElement("meter");
    button.type = "button";
    who.className = "who";
    who.textContent = text;
    amount.className = "much";
    amount.textContent = much;
    meter.value = share;
    meter.setAttribute("aria-hidden", "true");
    button.append(who, amount, meter);
    if (reason) {
      const why = document.createElement("span");
      why.className = "why";
      why.textContent = reason;
      button.append(why);
    }
    button.addEventListener("click", () => choose(node));
    item.append(button);
    list.append(item);
  }

  function empty(list, text) {
    const item = document.createElement("li"), words = document.createElement("span");
    words.className = "empty note";
    words.textContent = text;
    item.append(words);
    list.append(item);
  }

  // A probability where the model gives one, else the density by which it ranks.
  function likelihood(at) {
    const value = (state.graph.density[at] / 65535) * state.variant.topDensity;
    if (!state.variant.givesProbabilities) return `density ${value.toPrecision(2)}`;
    return `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`;
  }

  function fillLists(drawn) {
    const { names } = state.dataset, near = state.node >= 0, partners = byId("partners"), predicted = byId("predicted");
    const present = drawn.filter((tie) => !tie.gone && (!near || tie.u === state.node || tie.v === state.node)).sort((a, b) => b.weight - a.weight);
    partners.replaceChildren();
    const top = present.length ? present[0].weight ** 2 : 1;
    for (const tie of present.slice(0, SHOWN)) {
      const other = tie.u === state.node ? tie.v : tie.u;
      const text = near ? names[other] : `${names[tie.u]} – ${names[tie.v]}`;
      const trend = tie.change > 0 ? "↑ " : tie.change < 0 ? "↓ " : "";
      row(partners, text, trend + strength(tie.weight * 255).toPrecision(2), tie.weight ** 2 / (top || 1), other);
    }
    if (!present.length) empty(partners, near ? "No tie strong enough to show at this time." : "No ties at this time.");
    byId("chosen").textContent = near ? names[state.node] : "Strongest ties";
    byId("partners-title").textContent = `${near ? "Strongest partners" : "Ties"}, ${state.variant.times[state.step]}`;
    byId("predicted-title").textContent = `Predicted next partners after the last event of the data, ${state.dataset.last}`;
    byId("clear").hidden = byId("predicted-title").hidden = predicted.hidden = !near;
    predicted.replaceChildren();
    if (!near) return;
    const { partner, density, reasons, firstPrediction } = state.graph, first = firstPrediction[state.node];
    for (let at = first; at < firstPrediction[state.node + 1]; at++) {
      row(predicted, names[partner[at]], `#${at - first + 1} · ${likelihood(at)}`, density[at] / (density[first] || 1), partner[at], reasons[at]);
    }
    if (first === firstPrediction[state.node + 1]) empty(predicted, "No prediction is stored for this model.");
  }

  function draw() {
    if (!state.graph) return;
    const all = ties(), near = state.node >= 0, drawn = tiesToDraw(all, near);
    pen.clearRect(0, 0, view.width, view.height);
    drawTies(drawn, near);
    drawNames(drawn, drawNodes(drawn, near), near);
    fillLists(all);
    const when = state.variant.times[state.step], stronger = drawn.filter((tie) => tie.change > 0).length, weaker = drawn.filter((tie) => tie.change < 0).length;
    byId("when").textContent = when;
    slider.setAttribute("aria-valuetext", when);
    const whose = near ? ` ${state.dataset.names[state.node]} is chosen.` : "";
    canvas.setAttribute("aria-label", `Latent graph of ${state.dataset.title}, ${state.variant.label}, ${when}: ${drawn.filter((tie) => !tie.gone).length} ties, ${stronger} stronger and ${weaker} weaker than one step before.${whose}`);
    canvas.dataset.step = state.step;
    canvas.dataset.node = state.node;
  }

  // What happened, for readers who cannot see it; an unknown name is told to everyone, with nodes of similar names.
  function say(text, similar = null) {
    const status = byId("status");
    status.textContent = text;
    status.classList.toggle("visually-hidden", !similar);
    for (const node of similar ?? []) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = state.dataset.names[node];
      button.addEventListener("click", () => choose(node));
      status.append(" ", button);
    }
  }

  // Nodes by the share of pairs of letters that their names have in common with a text.
  function similarNodes(text, names) {
    const pairs = (word) => new Set(Array.from(word.slice(1), (letter, place) => word[place] + letter));
    const asked = pairs(text);
    const scores = names.map((name, node) => {
      const own = pairs(name), common = [...asked].filter((pair) => own.has(pair)).length;
      return { node, score: (2 * common) / Math.max(1, asked.size + own.size) };
    });
    return scores.filter((one) => one.score > 0.25).sort((a, b) => b.score - a.score).slice(0, SIMILAR).map((one) => one.node);
  }

  function move(step) {
    state.step = Math.min(Math.max(step, 0), state.variant.times.length - 1);
    slider.value = state.step;
    draw();
  }

  function choose(node) {
    state.node = node;
    search.value = node >= 0 ? state.dataset.names[node] : "";
    say(node >= 0 ? `${state.dataset.names[node]} chosen` : "Choice cleared");
    draw();
  }

  function find(settle) {
    const text = search.value.trim().toLocaleLowerCase(), { names } = state.dataset;
    if (!text) { if (state.node >= 0) choose(-1); return; }
    const lower = names.map((name) => name.toLocaleLowerCase());
    let node = lower.indexOf(text);
    if (node < 0 && settle) {
      node = lower.findIndex((name) => name.startsWith(text));
      if (node < 0) node = lower.findIndex((name) => name.includes(text));
    }
    if (node >= 0 && node !== state.node) choose(node);
    else if (node < 0 && settle) {
      const similar = similarNodes(text, lower);
      say(`No node is named like ${search.value.trim()}.${similar.length ? " Similar names:" : ""}`, similar);
    } else if (node < 0) say("");
  }

  async function showVariant(name) {
    const request = ++state.request, dataset = state.dataset, variant = dataset.variants.find((one) => one.name === name);
    stop();
    const graph = await unpack(dataset, variant);
    if (request !== state.request) return;
    Object.assign(state, { variant, graph });
    slider.max = variant.times.length - 1;
    play.hidden = slider.hidden = byId("legend").hidden = variant.times.length < 2;
    const only = variant.times.length < 2 ? " This model keeps one graph, so that there is no time to move through." : "";
    const thinned = variant.times.length < variant.snapshots ? ` ${variant.times.length} of ${variant.snapshots} snapshots are shown.` : "";
    const part = dataset.names.length < dataset.of ? `These are the ${dataset.names.length.toLocaleString("en")} most active of ${dataset.of.toLocaleString("en")} nodes. ` : "";
    byId("scope").textContent = `${part}Kept are each node's strongest ties in the first seed: the mean of both directions, summed over edge types.${thinned}${only} Nodes sit with their community of who communicates with whom; colours are communities. There are two times: ties are those of the training, and end with it; predictions follow the last event of the data, test period included.`;
    fit();
    move(variant.times.length - 1);
    byId("explorer").dataset.ready = `${dataset.name}/${name}`;
  }

  function showDataset(name) {
    const dataset = datasets.find((one) => one.name === name);
    Object.assign(state, { dataset, node: -1, graph: null });
    search.value = "";
    byId("names").replaceChildren(...dataset.names.map((one) => option(one, one)));
    byId("variant").replaceChildren(...dataset.variants.map((one) => option(one.name, one.label)));
    return showVariant(dataset.variants[0].name);
  }

  function stop() {
    clearInterval(state.timer);
    state.timer = 0;
    play.setAttribute("aria-pressed", "false");
    play.firstElementChild.textContent = "▶";
    byId("play-label").textContent = "Play";
  }

  function start() {
    const last = state.variant.times.length - 1;
    if (state.step >= last) move(0);
    state.timer = setInterval(() => { move(state.step + 1); if (state.step >= last) stop(); }, STEP_MS);
    play.setAttribute("aria-pressed", "true");
    play.firstElementChild.textContent = "❚❚";
    byId("play-label").textContent = "Pause";
  }

  function nodeAt(event) {
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    let nearest = -1, best = 22 ** 2;
    for (let node = 0; node < state.dataset.names.length; node++) {
      const distance = (placeX(node) - x) ** 2 + (placeY(node) - y) ** 2;
      if (distance < best) [nearest, best] = [node, distance];
    }
    return nearest;
  }

  byId("dataset").replaceChildren(...datasets.map((one) => option(one.name, one.title)));
  byId("dataset").addEventListener("change", (event) => showDataset(event.target.value));
  byId("variant").addEventListener("change", (event) => showVariant(event.target.value));
  slider.addEventListener("input", () => { stop(); move(Number(slider.value)); });
  search.addEventListener("input", () => find(false));
  search.addEventListener("change", () => find(true));
  search.addEventListener("keydown", (event) => { if (event.key === "Enter") find(true); if (event.key === "Escape") choose(-1); });
  byId("ties").addEventListener("change", draw);
  play.addEventListener("click", () => (state.timer ? stop() : start()));
  byId("clear").addEventListener("click", () => { choose(-1); search.focus(); });
  canvas.addEventListener("click", (event) => choose(nodeAt(event)));
  canvas.addEventListener("keydown", (event) => {
    const nodes = state.dataset.names.length;
    const act = {
      ArrowLeft: () => move(state.step - 1), ArrowRight: () => move(state.step + 1), Escape: () => choose(-1),
      ArrowDown: () => choose((state.node + 1) % nodes), ArrowUp: () => choose((Math.max(state.node, 0) + nodes - 1) % nodes),
    }[event.key];
    if (act) { event.preventDefault(); stop(); act(); }
  });
  new ResizeObserver(() => { fit(); draw(); }).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); draw(); });
  readColours();
  showDataset(datasets[0].name);
})();
