"""A hook of the documentation site: the reference page of every model belongs to its navigation."""

from pathlib import Path


def on_config(config):
    folder = Path(config["docs_dir"]) / "models"
    pages = sorted(folder.glob("*.md"), key=lambda page: page.stem.lower())
    config["nav"].append({"Models": [{page.stem: f"models/{page.name}"} for page in pages]})
    return config
