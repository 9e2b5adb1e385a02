#!/usr/bin/env python3
"""H5Web in Chromium against `hyperslab serve --http`, with both of its providers.

usage: h5web.py PAGE SERVER TOKEN OUT_DIR      PAGE: the address of the bundle; SERVER: that of the server
CHROMIUM names the browser (default /usr/bin/chromium). Screenshots go to OUT_DIR.
"""
import os
import sys
from urllib.parse import urlencode

from playwright.sync_api import expect, sync_playwright

WAIT_MS = 20_000
expect.set_options(timeout=WAIT_MS)


def look(browser, page_url, server, token, provider, out):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    errors = []
    page.on("console", lambda message: message.type == "error" and errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    query = urlencode({"provider": provider, "url": server, "file": "made.h5", "token": token})
    page.set_default_timeout(WAIT_MS)
    page.goto(f"{page_url}/?{query}")

    def item(name):
        return page.get_by_role("treeitem", name=name, exact=True).first

    def shot(name):
        page.wait_for_timeout(700)
        page.screenshot(path=os.path.join(out, f"h5web-{provider}-{name}.png"))

    def tab(name):
        page.get_by_role("tab", name=name, exact=True).click()
        expect(page.get_by_role("tab", name=name, exact=True)).to_have_attribute("aria-selected", "true")

    for name in ["group", "plots", "table"]:
        expect(item(name)).to_be_visible()
    item("plots").click()
    item("decay").click()
    expect(page.get_by_role("figure").first).to_be_visible()
    expect(page.locator("canvas").first).to_be_visible()
    shot("line")
    tab("Matrix")
    expect(page.get_by_role("gridcell").first).to_contain_text("1")
    shot("table")
    item("elevation").click()
    tab("Heatmap")
    expect(page.get_by_role("figure").first).to_be_visible()
    shot("heatmap")
    tab("Line")
    expect(page.locator("canvas").first).to_be_visible()
    page.get_by_role("tab", name="Inspect").click()
    expect(page.get_by_text("Elevation over a made-up sea")).to_be_visible()
    shot("attributes")
    page.get_by_role("tab", name="Display").click()
    item("table").click()
    expect(page.get_by_role("gridcell").first).to_be_visible()
    shot("compound")
    assert not errors, f"{provider}: {errors[:5]}"
    page.close()


def main():
    page_url, server, token, out = sys.argv[1:]
    with sync_playwright() as playwright:
        options = ["--headless=new", "--enable-unsafe-swiftshader"]
        options += ["--no-sandbox"] if os.geteuid() == 0 else []
        path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=path, args=options)
        for provider in ["grove", "hsds"]:
            try:
                look(browser, page_url, server, token, provider, out)
            except Exception:
                for page in browser.contexts[-1].pages:
                    page.screenshot(path=os.path.join(out, f"h5web-{provider}-failed.png"))
                raise
            print(f"H5Web with its {provider} provider: tree, line, table, heat map, attributes")
        browser.close()


if __name__ == "__main__":
    main()
