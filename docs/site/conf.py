"""The site of tools/site: the guides as they are, and Python's names from their docstrings.
Warnings are errors."""

import re

project = "Polyte"
author = "The Polyte authors"
project_copyright = author
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "Polyte"
smartquotes = False  # names in quotes are to be copied
myst_heading_anchors = 4
autodoc_mock_imports = ["torch", "IPython"]
autodoc_member_order = "bysource"
highlight_language = "none"  # loops, scripts and Programs have no lexer
suppress_warnings = ["misc.highlighting_failure"]  # a console's output is not all of a shell


def _as_rst(paragraph):
    """A paragraph of a docstring: an indented one is code, else plain words with `names`."""
    if paragraph[0].startswith("    "):
        return ["::", "", *("    " + line for line in paragraph)]
    return [
        re.sub(
            r"`([^`]+)`|([*|_\\])",
            lambda found: f"``{found[1]}``" if found[1] else "\\" + found[2],
            line,
        )
        for line in paragraph
    ]


def plain_docstring(app, what, name, obj, options, lines):
    paragraphs = [
        text.split("\n")
        for text in re.split(r"\n\s*\n", "\n".join(lines).strip("\n"))
        if text.strip()
    ]
    lines[:] = [line for paragraph in paragraphs for line in (*_as_rst(paragraph), "")]


def setup(app):
    app.connect("autodoc-process-docstring", plain_docstring)
