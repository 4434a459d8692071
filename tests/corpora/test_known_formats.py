"""Files of known data sets and logs are read as what they hold, and nothing that could not be read gives a figure."""

from __future__ import annotations

import json
import random
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import files_table
import pytest

import headscope as hs
from headscope import corpora
from headscope.analyses.context_attribution.run import right_spans
from headscope.analyses.patching.pairs import read as read_patching
from headscope.console.sources import ReadingOptions, coreference, linked
from headscope.core.validation import InPlace
from headscope.corpora import Example
from headscope.corpora.formats import COMMANDS, KNOWN, known_format, read_as
from headscope.corpora.given import corpus_of
from headscope.errors import CorpusError, HeadscopeWarning, InputError
from tests.helpers.dice import dice
from tests.helpers.small_models import save_llama
from tests.helpers.typed import Typed

GAP = (
    "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
    "made-1\tAda Holt wrote to Mira Lind before she moved to Bergen, and the letter came back.\tshe\t35\tAda Holt\t0\tFALSE\tMira Lind\t18\tTRUE\tu\n"
    'made-2\tAfter Tom Reis beat Paul Varga, his trainer said "nothing was decided" and left.\this\t32\tTom Reis\t6\tTRUE\tPaul Varga\t20\tFALSE\tu\n'
    "made-3\tNina Sole met Eva Ruiz at the mill; her brother had built it, and nobody asked.\ther\t36\tNina Sole\t0\tFALSE\tEva Ruiz\t14\tFALSE\tu\n"
)
WINOBIAS = (
    "1 [The clerk] thanked the baker because [she] had been patient.\n"
    "2 The clerk thanked [the baker] because [he] had been patient.\n"
    "The smith warned [the weaver] and lent [her] a lamp.\n"
    "The weaver told [the smith] that [ he ] could keep [his] lamp.\n"
)
WSC = (
    '{"text": "The jug would not fit in the crate because it was too wide.", "target": {"span1_index": 0, "span1_text": "The jug", "span2_index": 9, "span2_text": "it"}, "idx": 0, "label": true}\n'
    '{"text": "The jug would not fit in the crate because it was too narrow.", "target": {"span1_index": 0, "span1_text": "The jug", "span2_index": 9, "span2_text": "it"}, "idx": 1, "label": false}\n'
    '{"text": "李明告诉王强他要去上海。", "target": {"span1_index": 4, "span1_text": "王强", "span2_index": 6, "span2_text": "他"}, "idx": 3, "label": "true"}\n'
)
HOTPOT: dict[str, Any] = {
    "_id": "m1", "question": "In which country was the author of Salt Roads born?", "answer": "Norway", "type": "bridge", "level": "easy",
    "supporting_facts": [["Salt Roads", 0], ["Ida Moen", 1]],
    "context": [["Salt Roads", ["Salt Roads is a novel by Ida Moen.", " It sold well."]], ["Ida Moen", ["Ida Moen writes novels.", " She was born in Norway."]], ["Pale Coast", ["Pale Coast is a film."]]],
}  # fmt: skip
HUB = {
    **HOTPOT,
    "supporting_facts": {"title": ["Salt Roads", "Ida Moen"], "sent_id": [0, 1]},
    "context": {
        "title": [one[0] for one in HOTPOT["context"]],
        "sentences": [one[1] for one in HOTPOT["context"]],
    },
}
BRAT = "T1\tPROP_PER 0 12\tOld Mr. Venn\nT3\tPRON_PER 31 33\tHe\nT6\tMr._Venn-0 0 12\tOld Mr. Venn\nT7\tMr._Venn-0 31 33\tHe\nT9\tthe_ferry-1 39 41\tit\n"
NOVEL = "Old Mr. Venn owned the ferry .\nHe sold it to his niece , and she painted it .\n"
SEMEVAL = (
    '1\t"The <e1>keys</e1> were put into the <e2>drawer</e2>."\nEntity-Destination(e1,e2)\nComment:\n\n'
    '2\t"The <e1>flood</e1> was caused by a broken <e2>dam</e2>."\nCause-Effect(e2,e1)\nComment: passive\n\n'
    '3\t"The <e2>roof</e2> and the <e1>door</e1>."\nOther\nComment:\n'
)
SOURCES = '{"source_id": "s1", "task_type": "QA", "source": "M", "source_info": {"question": "When did the mill open?", "passages": "passage 1:The mill opened in 1911.\\n\\npassage 2:The river is wide.\\n\\n"}, "prompt": "Answer:\\nWhen did the mill open?\\npassage 1:The mill opened in 1911.\\n\\npassage 2:The river is wide.\\n\\noutput:"}\n'
RAGTRUTH = '{"id": "r1", "source_id": "s1", "model": "m", "temperature": 0.7, "labels": [{"start": 36, "end": 48, "text": "forty people", "meta": "", "label_type": "Evident Baseless Info", "implicit_true": false, "due_to_null": false}], "split": "test", "quality": "good", "response": "The mill opened in 1911 and employs forty people."}\n'
OTEL = (
    r'{"name": "chat m", "attributes": {"gen_ai.request.model": "m", "gen_ai.input.messages": "[{\"role\": \"user\", \"parts\": [{\"type\": \"text\", \"content\": \"Weather in Bergen?\"}]}]", "gen_ai.output.messages": "[{\"role\": \"assistant\", \"parts\": [{\"type\": \"tool_call\", \"id\": \"c1\", \"name\": \"weather\", \"arguments\": {\"city\": \"Bergen\"}}]}]"}}'
    + "\n"
)
TRANSCRIPT = (
    '{"type": "summary", "summary": "Tests"}\n'
    '{"type": "user", "uuid": "u1", "parentUuid": null, "isSidechain": false, "message": {"role": "user", "content": "Fix the test."}}\n'
    '{"type": "assistant", "uuid": "u2", "parentUuid": "u1", "isSidechain": false, "message": {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a.py"}}]}}\n'
    '{"type": "user", "uuid": "u3", "parentUuid": "u2", "isSidechain": false, "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x = 1"}]}}\n'
)
CODEX = "".join(
    json.dumps({"timestamp": "2026-11-30T10:00:00.000Z", "type": kind, "payload": payload}) + "\n"
    for kind, payload in (
        ("session_meta", {"id": "s", "cwd": "/made", "cli_version": "0.46.0"}),
        ("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List it."}]}),
        ("event_msg", {"type": "user_message", "message": "List it."}),
        ("response_item", {"type": "reasoning", "summary": [], "encrypted_content": "x"}),
        ("response_item", {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]}),
        ("response_item", {"type": "function_call", "name": "shell", "arguments": '{"command": ["ls"]}', "call_id": "c"}),
        ("response_item", {"type": "function_call_output", "call_id": "c", "output": "a.py"}),
        ("response_item", {"type": "custom_tool_call", "call_id": "d", "name": "apply_patch", "input": "*** Begin"}),
        ("response_item", {"type": "custom_tool_call_output", "call_id": "d", "output": [{"type": "input_text", "text": "ok"}]}),
    )
)  # fmt: skip
OPENINFERENCE = json.dumps(
    {"attributes": {
        "llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": "Be brief.",
        "llm.input_messages.1.message.role": "user", "llm.input_messages.1.message.contents.0.message_content.text": "Weather?",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "weather",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"city": "Bergen"}',
        "llm.tools.0.tool.json_schema": '{"type": "function", "function": {"name": "weather"}}',
    }}
) + "\n"  # fmt: skip
NESTED = {"attributes": {"llm": {"input_messages": [{"message": {"role": "user", "content": "Hi"}}],
                                 "output_messages": [{"message": {"role": "assistant", "content": "Hello"}}]}}}  # fmt: skip
