#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the colours of palette.json as C: palette.py palette.json OUTPUT.h"""
import json
import sys

source, output = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    palette = json.load(file)

lines = ["/* SPDX-License-Identifier: Apache-2.0 */", "/* Made by palette.py of palette.json. */"]
for name, size in (("kind", "PALETTE_KINDS"), ("change", "2 * PALETTE_STEPS + 1")):
    lines.append(f"static const uint32_t {name}s[][{size}] = {{")
    for theme in ("light", "dark"):
        colours = ", ".join(colour.replace("#", "0x") for colour in palette[theme][name])
        lines.append(f"\t[PALETTE_{theme.upper()}] = {{{colours}}},")
    lines.append("};")
    sizes = {len(palette[theme][name]) for theme in ("light", "dark")}
    lines.append(f"_Static_assert({size} == {sizes.pop()}, \"palette.h\");")
    assert not sizes, f"{name}: light and dark have different numbers of colours"
lines.append(f"static const double step_points[PALETTE_STEPS] = {{{', '.join(map(str, palette['steps']))}}};")
with open(output, "w", encoding="ascii") as file:
    file.write("\n".join(lines) + "\n")
