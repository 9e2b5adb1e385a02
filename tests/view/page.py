#!/usr/bin/env python3
"""Tries the page of `hyperslab view` in Chromium, as a reader would, on the file that tour.py makes.

usage: page.py URL OUT_DIR      URL: what `hyperslab view --no-open` printed for OUT_DIR/tour.h5; screenshots go to OUT_DIR
CHROMIUM names the browser (default /usr/bin/chromium). The exit code is the number of checks that failed, at most 99.
"""
import csv
import io
import os
import pathlib
import re
import sys
import time
import traceback
from urllib.parse import urlsplit

import h5py
import numpy as np
from playwright.sync_api import expect, sync_playwright

WIDE = {"width": 1440, "height": 860}
PHONE = {"width": 390, "height": 844}
WAIT_MS = 20_000

# Counts the colours of a canvas: a blank plot has one, a frame with ticks a few dozen, a picture hundreds.
COLOURS = """canvas => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
}"""
# The share of pixels that are nearly the colour of the curve.
SERIES = """canvas => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const probe = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--series').trim();
  probe.fillRect(0, 0, 1, 1);
  const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
  let count = 0;
  for (let at = 0; at < data.length; at += 4) {
    if (Math.abs(data[at] - r) + Math.abs(data[at + 1] - g) + Math.abs(data[at + 2] - b) < 24) count += 1;
  }
  return count / (data.length / 4);
}"""


class Reader:
    """A page of the browser, what it asked for and what it complained about."""

    def __init__(self, browser, url, out):
        self.browser, self.url, self.out = browser, url, pathlib.Path(out)
        self.file = h5py.File(self.out / "tour.h5")
        self.origin = "{0.scheme}://{0.netloc}".format(urlsplit(url))
        self.context = browser.new_context(viewport=WIDE, color_scheme="light", accept_downloads=True)
        self.page = self.context.new_page()
        self.page.set_default_timeout(WAIT_MS)
        self.errors, self.foreign = [], []
        self.page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self.asked)
        self.page.on("dialog", lambda dialog: (self.errors.append(f"dialog: {dialog.message}"), dialog.dismiss()))

    def asked(self, request):
        if not request.url.startswith((self.origin + "/", "data:", f"blob:{self.origin}/")):
            self.foreign.append(request.url)

    def show(self, path, **settings):
        """Goes to an object by the address, as a shared link does."""
        query = "&".join(f"{name}={value}" for name, value in settings.items())
        self.page.evaluate("hash => { location.hash = hash; }", f"#{path}" + (f"?{query}" if query else ""))
        name = path.rsplit("/", 1)[-1] or "Root group"
        expect(self.page.locator("main h1")).to_have_text(name, timeout=WAIT_MS)

    def settled(self):
        """Waits until what was asked for has come and is drawn."""
        self.page.wait_for_timeout(200)
        expect(self.page.locator(".loading, .grid-cell.waiting")).to_have_count(0, timeout=WAIT_MS)
        self.page.wait_for_timeout(100)

    def shot(self, name):
        self.page.screenshot(path=str(self.out / f"{name}.png"))

    def canvas(self):
        return self.page.locator(".stage canvas")

    def picture(self):
        """The bytes of the picture in sight, to see whether it changed."""
        self.settled()
        return self.canvas().evaluate("canvas => canvas.toDataURL()")

    def expect_colours(self, least):
        self.settled()
        colours = self.canvas().evaluate(COLOURS)
        assert colours >= least, f"the canvas has {colours} colours, {least} expected"

    def cell(self, row, column):
        return self.page.locator(f".grid-cell[data-row='{row}'][data-column='{column}']")

    def status(self):
        return self.page.locator(".status")


