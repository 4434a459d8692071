"""`headscope serve` in a real Chromium: typing, what if, generation, the address, other tabs, a server that goes away."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.analyses.similar import statistics
from headscope.analyses.similar.section import sentence
from headscope.errors import InputError
from headscope.live.apart import TextsApart
from headscope.models import Model
from tests.helpers.axe import violations
from tests.helpers.dice import dice
from tests.helpers.page_controls import LIVE_DRAWN
from tests.helpers.served import TOKEN, Server
from tests.helpers.small_models import sharpen
from tests.helpers.small_tokenizers import byte_level

TEXT, PAIR = "The cat sat on the mat because it was tired.", "It slept."


def settle(page: Any) -> None:
    """Until the page shows what was asked last."""
    page.evaluate("() => new Promise(requestAnimationFrame)")  # so that what was pressed or typed is asked
    page.wait_for_function(LIVE_DRAWN)


def type_in(page: Any, text: str = TEXT, pair: str = PAIR) -> None:
    """Type two texts, which are read together."""
    page.get_by_label("Text", exact=True).fill(text)
    page.get_by_label("Pair", exact=True).fill(pair)
    settle(page)
    if (button := page.get_by_role("button", name="Read together")).is_visible():
        button.click()
        settle(page)


def unfold(page: Any, *panels: str) -> None:
    for panel in panels:
        page.locator(f".{panel} summary").click()


def pieces(page: Any) -> list[str]:
    """The tokens of the open head's keys."""
    return page.locator(".hv .toks.r").first.locator(".tok").all_inner_texts()


def numbers(page: Any) -> list[float]:
    """The figures that the model says of each input: here cosines."""
    return [float(text) for text in page.locator(".says td.number").all_text_contents()]


