import { expect, test } from "vitest";
import cases from "../../tests/golden/zoom.json";
import { within } from "../src/scene/matrixlayout";

// tests/views/test_selection.py reads the same file.
test.each(cases)("the window $zoom of $rows × $columns is that of the static picture", ({
  zoom,
  rows,
  columns,
  window,
}) => {
  expect(within(zoom, rows, columns)).toEqual(window);
});
