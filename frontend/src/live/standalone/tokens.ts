// A text as the model's tokens: pieces, ids, and the words that they make, by the rules of headscope.models.encode.

import { Tokenizer } from "@huggingface/tokenizers";
import type { TokenizerInfo } from "../../protocol";

export interface Tokens {
  readonly ids: readonly number[];
  readonly types: readonly number[];
  readonly pieces: readonly string[];
  readonly special: readonly boolean[];
  /** 0 for text A, 1 for text B, -1 for none. */
  readonly sequences: readonly number[];
  /** The word of each piece, counted from 0 along the axis. */
  readonly words: readonly number[];
  /** What the text says where each token stands, with the spaces before it. */
  readonly texts: readonly string[];
  /** The place of the first token that was written after the text, where there is one. */
  readonly written: number | null;
}

type Mark = "##" | "▁" | "Ġ";

const gap = (piece: string): boolean => piece !== "" && (/^▁+$/.test(piece) || /^Ġ+$/.test(piece));
const punctuates = (text: string): boolean => /^\p{P}+$/u.test(text.trim());

export class Reader {
  private readonly tokenizer: Tokenizer;
  private readonly mark: Mark | null;

  constructor(
    private readonly info: TokenizerInfo,
    json: object,
  ) {
    this.tokenizer = new Tokenizer(json, info.config);
    this.mark = markOf(json);
  }

  /** Why this tokenizer is not the model's own; null where it reads all probes alike. */
  check(): string | null {
    for (const { text, pair, ids } of this.info.probes) {
      const mine = this.tokenizer.encode(text, { text_pair: pair }).ids;
      if (mine.join() !== ids.join())
        return `the tokenizer in this page reads ${JSON.stringify(text.slice(0, 40))} otherwise than the model's own`;
    }
    return null;
  }

  read(text: string, pair: string | null, written: readonly number[]): Tokens {
    const whole = this.tokenizer.encode(text, { text_pair: pair, return_token_type_ids: true });
    const own = [text, ...(pair === null ? [] : [pair])].map((each) => this.side(each));
    const ids = [...whole.ids];
    const sequences = ids.map(() => -1);
    const texts = ids.map(() => "");
    const inner: (Piece | null)[] = ids.map(() => null);
    let at = 0;
    own.forEach((pieces, number) => {
      const first = find(ids, pieces, at);
      pieces.forEach((piece, place) => {
        sequences[first + place] = number;
        texts[first + place] = piece.text;
        inner[first + place] = piece;
      });
      at = first + pieces.length;
    });
    const types = this.info.types ? [...whole.token_type_ids] : ids.map(() => 0);
    for (const id of written) {
      ids.push(id);
      types.push(0);
      sequences.push(this.info.special.includes(id) ? -1 : 0);
      texts.push(this.named(id));
      inner.push(null);
    }
    const special = ids.map((id, place) => sequences[place] === -1 || this.info.special.includes(id));
    return {
      ids,
      types,
      pieces: ids.map((id, place) => this.label(id, texts[place]!)),
      special,
      sequences,
      words: this.words(ids, inner, special, sequences, texts),
      texts,
      written: written.length > 0 ? ids.length - written.length : null,
    };
  }

  /** What a token reads. */
  named(id: number): string {
    const text = this.tokenizer.decode([id], { skip_special_tokens: false, clean_up_tokenization_spaces: false });
    return /^\uFFFD+$/.test(text.trim()) ? this.label(id, "") : text;
  }

  piece(id: number): string {
    return this.tokenizer.id_to_token(id) ?? String(id);
  }

  private label(id: number, text: string): string {
    const piece = this.mark === "Ġ" && !this.info.special.includes(id) ? readable(this.piece(id)) : this.piece(id);
    return this.info.unknown.includes(id) && text.trim() ? `${piece}${text.trim()}` : piece;
  }

  // The tokens of one text, each with what the text says there.
  private side(text: string): Piece[] {
    const { ids } = this.tokenizer.encode(text, { add_special_tokens: false });
    const pieces = ids.map((id) => this.piece(id));
    return (this.mark !== "##" && this.fromBytes(text, ids, pieces)) || this.walked(text, ids, pieces);
  }

