# SPDX-License-Identifier: Apache-2.0
"""Holds answers of the server to doc/openapi.json: the part of JSON Schema that it uses."""

import json
from pathlib import Path

DESCRIPTION = Path(__file__).resolve().parents[2] / "doc" / "openapi.json"

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_type(value, name):
    """A list of names: one of them."""
    if isinstance(name, list):
        return any(is_type(value, one) for one in name)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


class Api:
    def __init__(self):
        self.all = json.loads(DESCRIPTION.read_text())

    def follow(self, node):
        while "$ref" in node:
            target = self.all
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
        return node

    def operations(self):
        """Each method, path and operation."""
        for path, methods in self.all["paths"].items():
            for method, operation in methods.items():
                yield method.upper(), path, operation

    def parameters(self, operation):
        return [self.follow(parameter) for parameter in operation["parameters"]]

    def check(self, value, schema, where="answer"):
        schema = self.follow(schema)
        known = {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf",
                 "minimum", "description"}
        assert set(schema) <= known, f"{where}: the test does not know {set(schema) - known}"
        if "anyOf" in schema:
            return self.check_any(value, schema["anyOf"], where)
        if "type" in schema:
            assert is_type(value, schema["type"]), f"{where}: {value!r} is no {schema['type']}"
        if "enum" in schema:
            assert value in schema["enum"], where
        if "minimum" in schema:
            assert value >= schema["minimum"], where
        if isinstance(value, dict) and "properties" in schema:
            missing = set(schema.get("required", ())) - set(value)
            assert not missing, f"{where}: {missing} missing"
            assert set(value) <= set(schema["properties"]), f"{where}: {set(value)}"
            for key, item in value.items():
                self.check(item, schema["properties"][key], f"{where}.{key}")
        if isinstance(value, list) and "items" in schema:
            for item in value:
                self.check(item, schema["items"], f"{where}[]")
        return None

    def check_any(self, value, schemas, where):
        for schema in schemas:
            try:
                return self.check(value, schema, where)
            except AssertionError:
                continue
        raise AssertionError(f"{where}: {value!r} fits none")

    def check_answer(self, method, path, status, media_type, body):
        """An answer that came must be described."""
        responses = self.all["paths"][path][method.lower()]["responses"]
        assert str(status) in responses, f"{method} {path}: {status} is not described"
        content = self.follow(responses[str(status)]).get("content", {})
        plain = media_type.split(";")[0]
        if not content:
            return
        assert plain in content, f"{method} {path}: {status} as {plain} is not described"
        if content[plain]["schema"]:
            self.check(json.loads(body), content[plain]["schema"], f"{path} {status}")
