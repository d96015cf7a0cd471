"""How the documentation site is built: ``make docs``, without the network."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util.logging import getLogger
from sphinx.util.nodes import make_refnode

import tercet

if TYPE_CHECKING:
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment
    from sphinx.writers.html5 import HTML5Translator

project = "tercet"
author = "The tercet developers"
copyright = author  # noqa: A001  Sphinx calls it that
version = release = tercet.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["gallery"]  # the scripts; their pages are in examples
nitpicky = True

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

default_role = "py:obj"  # `plot_map` in a docstring is a link
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say them, with shapes
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "furo"  # plain, good on a narrow screen, and all its files are local
html_title = f"tercet {release}"
html_static_path = ["_static"]
html_css_files = ["tercet.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


# --- formulas ---------------------------------------------------------------------------------


def _mathml(node: nodes.Element, *, as_block: bool) -> str:
    """MathML of a formula: browsers draw it themselves, with no script and no network."""
    formula = node.astext()
    try:
        return str(tex2mathml(formula, as_block=as_block))
    except MathError as error:
        getLogger(__name__).warning("formula %r: %s", formula, error, location=node)
        return f"<code>{html.escape(formula)}</code>"


def _visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(_mathml(node, as_block=False))
    raise nodes.SkipNode


def _visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(f'<div class="math">{_mathml(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


# --- docstrings -------------------------------------------------------------------------------

_LITERAL = re.compile(r"(``.*?``)")


def _keep_bars(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Bars are absolute values in a docstring, and would be substitutions."""
    for k, line in enumerate(lines):
        parts = _LITERAL.split(line)
        parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
        lines[k] = "".join(parts)


def _find(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.Element | None:
    """A name in backticks is a link wherever it is documented, else what it is: a parameter."""
    if node.get("refdomain") != "py" or node.get("reftype") != "obj":
        return None
    found = env.domains.python_domain.find_obj(env, "", "", node["reftarget"], None, 1)
    if not found:
        return content
    name, entry = min(found, key=lambda each: len(each[0]))
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, content, name)


def setup(app: Sphinx) -> None:
    """Formulas become MathML; docstrings stay as they are written."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    app.connect("autodoc-process-docstring", _keep_bars, priority=900)
    app.connect("missing-reference", _find)
