// Arrays that stand in the page, one script element each.

/** The text of an array of this page, as soon as the browser has read it: the arrays stand behind the script. */
export const fromPage = (name: string): Promise<string> =>
  new Promise((done, fail) => {
    const look = (): boolean => {
      const element = document.getElementById(`headscope-data-${name}`);
      const read = document.readyState !== "loading";
      // What the browser is reading has nothing behind it yet.
      if (element && (read || element.nextSibling)) done(element.textContent ?? "");
      else if (read) fail(new Error(`array ${name} is missing from this page`));
      else return false;
      return true;
    };
    if (look()) return;
    const again = (): void => {
      if (!look()) return;
      growing.disconnect();
      document.removeEventListener("readystatechange", again);
    };
    const growing = new MutationObserver(again);
    growing.observe(document.body, { childList: true });
    document.addEventListener("readystatechange", again);
  });
