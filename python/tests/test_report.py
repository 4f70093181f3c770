"""Reports in a real browser: charts are drawn, nothing is loaded from elsewhere, no error on the console."""

import os
import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@lru_cache
def browser():
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return found or pytest.skip("no Chromium: 'make setup' installs one")


@lru_cache
def program():
    named = os.environ.get("ERMINE")
    if named:
        return named
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = [path for path in (folder / "release/ermine", folder / "debug/ermine") if path.exists()]
    if built:
        return str(max(built, key=lambda path: path.stat().st_mtime))
    subprocess.run(["cargo", "build", "--quiet", "-p", "ermine-cli"], cwd=ROOT, check=True)
    return str(folder / "debug/ermine")


def opened(page, *options):
    """The page after its scripts have run, and what they said on the console."""
    command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"]
    done = subprocess.run([*command, *options, page.as_uri()], capture_output=True, text=True, timeout=600)
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, said


JOBS = {
    "classes": ["--target", "species", "--models", "LogisticRegression,DecisionTreeClassifier"],
    "numbers": ["--target", "body_mass_g", "--models", "RidgeCV,KNeighborsRegressor"],
    "one model": ["--target", "species", "--model", "DecisionTreeClassifier"],
    "clusters": ["--model", "KMeans", "--n-clusters", "3", "--ignore", "species"],
}


@pytest.fixture(scope="module", params=JOBS)
def page(request, tmp_path_factory):
    page = tmp_path_factory.mktemp("report") / "report.html"
    penguins = ROOT / "examples/penguins.csv"
    subprocess.run(
        [program(), "fit", penguins, *JOBS[request.param], "--report", page], check=True, capture_output=True
    )
    return request.param, page


@pytest.mark.parametrize("options", [(), ("--blink-settings=preferredColorScheme=0",), ("--window-size=400,900",)])
def test_charts_are_drawn(page, options):
    name, page = page
    dom, said = opened(page, *options)
    assert said == []
    drawn = int(re.search(r'data-drawn="(\d+)"', dom).group(1))
    assert dom.count("<path") >= 10 * drawn and dom.count('class="chart') == drawn
    assert drawn >= {"classes": 8, "numbers": 6, "one model": 6, "clusters": 1}[name]
    theme = re.search(r'<html[^>]*data-theme="(\w+)"', dom).group(1)
    assert theme == ("dark" if "Color" in "".join(options) else "light")


def test_paper_holds_everything(page, tmp_path):
    """As printed from a dark, wide window: light, and nothing wider than the page."""
    _, page = page
    measure = """<script>
        window.dispatchEvent(new Event("beforeprint"));
        const wide = [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > 701);
        document.documentElement.dataset.wide = wide.map((e) => e.tagName + "." + e.className).join(" ");
    </script>"""
    text = re.sub(r"<meta[^>]*Content-Security-Policy[^>]*>", "", page.read_text())
    paper = tmp_path / "paper.html"
    head, _, _ = text.rpartition("</body>")
    paper.write_text(head + measure + "</body></html>")
    dom, said = opened(paper, "--window-size=1400,900", "--blink-settings=preferredColorScheme=0")
    assert said == [] and 'data-theme="light"' in dom
    assert re.search(r'data-wide="([^"]*)"', dom).group(1) == ""


def test_a_phone_shows_everything(page, tmp_path):
    """At 420 px nothing is wider than the page but what scrolls by itself, and every column has its picture."""
    name, page = page
    measure = """<script>
        const out = (e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll");
        const wide = [...document.querySelectorAll("main *")].filter(out);
        document.documentElement.dataset.wide = wide.map((e) => e.tagName + "." + e.className).join(" ");
        const empty = [...document.querySelectorAll(".card")].filter((e) => !e.textContent.trim());
        document.documentElement.dataset.empty = empty.length;
    </script>"""
    head, _, _ = re.sub(r"<meta[^>]*Content-Security-Policy[^>]*>", "", page.read_text()).rpartition("</body>")
    # A window of a browser cannot be as narrow as a phone, a frame can.
    phone = tmp_path / "phone.html"
    phone.write_text(head + measure + "</body></html>")
    frame = tmp_path / "frame.html"
    copy = "document.documentElement.dataset[n] = f.contentDocument.documentElement.dataset[n]"
    frame.write_text(
        f'<html><body><iframe id="f" src="{phone.name}" style="width: 420px; height: 900px"></iframe><script>'
        f'onload = () => ["wide", "empty"].forEach((n) => {{ {copy} }})</script></body></html>'
    )
    dom, said = opened(frame, "--allow-file-access-from-files")
    assert said == []
    assert re.search(r'data-wide="([^"]*)"', dom).group(1) == ""
    assert re.search(r'data-empty="(\d+)"', dom).group(1) == "0"
    dom, _ = opened(page)
    assert dom.count('class="card column') == 8 and 'aria-label="correlations"' in dom
    assert "11 of 344 rows have a missing value" in dom
    assert ("<h3>Each class, test rows</h3>" in dom) == (name in ("classes", "one model"))