def opens_and_shows_the_root(reader):
    reader.page.goto(reader.url)
    expect(reader.page.locator("main h1")).to_have_text("Root group")
    expect(reader.page.locator("[role=treeitem]")).to_have_count(12)
    expect(reader.page.locator(".contents-row")).to_have_count(11)
    expect(reader.page.locator("#container")).to_contain_text("tour")
    assert "code=" not in reader.page.url, "the one-time code stayed in the address"
    reader.shot("root")


def tree_opens_and_a_dataset_is_clicked(reader):
    tree = reader.page.locator("#tree")
    tree.locator("[role=treeitem]", has_text="maps").locator(".twist").click()
    tree.locator("[role=treeitem]", has_text="elevation").click()
    expect(reader.page.locator("main h1")).to_have_text("elevation")
    expect(reader.page.locator(".facts")).to_contain_text("64-bit float, little-endian")
    expect(reader.page.locator(".details")).to_contain_text("Elevation over a made-up sea")


def heat_map_is_drawn(reader):
    reader.show("/maps/elevation", tab="heat")
    reader.expect_colours(150)
    expect(reader.status()).not_to_be_empty()
    first = reader.picture()
    reader.page.get_by_label("Colours", exact=True).select_option("magma")
    assert reader.picture() != first, "another colour map drew the same picture"
    reader.shot("heat")


def heat_map_zooms(reader):
    reader.show("/maps/elevation", tab="heat")
    before = reader.picture()
    box = reader.canvas().bounding_box()
    reader.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(reader.status()).to_contain_text("=")
    with reader.page.expect_request(lambda request: "/api/sample" in request.url):
        reader.page.mouse.wheel(0, -400)
    assert reader.picture() != before, "the wheel changed nothing"


def slider_moves_the_slice(reader):
    reader.show("/maps/temperature")
    reader.expect_colours(150)
    before = reader.picture()
    slider = reader.page.get_by_role("slider", name="Index of time")
    slider.focus()
    for _ in range(3):
        reader.page.keyboard.press("ArrowRight")
    expect(reader.page.get_by_role("spinbutton", name="Index of time")).to_have_value("3")
    assert reader.picture() != before, "the slider changed nothing"
    assert "at=3%2C0%2C0%2C0" in reader.page.url or "at=3,0,0,0" in reader.page.url, reader.page.url
    reader.shot("slider")
    after = reader.picture()
    reader.page.reload()
    reader.expect_colours(150)
    assert reader.picture() == after, "the address does not hold the slice"


def dimensions_have_the_names_of_their_scales(reader):
    reader.show("/forecast/wind", tab="heat")
    expect(reader.page.get_by_role("slider", name="Index of hour")).to_be_visible()
    expect(reader.page.get_by_label("Vertical")).to_contain_text("lat (30)")
    expect(reader.page.get_by_label("Horizontal")).to_contain_text("lon (40)")
    reader.expect_colours(100)
    reader.shot("scales")


def line_plot_is_drawn(reader):
    reader.show("/signals/ecg", tab="line")
    reader.expect_colours(20)
    share = reader.canvas().evaluate(SERIES)
    assert share > 0.002, f"only {share:.4%} of the canvas has the colour of the curve"
    expect(reader.status()).to_contain_text("Least and greatest")
    reader.shot("line")
    before = reader.picture()
    reader.canvas().focus()
    for _ in range(4):
        reader.page.keyboard.press("+")
    assert reader.picture() != before, "zooming changed nothing"


def gaps_are_marked(reader):
    reader.show("/signals/gaps", tab="line")
    reader.expect_colours(20)
    reader.shot("gaps")


def table_scrolls(reader):
    reader.show("/maps/temperature", tab="table")
    reader.settled()
    expect(reader.cell(0, 0)).to_have_text(re.compile(r"^\d"))
    reader.page.locator(".grid").focus()
    reader.page.keyboard.press("Control+End")
    reader.settled()
    expect(reader.cell(89, 119)).to_have_text(re.compile(r"^\d"))
    expect(reader.status()).to_contain_text("[0, 0, 89, 119] = ")
    reader.shot("table")


