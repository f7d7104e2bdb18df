#!/usr/bin/env python3
"""Builds the font files of Arenascope from their published packages.

Sources, unpacked by the caller into three folders:
  inter     npm package `inter-ui` 4.1.1 (Inter 4, OFL)
  phosphor  npm package `@phosphor-icons/web` 2.1.2 (MIT)
  noto      Debian package `fonts-noto-cjk` 1:20220127+repack1-1 (OFL)
Needs the PyPI packages `fonttools` and `brotli`.

  python3 build_fonts.py INTER_DIR PHOSPHOR_DIR NOTO_DIR

Inter: a static subset per weight, in which the digits are the tabular ones
(`tnum`), because the text layout of the program cannot ask for a feature.
Contextual alternates are dropped: they would turn "->" in a tensor name into
an arrow. Phosphor: only the icons listed below. Noto Sans CJK SC: ASCII is left to
Inter; GB2312 level 1 and the full-width punctuation stay.
The icon table of `src/app/theme/icons.rs` is rewritten from the list below.
"""

import pathlib
import re
import sys

from fontTools import subset
from fontTools.ttLib import TTFont

HERE = pathlib.Path(__file__).resolve().parent
ICONS_RS = HERE.parents[1] / "src" / "app" / "theme" / "icons.rs"

INTER_RANGES = [
    (0x20, 0x7E), (0xA0, 0x17F), (0x18F, 0x18F), (0x192, 0x192), (0x218, 0x21B),
    (0x2BC, 0x2BC), (0x2C6, 0x2DD), (0x370, 0x3FF), (0x400, 0x45F), (0x490, 0x491),
    (0x2002, 0x200A), (0x2010, 0x2015), (0x2018, 0x201E), (0x2020, 0x2022),
    (0x2026, 0x2026), (0x202F, 0x202F), (0x2030, 0x2030), (0x2032, 0x2033),
    (0x2039, 0x203A), (0x2044, 0x2044), (0x2070, 0x209C), (0x20AC, 0x20AC),
    (0x2116, 0x2116), (0x2122, 0x2122), (0x2190, 0x2199), (0x21A9, 0x21AA),
    (0x21D0, 0x21D5), (0x21E7, 0x21E7), (0x2200, 0x222B), (0x2248, 0x2248),
    (0x2260, 0x2265), (0x2303, 0x2303), (0x2318, 0x2318), (0x2325, 0x2325),
    (0x232B, 0x232B), (0x23CE, 0x23CE), (0x25A0, 0x25CF), (0x2713, 0x2717),
]

ICONS = """
arrow-clockwise arrow-counter-clockwise arrow-down arrow-left arrow-right arrow-square-out
arrow-up arrows-down-up arrows-in arrows-in-simple arrows-left-right arrows-out
arrows-out-simple caret-down caret-left caret-right caret-up chart-bar chart-line check
check-circle circle circle-half clock command copy copy-simple corners-out cpu crosshair
dots-three dots-three-vertical download-simple export eye eye-slash fast-forward file
file-plus file-text flag-checkered floppy-disk folder-open frame-corners funnel gear
gear-six git-diff gps-fix graduation-cap graph graphics-card hash house image info keyboard
lightbulb link list lock magnifying-glass magnifying-glass-minus magnifying-glass-plus
memory minus monitor moon pause pencil-simple play plus presentation projector-screen
push-pin push-pin-slash question rewind rows seal-check share-network shuffle sidebar-simple
skip-back skip-forward sliders-horizontal sort-ascending sort-descending sparkle stack
stack-simple stop sun swap table target translate trash tree-structure upload-simple warning
warning-circle warning-octagon x x-circle
""".split()


def subset_to(font, unicodes, out, features, hinting=False):
    """Writes the subset of `font` that draws `unicodes` to `out`."""
    options = subset.Options()
    options.layout_features = features
    options.hinting = hinting
    options.desubroutinize = True
    options.name_IDs = [0, 1, 2, 4, 5, 6, 13, 14]
    options.notdef_outline = True
    options.drop_tables += ["DSIG", "STAT", "vhea", "vmtx", "VORG", "BASE"]
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=unicodes)
    cutter.subset(font)
    font.flavor = None
    font.save(out)
    print(f"{out.name}: {out.stat().st_size:,} bytes, {len(font.getBestCmap())} characters")


