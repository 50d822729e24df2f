"""Configuration of Sphinx, which `make docs` runs."""

from app.config.settings import server_version

project = "Adjoint"
copyright = "the Adjoint authors, MIT licence"
release = version = server_version()

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["html_image"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"Adjoint {release}"
html_copy_source = False
html_show_sourcelink = False