def table_reaches_the_end_of_what_is_huge(reader):
    reader.show("/sparse", tab="table")
    reader.settled()
    reader.page.locator(".grid").focus()
    reader.page.keyboard.press("Control+End")
    reader.settled()
    expect(reader.cell(49_999, 19_999)).to_have_text(re.compile(r"^[12]\.\d+$"))


def axes_can_be_exchanged(reader):
    reader.show("/maps/temperature", tab="table", at="2,1,0,0")
    reader.settled()
    value = reader.cell(5, 2).inner_text()
    assert value != reader.cell(2, 5).inner_text()
    reader.page.get_by_label("Rows").select_option(label="x (120)")
    reader.settled()
    expect(reader.cell(2, 5)).to_have_text(value)
    reader.page.get_by_role("tab", name="Heat map").click()
    reader.expect_colours(150)
    before = reader.picture()
    reader.page.get_by_label("Vertical").select_option(label="time (12)")
    assert reader.picture() != before, "another axis drew the same picture"
    expect(reader.page.get_by_role("slider", name="Index of x")).to_be_visible()


def colours_follow_range_and_scale(reader):
    reader.show("/maps/elevation", tab="heat")
    pictures = [reader.picture()]
    reader.page.get_by_label("Range").select_option("most")
    pictures.append(reader.picture())
    reader.page.get_by_label("Range").select_option("typed")
    reader.page.get_by_label("max", exact=True).fill("0.25")
    reader.page.keyboard.press("Enter")
    pictures.append(reader.picture())
    reader.page.get_by_label("Log").check()
    pictures.append(reader.picture())
    assert len(set(pictures)) == 4, "a range or a scale drew the same picture as another"


def sliders_play(reader):
    reader.show("/maps/temperature", tab="heat")
    reader.settled()
    reader.page.get_by_role("button", name="Play").first.click()
    index = reader.page.get_by_role("spinbutton", name="Index of time")
    expect(index).to_have_value("2", timeout=WAIT_MS)
    reader.page.get_by_role("button", name="Play").first.click()


def huge_dataset_is_drawn(reader):
    reader.show("/sparse", tab="heat")
    reader.expect_colours(30)
    reader.shot("sparse")


def dense_datasets_are_drawn_from_a_sample(reader):
    for path, tab, words in [
        ("/dense/map", "heat", r"A sample, [\d,]+ of 4,000 parts: .* nearest"),
        ("/dense/line", "line", r"A sample, [\d,]+ of 4,000 parts: least and greatest"),
        ("/dense/map", "statistics", r"A sample, [\d,]+ of 4,000 parts: .* not those of the whole"),
    ]:
        begun = time.monotonic()
        reader.show(path, tab=tab)
        expect(reader.status()).to_have_text(re.compile(words), timeout=WAIT_MS)
        seconds = time.monotonic() - begun
        reader.expect_colours(10)
        reader.shot(f"dense-{tab}")
        print(f"        10^9 elements of {path} as {tab} in {seconds:.1f} s", flush=True)
        assert seconds < 10, f"{path} as {tab} took {seconds:.1f} s"


def integers_are_exact(reader):
    reader.show("/types/large", tab="table")
    reader.settled()
    for row, value in enumerate(["9007199254740993", "9223372036854775807", "-9223372036854775808"]):
        expect(reader.cell(row, 0)).to_have_text(value)
    reader.show("/types/unsigned", tab="table")
    expect(reader.cell(0, 0)).to_have_text("18446744073709551615")


def compounds_are_columns(reader):
    reader.show("/types/stars")
    reader.settled()
    heads = reader.page.locator(".grid-head [role=columnheader]")
    expect(heads).to_have_text(["", "id", "name", "position", "mass", "good"])
    expect(reader.cell(0, 0)).to_have_text("9007199254740992")
    expect(reader.cell(1, 0)).to_have_text("9007199254740993")
    expect(reader.cell(3, 1)).to_have_text("star 3")
    expect(reader.cell(3, 4)).to_have_text("true")
    reader.shot("compound")


