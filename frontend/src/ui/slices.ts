// Work on many things that leaves the page free to answer: a slice a frame.

/** Milliseconds of work in a frame; what is left of its 16 is the page's. */
export const SLICE = 12;

export interface Work<T> {
  /** What an item waits for; null when it can be done now. */
  needs(item: T): Promise<unknown> | null;
  one(item: T): void;
  /** Whether the work is still wanted. */
  going(): boolean;
}

interface Clock {
  now(): number;
  frame(): Promise<unknown>;
}

/** For paper: no frame comes while a page is printed. */
export const AT_ONCE: Clock = { now: () => 0, frame: () => Promise.resolve() };

const SCREEN: Clock = { now: () => performance.now(), frame: () => new Promise((done) => requestAnimationFrame(done)) };

/**
 * Do the work of each item in turn, the first slice at once. True when all is done, false when it is no longer wanted.
 */
export async function inSlices<T>(items: readonly T[], work: Work<T>, clock = SCREEN): Promise<boolean> {
  let end = clock.now() + SLICE;
  for (const item of items) {
    if (clock.now() >= end) {
      await clock.frame();
      end = clock.now() + SLICE;
    }
    if (!work.going()) return false;
    const needed = work.needs(item);
    if (needed) {
      await needed;
      end = clock.now() + SLICE; // the page was free while it waited
      if (!work.going()) return false;
    }
    work.one(item);
  }
  return true;
}