  // Pieces that are the text's own bytes; null where they are not. A space that the tokenizer puts first has no byte.
  private fromBytes(text: string, ids: readonly number[], pieces: readonly string[]): Piece[] | null {
    const each = pieces.map((piece, place) => this.bytes(piece, this.info.special.includes(ids[place]!)));
    const letters = [...text];
    const letterOf = letters.flatMap((letter, number) => Array<number>(UTF8.encode(letter).length).fill(number));
    const added = each.reduce((total, { length }) => total + length, 0) - letterOf.length;
    if (added !== 0 && !(added === 1 && each[0]?.[0] === 32)) return null;
    const starts = this.mark === "Ġ" ? this.borders(text, pieces) : null;
    let [byte, told, passed] = [-added, 0, 0];
    return pieces.map((piece, place): Piece => {
      const [first, last] = [Math.max(0, byte), Math.max(0, byte + each[place]!.length - 1)];
      const [start, end] = [letterOf[first] ?? letters.length, (letterOf[last] ?? letters.length - 1) + 1];
      const mine = {
        id: ids[place]!,
        text: letters.slice(Math.max(start, told), end).join(""),
        covers: letters.slice(start, end).join(""),
        inside: start < told,
        begins: starts?.has(passed) ?? false,
      };
      byte += each[place]!.length;
      told = Math.max(told, end);
      passed += [...piece].length;
      return mine;
    });
  }

  private bytes(piece: string, control: boolean): Uint8Array {
    if (control) return UTF8.encode(piece);
    if (this.mark === "Ġ") return Uint8Array.from(piece, (letter) => BYTES.get(letter) ?? 63);
    const byte = /^<0x([0-9A-F]{2})>$/.exec(piece);
    return byte ? Uint8Array.of(parseInt(byte[1]!, 16)) : UTF8.encode(piece.replaceAll("▁", " "));
  }

  // Where the tokenizer's own words begin, in letters of the pieces; null where a control token stands between.
  private borders(text: string, pieces: readonly string[]): ReadonlySet<number> | null {
    const { pre_tokenizer: split, normalizer } = this.tokenizer;
    if (!split) return null;
    const parts = split(normalizer ? normalizer(text) : text, { section_index: 0 }) as string[];
    if (parts.join("") !== pieces.join("")) return null;
    const starts = new Set<number>();
    let at = 0;
    for (const part of parts) {
      starts.add(at);
      at += [...part].length;
    }
    return starts;
  }

  // Other pieces are looked for in the text, letter by letter as the tokenizer writes them.
  private walked(text: string, ids: readonly number[], pieces: readonly string[]): Piece[] {
    const letters = [...text];
    const { normalizer } = this.tokenizer;
    const plain = letters.map((letter) => {
      const spelled = normalizer && this.mark === "##" ? normalizer(letter) : letter;
      return spelled.replace(/[\s▁]+/gu, "");
    });
    let at = 0;
    let rest = "";
    const found = pieces.map((piece, place): Piece => {
      const id = ids[place]!;
      const start = at;
      const inside = rest !== "";
      const surface = this.surface(piece);
      if (this.info.special.includes(id)) {
        while (at < letters.length && /\s/u.test(letters[at]!)) at++;
        if (letters.slice(at).join("").startsWith(piece)) at += [...piece].length;
      } else if (this.info.unknown.includes(id)) {
        while (at < letters.length && /\s/u.test(letters[at]!)) at++;
        if (at < letters.length && punctuates(letters[at]!)) at++;
        else while (at < letters.length && !/\s/u.test(letters[at]!) && !punctuates(letters[at]!)) at++;
      } else {
        let wanted = surface;
        if (rest && wanted.startsWith(rest)) [wanted, rest] = [wanted.slice(rest.length), ""];
        else if (rest.startsWith(wanted)) [rest, wanted] = [rest.slice(wanted.length), ""];
        while (wanted && at < letters.length) {
          const letter = plain[at]!;
          if (wanted.startsWith(letter)) wanted = wanted.slice(letter.length);
          else if (letter.startsWith(wanted)) [rest, wanted] = [letter.slice(wanted.length), ""];
          else if (letter !== "") break; // a byte of a letter, or what the tokenizer wrote in its place
          at++;
        }
      }
      const said = letters.slice(start, at).join("");
      const begins = this.mark === "##" ? !piece.startsWith("##") : this.mark === "▁" ? false : /^\s/u.test(said);
      return { id, text: said, covers: said, inside, begins };
    });
    const last = found.at(-1);
    return last ? [...found.slice(0, -1), { ...last, text: last.text + letters.slice(at).join("") }] : found;
  }

  private surface(piece: string): string {
    const plain = this.mark === "##" && piece.startsWith("##") && piece.length > 2 ? piece.slice(2) : piece;
    return plain.replace(/[\s▁]+/gu, "");
  }

