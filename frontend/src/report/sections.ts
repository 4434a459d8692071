// The sections of a report, by the kind that their payload names.

import { h } from "../dom";
import type { ReportPayload } from "../protocol";
import { section as absent } from "./absent";
import { section as heads } from "./heads";
import type { Component, Host, Now, Section } from "./host";
import { section as layers } from "./layers";
import { section as measures } from "./measures";
import { section as methods } from "./methods";
import { section as summary } from "./summary";

type Info = ReportPayload["sections"][number];

const SECTIONS: { readonly [Kind in Info["kind"]]: Section<Extract<Info, { kind: Kind }>> } = { summary, measures, layers, heads, absent, methods };

/** Draw a section, with its heading, at the end of a page. */
export function draw(page: HTMLElement, info: Info, host: Host): Component<Now> | void {
  const element = h("section", { "data-section": info.kind }, info.title && h("h2", {}, info.title), info.about && h("p.about", {}, info.about));
  page.append(element);
  return (SECTIONS[info.kind] as Section<Info>)(element, info, host);
}
