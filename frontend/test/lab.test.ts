import { expect, test } from "vitest";
import { typedFigure } from "../src/ui/lab";

test.each([
  [".85", 0.85],
  ["0,85", 0.85],
  [" 85 % ", 0.85],
  ["72", 72],
  ["−.5", -0.5],
  ["L0H2", null],
  ["", null],
  ["1.2.3", null],
])("a figure as it is typed: %s", (text, figure) => expect(typedFigure(text)).toEqual(figure));
