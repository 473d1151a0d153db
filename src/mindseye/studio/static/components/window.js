/** A window on a plane: dragged, pinched and zoomed by wheel; it tells where pointers are. */

const MOST = 60;
const STILL = 4;

const clamp = (value, least, most) => Math.max(least, Math.min(most, value));

/**
 * What is seen of a plane whose points lie between −1 and 1, its second axis downwards.
 * @param {HTMLElement} place  Where pointers are listened to.
 * @param {{onMove, onPoint, onPress}} acts  The window moved; a pointer is at a pixel, or nowhere
 *     (null); somebody pressed at a pixel.
 */
export function planeWindow(place, { onMove, onPoint, onPress }) {
  const pointers = new Map();
  let [x, y, zoom] = [0, 0, 1];
  let size = { width: 1, height: 1 };
  let travelled = 0;

  const scale = () => zoom * Math.max(1, Math.min(size.width, size.height) / 2 - 18);
  const toPixel = (px, py) => [
    size.width / 2 + (px - x) * scale(),
    size.height / 2 + (py - y) * scale(),
  ];
  const middle = () => [size.width / 2, size.height / 2];

  function set(next) {
    zoom = clamp(next.zoom ?? zoom, 1, MOST);
    const reach = 1.1 - 0.1 / zoom; // all of the plane stays within reach
    x = zoom === 1 ? 0 : clamp(next.x ?? x, -reach, reach);
    y = zoom === 1 ? 0 : clamp(next.y ?? y, -reach, reach);
  }

  /** Zoom so that what is at a pixel stays there. */
  function zoomBy(factor, [px, py] = middle()) {
    const [dx, dy] = [px - size.width / 2, py - size.height / 2];
    const before = scale();
    const next = clamp(zoom * factor, 1, MOST);
    const after = (before / zoom) * next;
    set({ zoom: next, x: x + dx / before - dx / after, y: y + dy / before - dy / after });
    onMove();
  }

  function pan(dx, dy) {
    set({ x: x - dx / scale(), y: y - dy / scale() });
    onMove();
  }

  function pixelOf(event) {
    const box = place.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** The middle of all fingers, and how far they are from it. */
  function fingers() {
    const all = [...pointers.values()];
    const at = [0, 1].map((i) => all.reduce((sum, one) => sum + one[i], 0) / all.length);
    const spread = Math.max(...all.map((one) => Math.hypot(one[0] - at[0], one[1] - at[1])));
    return { at, spread };
  }

  place.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    place.setPointerCapture(event.pointerId);
    if (!pointers.size) travelled = 0;
    pointers.set(event.pointerId, pixelOf(event));
  });
  place.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) {
      onPoint(pixelOf(event));
      return;
    }
    const before = fingers();
    pointers.set(event.pointerId, pixelOf(event));
    const after = fingers();
    const [dx, dy] = [after.at[0] - before.at[0], after.at[1] - before.at[1]];
    travelled += Math.hypot(dx, dy) + Math.abs(after.spread - before.spread);
    if (travelled < STILL) return;
    place.classList.add("is-dragged");
    pan(dx, dy);
    if (before.spread > 0) zoomBy(after.spread / before.spread, after.at);
  });
  function released(event) {
    const pressed = pointers.delete(event.pointerId) && !pointers.size && travelled < STILL;
    if (!pointers.size) place.classList.remove("is-dragged");
    if (pressed && event.type === "pointerup") onPress(pixelOf(event), event.pointerType);
  }
  place.addEventListener("pointerup", released);
  place.addEventListener("pointercancel", released);
  place.addEventListener("pointerleave", () => onPoint(null));
  place.addEventListener(
    "wheel",
    (event) => {
      if (event.altKey) return;
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 20 : 1;
      zoomBy(Math.exp(clamp(-event.deltaY * lines, -240, 240) * 0.0022), pixelOf(event));
    },
    { passive: false },
  );

  return {
    toPixel,
    zoomBy,
    pan,
    get zoom() {
      return zoom;
    },
    /** The window as text for a link; nothing where it shows all. */
    get text() {
      return zoom === 1 ? "" : [x.toFixed(3), y.toFixed(3), zoom.toFixed(2)].join(",");
    },
    /** Show what a link says, or all. */
    show(text = "") {
      const [px, py, next] = text.split(",").map(Number);
      const known = [px, py, next].every(Number.isFinite);
      set(known ? { x: px, y: py, zoom: next } : { x: 0, y: 0, zoom: 1 });
    },
    /** Move so far that a point is seen, if it is not. */
    reach(px, py) {
      const [left, top] = toPixel(px, py);
      const edge = 24;
      const seen =
        left > edge && left < size.width - edge && top > edge && top < size.height - edge;
      if (!seen) set({ x: px, y: py });
      return !seen;
    },
    resize: (width, height) => (size = { width, height }),
  };
}