def test_names_are_text_and_never_markup(tmp_path):
    rows = "".join(
        f"{i % 7},{i * i % 11},{['<b>yes</b>', '</script><script>alert(1)</script>'][i % 2]}\n" for i in range(60)
    )
    (tmp_path / "hostile.csv").write_text('"<img src=x onerror=alert(2)>",b,y\n' + rows)
    page = tmp_path / "report.html"
    command = [program(), "fit", tmp_path / "hostile.csv", "--target", "y", "--models", "GaussianNB", "--report", page]
    subprocess.run(command, check=True, capture_output=True)
    dom, said = opened(page)
    body = dom.split('<script type="application/json"')[0]
    assert said == [] and "<img" not in body and "<b>yes" not in body and "&lt;b&gt;yes" in body


HOSTILE = ["<img src=x onerror=alert(2)>", "<b>bold</b>", "</script><script>alert(3)</script>", "{a|rich}"]
HOVER = """<script>
    const markup = () => document.querySelectorAll("main img, main b, main script, main iframe").length;
    let [found, quiet, heard] = [0, [], ""];
    for (const place of document.querySelectorAll(".chart")) {
        const drawn = echarts.getInstanceByDom(place);
        const said = () => [...place.children].slice(1).map((box) => box.textContent).join(" ");
        let any = "";
        drawn.getOption().series.forEach((series, seriesIndex) => (series.data || []).forEach((_, dataIndex) => {
            drawn.dispatchAction({ type: "showTip", seriesIndex, dataIndex });
            found += markup();
            any += said();
        }));
        if (!any.trim()) quiet.push(place.getAttribute("aria-label"));
        heard += any;
    }
    document.documentElement.dataset.found = found;
    document.documentElement.dataset.quiet = quiet.join("; ");
    document.documentElement.dataset.heard = encodeURIComponent(heard);
</script>"""


def hostile_table(path, target):
    """Columns, levels and classes that would be markup."""
    names = [*HOSTILE[:3], "kind", target]
    lines = [",".join(f'"{name}"' for name in names)]
    for i in range(90):
        label = HOSTILE[i % 3] if target == "class" else i * 7 % 23 + (i % 3)
        lines.append(f'{i % 3 + i % 7 / 9},{i * i % 11},{i % 5},"{HOSTILE[i % 4]}","{label}"')
    path.write_text("\n".join(lines))


@pytest.mark.parametrize(
    "target, models",
    [
        ("class", ["--models", "GaussianNB,LogisticRegression"]),
        ("class", ["--model", "DecisionTreeClassifier"]),
        ("number", ["--model", "Ridge"]),
    ],
)
def test_hovering_over_every_chart_runs_nothing(tmp_path, target, models):
    hostile_table(tmp_path / "t.csv", target)
    page = tmp_path / "report.html"
    command = [program(), "fit", tmp_path / "t.csv", "--target", target, *models, "--report", page]
    subprocess.run(command, check=True, capture_output=True)
    text = page.read_text()
    assert text.count("Content-Security-Policy") == 1
    # The policy stops this script as it would stop any other: first without it, to see that names are text by
    # themselves.
    head, _, _ = re.sub(r"<meta[^>]*Content-Security-Policy[^>]*>", "", text).rpartition("</body>")
    hovered = tmp_path / "hovered.html"
    hovered.write_text(head + HOVER + "</body></html>")
    dom, said = opened(hovered)
    assert said == []
    of = lambda name: re.search(rf'data-{name}="([^"]*)"', dom).group(1)
    assert of("found") == "0"
    assert of("quiet") == ""
    from urllib.parse import unquote

    heard = unquote(of("heard"))
    assert any(name in heard for name in HOSTILE)

    guarded = tmp_path / "guarded.html"
    head, _, _ = text.rpartition("</body>")
    guarded.write_text(
        head + '<img src=x onerror="document.title=1"><script>document.title = "ran"</script></body></html>'
    )
    dom, said = opened(guarded)
    assert (
        "<title>ran" not in dom and "<title>1<" not in dom and any("Content Security Policy" in line for line in said)
    )
