//! The files of the pages, as a server hands them out. The report has them inside; the lab imports them.

/// Path, media type, content.
pub type Asset = (&'static str, &'static str, &'static [u8]);

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

macro_rules! assets {
    ($($path:literal : $kind:ident),* $(,)?) => {
        &[$(($path, $kind, include_bytes!(concat!("../../assets/", $path)))),*]
    };
}

/// Everything that the lab loads.
pub const ASSETS: &[Asset] = assets! {
    "echarts.common.min.js": SCRIPT,
    "ui/chart.js": SCRIPT,
    "ui/dom.js": SCRIPT,
    "ui/format.js": SCRIPT,
    "ui/look.js": SCRIPT,
    "ui/theme.js": SCRIPT,
    "ui/report.css": STYLE,
    "ui/sections.js": SCRIPT,
    "ui/report/calibration.js": SCRIPT,
    "ui/report/classes.js": SCRIPT,
    "ui/report/clusters.js": SCRIPT,
    "ui/report/columns.js": SCRIPT,
    "ui/report/confusion.js": SCRIPT,
    "ui/report/curves.js": SCRIPT,
    "ui/report/dependence.js": SCRIPT,
    "ui/report/head.js": SCRIPT,
    "ui/report/importance.js": SCRIPT,
    "ui/report/leaderboard.js": SCRIPT,
    "ui/report/learning.js": SCRIPT,
    "ui/report/model.js": SCRIPT,
    "ui/report/residuals.js": SCRIPT,
    "ui/report/scores.js": SCRIPT,
    "ui/report/threshold.js": SCRIPT,
    "ui/report/warnings.js": SCRIPT,
    "ui/report/worst.js": SCRIPT,
    "lab/index.html": HTML,
    "lab/lab.css": STYLE,
    "lab/lab.js": SCRIPT,
    "lab/icon.svg": PICTURE,
    "lab/api.js": SCRIPT,
    "lab/parts.js": SCRIPT,
    "lab/compare.js": SCRIPT,
    "lab/data.js": SCRIPT,
    "lab/train.js": SCRIPT,
    "lab/understand.js": SCRIPT,
    "lab/use.js": SCRIPT,
    "lab/watch.js": SCRIPT,
    "lab/watch/stage.js": SCRIPT,
    "lab/watch/cluster.js": SCRIPT,
    "lab/watch/linear.js": SCRIPT,
    "lab/watch/regions.js": SCRIPT,
    "lab/watch/sets.js": SCRIPT,
    "lab/watch/stops.js": SCRIPT,
    "lab/watch/trees.js": SCRIPT,
};

pub fn find(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|(known, ..)| *known == path)
}