LANGSMITH = json.dumps({
    "id": "x", "run_type": "llm",
    "inputs": {"messages": [[{"lc": 1, "type": "constructor", "kwargs": {"type": "human", "content": "Hi"}}]]},
    "outputs": {"generations": [[{"text": "Hello", "message": {"lc": 1, "kwargs": {"type": "ai", "content": "Hello"}}}]]},
}) + "\n"  # fmt: skip
SAMPLE = {"id": 1, "epoch": 1, "input": "2+2", "target": "4", "messages": [
    {"role": "user", "content": "2+2"},
    {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "…"}, {"type": "text", "text": "I add."}],
     "tool_calls": [{"id": "c", "function": "add", "arguments": {"a": 2, "b": 2}}]},
    {"role": "tool", "tool_call_id": "c", "content": "4"}, {"role": "assistant", "content": "4"}]}  # fmt: skip
INSPECT: dict[str, Any] = {"version": 2, "status": "success", "eval": {"task": "sums"}, "samples": [SAMPLE]}
GRID = """File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 0.9
tiers? <exists>
size = 1
item []:
    item [1]:
        class = "IntervalTier"
        name = "words"
        xmin = 0
        xmax = 0.9
        intervals: size = 3
        intervals [1]:
            xmin = 0
            xmax = 0.2
            text = ""
        intervals [2]:
            xmin = 0.2
            xmax = 0.45
            text = "so"
        intervals [3]:
            xmin = 0.45
            xmax = 0.9
            text = "it"
"""
SHORT = 'File type = "ooTextFile"\n"TextGrid"\n\n0\n0.9\n<exists>\n2\n"TextTier"\n"tones"\n0\n0.9\n1\n0.3\n"H*"\n"IntervalTier"\n"words"\n0\n0.9\n2\n0\n0.2\n""\n0.2\n0.45\n"say ""so"""\n'
BLIMP = '{"sentence_good": "The boats near the pier are old.", "sentence_bad": "The boats near the pier is old.", "field": "syntax", "linguistics_term": "subject_verb_agreement", "UID": "made_1", "simple_LM_method": true, "one_prefix_method": false, "two_prefix_method": false, "lexically_identical": false, "pair_id": "0"}\n'
CITED: dict[str, Any] = {
    "idx": 3, "dataset": "hotpotqa", "query": "When did the mill open?", "answer": "1911", "few_shot_scores": [],
    "prediction": "<statement>It opened in 1911.<cite>[0-0]</cite></statement><statement>Forty people work there.<cite>[2-2]</cite></statement>",
    "statements": [
        {"statement": "It opened in 1911.", "citation": [
            {"st_sent": 0, "ed_sent": 0, "start_char": 0, "end_char": 25, "cite": "The mill opened in 1911. "}]},
        {"statement": "So it is said.", "citation": []},
        {"statement": "Forty people work there.", "citation": [
            {"st_sent": 2, "ed_sent": 2, "start_char": 44, "end_char": 63, "cite": "It employs forty."}]},
    ],
}  # fmt: skip
LONGBENCH = [
    {"idx": 3, "dataset": "hotpotqa", "context": "The mill opened in 1911. The river is wide. It employs forty.",
     "query": "When did the mill open?", "answer": "1911", "few_shot_scores": []},
]  # fmt: skip
RAGAS = '{"user_input": "When did the mill open?", "retrieved_contexts": ["The mill opened in 1911.", "The river is wide."], "response": "In 1911.", "reference": "1911"}\n'
OLDER = '{"question": "When did the mill open?", "contexts": ["The mill opened in 1911."], "answer": "In 1911.", "ground_truth": "1911"}\n'
SHAREGPT = '{"id": "s7", "conversations": [{"from": "human", "value": "Name a river."}, {"from": "gpt", "value": "The Glomma."}]}\n'
MTBENCH = '{"question_id": 81, "category": "writing", "turns": ["Write a line.", "Now rhyme it."]}\n'
FASTA = ">sp|P1|MADE\nMKTAYIAKQRQISFVKSHFSRQ\nLEERLGLIEVQ\n>sp|P2|MADE2\nGAVLIMKKL\n"
A3M = ">query\nMKTAYIAK\n>hit\nMK-aAYIAK\n"
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n"
PAE = '[{"predicted_aligned_error": [[0, 4], [4, 0]], "max_predicted_aligned_error": 31.75}]'