def strings_are_text(reader):
    reader.show("/types/words")
    reader.settled()
    expect(reader.cell(3, 0)).to_have_text("δέλτα")
    expect(reader.cell(4, 0)).to_have_text("<b>not bold</b>")
    expect(reader.cell(6, 0)).to_have_text("日本語")
    reader.shot("strings")
    reader.show("/types/codes")
    expect(reader.cell(1, 0)).to_have_text("CD2")


def every_type_has_a_table(reader):
    cells = {"weather": "RAIN", "flags": "false", "impedance": re.compile("0.98.*i"), "big_endian": "1"}
    for name, text in cells.items():
        reader.show(f"/types/{name}", tab="table")
        reader.settled()
        row, column = (0, 1) if name in ("flags", "big_endian") else (1, 0)
        expect(reader.cell(row, column)).to_have_text(text)
    for name in ["references", "ragged", "half"]:
        reader.show(f"/types/{name}", tab="table")
        reader.settled()
        expect(reader.cell(0, 0)).not_to_be_empty()
        expect(reader.page.locator(".failure")).to_have_count(0)


def opaque_elements_are_bytes(reader):
    reader.show("/types/opaque", tab="table")
    reader.settled()
    expect(reader.cell(1, 0)).to_have_text("ff fe fd fc")


def image_is_drawn(reader):
    reader.show("/maps/photo")
    expect(reader.page.get_by_role("tab", name="Image")).to_have_attribute("aria-selected", "true")
    reader.expect_colours(1000)
    reader.shot("image")


def statistics_are_shown(reader):
    reader.show("/maps/elevation", tab="statistics")
    reader.expect_colours(10)
    for name, value in [("Elements", "120,000"), ("NaN", "2,400"), ("Fill value", "4,000"), ("Least", "−0.686390307")]:
        row = reader.page.locator(".figures dt", has_text=name).locator("xpath=following-sibling::dd[1]")
        expect(row).to_have_text(value)
    reader.shot("statistics")


def scalars_and_what_is_empty(reader):
    reader.show("/small/pi")
    expect(reader.page.locator(".scalar-value")).to_have_text("3.141592653589793")
    reader.show("/small/title")
    expect(reader.page.locator(".scalar-value")).to_have_text("A tour of the page")
    for path in ["/small/null", "/small/empty", "/small/nothing here"]:
        reader.show(path)
        expect(reader.page.locator(".nothing-title")).to_be_visible()
    reader.show("/types/vector")
    expect(reader.page.locator(".facts")).to_contain_text("named type")


def links_say_where_they_lead(reader):
    reader.show("/links/to nowhere")
    expect(reader.page.locator(".nothing")).to_contain_text("/no/such/object")
    reader.show("/links/elsewhere")
    expect(reader.page.locator(".nothing")).to_contain_text("missing.h5")
    reader.show("/links/to the signal")
    reader.expect_colours(20)