def exact(page: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """What the server answers to an input and a question for all rows of one head, over a socket of the page's own."""
    return page.evaluate(
        """async ([token, asked]) => {
          const socket = new WebSocket(`ws://${location.host}/live?token=${token}`);
          socket.binaryType = "arraybuffer";
          const frames = [], waiting = [];
          socket.onmessage = ({ data }) => (waiting.length ? waiting.shift()(data) : frames.push(data));
          const next = () => (frames.length ? Promise.resolve(frames.shift()) : new Promise((done) => waiting.push(done)));
          const read = (frame) => {
            const size = new DataView(frame).getUint32(0, true);
            const content = JSON.parse(new TextDecoder().decode(new Uint8Array(frame, 4, size)));
            return [content, frame.slice(4 + size)];
          };
          const send = (content) => {
            const text = new TextEncoder().encode(JSON.stringify(content));
            const frame = new Uint8Array(4 + text.length);
            new DataView(frame.buffer).setUint32(0, text.length, true);
            frame.set(text, 4);
            socket.send(frame);
          };
          await next();
          send({ kind: "show", id: 1, ...asked });
          const [shown] = read(await next());
          if (shown.error) return shown;
          const last = shown.payload.inputs.length - 1;
          const count = shown.payload.inputs[last].parts[0].query.pieces.length;
          const found = [];
          for (const [layer, head] of asked.heads) {
            const rows = [];
            for (let place = 0; place < count; place++) {
              send({ kind: "exact", id: 2, turn: shown.turn, input: last, part: "self", layer, head, place, quantity: "weights", side: "from" });
              rows.push([...new Float32Array(read(await next())[1])]);
            }
            found.push(rows);
          }
          socket.close();
          return { heads: found, says: shown.says };
        }""",
        [TOKEN, asked],
    )


def test_the_explorer_follows_as_one_types(served: str, tab: Callable[..., Any], demo: Model) -> None:
    page = tab(served)
    settle(page)
    box = page.get_by_label("Text", exact=True)
    box.fill("")
    page.get_by_label("Pair", exact=True).fill("")
    box.press_sequentially("The cat sat.", delay=15)
    settle(page)
    words = ["[CLS]", "the", "cat", "sat", ".", "[SEP]"]
    page.wait_for_function("() => document.querySelector('.count').textContent.startsWith('6 tokens')")
    assert pieces(page) == words
    box.press("Backspace")
    box.press_sequentially(" down", delay=5)
    page.wait_for_function(
        "() => [...document.querySelectorAll('.hv .toks.r .tok')].some((each) => each.textContent === 'down')"
    )
    settle(page)
    type_in(page, "The cat sat down")
    maps = hs.capture(demo, "The cat sat down", pair="It slept.")
    assert pieces(page) == list(maps.query.pieces)


def test_a_head_is_switched_off_by_its_button_and_that_is_taken_back(
    served: str, tab: Callable[..., Any], demo: Model
) -> None:
    page = tab(f"{served}#layer=5&heads=11")
    type_in(page)
    before = numbers(page)
    assert len(before) == 1
    unfold(page, "whatif")
    page.locator(".offers").get_by_role("button", name="off", exact=True).click()
    settle(page)
    with hs.ablate(demo, "L5H11"):
        assert not hs.capture(demo, TEXT, pair=PAIR)["L5H11"].any()
    assert page.locator(".changes code").all_text_contents() == ["L5H11 off"]
    assert page.locator(".which .whose").all_text_contents() == ["as it is", "changed"]
    answers = page.locator(".answer").all_text_contents()
    assert answers[0].startswith("L5H11 gives the most to ")
    assert answers[1] == "L5H11 is switched off: its weights are 0."  # in the last layer it changes no other
    after = numbers(page)
    assert after[0] == before[0]
    assert after[1] != before[0]
    page.get_by_role("radio", name="Difference").click()
    settle(page)
    assert page.locator(".hx").get_attribute("data-side") == "difference"
    page.get_by_role("button", name="Undo").click()
    settle(page)
    assert numbers(page) == before
    page.get_by_role("button", name="Redo").click()
    settle(page)
    assert numbers(page) == after
    page.get_by_label("A change").fill("L0 uniform")
    page.get_by_label("A change").press("Enter")
    settle(page)
    page.get_by_role("button", name="Later: L5H11 off").click()
    settle(page)
    assert page.locator(".changes code").all_text_contents() == ["L0 uniform", "L5H11 off"]
    page.get_by_role("button", name="Take away: L0 uniform").click()
    settle(page)
    assert numbers(page) == after


def test_a_change_that_is_none_is_marked_and_blocks_nothing(served: str, tab: Callable[..., Any]) -> None:
    page = tab(f"{served}#layer=2&heads=9&change=L99H0 off")
    type_in(page)
    for change in ("L4H2 of", "L2H9 off"):
        page.get_by_label("A change").fill(change)
        page.get_by_label("A change").press("Enter")
        settle(page)
    wrong, malformed = page.locator(".changes .problem").all_text_contents()
    assert "L99H0 off: this model has no such head" in wrong
    assert "expected 'L4H2 off'" in malformed
    assert page.locator(".changes li").last.text_content().startswith("L2H9 off")
    assert page.locator(".which .whose").all_text_contents() == ["as it is", "changed"]
    assert page.locator(".story p").text_content().startswith("Without L2H9 the cosine goes from ")
    page.get_by_role("button", name="Take it back").click()
    settle(page)
    assert page.locator(".changes li").count() == 0


def test_what_hides_a_token_goes_with_its_text_and_a_head_stays_off(
    served: str, tab: Callable[..., Any]
) -> None:
    page = tab(f"{served}#layer=1&heads=4")
    type_in(page)
    page.locator(".hv .toks.r .tok", has_text="cat").click()
    unfold(page, "whatif")
    page.get_by_role("button", name="hide “cat” from all").click()
    page.get_by_role("button", name="off", exact=True).click()
    settle(page)
    assert page.locator(".changes code").all_text_contents() == ["all hide >2", "L1H4 off"]
    type_in(page, "Hm", "")
    assert page.locator(".changes code").all_text_contents() == ["L1H4 off"]
    assert page.locator(".hv .tok.pin").count() == 0


def test_an_example_claims_what_its_button_shows(served: str, tab: Callable[..., Any]) -> None:
    """The figure on the button is what the model says with the head off; nothing else is folded out."""
    page = tab(served)
    settle(page)
    page.get_by_role("button", name="two senses of a word").click()
    settle(page)
    assert page.locator(".tells details[open], .why[open]").count() == 0
    button = page.locator(".story button")
    page.wait_for_function("() => document.querySelector('.story span').textContent !== ''")
    name, before, after = re.fullmatch(
        r"Switch (L\dH\d+) offcosine ([\d.]+) → ([\d.]+)", button.text_content()
    ).groups()  # type: ignore[union-attr]
    assert page.locator(".story p").text_content().startswith(name)
    assert page.locator(".hv .tok.pin").count() > 0
    button.click()
    settle(page)
    assert numbers(page) == [float(before), float(after)]
    outcome = f"Without {name} the cosine goes from {before} to {after}."
    assert page.locator(".story p").text_content() == outcome
    type_in(page)
    page.get_by_role("button", name="Take it back").click()
    settle(page)
    page.get_by_role("button", name="Which heads did it?").click()


def test_who_did_it_ranks_heads_and_opens_them(served: str, tab: Callable[..., Any], demo: Model) -> None:
    page = tab(f"{served}#layer=2&heads=9")
    type_in(page)
    whole = numbers(page)[0]
    unfold(page, "who")
    page.get_by_role("button", name="Rank the heads").click()
    page.wait_for_function("() => document.querySelector('.who .about').textContent.includes('correlation')")
    about = page.locator(".who .about").text_content()
    assert re.search(
        r"of 6[01] heads agree to a rank correlation of −?[01]\.\d\d; 1[12] with smaller estimates", about
    )
    names = page.locator(".who tbody .word").all_text_contents()
    assert len(names) in (10, 11)
    assert "L2H9" in names  # the open head, whatever its rank
    effects = page.locator(".who tbody td.p span").all_text_contents()
    sizes = [abs(float(effect.replace("−", "-"))) for effect in effects]
    assert sizes == sorted(sizes, reverse=True)
    name, told = names[0], float(effects[0].replace("−", "-"))
    asked = {"input": {"text": TEXT, "pair": PAIR, "together": True}, "changes": [f"{name} off"], "heads": []}
    without = exact(page, asked)["says"][-1]["number"]
    assert told == pytest.approx(whole - without, abs=0.0011)
    page.locator(".who tbody .word").first.click()
    settle(page)
    layer, head = re.fullmatch(r"L(\d+)H(\d+)", name).groups()  # type: ignore[union-attr]
    assert f"Layer {layer}, head {head}" in page.locator(".rightpane h2").first.text_content()


def test_a_model_of_sentences_opens_on_two_texts_read_apart(
    served: str, tab: Callable[..., Any], demo: Model
) -> None:
    """The sentence and the picture follow what is typed, and say whether that is chance; heads open on their word."""
    page = tab(served)
    page.wait_for_selector(".near button.unit[aria-label^='B: delayed']")
    a, b = (page.get_by_label(name, exact=True) for name in ("Text", "Pair"))
    found = hs.similar(demo, a.input_value(), b.input_value())
    near, said = float(found["similarity"][0]), f"{sentence(found)}."
    assert story(page).startswith(f"The cosine is {near:.3f}, above all by “late” with “delayed”")
    page.get_by_text("of unrelated texts of this length are less near").first.wait_for()
    assert story(page) == f"{said[0].upper()}{said[1:]}"
    page.get_by_role("button", name="Through which heads?").click()
    page.wait_for_selector(".near li button")
    assert [text.split(" ")[0] for text in page.locator(".near h3").all_text_contents()] == [
        "“late”",
        "“delayed”",
    ]
    page.locator(".near li button").last.click()
    settle(page)
    assert page.locator(".hv .tok.pin").all_text_contents() == ["delayed"]
    said = story(page)
    a.fill("A lion slept.")
    page.wait_for_selector(".near button.unit[aria-label^='A: lion']")
    assert story(page) != said
    page.locator(".nearness").get_by_label("Parts").select_option("sentence")
    page.wait_for_selector(".near button.unit[aria-label^='A: A lion slept.']")
    page.get_by_role("button", name="Read together").click()
    settle(page)
    assert story(page).startswith("Read together, the two texts have a cosine of ")
    assert not page.locator(".near").is_visible()


def story(page: Any) -> str:
    return page.locator(".story p").text_content()


def test_words_that_are_struck_out_are_told_of_together(
    served: str, tab: Callable[..., Any], demo: Model
) -> None:
    """By mouse and by keyboard, hidden or deleted, until they are taken back."""
    page = tab(served)
    page.wait_for_selector(".near button.unit[aria-label^='B: delayed']")
    page.get_by_text(
        "of unrelated texts of this length are less near"
    ).first.wait_for()  # nothing is drawn anew
    whole = story(page)
    texts = [page.get_by_label(name, exact=True).input_value() for name in ("Text", "Pair")]
    found = hs.similar(demo, *texts, delete=True, chance=False)
    rows = hs.table(found).set_index(["side", "text"])
    near = float(found["similarity"][0])
    late, delayed = (
        page.locator(f".near button.unit[aria-label^='{name}']") for name in ("A: late", "B: delayed")
    )

    def told(words: str, left: float) -> None:
        page.get_by_text(f"{words} the cosine goes from {near:.3f} to {left:.3f}.").wait_for()

    late.click()
    told("Without “late”", near - rows["effect"]["a", "late"])
    delayed.focus()
    page.keyboard.press("Enter")
    pairs = statistics.pairs(found).set_index(["text_a", "text_b"])
    both = near - rows["effect"]["a", "late"] - rows["effect"]["b", "delayed"]
    told("Without “late” and “delayed”", both + pairs["interaction"]["late", "delayed"])
    assert delayed.evaluate("button => button.matches(':focus')")
    assert page.locator(".near button.unit[aria-pressed=true]").count() == 2
    page.keyboard.press(" ")
    told("Without “late”", near - rows["effect"]["a", "late"])
    page.get_by_label("Struck words are").select_option("deleted")
    told("With “late” deleted", near - rows["deleted"]["a", "late"])
    page.get_by_role("button", name="Take it back").click()
    assert story(page) == whole
    assert page.locator(".near button.unit[aria-pressed=true]").count() == 0


def test_where_why_two_texts_are_near_cannot_be_told_their_attention_is_seen(
    served: str, tab: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def near(*_: Any) -> Any:
        raise InputError("units: expected words, found none")

    with monkeypatch.context() as broken:
        broken.setattr(TextsApart, "near", near)
        page = tab(served)
        page.locator(".hv .toks").first.wait_for()
        settle(page)
        assert page.locator(".problem").text_content() == "units: expected words, found none"
        assert not page.locator(".nearness").is_visible()
        assert "the" in pieces(page)
    page.get_by_label("Text", exact=True).fill("A lion slept.")
    page.wait_for_selector(".near button.unit[aria-label^='A: lion']")
    settle(page)
    assert not page.locator(".problem").is_visible()


def test_the_address_keeps_what_is_asked(served: str, tab: Callable[..., Any]) -> None:
    page = tab(f"{served}#layer=2&heads=9")
    type_in(page, "<b>cats</b> & </script> dogs", PAIR)
    unfold(page, "whatif")
    page.locator(".offers").get_by_role("button", name="uniform", exact=True).click()
    settle(page)
    page.wait_for_function("() => location.hash.includes('change=')")
    said, shown, address = numbers(page), pieces(page), page.url
    page.reload()
    settle(page)
    assert page.get_by_label("Text", exact=True).input_value() == "<b>cats</b> & </script> dogs"
    assert (numbers(page), pieces(page)) == (said, shown)
    assert page.locator(".changes code").all_text_contents() == ["L2H9 uniform"]
    other = tab(address, dark=True)
    settle(other)
    assert (numbers(other), pieces(other)) == (said, shown)
    assert other.locator(".live").get_attribute("data-theme") == "dark"


def test_layers_of_a_long_text_come_when_they_are_looked_at(served: str, tab: Callable[..., Any]) -> None:
    page = tab(f"{served}#layer=0&heads=0")
    type_in(page, "word " * 360, "")
    page.wait_for_function("() => document.querySelector('.count').textContent.startsWith('362 tokens')")
    page.evaluate(
        "() => { window.asked = []; const send = WebSocket.prototype.send;"
        " WebSocket.prototype.send = function (frame) { window.asked.push(new TextDecoder().decode(frame.slice(4))); send.call(this, frame); }; }"
    )
    page.locator(".hx").press("ArrowDown")
    page.locator(".hx").press("ArrowDown")
    settle(page)
    sent = [json.loads(text) for text in page.evaluate("() => window.asked")]
    assert "arrays" in {each["kind"] for each in sent}
    assert "show" not in {each["kind"] for each in sent}
    page.wait_for_function("() => document.querySelector('.rightpane h2').textContent.includes('Layer 2')")
    page.get_by_label("Text", exact=True).fill("word " * 600)
    page.wait_for_function("() => !document.querySelector('.problem').hidden")
    assert re.search(r"602 tokens.*at most 512", page.locator(".problem").text_content())


def test_a_server_that_was_ended_and_started_again_is_found(tab: Callable[..., Any], demo: Model) -> None:
    """That Ctrl-C ends the command so is told in tests/live/test_live_server.py."""
    first = Server(demo)
    address = first.start()
    page = tab(address, errors_allowed=True)  # the browser says that it cannot connect
    type_in(page)
    shown = pieces(page)
    first.stop()
    page.wait_for_function("() => !document.querySelector('.lost').hidden")
    assert "connection" in page.locator(".lost").text_content()
    assert pieces(page) == shown
    page.get_by_label("Text", exact=True).fill("Typed while nobody listens.")
    again = Server(demo)
    assert again.start(urlsplit(address).port) == address
    page.wait_for_function("() => document.querySelector('.lost').hidden")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.hv .toks.r .tok')].some((each) => each.textContent === 'typed')"
    )
    again.stop()


def test_fifty_random_actions_without_a_complaint(served: str, tab: Callable[..., Any]) -> None:
    """HEADSCOPE_TEST_SEED draws others."""
    page = tab(f"{served}#text={TEXT}&pair={PAIR}&together=1")
    settle(page)
    unfold(page, "whatif", "who")
    draw = dice()
    words = TEXT.split()
    for _ in range(50):
        match draw.randrange(6):
            case 0:
                box = page.get_by_label(draw.choice(["Text", "Pair"]), exact=True)
                box.fill(" ".join(draw.sample(words, draw.randint(1, len(words)))))
            case 1:
                page.locator(".hx").press(
                    draw.choice(
                        ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "1", "2", "3", "m", "a", "s"]
                    )
                )
            case 2:
                change = f"L{draw.randrange(6)}H{draw.randrange(12)} {draw.choice(['off', 'mean', 'uniform', 'previous', 'hide 1>0', 'hide >2'])}"
                page.get_by_label("A change").fill(change)
                page.get_by_label("A change").press("Enter")
            case _:
                page.evaluate(
                    """(at) => {
                      const skip = ["SVG", "PNG", "Link", "Copy as Python", "?"];
                      const buttons = [...document.querySelectorAll(".live button")].filter(
                        (each) => !each.disabled && each.checkVisibility() && !skip.includes(each.textContent));
                      buttons[Math.floor(at * buttons.length)].click();
                    }""",
                    draw.random(),
                )
    page.keyboard.press("Escape")
    page.get_by_label("Text", exact=True).fill(TEXT)
    settle(page)
    assert page.locator(".failure").count() == 0


