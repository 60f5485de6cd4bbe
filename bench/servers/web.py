# SPDX-License-Identifier: Apache-2.0
"""A web server in Python: Flask on werkzeug's threads. Each answer is parsed, priced and rendered."""

import json
import logging
import sys

from flask import Flask

app = Flask(__name__)
logging.getLogger("werkzeug").disabled = True
ORDER = json.dumps([{"id": i, "name": f"part {i * 7919 % 211}", "price": i * 13 % 97}
                    for i in range(120)])


def parse_order(text):
    return sorted(json.loads(text), key=lambda row: row["name"])


def discount(row, level):
    if level == 0:
        return row["price"]
    return discount(row, level - 1) * 0.99


def price_rows(rows):
    return [(row["name"], discount(row, 8)) for row in rows]


def render_page(rows):
    lines = []
    for name, price in rows:
        lines.append("<li>%s: %.2f</li>" % (name.upper(), price))
    return "<ul>%s</ul>" % "\n".join(lines)


@app.route("/")
def page():
    return render_page(price_rows(parse_order(ORDER)))


def serve(port):
    app.run(host="127.0.0.1", port=port, threaded=True)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