def names_are_never_markup(reader):
    reader.show("/names")
    expect(reader.page.locator(".contents-row")).to_have_count(6)
    reader.page.locator(".contents-row", has_text="<b>bold").click()
    expect(reader.page.locator("main h1")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(reader.page.locator(".details")).to_contain_text("<script>document.title = 'no'</script>")
    assert reader.page.locator("body b, body img, main script").count() == 0
    reader.show("/names")
    reader.page.locator(".contents-row", has_text="percent").click()
    expect(reader.page.locator("main h1")).to_have_text("percent %2F & ? # =")
    reader.page.reload()
    expect(reader.page.locator("main h1")).to_have_text("percent %2F & ? # =")
    reader.settled()
    expect(reader.cell(4, 0)).to_have_text("4")


def large_groups_stay_usable(reader):
    reader.show("/many")
    expect(reader.page.locator(".contents-head")).to_contain_text("5,000 members")
    reader.page.locator("#tree").focus()
    reader.page.keyboard.press("ArrowRight")
    reader.page.keyboard.press("End")
    expect(reader.page.locator("[role=treeitem]", has_text="types")).to_be_visible()
    rows = reader.page.locator("[role=treeitem], .contents-row").count()
    assert rows < 300, f"{rows} rows are in the page"


def search_finds_names_and_attributes(reader):
    reader.show("/")
    reader.page.locator("main").focus()
    reader.page.keyboard.press("/")
    reader.page.keyboard.type("elevation")
    expect(reader.page.locator(".result-path").first).to_contain_text("/maps/elevation")
    reader.shot("search")
    reader.page.keyboard.press("ArrowDown")
    reader.page.keyboard.press("Enter")
    expect(reader.page.locator("main h1")).to_have_text("elevation")
    reader.page.locator("main").focus()
    reader.page.keyboard.press("/")
    reader.page.keyboard.type("sampling")
    expect(reader.page.locator(".result-attribute").first).to_contain_text("sampling_rate")
    reader.page.keyboard.press("Escape")
    expect(reader.page.locator(".results")).to_be_hidden()


def tree_works_from_the_keyboard(reader):
    reader.show("/")
    reader.page.locator("main").focus()
    reader.page.keyboard.press("t")
    expect(reader.page.locator("#tree")).to_be_focused()
    reader.page.keyboard.press("Home")
    reader.page.keyboard.type("de")
    reader.page.keyboard.press("ArrowRight")
    inner = reader.page.locator("[role=treeitem]", has_text="level 1")
    expect(inner).to_be_visible()
    reader.page.keyboard.press("ArrowDown")
    reader.page.keyboard.press("Enter")
    expect(reader.page.locator("main h1")).to_have_text("level 1")
    expect(inner).to_have_attribute("aria-selected", "true")
    reader.settled()
    for _ in range(3):
        reader.page.keyboard.press("ArrowLeft")
    expect(inner).to_have_count(0)
    reader.page.keyboard.press("?")
    expect(reader.page.locator("dialog.keys")).to_be_visible()
    reader.shot("keys")
    reader.page.keyboard.press("Escape")
    expect(reader.page.locator("dialog.keys")).to_be_hidden()


def downloads_are_files(reader):
    reader.show("/maps/elevation", tab="heat")
    reader.settled()
    contents = {}
    for name in ["CSV", "NPY", "PNG"]:
        with reader.page.expect_download() as download:
            reader.page.locator(".downloads").get_by_text(name, exact=True).click()
        contents[name] = pathlib.Path(download.value.path()).read_bytes()
    assert contents["PNG"].startswith(b"\x89PNG") and len(contents["PNG"]) > 1000
    elements = reader.file["/maps/elevation"][...]
    np.testing.assert_array_equal(np.load(io.BytesIO(contents["NPY"])), elements)
    np.testing.assert_array_equal(np.loadtxt(io.BytesIO(contents["CSV"]), delimiter=","), elements)


def tables_are_downloaded_as_csv(reader):
    for path, header in [("/types/stars", ["id", "name", "position", "mass", "good"]), ("/types/words", None)]:
        reader.show(path)
        reader.settled()
        with reader.page.expect_download() as download:
            reader.page.locator(".downloads").get_by_text("CSV", exact=True).click()
        content = pathlib.Path(download.value.path()).read_bytes().decode()
        rows, elements = list(csv.reader(io.StringIO(content, newline=""))), reader.file[path][...]
        if header is None:
            assert rows == [[word.decode()] for word in elements], rows
            continue
        assert rows[0] == header and len(rows) == len(elements) + 1, rows[0]
        assert [int(row[0]) for row in rows[1:]] == list(elements["id"])
        assert [row[1].encode() for row in rows[1:]] == list(elements["name"])
        np.testing.assert_array_equal(np.array([row[3] for row in rows[1:]], "f4"), elements["mass"])


def failures_are_shown_in_place(reader):
    # The answer is cut off here, not at the server, whose own refusals the browser would log as errors.
    reader.page.route("**/api/sample*", lambda route: route.fulfill(status=200, content_type="text/plain", body="odd"))
    reader.show("/signals/decay", tab="line")
    expect(reader.page.locator(".failure")).to_be_visible()
    reader.page.unroute("**/api/sample*")
    reader.page.locator(".failure .button").click()
    reader.expect_colours(20)
    expect(reader.page.locator(".failure")).to_have_count(0)


def dark_mode(reader):
    reader.page.emulate_media(color_scheme="dark")
    for path, name in [("/maps/temperature", "dark-heat"), ("/signals/ecg", "dark-line"), ("/types/stars", "dark-table")]:
        reader.show(path)
        reader.settled()
        reader.shot(name)
    ground = reader.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(part) for part in re.findall(r"\d+", ground)[:3]) < 60, ground
    reader.page.emulate_media(color_scheme="light")