def tabular_digits(font):
    """Maps U+0030 to U+0039 to the glyphs that `tnum` would choose."""
    gsub = font["GSUB"].table
    record = next(r for r in gsub.FeatureList.FeatureRecord if r.FeatureTag == "tnum")
    mapping = {}
    for index in record.Feature.LookupListIndex:
        for table in gsub.LookupList.Lookup[index].SubTable:
            mapping.update(getattr(table, "ExtSubTable", table).mapping)
    for table in font["cmap"].tables:
        if table.isUnicode():
            for code in range(0x30, 0x3A):
                table.cmap[code] = mapping.get(table.cmap[code], table.cmap[code])


def inter(source):
    codes = [c for a, b in INTER_RANGES for c in range(a, b + 1)]
    for weight in ["Regular", "Medium", "SemiBold"]:
        font = TTFont(source / "web" / f"Inter-{weight}.woff2")
        tabular_digits(font)
        subset_to(font, codes, HERE / f"Inter-{weight}.ttf", ["kern", "ccmp", "locl", "mark", "mkmk"])


def icon_codes(source):
    css = (source / "src" / "regular" / "style.css").read_text()
    pattern = r'\.ph\.ph-([a-z0-9-]+):before\s*{\s*content:\s*"\\([0-9a-f]+)"'
    known = {name: int(code, 16) for name, code in re.findall(pattern, css)}
    return {name: known[name] for name in ICONS}


def phosphor(source):
    codes = icon_codes(source)
    for folder, name in [("regular", "Phosphor"), ("bold", "Phosphor-Bold")]:
        font = TTFont(source / "src" / folder / f"{name}.ttf")
        subset_to(font, codes.values(), HERE / f"{name}.ttf", [])
    write_icon_table(codes)


def write_icon_table(codes):
    lines = [
        "//! The icons of the window as characters of the Phosphor subset.",
        "//!",
        "//! Written by `assets/fonts/build_fonts.py`, which cuts the font files to the same list.",
        "",
        "use super::Icon;",
        "",
        "impl Icon {",
    ]
    for name, code in codes.items():
        ident = name.upper().replace("-", "_")
        lines.append(f"    /// Phosphor `{name}`.")
        lines.append(f"    pub const {ident}: Self = Self('\\u{{{code:x}}}');")
    lines += ["}", "", "/// Every icon, in the order above.", "pub const ALL_ICONS: &[Icon] = &["]
    lines += [f"    Icon::{name.upper().replace('-', '_')}," for name in codes]
    lines += ["];", ""]
    ICONS_RS.write_text("\n".join(lines))


def noto(source):
    codes = set(range(0x3000, 0x3020)) | set(range(0xFF00, 0xFF66)) | {0x2014, 0x2018, 0x2019, 0x201C, 0x201D, 0x2026}
    for row in range(0xB0, 0xD8):
        for cell in range(0xA1, 0xFF):
            try:
                codes.add(ord(bytes([row, cell]).decode("gb2312")))
            except UnicodeDecodeError:
                pass
    path = source / "usr" / "share" / "fonts" / "opentype" / "noto" / "NotoSansCJK-Regular.ttc"
    font = TTFont(path, fontNumber=chinese_index(path))
    subset_to(font, codes, HERE / "NotoSansSC-Regular.otf", [])


def chinese_index(path):
    for index in range(32):
        name = TTFont(path, fontNumber=index, lazy=True)["name"].getDebugName(4)
        if "CJK SC" in name and "Mono" not in name:
            return index
    raise SystemExit(f"no Simplified Chinese face in {path}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    inter(pathlib.Path(sys.argv[1]))
    phosphor(pathlib.Path(sys.argv[2]))
    noto(pathlib.Path(sys.argv[3]))
