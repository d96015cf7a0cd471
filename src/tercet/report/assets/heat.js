// The heat map of expected distances, with labels that are readable on a phone, too.
(() => {
  const figure = document.getElementById("distances-picture");
  if (!figure) return;
  const VIRIDIS = [[68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141], [39, 173, 129],
    [92, 200, 99], [170, 220, 50], [253, 231, 37]];
  const NAMED = 60; // objects, up to which every row has room for its name
  const LOWEST = 12; // pixels of a row with a name
  const { objects, heat } = JSON.parse(document.getElementById("map-data").textContent);
  const n = objects.length;
  const steps = Uint8Array.from(atob(heat.steps), (letter) => letter.charCodeAt(0));
  const step = (i, j) => {
    if (i === j) return 0;
    const [a, b] = [Math.min(i, j), Math.max(i, j)];
    return steps[a * n - (a * (a + 1)) / 2 + b - a - 1];
  };
  const colour = (share) => {
    const at = share * (VIRIDIS.length - 1);
    const k = Math.min(Math.floor(at), VIRIDIS.length - 2);
    return VIRIDIS[k].map((from, c) => Math.round(from + (at - k) * (VIRIDIS[k + 1][c] - from)));
  };

  const paint = () => {
    const canvas = make("canvas");
    canvas.width = canvas.height = n;
    const pen = canvas.getContext("2d");
    const image = pen.createImageData(n, n);
    heat.order.forEach((i, row) => heat.order.forEach((j, column) => {
      image.data.set([...colour(step(i, j) / 255), 255], 4 * (row * n + column));
    }));
    pen.putImageData(image, 0, 0);
    return canvas.toDataURL();
  };

  const drawing = figure.querySelector(".drawing");
  drawing.querySelector("svg").remove();
  const svg = shape("svg", { xmlns: "http://www.w3.org/2000/svg" }, drawing);
  const cells = shape("svg", { preserveAspectRatio: "none" }, svg);
  shape("image", { href: paint(), width: n, height: n, preserveAspectRatio: "none", style: "image-rendering: pixelated" }, cells);
  const cross = shape("rect", { fill: "none", stroke: "#fff", "stroke-width": 2, visibility: "hidden" }, svg);
  const names = shape("g", {}, svg);
  const scale = shape("g", {}, svg);

  const view = { k: 1, row: 0, column: 0 }; // of the first visible cell
  let frame = null;
  const seenCells = () => n / view.k;

  const draw = () => {
    cross.setAttribute("visibility", "hidden");
    const width = Math.max(drawing.clientWidth, 200);
    const labels = heat.order.map((i) => cut(objects[i].name));
    const widest = Math.min(Math.max(...labels.map((text) => measure(text, 11))) + 6, 0.38 * width);
    const height = n <= NAMED ? Math.max(LOWEST * n, width - widest) : width - widest;
    const high = height / seenCells();
    const left = high >= LOWEST - 1 ? widest : 0;
    frame = { left, width: width - left, height, high, wide: (width - left) / seenCells() };
    set(svg, { viewBox: `0 0 ${width} ${height + 34}` });
    set(cells, { x: left, y: 0, width: width - left, height,
      viewBox: `${view.column} ${view.row} ${seenCells()} ${seenCells()}` });
    names.replaceChildren();
    if (left) {
      for (let row = Math.ceil(view.row - 0.5); row < view.row + seenCells() - 0.5; row += 1) {
        let text = labels[row];
        while (measure(text, 11) > widest - 4 && text.length > 2) text = `${text.slice(0, -2)}…`;
        shape("text", { x: left - 5, y: (row - view.row + 0.5) * high + 4, "text-anchor": "end", "font-size": 11,
          "font-family": FONT, fill: "#1f2a33" }, names).textContent = text;
      }
    }
    writeScale(width, height);
  };

  const writeScale = (width, height) => {
    scale.replaceChildren();
    const long = 120;
    const start = (width - long) / 2;
    for (let k = 0; k < 40; k += 1) {
      shape("rect", { x: start + (k * long) / 40, y: height + 12, width: long / 40 + 0.5, height: 8,
        fill: `rgb(${colour(k / 39).join(" ")})` }, scale);
    }
    const style = { y: height + 20, "font-size": 11, "font-family": FONT, fill: "#5b6770" };
    shape("text", { ...style, x: start - 6, "text-anchor": "end" }, scale).textContent = "near";
    shape("text", { ...style, x: start + long + 6 }, scale).textContent = `far (${heat.largest.toFixed(1)})`;
  };

  const keep = () => {
    view.row = clamp(view.row, 0, n - seenCells());
    view.column = clamp(view.column, 0, n - seenCells());
    draw();
  };
  view.zoom = (factor, x, y) => {
    const [column, row] = [view.column + (x - frame.left) / frame.wide, view.row + y / frame.high];
    const before = view.k;
    view.k = clamp(before * factor, 1, Math.max(1, n / 5));
    view.column = column - ((column - view.column) * before) / view.k;
    view.row = row - ((row - view.row) * before) / view.k;
    keep();
  };
  view.move = (dx, dy) => {
    view.column -= dx / frame.wide;
    view.row -= dy / frame.high;
    keep();
  };

  const tip = make("div", undefined, figure);
  tip.className = "tip";
  tip.id = "distances-tip";
  tip.hidden = true;
  const hide = () => {
    tip.hidden = true;
    cross.setAttribute("visibility", "hidden");
  };
  const look = (event) => {
    const box = svg.getBoundingClientRect();
    const ratio = svg.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.x) * ratio - frame.left;
    const y = (event.clientY - box.y) * ratio;
    const [column, row] = [Math.floor(view.column + x / frame.wide), Math.floor(view.row + y / frame.high)];
    if (x < 0 || y >= frame.height || column >= n || row >= n || column < 0 || row < 0) return hide();
    const [i, j] = [heat.order[row], heat.order[column]];
    set(cross, { x: frame.left + (column - view.column) * frame.wide, y: (row - view.row) * frame.high,
      width: frame.wide, height: frame.high, visibility: "visible" });
    tip.replaceChildren();
    make("bdi", objects[i].name, tip);
    if (i !== j) {
      tip.append(" and ");
      make("bdi", objects[j].name, tip);
      tip.append(`: expected distance ${((heat.largest * step(i, j)) / 255).toFixed(2)}`);
    }
    tip.hidden = false;
    const outer = figure.getBoundingClientRect();
    const left = clamp(event.clientX - outer.x + 14, 0, Math.max(0, outer.width - tip.offsetWidth));
    tip.style.transform = `translate(${left}px, ${event.clientY - outer.y - tip.offsetHeight - 12}px)`;
    return undefined;
  };
  svg.addEventListener("pointermove", look);
  svg.addEventListener("pointerdown", look);
  svg.addEventListener("pointerleave", hide);

  draw();
  if (n > 20) enlarge(figure, svg, view);
  let width = drawing.clientWidth;
  new ResizeObserver(() => {
    if (drawing.clientWidth !== width) {
      width = drawing.clientWidth;
      draw();
    }
  }).observe(drawing);
})();