def test_axe_finds_nothing(served: str, tab: Callable[..., Any]) -> None:
    page = tab(
        f"{served}#text={TEXT}&pair={PAIR}&together=1&change=L2H9 off&layer=2&heads=9&pin=from,3",
        dark=True,
        width=390,
    )
    settle(page)
    unfold(page, "who")
    page.get_by_role("button", name="Rank the heads").click()
    page.wait_for_selector(".who tbody tr")
    assert violations(page) == []


def small_lm() -> Model:
    """A language model that takes conversations."""
    torch.manual_seed(0)
    tokenizer = copy.deepcopy(byte_level())
    tokenizer.chat_template = (
        "{% for each in messages %}{{ each.role }}: {{ each.content }}\n{% endfor %}assistant:"
    )
    size = {"hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 64, "max_position_embeddings": 64}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    config = transformers.LlamaConfig(vocab_size=len(tokenizer), **size, **heads)
    return hs.load((sharpen(transformers.LlamaForCausalLM(config)), tokenizer))


@pytest.mark.parametrize("kind", ["small", pytest.param("smollm", marks=pytest.mark.deep)])
def test_a_language_model_writes(kind: str, tab: Callable[..., Any], request: pytest.FixtureRequest) -> None:
    model = small_lm() if kind == "small" else request.getfixturevalue(kind)
    server = Server(model)
    page = tab(server.start())
    prompt = "The capital of France is"
    page.get_by_label("Text", exact=True).fill(prompt)
    settle(page)
    assert not page.get_by_label("Pair", exact=True).is_visible()
    with torch.no_grad():
        ids = model.inputs([model.encode(prompt)])
        logits = model.module(**ids).logits[0, -1]
    best = logits.softmax(-1).topk(10)
    shown = page.locator(".says tbody tr")
    assert [
        int(each) for each in shown.evaluate_all("(rows) => rows.map((row) => row.dataset.id)")
    ] == best.indices.tolist()
    told = [float(text.rstrip("%")) for text in page.locator(".says td.p span").all_text_contents()]
    assert told == pytest.approx((100 * best.values).tolist(), abs=0.51)
    # Space writes the likeliest; a click on another one writes that.
    page.locator(".rightpane h2").first.click()
    page.keyboard.press(" ")
    settle(page)
    likeliest = page.locator(".written .word").all_text_contents()
    assert likeliest == [model.tokenizer.decode(best.indices[0]).removeprefix(" ")]
    page.locator(".says .word").nth(3).click()
    settle(page)
    said = page.locator(".written .word").all_text_contents()
    assert len(said) == 2
    assert said[:1] == likeliest
    assert [piece.removeprefix("‿") for piece in pieces(page)[-2:]] == said
    # The same maps as of those ids in Python.
    held = "(new URLSearchParams(location.hash.slice(1)).get('written') ?? '').split(',').map(Number)"
    page.wait_for_function(f"() => {held}.length === 2")  # the address follows a little later
    asked = page.evaluate(f"() => {held}")
    layer = model.config.num_hidden_layers - 1
    found = exact(page, {"input": {"text": prompt, "written": asked}, "changes": [], "heads": [[layer, 2]]})
    tokens = model.encode(prompt).ids
    assert tokens is not None
    maps = hs.capture(model, model.from_ids(tokens.tolist(), asked))
    np.testing.assert_allclose(found["heads"][0], maps[layer, 2], atol=1e-5)
    page.locator(".written .word").nth(1).click()
    settle(page)
    assert page.locator(".written .word").all_text_contents() == likeliest
    page.get_by_role("button", name="Conversation").click()
    page.get_by_role("textbox", name="Turn 1").fill("Say hello.")
    settle(page)
    assert "user" in "".join(pieces(page)).replace("‿", "")
    page.close()  # or it complains that it cannot connect
    server.stop()
