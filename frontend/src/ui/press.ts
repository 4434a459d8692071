// A finger that rests on something: what shift and a click are to a mouse.

const LONG = 500;
/** A finger that has gone this far, in pixels, scrolls. */
const STILL = 10;

/** Call `act` for a long press on an element; the click and the menu that would follow do not come. */
export function longPress(element: HTMLElement, act: (event: PointerEvent) => void): void {
  let timer = 0;
  let held = false;
  let start = { x: 0, y: 0 };
  const stop = (): void => window.clearTimeout(timer);
  const swallow = (event: Event): void => {
    if (!held) return;
    if (event.type === "click") held = false;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  element.addEventListener("pointerdown", (event) => {
    stop();
    held = false;
    if (event.pointerType === "mouse" || !event.isPrimary) return;
    start = { x: event.clientX, y: event.clientY };
    timer = window.setTimeout(() => {
      held = true;
      act(event);
    }, LONG);
  });
  element.addEventListener("pointermove", (event) => {
    if (Math.hypot(event.clientX - start.x, event.clientY - start.y) > STILL) stop();
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"]) element.addEventListener(end, stop);
  for (const after of ["pointerup", "click", "contextmenu"])
    element.addEventListener(after, swallow, { capture: true });
}