def phone(reader):
    reader.page.set_viewport_size(PHONE)
    reader.show("/maps/temperature")
    reader.expect_colours(100)
    reader.shot("phone-heat")
    wide = reader.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= PHONE["width"], f"the page is {wide} pixels wide"
    expect(reader.page.locator("#sidebar")).to_be_hidden()
    reader.page.locator("#menu").click()
    expect(reader.page.locator("#sidebar")).to_be_visible()
    reader.page.wait_for_timeout(300)
    reader.shot("phone-tree")
    reader.page.locator("[role=treeitem]", has_text="sparse").click()
    expect(reader.page.locator("main h1")).to_have_text("sparse")
    expect(reader.page.locator("#sidebar")).to_be_hidden()
    reader.page.set_viewport_size(WIDE)


def nothing_was_complained_about(reader):
    assert not reader.errors, "errors in the console: " + "; ".join(reader.errors)
    assert not reader.foreign, "requests to other origins: " + "; ".join(reader.foreign)


CHECKS = [
    opens_and_shows_the_root, tree_opens_and_a_dataset_is_clicked, heat_map_is_drawn, heat_map_zooms, slider_moves_the_slice,
    dimensions_have_the_names_of_their_scales, line_plot_is_drawn, gaps_are_marked, table_scrolls, table_reaches_the_end_of_what_is_huge, huge_dataset_is_drawn,
    dense_datasets_are_drawn_from_a_sample,
    axes_can_be_exchanged, colours_follow_range_and_scale, sliders_play,
    integers_are_exact, compounds_are_columns, strings_are_text, every_type_has_a_table, opaque_elements_are_bytes, image_is_drawn,
    statistics_are_shown, scalars_and_what_is_empty, links_say_where_they_lead, names_are_never_markup, large_groups_stay_usable,
    search_finds_names_and_attributes, tree_works_from_the_keyboard, downloads_are_files, tables_are_downloaded_as_csv, failures_are_shown_in_place, dark_mode,
    phone, nothing_was_complained_about,
]


def run(reader, check):
    name = check.__name__.replace("_", " ")
    try:
        check(reader)
    except Exception:  # each check stands for itself; the report says which failed
        print(f"FAILED  {name}\n{traceback.format_exc(limit=-2)}", flush=True)
        reader.shot(f"failed-{check.__name__}")
        return False
    print(f"ok      {name}", flush=True)
    return True


def main(url, out):
    pathlib.Path(out).mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--headless=new", "--no-sandbox"])
        reader = Reader(browser, url, out)
        results = [run(reader, check) for check in CHECKS]
        browser.close()
    print(f"{results.count(True)} of {len(results)} checks passed; screenshots in {out}")
    return min(99, results.count(False))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
