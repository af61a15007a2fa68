#!/usr/bin/env python3
"""Draws a terminal's screen, captured with its colours, as an SVG image.

    tmux capture-pane -e -p > screen; terminal_svg.py TITLE < screen > top.svg

Reads text with SGR escape sequences (what `tmux capture-pane -e` prints) from standard input.
Block elements are drawn as rectangles, so that they join whatever font the viewer has.
"""
import re
import sys
from html import escape

CELL_W, CELL_H, FONT = 8, 17, 13  # px; DejaVu Sans Mono is 0.602 em wide
BACK, FRONT = "#16181d", "#d4d7dd"
COLOURS = ["#16181d", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d4d7dd"]
SGR = re.compile(r"\x1b\[([0-9;]*)m|\x0f|\x0e")


class Style:
    """The graphic rendition in force: what SGR sequences have set so far."""

    def __init__(self):
        self.front, self.bold, self.dim, self.reverse = None, False, False, False

    def apply(self, codes):
        codes = [int(code or 0) for code in codes.split(";")]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.__init__()
            elif code in (1, 2, 7):
                setattr(self, {1: "bold", 2: "dim", 7: "reverse"}[code], True)
            elif code == 22:
                self.bold = self.dim = False
            elif code == 27:
                self.reverse = False
            elif code == 39:
                self.front = None
            elif 30 <= code <= 37:
                self.front = COLOURS[code - 30]
            elif code in (38, 48) and codes[:1] == [5]:
                colour = codes[1]
                codes = codes[2:]
                if code == 38:
                    self.front = COLOURS[colour % 8]

    def key(self):
        return (self.front or FRONT, self.bold, self.dim, self.reverse)


def cells(line, style):
    """Pairs of a character and its style, one per column."""
    at = 0
    for match in SGR.finditer(line):
        yield from ((char, style.key()) for char in line[at:match.start()])
        if match.group(1) is not None:
            style.apply(match.group(1))
        at = match.end()
    yield from ((char, style.key()) for char in line[at:])


def shape(char, x, y):
    """The rectangle of a block element or line in its cell, or nothing for other characters."""
    if "\u2581" <= char <= "\u2588":  # lower one eighth up to the full block
        height = CELL_H * (ord(char) - 0x2580) / 8
        return x, y + CELL_H - height, CELL_W, height, 1
    if char in "░▒▓":
        return x, y + 2, CELL_W, CELL_H - 4, {"░": 0.18, "▒": 0.45, "▓": 0.7}[char]
    if char == "─":
        return x, y + CELL_H / 2, CELL_W, 1, 1
    if char == "│":
        return x + CELL_W / 2, y, 1, CELL_H, 1
    return None


def runs(row):
    """Neighbouring cells of one style and kind: (first column, text, style)."""
    start = 0
    for end in range(1, len(row) + 1):
        same = end < len(row) and row[end][1] == row[start][1] and (
            row[end][0] == row[start][0] or not (shape(row[end][0], 0, 0) or shape(row[start][0], 0, 0)))
        if not same:
            yield start, "".join(char for char, _ in row[start:end]), row[start][1]
            start = end


def main():
    style = Style()
    rows = [list(cells(line.rstrip("\n"), style)) for line in sys.stdin]
    while rows and not any(char.strip() for char, _ in rows[-1]):
        rows.pop()
    width = max(len(row) for row in rows) * CELL_W + 16
    height = len(rows) * CELL_H + 16
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           f'shape-rendering="crispEdges" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{FONT}">',
           f"<title>{escape(sys.argv[1])}</title>",
           f'<rect width="{width}" height="{height}" rx="6" fill="{BACK}"/>']
    for number, row in enumerate(rows):
        y = 8 + number * CELL_H
        for column, text, (front, bold, dim, reverse) in runs(row):
            x, colour = 8 + column * CELL_W, front
            if reverse:
                out.append(f'<rect x="{x}" y="{y}" width="{len(text) * CELL_W}" height="{CELL_H}" fill="{front}"/>')
                colour = BACK
            opacity = 0.6 if dim else 1
            drawn = shape(text[0], x, y)
            if drawn:
                left, top, wide, high, shade = drawn
                if text[0] != "│":
                    wide = CELL_W * len(text)
                out.append(f'<rect x="{left:g}" y="{top:g}" width="{wide:g}" height="{high:g}" '
                           f'fill="{colour}" fill-opacity="{shade * opacity:g}"/>')
            elif text.strip():
                # Without leading blanks, and of exactly so many cells: fonts differ in width.
                lead = len(text) - len(text.lstrip())
                text = text.strip()
                weight = ' font-weight="bold"' if bold else ""
                fade = f' fill-opacity="{opacity:g}"' if dim else ""
                out.append(f'<text x="{x + lead * CELL_W}" y="{y + 13}" textLength="{len(text) * CELL_W}" '
                           f'xml:space="preserve" fill="{colour}"{fade}{weight}>{escape(text)}</text>')
    print("\n".join(out + ["</svg>"]))


if __name__ == "__main__":
    main()
