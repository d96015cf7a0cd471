"use strict";
(() => {
  // Tables behind pictures are open where there are no scripts, and on paper.
  const folded = [...document.querySelectorAll("details.behind")];
  for (const each of folded) each.open = false;
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = folded.filter((each) => !each.open);
    for (const each of opened) each.open = true;
  });
  addEventListener("afterprint", () => {
    for (const each of opened) each.open = false;
  });

  const make = (kind, text, parent) => {
    const made = document.createElement(kind);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  };

  // --- copying and saving ---------------------------------------------------------------------

  const select = (part) => {
    const range = document.createRange();
    range.selectNodeContents(part);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  };

  const copy = async (part) => {
    try {
      await navigator.clipboard.writeText(part.innerText);
    } catch {
      select(part);
      document.execCommand("copy");
    }
  };

  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await copy(document.getElementById(button.dataset.copy));
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  const save = (svg, file) => {
    const whole = svg.cloneNode(true);
    const box = svg.viewBox.baseVal;
    whole.setAttribute("width", `${box.width}pt`);
    whole.setAttribute("height", `${box.height}pt`);
    const text = new XMLSerializer().serializeToString(whole);
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    link.download = file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  for (const figure of document.querySelectorAll("figure.picture")) {
    const caption = figure.querySelector("figcaption");
    const svg = figure.querySelector("svg");
    const file = `${figure.id.replace(/-picture$/, "")}.svg`;
    caption.append(" ");
    const button = make("button", "Save the picture", caption);
    button.type = "button";
    button.className = "save";
    button.addEventListener("click", () => save(svg, file));
  }

  // --- the map --------------------------------------------------------------------------------

  const REACH = 26; // pixels from a point within which it is meant
  const figure = document.getElementById("map-picture");
  const svg = figure.querySelector("svg");
  const objects = JSON.parse(document.getElementById("map-data").textContent);
  const parts = objects.map(() => []); // elements that belong to each object
  const points = []; // { object, element }
  for (const element of svg.querySelectorAll("[id]")) {
    const found = /^map-(object|ellipse|name|line)-(\d+)(?:-\d+-\d+)?$/.exec(element.id);
    if (!found) continue;
    const object = Number(found[2]);
    element.classList.add("mark", found[1]);
    parts[object].push(element);
    if (found[1] === "object") points.push({ object, element });
  }

  const tip = make("div", undefined, figure);
  tip.className = "tip";
  tip.id = "map-tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;

  const fill = (object) => {
    const { name, facts, neighbours } = objects[object];
    tip.replaceChildren();
    make("strong", name, tip).dir = "auto";
    const list = make("ul", undefined, tip);
    for (const fact of facts) make("li", fact, list);
    const table = make("table", undefined, tip);
    const head = make("tr", undefined, table);
    for (const title of ["nearest", "distance", "is the nearest"]) make("th", title, head);
    for (const other of neighbours) {
      const row = make("tr", undefined, table);
      make("td", other.name, row).dir = "auto";
      make("td", other.distance, row);
      make("td", other.probability, row);
    }
  };

  const centre = (element) => {
    const box = element.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };

  // Beside the point, where it covers fewest of its neighbours and stays in the window.
  const place = ({ object, element }) => {
    const frame = figure.getBoundingClientRect();
    const [width, height] = [tip.offsetWidth, tip.offsetHeight];
    const [x, y] = centre(element);
    const near = objects[object].neighbours.map((other) => other.object);
    const others = points.filter((each) => near.includes(each.object)).map((each) => centre(each.element));
    const places = [[16, -height / 2], [-16 - width, -height / 2], [-width / 2, 16], [-width / 2, -16 - height]];
    let best = null;
    let least = Infinity;
    for (const [right, down] of places) {
      const left = Math.min(Math.max(frame.x, x + right), frame.right - width);
      const top = Math.min(Math.max(4, y + down), innerHeight - height - 4);
      const covers = ([a, b]) => a > left - 8 && a < left + width + 8 && b > top - 8 && b < top + height + 8;
      const cost = others.filter(covers).length + (covers([x, y]) ? 10 : 0);
      if (cost < least) [best, least] = [[left, top], cost];
    }
    tip.style.transform = `translate(${Math.round(best[0] - frame.x)}px, ${Math.round(best[1] - frame.y)}px)`;
  };

  let shown = null; // the element of the object that is looked at
  const hide = () => {
    shown = null;
    tip.hidden = true;
    svg.classList.remove("looking");
    for (const each of svg.querySelectorAll(".here, .near")) each.classList.remove("here", "near");
  };
  const show = (point) => {
    const { object, element } = point;
    if (shown === element) return;
    hide();
    shown = element;
    svg.classList.add("looking");
    for (const each of parts[object]) each.classList.add("here");
    for (const other of objects[object].neighbours) {
      for (const each of parts[other.object]) each.classList.add("near");
    }
    fill(object);
    tip.hidden = false;
    place(point);
  };

  const nearest = (event) => {
    let best = null;
    let least = REACH;
    for (const point of points) {
      const [x, y] = centre(point.element);
      const far = Math.hypot(event.clientX - x, event.clientY - y);
      if (far < least) [best, least] = [point, far];
    }
    return best;
  };
  const look = (event) => {
    const named = event.target.closest(".name");
    const object = named && parts.findIndex((each) => each.includes(named));
    const found = named ? points.find((each) => each.object === object) : nearest(event);
    if (found) show(found);
    else if (!svg.contains(document.activeElement)) hide();
  };
  svg.addEventListener("pointermove", look);
  svg.addEventListener("pointerdown", look);
  figure.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse") hide();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!svg.contains(event.target)) hide();
  });
  addEventListener("resize", hide);

  // One stop of the tab key; arrows go on to the next point across or up, so each can be reached.
  const stops = points.filter((each) => /^map-object-\d+(?:-0-1)?$/.test(each.element.id));
  const along = (point, side) => (side === "x" ? centre(point.element)[0] : -centre(point.element)[1]);
  const step = (from, side, by) => {
    const order = [...stops].sort((a, b) => along(a, side) - along(b, side));
    return order[(order.indexOf(from) + by + order.length) % order.length];
  };
  const moves = { ArrowRight: ["x", 1], ArrowLeft: ["x", -1], ArrowUp: ["y", 1], ArrowDown: ["y", -1] };
  stops.forEach((point, k) => {
    const { name, facts, neighbours } = objects[point.object];
    const near = neighbours.map((each) => `${each.name} (${each.probability})`).join(", ");
    point.element.setAttribute("tabindex", k ? "-1" : "0");
    point.element.setAttribute("role", "img");
    point.element.setAttribute("aria-label", `${name}: ${facts.join("; ")}. Nearest: ${near}`);
    point.element.addEventListener("focus", () => show(point));
    point.element.addEventListener("blur", hide);
    point.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hide();
      if (!(event.key in moves)) return;
      event.preventDefault();
      const next = step(point, ...moves[event.key]);
      point.element.setAttribute("tabindex", "-1");
      next.element.setAttribute("tabindex", "0");
      next.element.focus();
    });
  });
})();
