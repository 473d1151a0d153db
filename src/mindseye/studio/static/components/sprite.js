/** Pictures side by side in one file: opened once, drawn one by one. */

import { h } from "../dom.js";

/** An opened sprite. */
export class Pictures {
  constructor(image, sprite) {
    this.image = image;
    this.sprite = sprite;
  }

  /** Open a sprite; resolves when every picture can be drawn. */
  static async open(sprite) {
    const image = new Image();
    image.src = `data:image/png;base64,${sprite.png}`;
    await image.decode();
    return new Pictures(image, sprite);
  }

  get count() {
    return this.sprite.count;
  }

  /** Draw one picture onto a canvas, over what is there, at some opacity. */
  draw(canvas, index, alpha = 1) {
    const { width, height, columns } = this.sprite;
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    const ink = canvas.getContext("2d");
    const x = (index % columns) * width;
    const y = Math.floor(index / columns) * height;
    ink.globalAlpha = alpha;
    ink.drawImage(this.image, x, y, width, height, 0, 0, width, height);
    ink.globalAlpha = 1;
  }

  /** How much two pictures differ, from 0 to 1. */
  difference(first, second) {
    const [a, b] = [first, second].map((index) => {
      const canvas = document.createElement("canvas");
      this.draw(canvas, index);
      return canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    });
    let total = 0;
    for (let i = 0; i < a.length; i += 4) total += Math.abs(a[i] - b[i]);
    return total / (255 * (a.length / 4));
  }
}

/** A canvas for one picture, with a name for screen readers. */
export function canvasFor(shape, label = "a picture") {
  return h("canvas", {
    class: "picture",
    width: shape[2],
    height: shape[1],
    style: { "aspect-ratio": `${shape[2]} / ${shape[1]}` },
    role: "img",
    "aria-label": label,
  });
}

/** The letters of a link, as they stand in other places. */
function lettersOf(picture) {
  return picture.replaceAll("-", "+").replaceAll("_", "/");
}

/** Bytes of a PNG file in a link, as an image. */
export async function fromLink(picture) {
  const image = new Image();
  image.src = `data:image/png;base64,${lettersOf(picture)}`;
  await image.decode();
  return image;
}

/** Bytes of a PNG file in a link, as a file. */
export function linkBlob(picture) {
  return new Blob([bytesOf(lettersOf(picture))], { type: "image/png" });
}

/** Bytes that are written as letters. */
function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

/** A canvas as a PNG file; at once, while `canvas.toBlob` may wait for a quiet moment. */
export function toBlob(canvas) {
  const base64 = canvas.toDataURL("image/png").split(",")[1];
  return new Blob([bytesOf(base64)], { type: "image/png" });
}

/** Save bytes to disk. */
export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const anchor = h("a", { href: address, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** The bytes of a sprite as it was sent. */
export function spriteBlob(sprite) {
  return new Blob([bytesOf(sprite.png)], { type: "image/png" });
}

/** A name for a picture file made of a description. */
export function fileName(...parts) {
  return fileNameOf("png", ...parts);
}

/** The same for another kind of file. */
export function fileNameOf(kind, ...parts) {
  const stem = parts.filter((part) => part !== "").join("-");
  return `${
    stem
      .replace(/[^\p{L}\p{N}]+/gu, "-")
      .replace(/^-|-$/g, "")
      .toLowerCase() || "pictures"
  }.${kind}`;
}
