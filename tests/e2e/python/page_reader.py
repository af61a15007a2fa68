"""Reads a report's page with a parser of its own, and prints what is in it as JSON:

    page_reader.py PAGE

`wrong`: tags that do not match, scripts, and whatever makes a browser ask somebody; `facts`: names
and values of the lists; `tables`: rows of cells by the heading above; `cells`: what the cells of the
matrix say of themselves.
"""

import json
import re
import sys
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "input", "link"}
# Elements and attributes by which a page loads or opens something.
ACTIVE = {"script", "link", "iframe", "object", "embed", "img", "form", "base", "a", "image", "use"}
REFERENCES = {"src", "href", "srcset", "action", "data", "poster", "xlink:href", "background"}


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []
        self.wrong = []
        self.facts = {}
        self.tables = {}
        self.cells = []
        self.heading = ""
        self.text = ""
        self.name = ""

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)
        if tag in {"h2", "h3", "dt", "dd", "td", "th", "title", "style"}:
            self.text = ""
        if tag == "tr":
            self.tables.setdefault(self.heading, []).append([])

    def handle_startendtag(self, tag, attributes):
        if tag in ACTIVE:
            self.wrong.append(f"<{tag}>")
        for name, value in attributes:
            if name in REFERENCES or name.startswith("on") or "url(" in (value or ""):
                self.wrong.append(f"{tag} {name}={value}")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> at {self.getpos()}")
        if tag in {"h2", "h3"}:
            self.heading = self.text
        elif tag == "dt":
            self.name = self.text
        elif tag == "dd":
            self.facts[self.name] = self.text
        elif tag in {"td", "th"}:
            self.tables[self.heading][-1].append(self.text)
        elif tag == "title" and "svg" in self.open:
            self.cells.append(self.text)
        elif tag == "style" and re.search(r"url\(|@import|https?:", self.text):
            self.wrong.append("the style loads something")

    def handle_data(self, data):
        self.text += data


page = Page()
page.feed(open(sys.argv[1], encoding="utf-8").read())
page.close()
page.wrong += [f"<{tag}> is not closed" for tag in page.open]
json.dump(
    {"wrong": page.wrong, "facts": page.facts, "tables": page.tables, "cells": page.cells},
    sys.stdout,
)