FILES: dict[str, str] = {
    "gap.tsv": GAP, "pro.txt.dev": WINOBIAS, "wsc.jsonl": WSC, "hotpot.json": json.dumps([HOTPOT]), "novel.ann": BRAT,
    "semeval.txt": SEMEVAL, "response.jsonl": RAGTRUTH, "otel.jsonl": OTEL, "turns.jsonl": TRANSCRIPT, "rollout.jsonl": CODEX,
    "spans.jsonl": OPENINFERENCE, "runs.jsonl": LANGSMITH, "log.json": json.dumps(INSPECT), "a.TextGrid": GRID,
    "a.ctm": "a 1 0.12 0.33 hello 0.98\na 1 0.5 0.2 there 0.9\n", "a.WRD": "2360 5200 she\n5200 9680 had\n9680 11077 your\n",
    "blimp.jsonl": BLIMP, "ragas.jsonl": RAGAS, "older.jsonl": OLDER, "share.jsonl": SHAREGPT, "preds/m.json": json.dumps([CITED]), "bench.jsonl": MTBENCH,
    "x.fasta": FASTA, "x.a3m": A3M, "qrels/test.tsv": QRELS, "pae.json": PAE, "samples.jsonl": json.dumps(SAMPLE),
}  # fmt: skip
READERS = {
    "links": corpora.links, "coreference": corpora.clusters, "prompts": corpora.prompts, "groups": corpora.pairs,
    "speech": corpora.spoken, "texts": corpora.jsonl,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for inner in ("qrels", "preds"):
        (tmp_path / inner).mkdir()
    others = {
        "novel.txt": NOVEL, "LongBench-Cite.json": json.dumps(LONGBENCH), "source_info.jsonl": SOURCES, "a.wav": "RIFF",
        "queries.jsonl": '{"_id": "q1", "text": "mill"}\n',
        "corpus.jsonl": '{"_id": "d1", "title": "Mills", "text": "A mill."}\n{"_id": "d2", "title": "", "text": "A river."}\n',
    }  # fmt: skip
    for name, content in {**FILES, **others}.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


def read(kind: str, path: Path) -> tuple[list[Any], str]:
    """The examples of a file, and what was said of it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", HeadscopeWarning)
        examples = [*READERS[kind](path)]
    return examples, "\n".join(str(one.message) for one in said)


def cut(example: Any) -> list[tuple[str, list[str]]]:
    """The texts of the ends of its links."""
    text: Any = example.text
    return [
        (text[link.source.start : link.source.end], [text[span.start : span.end] for span in link.targets])
        for link in example.links or ()
    ]


def test_every_format_that_is_read_is_tried(folder: Path) -> None:
    tried = {known.name for name in FILES if (known := known_format(folder / name)) is not None}
    assert tried == {known.name for known in KNOWN if known.reads} | {"predicted aligned errors (AlphaFold)"}


def test_pronouns_with_two_candidates(folder: Path) -> None:
    examples, said = read("links", folder / "gap.tsv")
    assert [cut(one) for one in examples] == [[("she", ["Mira Lind"])], [("his", ["Tom Reis"])], []]
    candidates = [[span.start for span in one.links[0].candidates] for one in examples[:2]]
    assert candidates == [[0, 18], [6, 20]]
    assert (
        "read as pronouns with two candidates (GAP); left out 1 × a pronoun of which neither candidate is right"
        in said
    )
    moved = GAP.replace("she\t35", "she\t34")
    (folder / "moved.tsv").write_text(moved)
    examples, said = read("links", folder / "moved.tsv")
    assert len(examples) == 2
    assert "moved.tsv:2: expected 'she' at character 34, found ' sh'" in said


def test_mentions_in_brackets(folder: Path) -> None:
    examples, _ = read("links", folder / "pro.txt.dev")
    assert examples[3].text == "The weaver told the smith that he could keep his lamp."
    assert [cut(one) for one in examples] == [
        [("she", ["The clerk"])], [("he", ["the baker"])], [("her", ["the weaver"])],
        [("he", ["the smith"]), ("his", ["the smith"])],
    ]  # fmt: skip


def test_words_or_characters(folder: Path) -> None:
    examples, said = read("links", folder / "wsc.jsonl")
    assert [cut(one) for one in examples] == [[("it", ["The jug"])], [], [("他", ["王强"])]]
    assert "1 × a phrase that the pronoun does not mean" in said
    (folder / "off.jsonl").write_text(
        WSC.replace('"span2_index": 9', '"span2_index": 8', 1), encoding="utf-8"
    )
    examples, said = read("links", folder / "off.jsonl")
    assert len(examples) == 2
    assert "off.jsonl:1: 'target': expected both phrases at their indices, by words or by characters" in said
    texts, _ = read("texts", folder / "wsc.jsonl")
    assert len(texts) == 3


@pytest.mark.parametrize("row", [HOTPOT, HUB])
def test_facts_among_sentences(row: dict[str, Any], folder: Path) -> None:
    (folder / "hotpot.json").write_text(json.dumps([row]))
    (example,), _ = read("prompts", folder / "hotpot.json")
    assert example.text is not None
    assert example.asked is not None
    sentences = [example.text[start:end] for start, end in example.asked["spans"]]
    assert sentences[0] == "Salt Roads is a novel by Ida Moen."
    assert sentences[3:] == ["She was born in Norway.", "Pale Coast is a film."]
    assert len(sentences) == 5
    assert example.asked["source"] == [0, 3]
    assert (example.asked["answer"], example.asked["kind"]) == (" Norway", "bridge")
    (linked_,), _ = read("links", folder / "hotpot.json")
    assert cut(linked_) == [(HOTPOT["question"], [sentences[0], sentences[3]])]
    assert len(linked_.links[0].candidates) == 5


def test_yes_and_no_are_a_kind_of_their_own(folder: Path) -> None:
    (folder / "yes.json").write_text(json.dumps([{**HOTPOT, "answer": "yes"}]))
    (example,), _ = read("prompts", folder / "yes.json")
    assert example.asked["kind"] == "yes or no"


def test_chains_of_mentions(folder: Path) -> None:
    sentences, _ = read("coreference", folder / "novel.ann")
    assert [[(one.words[m.start : m.end], m.cluster) for m in one.mentions] for one in sentences] == [
        [(["Old", "Mr.", "Venn"], "0")], [(["He"], "0"), (["it"], "1")],
    ]  # fmt: skip
    (folder / "novel.ann").write_text(BRAT + "T10\tthe_ferry-1 19 22;23 28\tthe ferry\n")
    sentences, said = read("coreference", folder / "novel.ann")
    assert "1 × a mention in several pieces" in said
    (folder / "novel.ann").write_text(
        "T1\tPER 0 12\tOld Mr. Venn\nT2\tTHING 23 28\tferry\nR1\tOwns Arg1:T1 Arg2:T2\t\n"
    )
    (example,), _ = read("links", folder / "novel.ann")
    assert cut(example) == [("Old Mr. Venn", ["ferry"])]
    (folder / "novel.txt").unlink()
    with pytest.raises(CorpusError, match=r"expected its text in .*novel\.txt, found nothing there"):
        read("links", folder / "novel.ann")


def test_marked_entities(folder: Path) -> None:
    examples, said = read("links", folder / "semeval.txt")
    assert examples[0].text == "The keys were put into the drawer."
    assert [cut(one) for one in examples] == [[("keys", ["drawer"])], [("dam", ["flood"])], []]
    assert [link.label for one in examples for link in one.links or ()] == [
        "Entity-Destination",
        "Cause-Effect",
    ]
    assert "1 × a relation without a direction (Other)" in said


def test_marked_stretches_of_an_answer(folder: Path) -> None:
    (example,), _ = read("prompts", folder / "response.jsonl")
    asked: Any = example.asked
    assert [example.text[start:end] for start, end in asked["spans"]] == [
        "The mill opened in 1911.",
        "The river is wide.",
    ]
    assert [asked["answer"][start:end] for start, end in asked["marked"]] == ["forty people"]
    (folder / "source_info.jsonl").unlink()
    with pytest.raises(CorpusError, match=r"source_info\.jsonl: expected the prompts of what was answered"):
        corpora.prompts(folder / "response.jsonl", strict=True).__iter__().__next__()


def test_statements_with_what_they_cite(folder: Path) -> None:
    examples, said = read("prompts", folder / "preds" / "m.json")
    asked: Any = [one.asked for one in examples]
    assert [one["answer"] for one in asked] == [" It opened in 1911.", " Forty people work there."]
    assert examples[1].text == (
        f"{LONGBENCH[0]['context']}\n\nQuestion: When did the mill open?\nAnswer: It opened in 1911. So it is said."
    )
    assert examples[0].document == examples[1].document
    assert [one["source"] for one in asked] == [[[0, 25]], [[44, 61]]]
    assert "left out 1 × a statement that cites nothing" in said
    writer = hs.load(
        save_llama(
            folder / "small",
            hidden_size=32,
            num_hidden_layers=1,
            intermediate_size=48,
            max_position_embeddings=512,
        )
    )
    found = hs.why(writer, examples[1].text, asked[1]["answer"], spans="sentence")
    assert found["text"].values[right_spans(found, asked[1]["source"])].tolist() == ["It employs forty."]
    (folder / "LongBench-Cite.json").unlink()
    with pytest.raises(
        CorpusError, match=r"LongBench-Cite\.json: expected the contexts of what was asked, found"
    ):
        read("prompts", folder / "preds" / "m.json")


def test_minimal_pairs_are_patched_where_words_are_swapped(folder: Path, smollm: Any) -> None:
    rows = [
        ("The boats near the pier are old.", "The boats near the pier is old.", "agreement"),
        ("A girl behind the cars is here.", "A girl behind the cars are here.", "agreement"),
        ("The boat near the pier is old.", "The boat near the pier are old.", "agreement"),
        ("The cats by a very large wall are old.", "The cats by a very large wall is old.", "agreement"),
        ("Who did he see after her?", "Who did he after see her?", "island"),
        (
            "An otorhinolaryngologist near him is old.",
            "An otorhinolaryngologist near him are old.",
            "agreement",
        ),
        ("Some boats near him are old.", "Some boats near him is old.", "agreement"),
        ("No boats are old.", "Some boats are old.", "first"),
    ]
    (folder / "blimp.jsonl").write_text(
        "\n".join(
            json.dumps({"sentence_good": good, "sentence_bad": bad, "UID": name}) for good, bad, name in rows
        )
    )
    with pytest.warns(HeadscopeWarning) as said:
        pairs, _, _ = read_patching(smollm, folder / "blimp.jsonl")
    texts = [["".join(side.texts or ()) for side in (one.clean, one.corrupted)] for one in pairs]
    assert texts == [["The boats near the pier", "The boat near the pier"]]
    assert pairs[0].answer == smollm.encode(" are").ids[0] != pairs[0].wrong
    message = str(said[0].message)
    assert (
        "2 × a pair that does not differ in one word behind others; 2 × a pair without another whose"
        in message
    )
    assert "left out 1 of 2 pairs that do not fit" in message


def turns(example: Example) -> list[Any]:
    """The roles of a conversation, and what was said or called."""
    return [
        (one["role"], one["tool_calls"][0]["function"]["name"] if one.get("tool_calls") else one["content"])
        for one in example.messages or ()
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("otel.jsonl", [("user", "Weather in Bergen?"), ("assistant", "weather")]),
        ("turns.jsonl", [("user", "Fix the test."), ("assistant", "Read"), ("tool", "x = 1")]),
        (
            "rollout.jsonl",
            [
                ("user", "List it."),
                ("assistant", "shell"),
                ("tool", "a.py"),
                ("assistant", "apply_patch"),
                ("tool", "ok"),
            ],
        ),
        ("spans.jsonl", [("system", "Be brief."), ("user", "Weather?"), ("assistant", "weather")]),
        ("runs.jsonl", [("user", "Hi"), ("assistant", "Hello")]),
        ("log.json", [("user", "2+2"), ("assistant", "add"), ("tool", "4"), ("assistant", "4")]),
        ("samples.jsonl", [("user", "2+2"), ("assistant", "add"), ("tool", "4"), ("assistant", "4")]),
        ("share.jsonl", [("user", "Name a river."), ("assistant", "The Glomma.")]),
        ("bench.jsonl", [("user", "Write a line.")]),
    ],
)
def test_logs_are_conversations(name: str, expected: list[Any], folder: Path) -> None:
    (example,), said = read("prompts", folder / name)
    assert turns(example) == expected
    assert "read as" in said


def test_exports_hold_spans_in_spans(folder: Path) -> None:
    attributes = [
        {"key": key, "value": {"stringValue": value}} for key, value in json.loads(OTEL)["attributes"].items()
    ]
    spans = [{"name": "chat", "attributes": attributes}, {"name": "tool", "attributes": []}]
    export = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}
    (folder / "export.json").write_text(json.dumps(export, indent=1))
    (example,), said = read("prompts", folder / "export.json")
    assert turns(example) == [("user", "Weather in Bergen?"), ("assistant", "weather")]
    assert "1 × a span without messages" in said
    (folder / "nested.json").write_text(json.dumps(NESTED))
    (example,), _ = read("prompts", folder / "nested.json")
    assert turns(example) == [("user", "Hi"), ("assistant", "Hello")]


def test_a_transcript_is_a_tree_with_side_chains(folder: Path) -> None:
    def event(name: str, parent: str | None, role: str, content: Any, **more: Any) -> str:
        message = {"role": role, "content": content, **more.pop("message", {})}
        return json.dumps(
            {
                "type": role,
                "uuid": name,
                "parentUuid": parent,
                "isSidechain": False,
                "message": message,
                **more,
            }
        )

    lines = [
        event("a", None, "user", "Fix it."),
        event("b", "a", "assistant", [{"type": "text", "text": "First try."}]),
        event("c", "a", "assistant", [{"type": "thinking", "thinking": "…"}], message={"id": "m"}),
        event("d", "c", "assistant", [{"type": "text", "text": "Second"}], message={"id": "m"}),
        event("e", "d", "assistant", [{"type": "text", "text": "try."}], message={"id": "m"}),
        event("s", None, "user", "Search.", isSidechain=True),
        event("t", "s", "assistant", [{"type": "text", "text": "Found."}], isSidechain=True),
    ]
    (folder / "tree.jsonl").write_text("\n".join(lines))
    examples, said = read("prompts", folder / "tree.jsonl")
    assert [turns(one) for one in examples] == [
        [("user", "Fix it."), ("assistant", "Second\ntry.")], [("user", "Search."), ("assistant", "Found.")],
    ]  # fmt: skip
    assert "1 × a turn of another branch" in said
    assert "1 × a part of a message (thinking)" in said


def test_samples_of_an_archive(folder: Path) -> None:
    with zipfile.ZipFile(folder / "log.eval", "w") as archive:
        archive.writestr("header.json", json.dumps({"eval": {"task": "sums"}}))
        for number in (1, 2):
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps({**SAMPLE, "id": number}, indent=2))
        archive.writestr("summaries.json", "[]")
    examples, said = read("prompts", folder / "log.eval")
    assert [len(turns(one)) for one in examples] == [4, 4]
    assert "read as a log of Inspect; left out 2 × a part of a message (reasoning)" in said


@pytest.mark.parametrize("coding", ["utf-8", "utf-16"])
def test_times_of_speech(coding: str, folder: Path) -> None:
    (folder / "a.TextGrid").write_text(GRID, encoding=coding)
    (example,), _ = read("speech", folder / "a.TextGrid")
    assert (example.words, example.times) == (["so", "it"], [(0.2, 0.45), (0.45, 0.9)])
    (folder / "a.TextGrid").write_text(SHORT, encoding=coding)
    (example,), said = read("speech", folder / "a.TextGrid")
    assert "left out" not in said
    assert (example.words, example.times) == (['say "so"'], [(0.2, 0.45)])
    (example,), _ = read("speech", folder / "a.ctm")
    assert (example.words, example.times) == (["hello", "there"], [(0.12, 0.45), (0.5, 0.7)])
    (example,), _ = read("speech", folder / "a.WRD")
    assert (example.words, example.times) == (
        ["she", "had", "your"],
        [(0.1475, 0.325), (0.325, 0.605), (0.605, 0.6923125)],
    )
    (folder / "sounds").mkdir()
    with pytest.raises(CorpusError, match=r"expected a WAV file, found nothing at .*sounds/a\.wav"):
        [*corpora.spoken(folder / "a.ctm", audio=folder / "sounds")]


def test_minimal_pairs_and_evaluation(folder: Path) -> None:
    examples, _ = read("groups", folder / "blimp.jsonl")
    assert [(one.text, one.label, one.document) for one in examples] == [
        ("The boats near the pier are old.", "good", 0), ("The boats near the pier is old.", "bad", 0),
    ]  # fmt: skip
    for name, contexts in (("ragas.jsonl", 2), ("older.jsonl", 1)):
        (example,), _ = read("prompts", folder / name)
        assert example.asked is not None
        assert example.asked["spans"] == ["The mill opened in 1911.", "The river is wide."][:contexts]
        assert example.asked["answer"] == " In 1911."
        assert example.text is not None
        assert example.text.endswith("Question: When did the mill open?\nAnswer:")
    examples, _ = read("groups", folder / "qrels" / "test.tsv")
    assert [(one.text, one.pair, one.label) for one in examples] == [
        ("mill", "Mills\nA mill.", "2"),
        ("mill", "A river.", "0"),
    ]
    (folder / "corpus.jsonl").unlink()
    with pytest.raises(CorpusError, match="expected the texts of what was judged"):
        read("groups", folder / "qrels" / "test.tsv")


def test_rows_in_memory_are_read_alike(folder: Path) -> None:
    rows = [json.loads(line) for line in WSC.splitlines()]
    with pytest.warns(HeadscopeWarning, match="left out 2 × a phrase that the pronoun does not mean"):
        linked_: Any = hs.links(hs.load(), rows[:2] * 2, least=1)
    assert linked_["n"].values.tolist() == [2]
    corpus: Any = corpus_of([HOTPOT], InPlace("corpus", "prompts", False))
    for _ in range(2):  # it can be read again
        (example,) = corpus.examples()
        assert example.asked["source"] == [0, 3]
    with pytest.raises(CorpusError, match="expected links, found questions with what was retrieved"):
        [*corpus_of([json.loads(RAGAS)], InPlace("corpus", "annotations", False))]


def test_a_command_names_the_one_that_takes_a_file(folder: Path, typed: Typed) -> None:
    expected = "expected prompts, found pronouns with two candidates (GAP), which begins 'ID Text Pron"
    assert expected in typed("why", folder / "gap.tsv", code=2).err
    none = r"blimp.jsonl: expected at least one pair, found none \(read as .*1 × a pair without another whose words are"
    with pytest.raises(InputError, match=none):
        read_patching(hs.load(), folder / "blimp.jsonl")


def test_sequences(folder: Path) -> None:
    examples, _ = read("texts", folder / "x.fasta")
    assert [one.text for one in examples] == ["MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQ", "GAVLIMKKL"]
    examples, _ = read("texts", folder / "x.a3m")
    assert [one.text for one in examples] == ["MKTAYIAK", "MKAAYIAK"]


def test_errors_in_angstroms_are_no_contacts(folder: Path) -> None:
    for take in (corpora.links, corpora.jsonl, lambda path: ReadingOptions().of([path])):
        with pytest.raises(
            CorpusError, match=r"predicted aligned errors \(AlphaFold\); an error in Å .* is no contact"
        ):
            [*take(folder / "pae.json")]


def test_commands_tell_formats(folder: Path) -> None:
    for name in FILES:
        known = known_format(folder / name)
        assert known is not None
        if read_as(known, "texts"):
            with warnings.catch_warnings(action="ignore"):
                assert [*ReadingOptions().of([folder / name])]
        if "links" in known.reads:
            with warnings.catch_warnings(action="ignore"):
                assert [*linked([folder / name], None)] or name == "novel.ann"
        if "coreference" in known.reads:
            with warnings.catch_warnings(action="ignore"):
                assert [*coreference([folder / name])]
    with pytest.raises(
        CorpusError, match=r"expected text, found a TextGrid of Praat, .*headscope align --choose"
    ):
        [*ReadingOptions().of([folder / "a.TextGrid"])]
    with pytest.raises(InputError, match=r"expected a file of one of .*, found questions .*headscope why"):
        linked([folder / "ragas.jsonl"], None)


@pytest.mark.parametrize(
    ("name", "kind", "content", "count", "said"),
    [
        ("b.txt.dev", "links", "[She] met [the cook] .\n" * 20 + "No [mention] .\n", 21, "1 × a sentence without a pronoun"),
        ("b.ctm", "speech", ";; made\na A 0.5 .25 so\nb 1 0.0 1.0 it 0.9 lex\n", 2, "words with their times"),
        ("b.WRD", "speech", "0 100 h#\n100 200 she\n200 300 had\n300 400 pau\n", 1, "2 × a pause"),
        ("b.json", "prompts", json.dumps([{"question_id": 1, "turns": []}, {"question_id": 2, "turns": ["A?"]}]), 1,
         "'turns': expected at least one, found none"),
        ("c.jsonl", "prompts", '{"conversations": [{"from": "system", "value": "Be brief."}, {"from": "bing", "value": "Yes."}]}\n',
         1, "read as conversations (ShareGPT)"),
        ("d.jsonl", "prompts", RAGAS.replace(', "response": "In 1911."', ', "response": null') + "{}\n", 1, "left out 1 input"),
        ("e.jsonl", "groups", BLIMP + BLIMP.replace("are old", " "), 4, "read as minimal pairs (BLiMP)"),
        ("f.fasta", "texts", ">a\nACGTACGTACGT\n>b\n>c\nMKTAYIAKQR*\n", 2, "expected residues behind the name, found none"),
        ("g.txt", "links", SEMEVAL + "4\t\"No <e1>end</e1> here\"\nOther\n", 3, "expected <e1>…</e1> and <e2>…</e2>, each once"),
    ],
)  # fmt: skip
def test_edges(name: str, kind: str, content: str, count: int, said: str, folder: Path) -> None:
    for recording in ("a", "b"):
        (folder / f"{recording}.wav").write_text("RIFF")
    (folder / name).write_text(content, encoding="utf-8")
    examples, remarks = read(kind, folder / name)
    assert (len(examples), said in remarks) == (count, True), remarks


def broken(content: str, dice_: random.Random) -> str:
    """A file with a part taken away, doubled, or with something else in its place."""
    start = dice_.randrange(len(content))
    end = min(len(content), start + dice_.choice((1, 2, 5, 40, 400)))
    put: Sequence[str] = (
        "",
        content[start:end] * 2,
        "\t",
        "\n",
        '"',
        "[",
        "{",
        "}",
        "9" * 30,
        "-1",
        "null",
        "\\",
        "<e1>",
        "[]",
        "0",
    )
    return content[:start] + dice_.choice(put) + content[end:]


@pytest.mark.parametrize("name", FILES)
def test_broken_files_give_a_line_and_no_figure(name: str, folder: Path) -> None:
    path, rolls = folder / name, dice(len(name))
    known = known_format(path)
    assert known is not None
    content = path.read_text(encoding="utf-8")
    messages: list[str] = []
    for _ in range(200):
        path.write_text(broken(content, rolls), encoding="utf-8")
        for kind in {*known.reads, "texts"} & {*READERS}:
            try:
                with warnings.catch_warnings(action="ignore"):
                    examples = [*READERS[kind](path)]
            except (CorpusError, InputError) as error:
                messages.append(str(error))
                continue
            for example in examples:
                for link in (example.links or ()) if example.times is None else ():
                    for span in link.spans:
                        assert 0 <= span.start < span.end <= len(example.text or example.words or ())
                for begin, end in example.times or ():
                    assert 0 <= begin < end
    assert not any("\n" in message for message in messages)


def test_the_page_names_what_is_read() -> None:
    assert {kind for known in KNOWN for kind in known.reads} <= {*COMMANDS}
    assert files_table.page() == files_table.PAGE.read_text(encoding="utf-8"), (
        "run python tools/files_table.py"
    )
