"""What a model is told: our texts, the paper's pasted in, the schema without annotations."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.errors import InputError
from extractbench_nb.runs.extracting import PLACEHOLDERS, Prompt, plain_schema

SCHEMA = {"type": "object", "properties": {"total": {"type": "number"}}}
SHOWN = json.dumps(SCHEMA, indent=2)
#: With the names of the paper's appendix D.
PASTED = "Extract from {document_name}.\n\nTemplate:\n{schema_str}\n\nONLY JSON."


def said(prompt: Prompt, **more: Any) -> str:
    return str(prompt.messages("report", SCHEMA, **more)[0]["content"])


def test_the_names_of_the_paper() -> None:
    text = said(Prompt("prompt", PASTED), text="Total: 1")
    assert text.startswith(
        f"Extract from report.\n\nTemplate:\n{SHOWN}\n\nONLY JSON.\n\nThe text of"
    )
    assert "Total: 1" in text
    assert said(Prompt("prompt", "{document} {schema}"), text="x") == said(
        Prompt("prompt", "{document_name} {schema_str}"), text="x"
    )


def test_the_papers_prompt_in_both_modes(tmp_path: Path) -> None:
    # appendix D: the document's name, the template as a guide, JSON only, no text around it
    text = said(Prompt("prompt", "paper"), text="Total: 1")
    assert text.index("report") < text.index(SHOWN) < text.index("valid JSON only")
    assert "neither before the JSON nor after" in text
    structured = said(Prompt("structured", "paper"), text="Total: 1")
    assert "report" in structured
    assert SHOWN not in structured  # section 4.3: it is the format of the answer
    assert Prompt("prompt", "paper").version == Prompt("structured", "paper").version == "paper"

    file = tmp_path / "prompt.txt"
    file.write_text(PASTED, encoding="utf-8")
    assert said(Prompt("prompt", file), text="x") == said(Prompt("prompt", PASTED), text="x")
    assert Prompt("prompt", file).version == Prompt("prompt", PASTED).version
    with pytest.raises(InputError, match=r"prompt file .*absent"):
        Prompt("prompt", tmp_path / "absent.txt")


def test_a_template_places_the_text() -> None:
    text = said(Prompt("prompt", "{text} {{}} {schema}"), text="Total: 1")
    assert text.endswith(f"{{}} {SHOWN}")
    assert text.count("Total: 1") == 1


def test_a_file_needs_no_place(tmp_path: Path) -> None:
    pdf = tmp_path / "report.pdf"
    pdf.write_bytes(b"%PDF-1.7")
    (message,) = Prompt("prompt", PASTED).messages("report", SCHEMA, pdf=pdf)
    file, text = message["content"]
    assert text["text"] == PASTED.format(document_name="report", schema_str=SHOWN)
    assert file["file"]["filename"] == "report.pdf"
    with pytest.raises(InputError, match="cannot be read"):
        Prompt("prompt").messages("report", SCHEMA, pdf=tmp_path / "absent.pdf")


@pytest.mark.parametrize("mode", ["prompt", "structured"])
@given(text=st.text())
def test_documents_cannot_leave_their_marks(mode: str, text: str) -> None:
    found = said(Prompt(mode), text=text)
    head, mark, rest = found.partition("<document-")
    mark = f"<document-{rest.partition('>')[0]}>"
    assert found.count(mark) == 1
    assert found.count(mark.replace("<", "</")) == 1
    assert (SHOWN in found) == (mode == "prompt")
    found.encode()
    assert "report" in head


def test_braces_of_documents_are_no_placeholders() -> None:
    text = said(Prompt("prompt"), text="{schema} {nobody} {0}")
    assert "{schema} {nobody} {0}" in text


def test_versions() -> None:
    assert Prompt("prompt").version == Prompt("structured").version == "v1"
    one, two = Prompt("prompt", "{schema} a").version, Prompt("prompt", "{schema} b").version
    assert one.startswith("custom-")
    assert one != two
    assert Prompt("prompt", "{schema} a").version == one


@pytest.mark.parametrize(
    "mode, template, message",
    [
        ("prompt", "{document}", "it lacks {schema}"),
        ("prompt", "{{schema}}", "it lacks {schema}"),
        ("prompt", "{schema} {pdf}", "{pdf} is unknown"),
        ("prompt", "{schema!r}", "has a format"),
        ("prompt", "{schema:>9}", "has a format"),
        ("prompt", "{schema} {", "single brace"),
        ("prompt", "{} {schema}", "{} is unknown"),
        ("prompt", "", "expected a text"),
        ("prompt", 3, "prompt is 3"),
        ("structured", "{texts}", "did you mean 'text'"),
    ],
)
def test_templates_that_cannot_be_used(mode: str, template: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Prompt(mode, template)
    assert message in str(caught.value)
    if isinstance(template, str) and template:
        assert all(f"{{{name}}}" in str(caught.value) for name in PLACEHOLDERS)


def test_a_structured_prompt_needs_no_schema() -> None:
    assert said(Prompt("structured", "Read it."), text="x").startswith("Read it.\n\nThe text")


E = {"evaluation_config": "string_exact"}


@pytest.mark.parametrize(
    "schema, plain",
    [
        ({"type": "string", **E}, {"type": "string"}),
        (
            {"type": "object", "properties": {"a": {"type": "string", **E}}},
            {"type": "object", "properties": {"a": {"type": "string"}}},
        ),
        (
            {"type": "object", "properties": {"evaluation_config": {"type": "string", **E}}},
            {"type": "object", "properties": {"evaluation_config": {"type": "string"}}},
        ),
        (
            {"type": "array", "items": {"anyOf": [{"type": "string", **E}, {"type": "null"}]}},
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
        ),
        (
            {"type": "object", "$defs": {"evaluation_config": {"type": "null", **E}}},
            {"type": "object", "$defs": {"evaluation_config": {"type": "null"}}},
        ),
        ({"type": "object", "const": {**E, "a": 1}}, {"type": "object", "const": {**E, "a": 1}}),
        ({"type": "object", "default": {**E}}, {"type": "object", "default": {**E}}),
        ({"schema_definition": {"type": "string", **E}}, {"type": "string"}),
        (
            {"type": "object", "additionalProperties": {"type": "string", **E}},
            {"type": "object", "additionalProperties": {"type": "string"}},
        ),
    ],
)
def test_annotations_go_and_all_else_stays(schema: Any, plain: Any) -> None:
    before = json.dumps(schema)
    assert plain_schema(schema) == plain
    assert json.dumps(schema) == before