  private words(
    ids: readonly number[],
    inner: readonly (Piece | null)[],
    special: readonly boolean[],
    sequences: readonly number[],
    texts: readonly string[],
  ): number[] {
    const found: number[] = [];
    let word = -1;
    ids.forEach((id, place) => {
      const before = place - 1;
      const follows = place > 0 && !special[before] && !special[place] && sequences[before] === sequences[place];
      if (!follows || this.begins(id, place, ids, inner, texts)) word++;
      found.push(word);
    });
    return found;
  }

  private begins(
    id: number,
    place: number,
    ids: readonly number[],
    inner: readonly (Piece | null)[],
    texts: readonly string[],
  ): boolean {
    const piece = this.piece(id);
    const before = this.piece(ids[place - 1]!);
    if (inner[place]?.inside) return false;
    if (gap(before)) return false;
    if (/^\s/u.test(texts[place]!)) return true;
    if (!inner[place] && /^[▁Ġ]/.test(piece)) return true;
    const [mine, last] = [place, place - 1].map((at) => inner[at]?.covers ?? texts[at]!) as [string, string];
    return divides(
      [...last].at(-1) ?? "",
      [...mine][0] ?? "",
      inner[place]?.begins ?? false,
      punctuates(mine) || punctuates(last),
    );
  }
}

interface Piece {
  readonly id: number;
  readonly text: string;
  /** The letters that it stands for, those as well of which the piece before has a part. */
  readonly covers: string;
  /** It goes on with a letter of the piece before. */
  readonly inside: boolean;
  /** The tokenizer's own words have a border before it. */
  readonly begins: boolean;
}

const clings = (letter: string): boolean => /^[\p{M}\u200c\u200d]/u.test(letter);
const han = (letter: string): boolean => /^[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u{20000}-\u{3ffff}]/u.test(letter);

// Whether a word begins between two letters of two pieces that no white space parts: `divides` of
// headscope.models.pieces.
function divides(before: string, after: string, apart: boolean, punctuation: boolean): boolean {
  if (clings(after)) return false;
  if (punctuation || han(before) || han(after)) return true;
  return apart && !(clings(before) && !/^[\ufe00-\ufe0f]/u.test(before) && /^\p{L}/u.test(after));
}

/** How most of a vocabulary marks the pieces of a word. */
function markOf(json: object): Mark | null {
  const vocabulary = (json as { model?: { vocab?: Record<string, number> | [string, number][] } }).model?.vocab ?? {};
  const pieces = Array.isArray(vocabulary) ? vocabulary.map(([piece]) => piece) : Object.keys(vocabulary);
  const count = (mark: string): number =>
    pieces.reduce((total, piece) => total + Number(piece.length > mark.length && piece.startsWith(mark)), 0);
  const counts = (["##", "▁", "Ġ"] as const).map((mark) => [count(mark), mark] as const).sort(([a], [b]) => b - a);
  return counts[0]![0] > 0 ? counts[0]![1] : null;
}

// Where the tokens of one text stand among all.
function find(ids: readonly number[], pieces: readonly Piece[], from: number): number {
  for (let first = from; first + pieces.length <= ids.length; first++)
    if (pieces.every(({ id }, place) => ids[first + place] === id)) return first;
  return from;
}

const UTF8 = new TextEncoder();

// The letters that stand for bytes in byte-level vocabularies (Radford et al. 2019).
const BYTES = ((): ReadonlyMap<string, number> => {
  const found = new Map<string, number>();
  let next = 256;
  for (let byte = 0; byte < 256; byte++) {
    const shown = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    found.set(String.fromCodePoint(shown ? byte : next++), byte);
  }
  return found;
})();

const LETTER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The characters of a byte-level piece, ``Ġ`` for a space, ``<0xE2>`` for a byte of a character: `headscope.core.bytelevel`.
 */
function readable(piece: string): string {
  const raw = Array.from(piece, (letter) => BYTES.get(letter));
  if (raw.includes(undefined)) return piece;
  const bytes = Uint8Array.from(raw as number[]);
  let [text, at] = ["", 0];
  while (at < bytes.length) {
    const first = bytes[at]!;
    const size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    try {
      const letter = LETTER.decode(bytes.subarray(at, at + size));
      text += letter === " " ? "Ġ" : letter === "Ġ" ? letter.normalize("NFD") : letter;
      at += size;
    } catch {
      text += `<0x${first.toString(16).toUpperCase()}>`;
      at++;
    }
  }
  return text;
}
