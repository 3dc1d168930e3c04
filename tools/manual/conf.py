"""Settings of Sphinx: `python -m sphinx -W --keep-going -c tools/manual . build/site`.

The source folder is the repository itself, so that one relative link between pages serves GitHub and the site.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from pages import INCLUDED

from condyle.version import __version__

project, author, copyright = "Condyle", "the authors of Condyle", "the authors of Condyle, Apache-2.0"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton", "pages", "mathml", "docstrings"]
root_doc, include_patterns, exclude_patterns = "docs/index", INCLUDED, ["build", ".venv", "**/.*"]
default_role = "code"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4  # the anchors that GitHub gives to headings
autodoc_member_order, autodoc_typehints, autodoc_typehints_format = "bysource", "signature", "short"
autodoc_type_aliases = {name: name for name in ("Array", "ArrayLike", "DTypeLike", "Size")}
smartquotes = False  # "cpu" is a word that one types
autodoc_default_options = {"members": True, "inherited-members": True, "exclude-members": "with_traceback, add_note"}

html_theme, html_title, html_show_sphinx = "furo", "Condyle", False
html_math_renderer = "mathml"
html_copy_source = False
html_additional_pages = {"index": "front.html"}
templates_path, html_static_path, html_css_files = ["templates"], ["static"], ["manual.css"]
copybutton_selector = "div.highlight-sh pre, div.highlight-bash pre, div.highlight-python pre"
