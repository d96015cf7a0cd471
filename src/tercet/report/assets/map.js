// The map, redrawn along the dimensions that the reader chooses, and its tooltips.
(() => {
  const REACH = 26; // pixels around a point within which the pointer selects it
  const figure = document.getElementById("map-picture");
  const drawing = figure.querySelector(".drawing");
  const scene = JSON.parse(document.getElementById("map-data").textContent);
  const { objects, groups, colours, crowded } = scene; // crowded: ellipses only of the selected object
  const colourOf = (object) => colours[(objects[object].group ?? 0) % colours.length];
  const picture = (object) => document.getElementById(`picture-${object}`);

  let svg = drawing.querySelector("svg");
  const parts = objects.map(() => []); // elements that belong to each object
  const points = objects.map(() => null); // the element that is its point

  // --- the picture in the file, or one drawn here ----------------------------------------------

  const adopt = () => {
    for (const element of svg.querySelectorAll("[id]")) {
      const found = /^map-(object|ellipse|name|line)-(\d+)$/.exec(element.id);
      if (!found) continue;
      const object = Number(found[2]);
      element.classList.add("mark", found[1]);
      parts[object].push(element);
      if (found[1] === "object") points[object] = element;
    }
  };

  const SHAPES = [
    (r) => `M${-r},0a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0z`,
    (r) => `M${-r},${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
    (r) => `M0,${-1.2 * r}L${1.15 * r},${0.9 * r}H${-1.15 * r}z`,
    (r) => `M0,${-1.35 * r}L${1.35 * r},0L0,${1.35 * r}L${-1.35 * r},0z`,
  ];
  const shapeOf = (object) => SHAPES[Math.floor((objects[object].group ?? 0) / colours.length) % SHAPES.length];

  const DIMENSIONS = scene.dimensions;
  const along = (direction, at) => direction.reduce((sum, part, k) => sum + part * at[k], 0);
  // u'Cv of a covariance that is given by its upper half, row by row.
  const spread = (u, half, v) => {
    let sum = 0;
    let next = 0;
    for (let i = 0; i < DIMENSIONS; i += 1) {
      for (let j = i; j < DIMENSIONS; j += 1, next += 1) {
        sum += half[next] * (u[i] * v[j] + (i === j ? 0 : u[j] * v[i]));
      }
    }
    return sum;
  };

  // Position and ellipse of an object along two directions, in units of the map.
  const see = ({ at, covariance }, u, v) => {
    const [a, b, c] = [spread(u, covariance, u), spread(u, covariance, v), spread(v, covariance, v)];
    const [middle, half] = [(a + c) / 2, Math.hypot((a - c) / 2, b)];
    return {
      x: along(u, at),
      y: along(v, at),
      wide: scene.reach * Math.sqrt(Math.max(a, 0)), // half the width of its ellipse
      high: scene.reach * Math.sqrt(Math.max(c, 0)),
      long: scene.reach * Math.sqrt(Math.max(middle + half, 0)),
      short: scene.reach * Math.sqrt(Math.max(middle - half, 0)),
      angle: Math.atan2(2 * b, a - c) / 2,
    };
  };

  const view = { across: 0, up: 1, turn: 0, k: 1, x: 0, y: 0 }; // x and y: of the middle, in pixels
  let seen = []; // every object, from `see`
  let frame = { width: 1, height: 1, scale: 1, x: 0, y: 0 };
  let layers = null;

  const directions = () => {
    const axis = (k) => Array.from({ length: DIMENSIONS }, (_, i) => Number(i === k));
    const u = axis(view.across);
    if (view.turn) {
      const third = [0, 1, 2].find((k) => k !== view.across && k !== view.up);
      u[view.across] = Math.cos(view.turn);
      u[third] = Math.sin(view.turn);
    }
    return [u, axis(view.up)];
  };

  // Extent of points and ellipses; a few that are far larger than the others may be cut.
  const ends = (middle, half) => {
    const usual = seen.map((each) => each[half]).sort((a, b) => a - b)[Math.floor(seen.length / 2)];
    const reach = (each) => (crowded ? 0 : Math.min(each[half], 3 * usual));
    return [
      Math.min(...seen.map((each) => each[middle] - reach(each))),
      Math.max(...seen.map((each) => each[middle] + reach(each))),
    ];
  };

  const lookAlong = () => {
    const [u, v] = directions();
    seen = objects.map((each) => see(each, u, v));
    const [left, right] = ends("x", "wide");
    const [bottom, top] = ends("y", "high");
    const width = Math.max(drawing.clientWidth, 240);
    const more = picture(0) ? 24 : 0;
    const room = { side: (width < 500 ? 30 : 56) + more, end: 26 + more };
    const scale = (width - 2 * room.side) / (right - left || 1);
    const height = clamp(scale * (top - bottom) + 2 * room.end, 0.5 * width, Math.max(0.8 * width, 380));
    frame = {
      width,
      height: Math.round(height),
      scale: Math.min(scale, (height - 2 * room.end) / (top - bottom || 1)),
      x: (left + right) / 2,
      y: (bottom + top) / 2,
    };
  };

  const unit = () => frame.scale * view.k;
  const place = ({ x, y }) => [
    frame.width / 2 + unit() * (x - frame.x) + view.x,
    frame.height / 2 - unit() * (y - frame.y) + view.y,
  ];

  const sizeOfPictures = () => clamp(0.5 * Math.sqrt((frame.width * frame.height) / objects.length), 20, 72)
    * Math.sqrt(view.k);
  const radius = objects.length > 200 ? 2.8 : 3.8;

  // --- names beside points: as many as fit without covering anything ---------------------------

  const BESIDE = [[1, 0.7], [-1, 0.7], [1, -0.7], [-1, -0.7], [0, 1.2], [0, -1.2], [1.2, 0], [-1.2, 0]];
  const AROUND = [30, 150, -30, -150, 60, 120, -60, -120, 90, -90, 0, 180, 15, 165, -15, -165]
    .map((angle) => [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)]);

  const overlap = (a, b) => a[0] < b[2] && a[2] > b[0] && a[1] < b[3] && a[3] > b[1];

  class Grid { // of boxes, to find those near a given box
    constructor() { this.cells = new Map(); }
    * keys([left, top, right, bottom]) {
      for (let i = Math.floor(left / 48); i <= Math.floor(right / 48); i += 1) {
        for (let j = Math.floor(top / 48); j <= Math.floor(bottom / 48); j += 1) yield `${i},${j}`;
      }
    }
    add(box) {
      for (const key of this.keys(box)) {
        if (!this.cells.has(key)) this.cells.set(key, []);
        this.cells.get(key).push(box);
      }
    }
    hits(box) {
      for (const key of this.keys(box)) {
        if (this.cells.get(key)?.some((other) => overlap(box, other))) return true;
      }
      return false;
    }
  }

  // Small boxes along a line, to test what it would cross.
  const beads = ([x, y], [a, b], from) => {
    const steps = Math.ceil(Math.hypot(a - x, b - y) / 3);
    return Array.from({ length: steps }, (_, k) => (k + 1) / steps)
      .map((t) => [x + t * (a - x), y + t * (b - y)])
      .filter(([p, q]) => Math.hypot(p - x, q - y) > from)
      .map(([p, q]) => [p - 0.6, q - 0.6, p + 0.6, q + 0.6]);
  };

  const writeNames = (places, dots) => {
    const shown = objects.map((_, i) => i).filter((i) => {
      const [x, y] = places[i];
      return x > 0 && y > 0 && x < frame.width && y < frame.height - 18;
    });
    const near = (i) => shown.filter((j) => Math.hypot(places[i][0] - places[j][0], places[i][1] - places[j][1]) < 44).length;
    const crowding = shown.length > 600 ? null : new Map(shown.map((i) => [i, near(i)]));
    const order = crowding ? [...shown].sort((a, b) => crowding.get(b) - crowding.get(a) || a - b) : shown;
    const edge = scene.axes[0] ? 18 : 0; // room for the title of the vertical axis
    const taken = new Grid();
    for (const i of shown) taken.add([places[i][0] - dots, places[i][1] - dots, places[i][0] + dots, places[i][1] + dots]);
    const left = new Set(order);
    const reaches = [9, 14, 20, 27, ...(shown.length <= 60 ? [35, 45, 57] : [])];
    const passes = [[false, BESIDE.map(([x, y]) => [(dots + 2) * x, (dots + 2) * y])]];
    if (dots < 8) passes.push([true, reaches.flatMap((reach) => AROUND.map(([x, y]) => [reach * x, reach * y]))]);
    for (const [led, offsets] of passes) {
      for (const i of order) {
        if (!left.has(i)) continue;
        const text = cut(objects[i].name);
        const [x, y] = places[i];
        const [width, height] = [measure(text), SIZE + 1];
        for (const [right, up] of offsets) {
          const anchor = Math.abs(right) < 0.3 * Math.abs(up) ? 0 : Math.sign(right);
          const lift = Math.abs(up) < 0.3 * Math.abs(right) ? 0 : Math.sign(up);
          const start = x + right + (anchor - 1) * 0.5 * width;
          const top = y - up - (lift + 1) * 0.5 * height;
          const box = [start - 1, top - 1, start + width + 1, top + height + 1];
          if (box[0] < edge || box[1] < 0 || box[2] > frame.width || box[3] > frame.height - 18) continue;
          if (taken.hits(box)) continue;
          const line = led ? beads([x, y], [x + right, y - up], dots + 2) : [];
          if (line.some((bead) => taken.hits(bead))) continue;
          for (const each of [box, ...line]) taken.add(each);
          if (led) {
            const lead = shape("line", { id: `map-line-${i}`, class: "mark line", x1: x, y1: y, x2: x + right, y2: y - up,
              stroke: colourOf(i), "stroke-width": 0.6 }, layers.lines);
            parts[i].push(lead);
          }
          writeName(i, text, start, top + height - 3, layers.names, `map-name-${i}`);
          left.delete(i);
          break;
        }
      }
    }
  };

  const writeName = (i, text, x, y, layer, id) => {
    const name = shape("text", { x, y, class: "mark name", fill: colourOf(i), "font-size": SIZE, "font-family": FONT,
      stroke: "#fff", "stroke-width": 2.5, "stroke-linejoin": "round", "paint-order": "stroke" }, layer);
    if (id) name.id = id;
    name.textContent = text;
    parts[i].push(name);
  };

  // --- drawing ---------------------------------------------------------------------------------

  const begin = () => {
    svg.remove();
    svg = shape("svg", { xmlns: "http://www.w3.org/2000/svg" }, drawing);
    svg.classList.toggle("crowded", crowded);
    layers = Object.fromEntries(["axes", "ellipses", "lines", "points", "names", "over"]
      .map((kind) => [kind, shape("g", {}, svg)]));
    objects.forEach((_, i) => {
      const ellipse = shape("ellipse", { id: `map-ellipse-${i}`, class: "mark ellipse", fill: colourOf(i), "fill-opacity": 0.1,
        stroke: colourOf(i), "stroke-opacity": 0.45, "stroke-width": 1 }, layers.ellipses);
      const point = shape("g", { id: `map-object-${i}`, class: "mark object" }, layers.points);
      if (picture(i)) {
        shape("image", { href: picture(i).src }, point);
        shape("rect", { fill: "none", stroke: groups.length ? colourOf(i) : "#b9c2c9", "stroke-width": groups.length ? 2 : 0.75 }, point);
      } else {
        shape("path", { d: shapeOf(i)(radius), fill: colourOf(i), stroke: "#fff", "stroke-width": 0.8 }, point);
      }
      points[i] = point;
    });
  };

  const draw = () => {
    hide();
    set(svg, { viewBox: `0 0 ${frame.width} ${frame.height}` });
    for (const layer of [layers.axes, layers.lines, layers.names]) layer.replaceChildren();
    const places = seen.map(place);
    const large = picture(0) ? sizeOfPictures() : 0;
    objects.forEach((_, i) => {
      const [x, y] = places[i];
      const { long, short, angle } = seen[i];
      const ellipse = layers.ellipses.children[i];
      set(ellipse, { rx: (unit() * long).toFixed(2), ry: (unit() * short).toFixed(2),
        transform: `translate(${x.toFixed(2)} ${y.toFixed(2)}) rotate(${((-180 * angle) / Math.PI).toFixed(2)})` });
      points[i].setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)})`);
      if (large) {
        const [wide, high] = ["width", "height"].map((side) => Number(picture(i).getAttribute(side)));
        const [width, height] = [wide, high].map((length) => (large * length) / Math.max(wide, high));
        for (const each of points[i].children) set(each, { x: -width / 2, y: -height / 2, width, height });
      }
      parts[i] = [ellipse, points[i]];
    });
    writeNames(places, large ? large / 2 : radius);
    const [across, up] = [scene.axes[view.across], scene.axes[view.up]];
    if (across) {
      const style = { fill: "#5b6770", "font-size": SIZE, "font-family": FONT, "text-anchor": "middle" };
      const turned = view.turn ? `dimensions ${view.across + 1} and ${6 - view.across - view.up - 2}, turned` : across;
      shape("text", { ...style, x: frame.width / 2, y: frame.height - 4 }, layers.axes).textContent = turned;
      const middle = `translate(12 ${frame.height / 2}) rotate(-90)`;
      shape("text", { ...style, transform: middle }, layers.axes).textContent = up;
    }
  };

  // --- choosing --------------------------------------------------------------------------------

  let asked = 0;
  const redraw = () => {
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(draw);
  };
  view.zoom = (factor, x, y) => {
    const before = view.k;
    view.k = clamp(before * factor, 1, 40);
    const change = view.k / before;
    view.x = x - frame.width / 2 - change * (x - frame.width / 2 - view.x);
    view.y = y - frame.height / 2 - change * (y - frame.height / 2 - view.y);
    if (view.k === 1) [view.x, view.y] = [0, 0];
    redraw();
  };
  view.move = (dx, dy) => {
    view.x += dx;
    view.y += dy;
    redraw();
  };

  const controls = () => {
    const bar = make("div");
    bar.className = "controls";
    figure.prepend(bar);
    if (DIMENSIONS > 2) {
      const choice = (key, title) => {
        const label = make("label", `${title} `, bar);
        const select = make("select", undefined, label);
        select.id = `map-${key}`;
        scene.axes.forEach((axis, k) => {
          const option = make("option", axis, select);
          option.value = k;
        });
        select.value = view[key];
        return select;
      };
      const across = choice("across", "Horizontal");
      const up = choice("up", "Vertical");
      let turn = null;
      const choose = (changed, other) => {
        if (changed.value === other.value) other.value = changed === across ? view.across : view.up;
        Object.assign(view, { across: Number(across.value), up: Number(up.value), k: 1, x: 0, y: 0, turn: 0 });
        if (turn) turn.value = 0;
        lookAlong();
        draw();
      };
      across.addEventListener("change", () => choose(across, up));
      up.addEventListener("change", () => choose(up, across));
      if (DIMENSIONS === 3) {
        const label = make("label", "Rotate ", bar);
        turn = make("input", undefined, label);
        Object.assign(turn, { type: "range", id: "map-turn", min: -90, max: 90, value: 0 });
        turn.addEventListener("input", () => {
          view.turn = (turn.value * Math.PI) / 180;
          const { width, height, scale } = frame;
          lookAlong();
          Object.assign(frame, { width, height, scale }); // same scale during rotation
          redraw();
        });
      }
    }
    if (groups.length) {
      const legend = make("ul");
      legend.className = "legend";
      drawing.after(legend);
      groups.forEach((name, k) => {
        const item = make("li", undefined, legend);
        const mark = shape("svg", { viewBox: "-6 -6 12 12", width: 12, height: 12, "aria-hidden": "true" }, item);
        const outline = SHAPES[Math.floor(k / colours.length) % SHAPES.length](4);
        shape("path", { d: outline, fill: colours[k % colours.length] }, mark);
        make("bdi", name, item);
      });
    }
  };

  // --- tooltips --------------------------------------------------------------------------------

  const tip = make("div", undefined, figure);
  tip.className = "tip";
  tip.id = "map-tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;

  const fill = (object) => {
    const { name, facts, neighbours, group } = objects[object];
    tip.replaceChildren();
    if (picture(object)) {
      const image = make("img", undefined, tip);
      image.src = picture(object).src;
      image.alt = "";
    }
    make("strong", name, tip).dir = "auto";
    const list = make("ul", undefined, tip);
    if (group !== undefined) make("li", groups[group], list);
    for (const fact of facts) make("li", fact, list);
    const table = make("table", undefined, tip);
    const head = make("tr", undefined, table);
    for (const title of ["neighbour", "distance", "is the nearest"]) make("th", title, head);
    for (const other of neighbours) {
      const row = make("tr", undefined, table);
      make("td", objects[other.object].name, row).dir = "auto";
      make("td", other.distance, row);
      make("td", other.probability, row);
    }
  };

  const centre = (element) => {
    const box = element.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };

  // Beside the point, where it covers the fewest neighbours and stays in the window.
  const put = (object) => {
    const outer = figure.getBoundingClientRect();
    const [width, height] = [tip.offsetWidth, tip.offsetHeight];
    const [x, y] = centre(points[object]);
    const others = objects[object].neighbours.map((other) => centre(points[other.object]));
    const tried = [[16, -height / 2], [-16 - width, -height / 2], [-width / 2, 16], [-width / 2, -16 - height]];
    let best = null;
    let least = Infinity;
    for (const [right, down] of tried) {
      const left = clamp(x + right, outer.x, Math.max(outer.x, outer.right - width));
      const top = clamp(y + down, 4, Math.max(4, innerHeight - height - 4));
      const covers = ([a, b]) => a > left - 8 && a < left + width + 8 && b > top - 8 && b < top + height + 8;
      const cost = others.filter(covers).length + (covers([x, y]) ? 10 : 0);
      if (cost < least) [best, least] = [[left, top], cost];
    }
    tip.style.transform = `translate(${Math.round(best[0] - outer.x)}px, ${Math.round(best[1] - outer.y)}px)`;
  };

  // Names of the object and its neighbours that did not fit are drawn over the others.
  const nameOver = (object) => {
    if (!layers) return;
    const taken = [];
    const gap = (picture(object) ? sizeOfPictures() / 2 : radius) + 4;
    for (const i of [object, ...objects[object].neighbours.map((other) => other.object)]) {
      if (document.getElementById(`map-name-${i}`)) continue;
      const text = cut(objects[i].name);
      const [x, y] = place(seen[i]);
      const width = measure(text);
      const tried = [[x + gap, y + 4], [x - gap - width, y + 4], [x - width / 2, y - gap], [x - width / 2, y + gap + SIZE]];
      const boxOf = ([left, base]) => [left, base - SIZE, left + width, base + 2];
      const free = tried.find((at) => at[0] >= 0 && at[0] + width <= frame.width
        && !taken.some((other) => overlap(boxOf(at), other)));
      if (!free && i !== object) continue;
      const at = free ?? tried[0];
      taken.push(boxOf(at));
      writeName(i, text, ...at, layers.over);
    }
  };

  let shown = null; // the selected object
  const hide = () => {
    shown = null;
    tip.hidden = true;
    svg.classList.remove("looking");
    for (const each of svg.querySelectorAll(".here, .near")) each.classList.remove("here", "near");
    if (!layers) return;
    parts.forEach((several, i) => { parts[i] = several.filter((each) => each.parentNode !== layers.over); });
    layers.over.replaceChildren();
  };
  const show = (object) => {
    if (shown === object) return;
    hide();
    shown = object;
    svg.classList.add("looking");
    nameOver(object);
    for (const each of parts[object]) each.classList.add("here");
    for (const other of objects[object].neighbours) {
      for (const each of parts[other.object]) each.classList.add("near");
    }
    fill(object);
    tip.hidden = false;
    put(object);
  };

  const nearest = (event) => {
    let best = null;
    let least = REACH;
    points.forEach((point, i) => {
      const [x, y] = centre(point);
      const far = Math.hypot(event.clientX - x, event.clientY - y);
      if (far < least) [best, least] = [i, far];
    });
    return best;
  };
  const look = (event) => {
    if (event.type === "pointermove" && event.buttons && view.k > 1) return;
    const named = event.target.closest(".name");
    const object = named ? parts.findIndex((each) => each.includes(named)) : nearest(event);
    if (object !== null && object >= 0) show(object);
    else if (!svg.contains(document.activeElement)) hide();
  };

  // One tab stop; arrow keys move to the next point in that direction, so each can be reached.
  const step = (from, side, by) => {
    const key = (i) => (side === "x" ? centre(points[i])[0] : -centre(points[i])[1]);
    const order = objects.map((_, i) => i).sort((a, b) => key(a) - key(b) || a - b);
    return order[(order.indexOf(from) + by + order.length) % order.length];
  };
  const MOVES = { ArrowRight: ["x", 1], ArrowLeft: ["x", -1], ArrowUp: ["y", 1], ArrowDown: ["y", -1] };
  const reach = () => points.forEach((point, i) => {
    const { name, facts, neighbours } = objects[i];
    const near = neighbours.map((each) => `${objects[each.object].name} (${each.probability})`).join(", ");
    set(point, { tabindex: i ? "-1" : "0", role: "img", "aria-label": `${name}: ${facts.join("; ")}. Nearest: ${near}` });
    point.addEventListener("focus", () => show(i));
    point.addEventListener("blur", () => { if (shown === i) hide(); });
    point.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hide();
      if (!(event.key in MOVES)) return;
      event.preventDefault();
      const next = step(i, ...MOVES[event.key]);
      point.setAttribute("tabindex", "-1");
      points[next].setAttribute("tabindex", "0");
      points[next].focus();
    });
  });

  // --- start -----------------------------------------------------------------------------------

  if (DIMENSIONS > 1) {
    begin();
    controls();
    enlarge(figure, svg, view);
    lookAlong();
    draw();
    let width = drawing.clientWidth;
    new ResizeObserver(() => {
      if (drawing.clientWidth === width) return;
      width = drawing.clientWidth;
      lookAlong();
      redraw();
    }).observe(drawing);
  } else {
    adopt();
    addEventListener("resize", hide);
  }
  reach();
  svg.addEventListener("pointermove", look);
  svg.addEventListener("pointerdown", look);
  figure.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse") hide();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!svg.contains(event.target)) hide();
  });
})();
