// How numbers, heads and tokens are written.

/** A number with so many decimals: `−0.25`; `–` for none. */
export function fixed(x: number, decimals: number): string {
  if (!Number.isFinite(x)) return "–";
  const text = Math.abs(x).toFixed(decimals);
  return x < 0 && /[1-9]/.test(text) ? `−${text}` : text;
}

/** The same as CSS and attributes read it. */
export const decimal = (x: number, decimals: number): string => x.toFixed(decimals);

/** A number with so many significant digits, all of those before its point among them: `100`, `0.0012`, `1.2e−9`. */
export function significant(x: number, digits = 3): string {
  if (!Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  if (size === 0) return "0";
  const [, power] = size.toExponential(digits - 1).split("e"); // that of what is printed: 99.6 may be 100
  const plain = size >= 1e-4 && size < 1e7;
  return (
    (x < 0 ? "−" : "") +
    (plain
      ? size.toFixed(Math.max(0, digits - 1 - Number(power)))
      : size
          .toExponential(digits - 1)
          .replace("e-", "e−")
          .replace("e+", "e"))
  );
}

/** The same without zeros at its end: `0.05`. */
export function brief(x: number, digits = 3): string {
  const [mantissa, power] = significant(x, digits).split("e");
  const text = mantissa!.includes(".") ? mantissa!.replace(/\.?0+$/, "") : mantissa!;
  return power === undefined ? text : `${text}e${power}`;
}

/** Without the zero before the point: `.54`. */
export const bare = (text: string): string => text.replace(/^(−?)0\./, "$1.");

/** A weight in a picture: `.54`, and `·` below .005. */
export function weight(w: number): string {
  const size = Math.abs(w);
  return size < 0.005 ? "·" : bare(fixed(w, size < 0.995 ? 2 : 1));
}

/** A value beside a bar; nothing where it would print as zero, and is less than half of what is `usual`. */
export function number(found: number, scale: number, usual = Infinity): string {
  const size = Math.abs(found);
  if (size === 0 || size < scale * (size < usual / 2 ? 0.005 : 0.0005)) return "";
  if (scale > 0.2 && scale <= 1) return size < 0.005 ? bare(significant(found, 1)) : weight(found);
  return significant(found, 2);
}

/** A figure in a table or a tip: three decimals, fewer from 10 on, more for what is small, `–` for none. */
export function figure(x: number, digits = 3): string {
  if (x !== 0 && Math.abs(x) < 0.5 * 10 ** -digits) return `${x < 0 ? "−" : "<"}${fixed(10 ** -digits, digits)}`;
  const fewer = Math.abs(x) >= 100 ? 2 : Math.abs(x) >= 10 ? 1 : 0;
  return fixed(x, Math.max(0, digits - fewer));
}

/** A standard error: at most four decimals, fewer for what is large. */
export function errorFigure(x: number): string {
  if (x === 0) return "0";
  if (x < 0.00005) return "<.0001";
  return bare(fixed(x, x >= 10 ? 1 : x >= 1 ? 2 : x >= 0.01 ? 3 : 4));
}

/** A p or q: `.041`, or `< .001`. */
export const probability = (p: number): string => (p < 0.001 ? "< .001" : bare(fixed(p, 3)));

/** An accuracy: `.866`, and `–` for none. */
export const share = (x: number | null, digits = 3): string =>
  x === null ? "–" : x >= 0.9995 ? "1" : bare(fixed(x, digits));

/** `.833 – .899`. */
export const range = (low: number | null, high: number | null, digits = 3): string =>
  low === null || high === null ? "–" : `${share(low, digits)} – ${share(high, digits)}`;

/** `52,341`. */
export const whole = (n: number): string => Math.round(n).toLocaleString("en-US");

/** `12%`, `0.4%`; never all or nothing for what is neither. */
export function percent(share: number): string {
  if (share >= 1 || share === 0) return share === 0 ? "0%" : "100%";
  if (share > 0 && share < 0.001) return "<0.1%";
  if (share > 0.995) return `${fixed(Math.min(99.9, 100 * share), 1)}%`;
  return `${fixed(100 * share, share >= 0.1 ? 0 : 1)}%`;
}

/** `22.7 M`, `7.1 B`. */
export function parameters(n: number): string {
  if (n >= 1e9) return `${fixed(n / 1e9, 1)} B`;
  return n >= 1e6 ? `${fixed(n / 1e6, 1)} M` : whole(n);
}

/** `42 s`, `3 min 20 s`. */
export function duration(seconds: number): string {
  if (seconds < 10) return `${fixed(seconds, 1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** `1 head`, `2 heads`. */
export const plural = (n: number, noun: string): string => `${whole(n)} ${noun}${n === 1 ? "" : "s"}`;

/** `L7H9` and the 1-based `8-10`, from the model's own indices. */
export const code = (layer: number, head: number): string => `L${layer}H${head}`;
export const paper = (layer: number, head: number): string => `${layer + 1}-${head + 1}`;

/** Read `L7H9`: the model's own indices, or null. */
export function parseCode(text: string): { layer: number; head: number } | null {
  const match = /^L(\d+)H(\d+)$/i.exec(text.trim());
  return match ? { layer: Number(match[1]), head: Number(match[2]) } : null;
}

const MARKS: readonly [string, string][] = [
  ["##", "##"],
  ["Ġ", "␣"],
  ["▁", "␣"],
];

const JOINERS: Readonly<Record<string, string>> = { "\u200c": "ZWNJ", "\u200d": "ZWJ" };

// Bytes of a character that other pieces have the rest of: in hexadecimal, tied to those pieces.
function bytes(run: string): string {
  const codes = Array.from(run.matchAll(/[0-9A-F]{2}/g), ([code]) => code);
  const ascii = codes.map((code) => parseInt(code, 16)).filter((byte) => byte < 128);
  if (ascii.length === codes.length) return String.fromCharCode(...ascii);
  const first = parseInt(codes[0]!, 16);
  return `${first >= 0x80 && first < 0xc0 ? "‿" : ""}${codes.join("")}${codes.some((code) => parseInt(code, 16) >= 0xc0) ? "‿" : ""}`;
}

/** A piece as it is shown: the tokenizer's mark, and the text with characters that do not print made visible. */
export function piece(raw: string): { mark: string; text: string } {
  const [prefix, mark] = MARKS.find(([prefix]) => raw.startsWith(prefix) && raw.length > prefix.length) ?? ["", ""];
  const text = raw.slice(prefix.length).replace(/<0x[0-9A-F]{2}>(?:<0x[0-9A-F]{2}>)*/g, bytes);
  if (JOINERS[text]) return { mark, text: JOINERS[text] };
  const visible = Array.from(text, (character) => {
    const point = character.codePointAt(0) ?? 0;
    if (character === "\n") return "⏎";
    if (character === "\t") return "⇥";
    if (character === "Ġ" || character === "▁" || character === " ") return "␣";
    if (point < 32) return String.fromCharCode(0x2400 + point);
    if (point === 127) return "␡";
    if (/[\p{Cf}\p{Zl}\p{Zp}\p{Cc}\p{Cs}\p{Co}\p{Cn}]/u.test(character)) return character in JOINERS ? character : "�";
    return character;
  }).join("");
  return { mark, text: /^\p{M}/u.test(visible) ? `◌${visible}` : visible || "∅" };
}

/** A piece as one string; in tight places without the mark of a space. */
export function shown(raw: string, spaces = true): string {
  const { mark, text } = piece(raw);
  return mark === "␣" && !spaces ? text : mark + text;
}

/** The first characters of a text. */
export function shortened(text: string, limit = 48): string {
  const characters = Array.from(text);
  return characters.length > limit
    ? `${characters
        .slice(0, limit - 1)
        .join("")
        .trimEnd()}…`
    : text;
}

/** A few words of an input, to name it in a list. */
export function label(pieces: readonly string[], limit = 48, none = "(no text)"): string {
  const words = pieces
    .filter((raw) => !/^(\[CLS\]|\[SEP\]|<s>|<\/s>|<\|[^|]*\|>|<bos>|<eos>|\[PAD\]|<pad>)$/.test(raw))
    .map((raw) => piece(raw))
    .map(({ mark, text }) => (mark === "##" ? text : ` ${text}`))
    .join("")
    .trim();
  return shortened(words || none, limit);
}

export const clamp = (x: number, low: number, high: number): number => Math.min(high, Math.max(low, x));

/** What went wrong, in words. */
export const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));
