"use strict";
// Small helpers, folding, copying and saving.

const make = (kind, text, parent) => {
  const made = document.createElement(kind);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
};

const shape = (kind, attributes, parent) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  set(made, attributes);
  if (parent) parent.append(made);
  return made;
};

const set = (element, attributes) => {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
};

const clamp = (value, least, most) => Math.min(Math.max(value, least), most);

const FONT = "system-ui, sans-serif";
const SIZE = 12; // of letters in drawings, in pixels
const LONGEST = 24; // letters of a name in a drawing; longer ones are cut in the middle

const cut = (name) => {
  const letters = [...name.replace(/\s+/g, " ").replace(/[\p{Cc}\p{Cf}]/gu, "").trim()];
  if (letters.length <= LONGEST) return letters.join("");
  return [...letters.slice(0, LONGEST - 10), "…", ...letters.slice(-9)].join("");
};

const ruler = document.createElement("canvas").getContext("2d");
const measure = (text, size = SIZE) => {
  ruler.font = `${size}px ${FONT}`;
  return ruler.measureText(text).width;
};

// Tables behind figures are open without scripts, and in print.
{
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
}

// Copying a text.
{
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
}

// Saving a figure as it is shown.
{
  const save = (svg, file) => {
    const whole = svg.cloneNode(true);
    const box = svg.viewBox.baseVal;
    whole.setAttribute("width", box.width);
    whole.setAttribute("height", box.height);
    const text = new XMLSerializer().serializeToString(whole);
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    link.download = file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  for (const figure of document.querySelectorAll("figure.picture")) {
    const caption = figure.querySelector("figcaption");
    const file = `${figure.id.replace(/-picture$/, "")}.svg`;
    caption.append(" ");
    const button = make("button", "Save the figure", caption);
    button.type = "button";
    button.className = "save";
    button.addEventListener("click", () => save(figure.querySelector(".drawing svg"), file));
  }
}

// Zooming and panning a drawing: buttons, the wheel with the control key, a drag with one finger or
// the mouse when it is enlarged, and a pinch. `view` has k (magnification) and
// move(dx, dy), zoom(factor, x, y) in pixels of the drawing.
const enlarge = (figure, svg, view) => {
  const bar = figure.querySelector(".controls") ?? make("div");
  if (!bar.parentNode) {
    bar.className = "controls";
    figure.prepend(bar);
  }
  const group = make("span", undefined, bar);
  group.className = "zoom";
  const middle = () => [svg.viewBox.baseVal.width / 2, svg.viewBox.baseVal.height / 2];
  const settle = () => { svg.style.touchAction = view.k > 1 ? "none" : "pan-x pan-y"; };
  const press = (text, label, act) => {
    const button = make("button", text, group);
    button.type = "button";
    button.setAttribute("aria-label", label);
    button.title = label;
    button.addEventListener("click", () => { act(); settle(); });
  };
  press("+", "Zoom in", () => view.zoom(1.5, ...middle()));
  press("−", "Zoom out", () => view.zoom(1 / 1.5, ...middle()));
  press("All", "Show all", () => view.zoom(1 / view.k, ...middle()));

  const place = (event) => {
    const box = svg.getBoundingClientRect();
    const ratio = svg.viewBox.baseVal.width / box.width;
    return [(event.clientX - box.x) * ratio, (event.clientY - box.y) * ratio];
  };
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    view.zoom(Math.exp(-event.deltaY / 200), ...place(event));
    settle();
  }, { passive: false });
  const held = new Map(); // pointers that are pressed
  svg.addEventListener("pointerdown", (event) => held.set(event.pointerId, place(event)));
  addEventListener("pointerup", (event) => held.delete(event.pointerId));
  addEventListener("pointercancel", (event) => held.delete(event.pointerId));
  svg.addEventListener("pointermove", (event) => {
    const before = held.get(event.pointerId);
    if (!before) return;
    const now = place(event);
    if (held.size === 2) {
      const [, other] = [...held].find(([id]) => id !== event.pointerId);
      const span = (one) => Math.hypot(one[0] - other[0], one[1] - other[1]);
      view.zoom(span(now) / Math.max(span(before), 1), ...other);
      settle();
    } else if (view.k > 1) {
      view.move(now[0] - before[0], now[1] - before[1]);
    }
    held.set(event.pointerId, now);
  });
  settle();
};
