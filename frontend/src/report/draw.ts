// The sections of a report, by the kind that their payload names.

import type { ReportPayload } from "../protocol";
import { type Child, h } from "../ui/dom";
import { section as blocks } from "./blocks/section";
import type { Drawn, Host, Section } from "./host";
import { notes } from "./rows";
import { offer } from "./saves";
import * as sections from "./sections/index";
import { explained } from "./terms";

type Info = ReportPayload["sections"][number];

const SECTIONS: { readonly [Kind in Info["kind"]]: Section<Extract<Info, { kind: Kind }>> } = { ...sections, blocks };

/** Draw a section at the end of a page: its heading, what can be saved of it, and the command that gives it again. */
export function draw(page: HTMLElement, info: Info, host: Host, into = page): Drawn {
  const saves = h("span.saves");
  const head = h("div.sectionhead", info.title && h("h2", info.title), saves);
  const element = h(
    "section",
    { id: idOf(page, info), "data-section": nameOf(info) },
    info.title && head,
    info.about && h("p.about", ...withoutChoices(info.about, host)),
  );
  into.append(element);
  const drawn = (SECTIONS[info.kind] as Section<Info>)(element, info, host) ?? {};
  drawn.update?.(host.now);
  offer(saves, info.title, drawn, host);
  const read = "notes" in info && info.notes.length > 0 && notes(info.notes);
  const again =
    "command" in info &&
    info.command &&
    h("p.again", nameOf(info) === "failed" ? "To try again: " : "The same figures: ", h("code", info.command));
  if (read || again) element.append(h("div.foot", read, again));
  return drawn;
}

/** What a section is about. */
export const nameOf = (info: Info): string => (info.kind === "blocks" ? info.name : info.kind);

// By what it is about, and by a number too where another is about the same; what has no title is no place to go to.
function idOf(page: HTMLElement, info: Info): string | null {
  const id = nameOf(info);
  if (!info.title) return null;
  const same = [...page.querySelectorAll("section[id]")].filter(
    (section) => section.id.replace(/-\d+$/, "") === id,
  ).length;
  return same > 0 ? `${id}-${same + 1}` : id;
}

// On paper nothing can be chosen: sentences that say what to choose stay on the screen.
function withoutChoices(about: string, host: Host): Child[] {
  const parts = about.split(/((?<=^|[.:] )Choose [^.]+\.(?: |$))/);
  const seen = new Set<string>();
  return parts
    .filter(Boolean)
    .flatMap((part) => (part.startsWith("Choose ") ? [h("span.screen", part)] : explained(part, host, seen)));
}
