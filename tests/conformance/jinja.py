#!/usr/bin/python3
"""Compares our template engine with Python's jinja2, byte for byte.

    tests/conformance/jinja.py BUILD/jinja_render [--count N] [--seed N]
                               [--show] [--keep-going]

Templates are generated from a grammar that crosses every construct with white
space control; some are broken on purpose, and then both engines must refuse
them. Output is TAP. When templates differ, the smallest of them is printed
with both results, and the exit status is 1.

What is not compared, and counted as skipped: output with the address of a
Python object in it (generators and methods that are printed), and integers of
more than 64 bits, which our engine refuses.
"""
import argparse
import collections
import json
import os
import random
import subprocess
import sys
import warnings

import jinja2

warnings.simplefilter("ignore")

CONTEXT = {
    "n": 7, "zero": 0, "neg": -3, "big": 123456789012, "one": 1,
    "f": 2.5, "g": -0.125, "h": 1e21, "tiny": 1.5e-7, "third": 0.1,
    "s": "hello world", "t": "  Padded Text \n", "empty": "",
    "u": "na\u00efve \u2013 \"q\" and 'x'", "num": "42", "numf": " 4.75 ",
    "multi": "line one\nline two\n\nline four", "html": "<b>&'\"</b>",
    "long": "the quick brown fox jumps over the lazy dog, well-known for its "
            "state-of-the-art jumps -- and antidisestablishmentarianism",
    "yes": True, "no": False, "nil": None,
    "xs": [3, 1, 2], "words": ["pear", "Apple", "fig", "apple", "Fig"],
    "mixed": [1, "a", None, 2.5, True], "e": [], "nested": [[1, 2], [3, 4]],
    "pairs": [["a", 1], ["b", 2], ["c", 3]], "fs": [0.5, 2, -1.25],
    "d": {"b": 2, "a": 1, "C": 3}, "ed": {},
    "user": {"name": "Ann", "tags": ["x", "y"], "age": 30,
             "address": {"city": "Bern", "zip": "3000"}},
    "rows": [
        {"name": "ada", "v": 3, "ok": True, "g": "x"},
        {"name": "Bob", "v": 1, "ok": False, "g": "y"},
        {"name": "cyd", "v": 2, "ok": True, "g": "X"},
        {"name": "dan", "v": 2, "ok": False, "g": "y"},
    ],
    "tree": [{"n": "r", "kids": [{"n": "a", "kids": []},
                                 {"n": "b", "kids": [{"n": "c", "kids": []}]}]}],
}

BY_TYPE = {
    "int": ["n", "zero", "neg", "one", "big"],
    "float": ["f", "g", "tiny", "third", "h"],
    "str": ["s", "t", "empty", "u", "num", "multi", "html", "long", "numf"],
    "bool": ["yes", "no"],
    "ints": ["xs"],
    "strs": ["words"],
    "list": ["xs", "words", "mixed", "e", "nested", "pairs", "fs"],
    "dict": ["d", "user", "ed"],
    "rows": ["rows"],
}
TYPES = ["int", "float", "str", "bool", "list", "dict"]


class Gen:
    """Makes one set of templates. `used` collects the constructs in it."""

    def __init__(self, rnd):
        self.rnd = rnd
        self.used = set()
        self.locals = []        # (name, type)
        self.fresh = 0
        self.templates = {}
        self.loops = 0
        self.buffered = 0       # inside of macro, set, filter, call
        self.room = 14          # statements left to make

    # --- helpers
    def pick(self, items):
        return self.rnd.choice(items)

    def chance(self, p):
        return self.rnd.random() < p

    def use(self, name):
        self.used.add(name)

    def new_name(self):
        self.fresh += 1
        if self.chance(0.25):
            # a name of the context, hidden
            return self.pick(["n", "s", "xs", "d", "f"])
        return self.pick(["v", "item", "acc", "_p"]) + str(self.fresh)

    def space(self, p=0.3):
        return self.pick([" ", "  ", "\n", "\t"]) if self.chance(p) else ""

    def gap(self):
        return self.pick([" ", " ", " ", "", "\n ", "\t"])

    def tag(self, body):
        """{% body %} with white space control."""
        begin = self.pick(["", "", "", "-", "+"])
        end = self.pick(["", "", "", "-", "+"])
        for sign in begin + end:
            self.use("control " + sign)
        return "{%" + begin + self.gap() + body + self.gap() + end + "%}"

    def show(self, body):
        begin = self.pick(["", "", "", "-", "+"])
        end = self.pick(["", "", "", "-"])
        for sign in begin + end:
            self.use("control " + sign)
        # "{{-1}}" and "{{ {}}}" read differently: keep a space
        return "{{" + begin + self.pick([" ", "  ", "\n"]) + body + \
            self.pick([" ", " ", "\n"]) + end + "}}"

    def comment(self):
        self.use("comment")
        begin = self.pick(["", "-", "+"])
        end = self.pick(["", "-", "+"])
        body = self.pick([" c ", "", " {{ x }} ", " {% if %} ", "\n", " # "])
        return "{#" + begin + body + end + "#}"

    def raw(self):
        self.use("raw")
        body = self.pick(["{{ x }}", " {% if y %} ", "\n {# c #}\n", "  ",
                          "a\n\n", "{{ '"])
        return self.tag("raw").replace("+%}", "%}") + body + \
            self.tag("endraw")

    def text(self):
        return self.pick([
            " ", "\n", "  \n  ", "a", "b c", "\n\n", "\t", "x\n", " y ",
            "{ %", "}}", "#}", "%}", "\u00e4", "\u00a0", "\r\n", "q\r",
            "\n    ", "# { ", "", "", "'", "\\n", "{ "])

    # --- expressions
    def name_of(self, kind):
        own = [n for n, k in self.locals if k == kind or kind == "any"]
        if own and self.chance(0.6):
            return self.pick(own)
        if kind == "any":
            return self.pick(list(CONTEXT))
        return self.pick(BY_TYPE[kind])

    def string(self):
        text = self.pick(["a", "", "x y", "it''s", "-", "%s", "\\n", "\\t.",
                          "\\u00e9", "\\x41", "\u00fc", ", ", "Hello", "0",
                          "12", "a,b,c", " pad ", "{{", "%}", "\\\\", "\\q",
                          "ABC", "1e3", "0x1F", "\\101", "1_000"])
        quote = self.pick("'\"")
        return quote + text.replace(quote, "") + quote

    def expr(self, kind, k=2):
        if kind == "any":
            kind = self.pick(TYPES)
        if self.chance(0.015):
            self.use("wrong type")
            kind = self.pick(TYPES)
        if self.chance(0.008):
            self.use("undefined name")
            return self.pick(["nowhere", "user.nowhere", "xs[9]", "d['zz']"])
        if k <= 0 or self.chance(0.25):
            return self.simple(kind)
        if self.chance(0.08):
            self.use("inline if")
            test = self.expr("bool", k - 1)
            a, b = self.expr(kind, k - 1), self.expr(kind, k - 1)
            if self.chance(0.2):
                return f"({a} if {test})"
            return f"({a} if {test} else {b})"
        if self.chance(0.04):
            self.use("filter default")
            name = self.pick(["nowhere", self.name_of("any"), "user.nowhere"])
            form = self.pick(["default", "d"])
            more = self.pick(["", ", true", ", boolean=true"])
            return f"{name}|{form}({self.simple(kind)}{more})"
        return getattr(self, "e_" + kind)(k)

    def simple(self, kind):
        rnd = self.rnd
        if self.chance(0.5):
            return self.name_of(kind)
        if kind == "int":
            return self.pick([str(rnd.randint(0, 12)), "1_000", "0x1f",
                              "0b101", "0o17", "00", "42"])
        if kind == "float":
            return self.pick(["1.5", "0.1", "2.0", "1e3", "1.25e-5", "3e22",
                              "1_0.5", "100000000000000000.0", "123456.789"])
        if kind == "str":
            return self.string()
        if kind == "bool":
            return self.pick(["true", "false", "True", "False"])
        if kind in ("ints",):
            return "[" + ", ".join(str(rnd.randint(-3, 9))
                                   for _ in range(rnd.randint(0, 4))) + "]"
        if kind == "strs":
            return "[" + ", ".join(self.string()
                                   for _ in range(rnd.randint(0, 3))) + "]"
        if kind == "list":
            items = [self.simple(self.pick(["int", "str", "bool", "float"]))
                     for _ in range(rnd.randint(0, 3))]
            if self.chance(0.3):
                self.use("tuple")
                return "(" + "".join(i + ", " for i in items) + ")" \
                    if items else "()"
            self.use("list")
            return "[" + ", ".join(items) + \
                (self.pick(["", ","]) if items else "") + "]"
        if kind == "dict":
            self.use("dict")
            keys = ["'a'", "'b'", "1", "none", "2.5", "('t', 1)", "true"]
            return "{" + ", ".join(
                f"{self.pick(keys)}: {self.simple(self.pick(TYPES[:4]))}"
                for _ in range(rnd.randint(0, 3))) + "}"
        if kind == "rows":
            return "rows"
        raise AssertionError(kind)

    def e_int(self, k):
        form = self.rnd.randrange(17)
        sub = lambda: self.expr("int", k - 1)
        if form < 3:
            self.use("arithmetic")
            op = self.pick(["+", "-", "*", "//", "%", "+", "*"])
            return f"({sub()} {op} {sub()})"
        if form == 3:
            self.use("power")
            return f"({self.pick(['n', 'one', '2', '(-3)', 'f'])} ** " \
                   f"{self.rnd.randint(0, 4)})"
        if form == 4:
            self.use("sign")
            return f"({self.pick(['-', '+', '- '])}{sub()})"
        if form == 5:
            self.use("filter length")
            kind = self.pick(["str", "list", "dict"])
            return f"({self.expr(kind, k - 1)})|{self.pick(['length', 'count'])}"
        if form == 6:
            self.use("filter int")
            args = self.pick(["", "", "(5)", "(default=-1)", "(0, 16)",
                              "(base=2)", "(3, 0)"])
            return f"({self.expr(self.pick(['str', 'float', 'int', 'bool', 'list']), k - 1)})|int{args}"
        if form == 7:
            self.use("filter sum")
            more = self.pick(["", "(start=5)", "(start=1.5)"])
            return f"({self.expr('ints', k - 1)})|sum{more}"
        if form == 8:
            self.use("filter min max")
            return f"({self.expr('ints', k - 1)})|{self.pick(['min', 'max', 'first', 'last'])}"
        if form == 9:
            self.use("filter abs")
            return f"({sub()})|abs"
        if form == 10:
            self.use("subscript")
            return self.pick([
                "xs[0]", "xs[-1]", "xs[1]", "user.age", "user['age']",
                "d.a", "d['b']", "rows[1].v", "nested[1][0]", "xs.0",
                "nested.1.1", f"xs[{self.expr('int', 0)} % 3]", "d['C']",
                "d.get('a')", "d.get('q', 4)", "(5, 6)[1]"])
        if form == 11 and self.loops:
            self.use("loop variable")
            return "loop." + self.pick(["index", "index0", "revindex",
                                        "revindex0", "length", "depth",
                                        "depth0"])
        if form == 12:
            self.use("filter round")
            return f"({self.expr(self.pick(['int', 'float']), k - 1)})|round" + \
                self.pick(["", "(1)", "(2, 'floor')", "(method='ceil')",
                           "(-1)", "(0, 'common')"]) + self.pick(["", "|int"])
        if form == 13:
            self.use("filter wordcount")
            return f"({self.expr('str', k - 1)})|wordcount"
        if form == 14:
            self.use("method")
            return self.pick([
                f"({self.expr('str', k - 1)}).count({self.string()})",
                f"({self.expr('str', k - 1)}).find({self.string()})",
                f"({self.expr('ints', k - 1)}).count(1)"])
        if form == 15:
            self.use("filter sum")
            return f"rows|sum(attribute={self.pick(chr(39))}v{chr(39)})" \
                if self.chance(0.7) else "rows|sum('v', 10)"
        return self.simple("int")

    def e_float(self, k):
        form = self.rnd.randrange(7)
        if form < 3:
            self.use("arithmetic")
            op = self.pick(["+", "-", "*", "/", "//", "%"])
            kinds = self.pick([("int", "float"), ("float", "int"),
                               ("float", "float"), ("int", "int")])
            return f"({self.expr(kinds[0], k - 1)} {op} {self.expr(kinds[1], k - 1)})"
        if form == 3:
            self.use("filter float")
            return f"({self.expr(self.pick(['str', 'int', 'list']), k - 1)})|float" + \
                self.pick(["", "(1.5)", "(default='x')"])
        if form == 4:
            self.use("filter round")
            return f"({self.expr('float', k - 1)})|round({self.rnd.randint(0, 4)}" + \
                self.pick(["", ", 'ceil'", ", 'floor'"]) + ")"
        if form == 5:
            self.use("power")
            return f"({self.pick(['2', 'f', 'n'])} ** (-{self.rnd.randint(1, 3)}))"
        return self.simple("float")

    def e_bool(self, k):
        form = self.rnd.randrange(14)
        any_ = lambda: self.expr("any", k - 1)
        if form == 0:
            self.use("and or not")
            return f"({any_()} {self.pick(['and', 'or'])} {any_()})"
        if form == 1:
            self.use("and or not")
            return f"(not {any_()})"
        if form in (2, 3):
            self.use("comparison")
            kind = self.pick(["int", "float", "str"])
            op = self.pick(["==", "!=", "<", "<=", ">", ">="])
            return f"({self.expr(kind, k - 1)} {op} {self.expr(kind, k - 1)})"
        if form == 4:
            self.use("comparison chain")
            ops = [self.pick(["<", "<=", ">", "==", "!="]) for _ in range(2)]
            e = [self.expr("int", k - 1) for _ in range(3)]
            return f"({e[0]} {ops[0]} {e[1]} {ops[1]} {e[2]})"
        if form == 5:
            self.use("in")
            op = self.pick(["in", "not in"])
            return self.pick([
                f"({self.expr('int', k - 1)} {op} {self.expr('list', k - 1)})",
                f"({self.expr('str', k - 1)} {op} {self.expr('str', k - 1)})",
                f"({self.expr('str', k - 1)} {op} {self.expr('dict', k - 1)})",
                f"({self.expr('int', k - 1)} {op} range({self.rnd.randint(0, 9)}))"])
        if form in (6, 7):
            self.use("test")
            test = self.pick([
                "defined", "undefined", "none", "string", "number", "integer",
                "float", "boolean", "mapping", "sequence", "iterable", "true",
                "false", "lower", "upper", "callable"])
            self.use("test " + test)
            no = self.pick(["", "", "not "])
            if test in ("defined", "undefined") and self.chance(0.6):
                what = self.pick(["nowhere", "user.nowhere", "s", "xs[7]",
                                  "d.zz"])
            else:
                what = any_()
            return f"({what} is {no}{test})"
        if form == 8:
            test = self.pick(["even", "odd"])
            self.use("test " + test)
            return f"({self.expr('int', k - 1)} is {test})"
        if form == 9:
            self.use("test divisibleby")
            by = self.rnd.randint(1, 4)
            return f"({self.expr('int', k - 1)} is divisibleby" + \
                self.pick([f" {by}", f"({by})", f"(num={by})"]) + ")"
        if form == 10:
            test = self.pick(["eq", "ne", "lt", "le", "gt", "ge", "equalto",
                              "greaterthan", "lessthan"])
            self.use("test " + test)
            return f"({self.expr('int', k - 1)} is {test}({self.expr('int', k - 1)}))"
        if form == 11:
            self.use("test in")
            return f"({self.expr('int', k - 1)} is {self.pick(['', 'not '])}in({self.expr('list', k - 1)}))"
        if form == 12:
            self.use("method")
            return f"({self.expr('str', k - 1)}).{self.pick(['startswith', 'endswith'])}({self.string()})"
        if self.loops:
            self.use("loop variable")
            return self.pick(["loop.first", "loop.last",
                              f"loop.changed({self.expr('int', 0)})",
                              "loop.changed(loop.index // 2)",
                              "loop.previtem is defined",
                              "loop.nextitem is defined"])
        return self.simple("bool")

    def e_str(self, k):
        sub = lambda: self.expr("str", k - 1)
        form = self.rnd.randrange(24)
        if form == 0:
            self.use("concat")
            return f"({sub()} ~ {self.expr('any', k - 1)})"
        if form == 1:
            self.use("string plus")
            return f"({sub()} + {sub()})"
        if form == 2:
            self.use("string times")
            return f"({sub()} * {self.rnd.randint(-1, 3)})"
        if form == 3:
            self.use("slice")
            return f"({sub()})[{self.slice_()}]"
        if form == 4:
            f = self.pick(["upper", "lower", "capitalize", "title", "trim",
                           "string", "e", "escape", "reverse", "safe"])
            self.use("filter " + f)
            return f"({sub()})|{f}"
        if form == 5:
            f = self.pick(["upper", "lower", "capitalize", "title", "trim",
                           "string", "e"])
            self.use("filter " + f)
            return f"({self.expr('any', k - 1)})|{f}"
        if form == 6:
            self.use("filter replace")
            return f"({sub()})|replace({self.string()}, {self.string()}" + \
                self.pick(["", ", 1", ", count=2"]) + ")"
        if form == 7:
            self.use("filter join")
            return f"({self.expr('list', k - 1)})|join" + self.pick(
                ["", "(', ')", "(d='-')", "(1)"])
        if form == 8:
            self.use("filter join")
            return "rows|join(', ', attribute='name')"
        if form == 9:
            self.use("filter center")
            return f"({sub()})|center({self.rnd.randint(0, 30)})"
        if form == 10:
            self.use("filter indent")
            args = self.pick(["", "(2)", "(width=3, first=true)",
                              "(2, true, true)", "('> ', blank=true)",
                              "(first=true)"])
            return f"({sub()})|indent{args}"
        if form == 11:
            self.use("filter truncate")
            args = self.pick(["(9)", "(9, true)", "(11, false, '..', 0)", "",
                              "(20, end='')", "(12, leeway=2)", "(3)"])
            return f"({sub()})|truncate{args}"
        if form == 12:
            self.use("filter wordwrap")
            args = self.pick(["(10)", "(20)", "(7, false)", "(12, true, '|')",
                              "(9, break_on_hyphens=false)", "(1)", "",
                              "(15, wrapstring='~\\n')", "(4)", "(24)"])
            return f"({self.pick([sub(), 'long', 'multi'])})|wordwrap{args}"
        if form == 13:
            self.use("format")
            return self.pick([
                f"'%s and %r' % ({self.expr('any', k - 1)}, {sub()})",
                f"'%d|%5d|%-5d|%05d' % (({self.expr('int', k - 1)},) * 4)",
                f"'%.2f %8.3f %e %g' % (({self.expr('float', k - 1)},) * 4)",
                f"'%s'|format({self.expr('any', k - 1)})",
                "'%(a)s-%(b)03d'|format(a=s, b=n)",
                f"'%x %X %o %#x' % (({self.rnd.randint(0, 999)},) * 4)",
                f"'%5s|%-5s|%.2s' % (({sub()},) * 3)",
                "'%c%%' % 65", "'%+d % d' % (n, neg)", "'%s' % xs",
                "'%G' % tiny", "'%i' % f"])
        if form == 14:
            self.use("filter tojson")
            kind = self.pick(["any", "dict", "list"])
            return f"({self.expr(kind, k - 1)})|tojson" + \
                self.pick(["", "", "(indent=2)", "(1)"])
        if form in (15, 16):
            self.use("method")
            return f"({sub()})." + self.pick([
                "upper()", "lower()", "strip()", "lstrip()", "rstrip()",
                "strip('h d')", "replace('l', 'L')", "replace('o', '', 1)",
                "capitalize()", "center(20)", "ljust(9)", "rjust(9)",
                "removeprefix('hel')", "removesuffix('ld')"])
        if form == 17:
            self.use("method")
            return f"{self.string()}.join({self.expr('strs', k - 1)})"
        if form == 18:
            self.use("subscript")
            return self.pick(["s[0]", "s[-1]", "user.name", "user.address.city",
                              "user['address']['zip']", "words[1]",
                              "rows[0]['name']", "rows|map(attribute='name')|first",
                              "words|first", "words|last", "u[2]"])
        if form == 19 and self.loops:
            self.use("loop variable")
            return self.pick(["loop.cycle('a', 'b')", "loop.cycle(s, n, 1)|string",
                              "loop.previtem|default('-')|string",
                              "loop.nextitem|default('-')|string"])
        if form == 20:
            self.use("string literals")
            return self.string() + " " + self.string()
        if form == 21:
            self.use("filter string")
            return f"({self.expr('any', k - 1)})|string"
        if form == 22:
            self.use("filter min max")
            return f"({self.expr('strs', k - 1)})|{self.pick(['min', 'max'])}" + \
                self.pick(["", "(case_sensitive=true)", "(true)"])
        return self.simple("str")

    def slice_(self):
        part = lambda: self.pick(["", "", str(self.rnd.randint(-6, 9)), "n",
                                  "none"])
        step = self.pick(["", "", ":", ":2", ":-1", ":-2", ":1"])
        return part() + ":" + part() + step

    def e_ints(self, k):
        form = self.rnd.randrange(7)
        if form == 0:
            self.use("range")
            return self.pick(["range(4)", "range(1, 5)", "range(9, 0, -3)",
                              "range(n)"]) + self.pick(["", "|list", "|list"])
        if form == 1:
            self.use("filter map")
            return f"({self.expr('ints', k - 1)})|map('{self.pick(['abs', 'int', 'round'])}')|list"
        if form == 2:
            self.use("filter select")
            return f"({self.expr('ints', k - 1)})|" + self.pick([
                "select('odd')", "reject('odd')", "select('gt', 1)",
                "select", "reject", "select('divisibleby', 2)",
                "reject('in', [1, 2])"]) + "|list"
        if form == 3:
            self.use("filter map")
            return "rows|map(attribute='v')|list"
        if form == 4:
            self.use("filter sort")
            return f"({self.expr('ints', k - 1)})|sort" + \
                self.pick(["", "(reverse=true)", "(true)"])
        if form == 5:
            self.use("slice")
            return f"({self.expr('ints', k - 1)})[{self.slice_()}]"
        return self.simple("ints")

    def e_strs(self, k):
        form = self.rnd.randrange(6)
        if form == 0:
            self.use("filter map")
            return f"({self.expr('strs', k - 1)})|map('{self.pick(['upper', 'lower', 'title', 'trim', 'length', 'string', 'e'])}')|list"
        if form == 1:
            self.use("filter sort")
            return f"({self.expr('strs', k - 1)})|sort" + self.pick(
                ["", "(reverse=true)", "(case_sensitive=true)", "(true, true)"])
        if form == 2:
            self.use("method")
            return f"({self.expr('str', k - 1)})." + self.pick(
                ["split()", "split(',')", "split('l', 1)", "splitlines()",
                 "split(none, 1)", "split(' ')"])
        if form == 3:
            self.use("filter unique")
            return f"({self.expr('strs', k - 1)})|unique" + \
                self.pick(["", "(true)"]) + "|list"
        if form == 4:
            self.use("filter map")
            return "rows|map(attribute='name')|list"
        return self.simple("strs")

    def e_list(self, k):
        form = self.rnd.randrange(18)
        sub = lambda: self.expr("list", k - 1)
        if form == 0:
            self.use("list plus")
            return f"({sub()}|list + {sub()}|list)"
        if form == 1:
            self.use("filter batch")
            return f"({sub()})|batch({self.rnd.randint(1, 3)}{self.pick(['', ', 0', ', fill_with=none'])})|list"
        if form == 2:
            self.use("filter slice")
            return f"({sub()})|slice({self.rnd.randint(1, 3)}{self.pick(['', ', 0'])})|list"
        if form == 3:
            self.use("filter list")
            return f"({self.expr(self.pick(['str', 'list', 'dict']), k - 1)})|list"
        if form == 4:
            self.use("filter reverse")
            return f"({sub()})|reverse|list"
        if form == 5:
            self.use("filter dictsort")
            return f"({self.pick(['d', self.expr('dict', k - 1)])})|dictsort" + self.pick(
                ["", "(true)", "(false, 'value')", "(by='value', reverse=true)",
                 "(case_sensitive=true)", "(reverse=true)"])
        if form == 6:
            self.use("filter items")
            return f"({self.expr('dict', k - 1)})|items|list"
        if form == 7:
            self.use("filter selectattr")
            return "rows|" + self.pick([
                "selectattr('ok')", "rejectattr('ok')",
                "selectattr('v', 'gt', 1)", "rejectattr('g', 'eq', 'y')",
                "selectattr('zz', 'defined')", "selectattr('v', 'odd')",
                "selectattr('name', 'in', words)"]) + \
                "|" + self.pick(["list", "map(attribute='name')|list",
                                 "map(attribute='zz', default=0)|list"])
        if form == 8:
            self.use("filter sort")
            return "rows|sort(attribute='" + self.pick(
                ["name", "v", "g,v", "v,name", "ok"]) + "'" + self.pick(
                ["", ", reverse=true", ", case_sensitive=true"]) + \
                ")|map(attribute='name')|list"
        if form == 9:
            self.use("filter groupby")
            return "rows|groupby('" + self.pick(["g", "v", "ok"]) + "'" + \
                self.pick(["", ", case_sensitive=true"]) + ")" + \
                self.pick(["", "|map(attribute='grouper')|list", "|map('first')|list",
                           "|map(attribute='list')|map('length')|list"])
        if form == 10:
            self.use("filter unique")
            return f"({sub()})|unique|list"
        if form == 11:
            self.use("filter min max")
            return "[rows|" + self.pick(["min", "max"]) + \
                "(attribute='" + self.pick(["v", "name"]) + "')]"
        if form == 12:
            self.use("method")
            return f"({self.expr('dict', k - 1)})." + self.pick(
                ["keys()", "values()", "items()"]) + self.pick(["|list", ""])
        if form == 13:
            self.use("slice")
            return f"({sub()})[{self.slice_()}]"
        if form == 14:
            return self.expr("ints", k - 1)
        if form == 15:
            return self.expr("strs", k - 1)
        if form == 16:
            self.use("list times")
            return f"({sub()}|list * {self.rnd.randint(0, 2)})"
        return self.simple("list")

    def e_dict(self, k):
        form = self.rnd.randrange(5)
        if form == 0:
            self.use("dict()")
            return self.pick([
                "dict(a=1, b=s)", "dict(d, z=2)", "dict(pairs)",
                f"dict(x={self.expr('any', k - 1)})"])
        if form == 1:
            self.use("dict")
            # Simple keys: where a constant one is undefined, jinja2 fails
            # already when it folds constants, in code that never runs.
            return "{" + ", ".join(
                f"{self.simple(self.pick(['str', 'int']))}: {self.expr('any', k - 1)}"
                for _ in range(self.rnd.randint(1, 3))) + "}"
        if form == 2:
            self.use("subscript")
            return self.pick(["user.address", "rows[0]", "user['address']"])
        return self.simple("dict")

    def e_rows(self, k):
        return "rows"

    # --- statements
    def body(self, depth):
        saved = list(self.locals)
        parts = [self.text()]
        for _ in range(self.rnd.randint(0, 2) if depth < 3 else
                       self.rnd.randint(1, 4)):
            parts.append(self.statement(depth - 1))
            parts.append(self.text())
        self.locals = saved
        return "".join(parts)

    def inside(self, depth, names, loop=False):
        """A body in which more names are known."""
        saved, loops = list(self.locals), self.loops
        self.locals += names
        self.loops = self.loops + 1 if loop else self.loops
        body = self.body(depth)
        self.locals, self.loops = saved, loops
        return body

    def captured(self, depth, names=()):
        self.buffered += 1
        body = self.inside(depth, list(names))
        self.buffered -= 1
        return body

    def statement(self, depth):
        self.room -= 1
        if depth <= 0 or self.room < 0:
            return self.pick([self.s_print, self.s_print, self.s_set,
                              self.comment, self.raw])()
        return self.pick([
            self.s_print, self.s_print, self.s_print, self.s_set, self.s_set,
            self.comment, self.raw,
            lambda: self.s_if(depth), lambda: self.s_if(depth),
            lambda: self.s_for(depth), lambda: self.s_for(depth),
            lambda: self.s_for(depth), lambda: self.s_set_block(depth),
            lambda: self.s_macro(depth), lambda: self.s_call(depth),
            lambda: self.s_filter(depth), lambda: self.s_with(depth),
            lambda: self.s_namespace(depth), lambda: self.s_include(depth),
            lambda: self.s_import(depth), lambda: self.s_recursive(depth),
        ])()

    def s_print(self):
        self.use("print")
        if self.chance(0.05):
            self.use("print tuple")
            return self.show(self.expr("int", 1) + ", " + self.expr("str", 1))
        return self.show(self.expr("any", 3))

    def s_set(self):
        self.use("set")
        if self.chance(0.2):
            self.use("set tuple")
            a, b = self.new_name(), self.new_name()
            if a == b:          # CPython 3.11 stores these in wrong order
                b = "other"
            out = self.tag(f"set {a}, {b} = {self.expr('int')}, {self.expr('str')}")
            self.locals += [(a, "int"), (b, "str")]
            return out
        kind = self.pick(TYPES)
        value = self.expr(kind)
        name = self.new_name()
        self.locals.append((name, kind))
        return self.tag(f"set {name} = {value}")

    def s_set_block(self, depth):
        self.use("set block")
        name = self.new_name()
        flt = self.pick(["", "", " | upper", "|trim|title", "| replace('a', 'b')"])
        body = self.captured(depth)
        self.locals.append((name, "str"))
        return self.tag(f"set {name}{flt}") + body + self.tag("endset")

    def s_if(self, depth):
        self.use("if")
        out = self.tag("if " + self.expr("bool")) + self.body(depth)
        for _ in range(self.pick([0, 0, 1, 2])):
            self.use("elif")
            out += self.tag("elif " + self.expr("bool")) + self.body(depth)
        if self.chance(0.5):
            self.use("else")
            out += self.tag("else") + self.body(depth)
        return out + self.tag("endif")

    def s_for(self, depth):
        self.use("for")
        kind = self.pick(["int", "str", "pair", "row", "any", "key", "gen"])
        name = self.new_name()
        names = [(name, "int")]
        if kind == "int":
            over = self.expr("ints")
        elif kind == "str":
            over, names = self.expr("strs"), [(name, "str")]
        elif kind == "pair":
            self.use("for unpacking")
            other = self.new_name()
            over = self.pick(["pairs", "d.items()", "d|items", "d|dictsort",
                              "nested", "rows|groupby('g')"])
            name, names = f"{name}, {other}", [(other, "int")]
            if self.chance(0.3):
                name = f"({name})"
        elif kind == "row":
            over, names = "rows", []
            other = self.new_name()
            names = [(name + ".name", "str"), (name + ".v", "int")]
        elif kind == "key":
            over, names = self.pick(["d", "user", "s", "d.keys()"]), \
                [(name, "str")]
        elif kind == "gen":
            over = self.pick(["xs|map('abs')", "xs|select('odd')",
                              "xs|reverse", "words|unique|map('length')",
                              "range(n)", "range(3)|batch(2)|map('sum')"])
        else:
            over, names = self.expr("list"), []
        test = ""
        if self.chance(0.25):
            self.use("for if")
            saved = list(self.locals)
            self.locals += names
            test = " if " + self.expr("bool", 1)
            self.locals = saved
        out = self.tag(f"for {name} in {over}{test}")
        out += self.inside(depth, names, True)
        if self.chance(0.3):
            self.use("for else")
            out += self.tag("else") + self.body(depth)
        return out + self.tag("endfor")

    def s_recursive(self, depth):
        self.use("recursive for")
        return self.tag("for node in tree recursive") + self.text() + \
            self.show("node.n") + self.pick(["", self.show("loop.depth"),
                                             self.show("loop.index")]) + \
            self.text() + self.tag("if node.kids") + self.text() + \
            self.show("loop(node.kids)") + self.tag("endif") + self.text() + \
            self.tag("endfor")

    def s_macro(self, depth):
        self.use("macro")
        name = f"m{self.fresh}"
        self.fresh += 1
        args = self.pick([[], ["a"], ["a", "b"], ["a", "b", "n"]])
        defaults = self.rnd.randint(0, len(args))
        head = []
        for i, arg in enumerate(args):
            if i >= len(args) - defaults:
                self.use("macro default")
                head.append(f"{arg}={self.expr('int', 1)}")
            else:
                head.append(arg)
        saved, loops = list(self.locals), self.loops
        self.locals = [(x, k) for x, k in self.locals if x[0] != "m"]
        self.locals += [(arg, "int") for arg in args]
        self.loops = 0
        extra = self.pick(["", "", self.show("varargs"), self.show("kwargs"),
                           self.show("caller is defined")])
        if extra:
            self.use("macro specials")
        body = self.captured(depth)
        self.locals, self.loops = saved, loops
        out = self.tag(f"macro {name}({', '.join(head)})") + body + extra + \
            self.tag("endmacro")
        for _ in range(self.pick([0, 1, 2])):
            out += self.show(f"{name}({self.call_args(args, defaults)})")
        return out

    def call_args(self, args, defaults):
        given = [self.expr("int", 1) for _ in args]
        if given and defaults and self.chance(0.4):
            given.pop()
        if given and self.chance(0.3):
            self.use("keyword argument")
            given[-1] = f"{args[len(given) - 1]}={given[-1]}"
        elif self.chance(0.06):
            self.use("bad argument")
            given.append(self.pick(["zz=1", "1, 2, 3, 4"]))
        elif self.chance(0.06):
            self.use("spread argument")
            given = [self.pick(["*xs", "*[1]", "**{}", "*xs[:2]"])]
        return ", ".join(given)

    def s_call(self, depth):
        self.use("call block")
        name = f"m{self.fresh}"
        self.fresh += 1
        with_arg = self.chance(0.4)
        out = self.tag(f"macro {name}(a=1)") + self.text() + \
            self.show("caller(a)" if with_arg else "caller()") + self.text() + \
            self.tag("endmacro")
        head = "call(x) " if with_arg else self.pick(["call ", "call() "])
        names = [("x", "int")] if with_arg else []
        return out + self.tag(f"{head}{name}({self.pick(['', '2', 'a=n'])})") + \
            self.captured(depth, names) + self.tag("endcall")

    def s_filter(self, depth):
        self.use("filter block")
        flt = self.pick(["upper", "lower|title", "trim", "indent(2)",
                         "replace('a', 'b')", "wordwrap(8)", "length", "e",
                         "indent(width=n)", "center(n * 3)"])
        return self.tag("filter " + flt) + self.captured(depth) + \
            self.tag("endfilter")

    def s_with(self, depth):
        self.use("with")
        a, b = self.new_name(), self.new_name()
        head = self.pick(["", f"{a} = {self.expr('int')}",
                          f"{a} = {self.expr('int')}, {b} = {self.expr('str')}"])
        names = [(a, "int")] if head else []
        return self.tag("with " + head) + self.inside(depth, names) + \
            self.tag("endwith")

    def s_namespace(self, depth):
        self.use("namespace")
        name = f"ns{self.fresh}"
        self.fresh += 1
        out = self.tag(f"set {name} = namespace(x=0, y='')")
        out += self.tag(f"for i in {self.expr('ints')}")
        out += self.text() + self.tag(f"set {name}.x = {name}.x + i")
        if self.chance(0.3):
            out += self.tag(f"set {name}.y = {name}.y ~ i")
        out += self.tag("endfor")
        self.locals += [(name + ".x", "int"), (name + ".y", "str")]
        return out + self.show(f"{name}.x")

    def sub_template(self, depth):
        """Another template of the set; returns its name in quotes."""
        if not self.templates and self.chance(0.1):
            return "'nothere'"
        name = f"t{len(self.templates)}"
        self.templates[name] = ""       # taken, also while it is made
        saved, loops = self.locals, self.loops
        self.locals, self.loops = [], 0
        self.templates[name] = self.captured(min(depth, 2))
        self.locals, self.loops = saved, loops
        return f"'{name}'"

    def s_include(self, depth):
        self.use("include")
        name = self.sub_template(depth)
        if self.chance(0.2):
            self.use("include list")
            name = f"['nothere', {name}]"
        # Without context it goes past whatever captures text: jinja2 3.1 has
        # this wrong, and newer versions differ.
        how = ["", "", " ignore missing", " with context"]
        if not self.buffered:
            how += [" without context", " ignore missing without context"]
        return self.tag(f"include {name}" + self.pick(how))

    def s_import(self, depth):
        self.use("import")
        name = f"t{len(self.templates)}"
        self.templates[name] = ""
        saved, loops = self.locals, self.loops
        self.locals, self.loops = [("a", "int")], 0
        macro = self.tag("macro hello(a=3)") + self.captured(min(depth, 1)) + \
            self.tag("endmacro")
        self.locals = []
        self.templates[name] = self.text() + macro + self.text() + \
            self.tag("set value = 'v'") + self.pick(["", self.show("s")]) + \
            self.tag("set _hidden = 1")
        self.locals, self.loops = saved, loops
        context = self.pick(["", " with context", " without context"])
        if self.chance(0.5):
            alias = f"q{self.fresh}"
            self.fresh += 1
            return self.tag(f"import '{name}' as {alias}{context}") + \
                self.show(f"{alias}.hello({self.pick(['', 'n'])})") + \
                self.pick(["", self.show(f"{alias}.value"),
                           self.show(f"{alias}.nothing")
                           if self.chance(0.2) else ""])
        self.use("from import")
        names = self.pick(["hello", "hello as hey, value", "value as w, hello",
                           "hello, missing_one"])
        call = "hey" if "hey" in names else "hello"
        return self.tag(f"from '{name}' import {names}{context}") + \
            self.show(f"{call}({self.pick(['', '4'])})")

    def inherited(self, depth):
        """A parent, maybe a grandparent, and the child that is rendered."""
        self.use("extends")
        names = ["one", "two", "three"][:self.rnd.randint(1, 3)]

        def block(name, more=""):
            self.use("block")
            scoped = self.pick(["", "", " scoped"])
            if scoped:
                self.use("block scoped")
            if "super" in more:
                self.use("super")
            return self.tag(f"block {name}{scoped}") + self.body(depth - 1) + \
                more + self.tag("endblock" + self.pick(["", " " + name]))

        parent = self.text()
        for name in names:
            inner = block(name)
            if self.chance(0.2):
                inner = self.tag("for i in xs") + inner + self.tag("endfor")
            elif self.chance(0.15):
                inner = self.tag("set outer = 5") + inner
            parent += inner + self.text()
        if self.chance(0.15):
            self.use("self block")
            parent += self.show(f"self.{names[0]}()")
        self.templates["base"] = parent
        self.locals = []
        above = "base"
        if self.chance(0.3):
            self.use("grandparent")
            self.templates["mid"] = self.tag("extends 'base'") + \
                block(names[0], self.show("super()"))
            above = "mid"
        child = self.text() + self.tag(
            f"extends {self.pick([repr(above), repr(above), 'parent_name'])}")
        child += self.pick(["", self.s_set(), "ignored"])
        self.locals = []
        for name in names:
            if self.chance(0.7):
                child += self.text() + block(
                    name, self.pick(["", self.show("super()")]))
        if self.chance(0.1):
            child += block("unused")
        if self.chance(0.1):
            child += self.tag("if yes") + block("inif") + self.tag("endif")
        return child, {"parent_name": above}

    def make(self):
        context = dict(CONTEXT)
        if self.chance(0.12):
            main, more = self.inherited(3)
            context.update(more)
        else:
            main = self.body(self.rnd.randint(1, 4)) + self.pick(["", "\n", "\n\n"])
        if self.chance(0.12):
            self.use("broken")
            main = self.break_it(main)
        self.templates["main"] = main
        return {"templates": self.templates, "name": "main",
                "context": context}

    def break_it(self, text):
        """A damaged template: something cut out, doubled or put in."""
        if not text:
            return "{% if %}"
        at = self.rnd.randrange(len(text))
        what = self.rnd.randrange(4)
        if what == 0:
            return text[:at] + text[at + self.rnd.randint(1, 4):]
        if what == 1:
            return text[:at]
        if what == 2:
            return text[:at] + self.pick(
                ["{%", "%}", "}}", "{{", "(", ")", "|", "endif", "'", " is ",
                 ",", "{% endfor %}", "{% else %}", "{#", " not ", "[", "|x",
                 "{% extends 'base' %}", "{{ 1 / 0 }}", "{{ nowhere }}",
                 "{{ xs.nowhere }}", "{% set loop = 1 %}", ".", "="]) + text[at:]
        return text[:at] + text[at:at + 6] + text[at:]


# Written by hand: what the grammar does not reach.
FIXED = [
    "{{ x", "{{", "{%", "{#", "a{#", "{% raw %}", "{% raw %}x", "{#-#}x",
    "{{ 'a\nb' }}{{ nowhere }}", "{% set x %}{{ n }}{% endset %}{{ x }}",
    "{% set n %}{{ n }}{% endset %}", "{% for i in xs %}{{ n }}{% endfor %}"
    "{% set n = 2 %}", "{{ n }}{% set n = 2 %}{{ n }}",
    "{% if yes %}{% set n = 2 %}{% endif %}{{ n }}",
    "{% if no %}{% set n = 2 %}{% endif %}{{ n }}",
    "{% for i in xs %}{% if i == 3 %}{% set n = i %}{% endif %}{{ n }}"
    "{% endfor %}{{ n }}", "{% macro m() %}{{ n }}{% endmacro %}"
    "{% set n = 3 %}{{ m() }}", "{% macro m(a, b=a) %}{{ b }}{% endmacro %}"
    "{{ m(1) }}", "{% macro m(a=b, b=1) %}{{ a }}{% endmacro %}{{ m() }}",
    "{% macro m(a, a) %}{% endmacro %}", "{{ range(3, step=1) }}",
    "{{ xs|join(d=1, d=2) }}", "{{ xs|nofilter }}", "{{ xs is notest }}",
    "{% if no %}{{ xs|nofilter }}{% endif %}ok",
    "{% for i in e %}{{ xs|nofilter }}{% endfor %}",
    "{{ (xs|nofilter) if no else 1 }}", "{% block a %}{% endblock %}"
    "{% block a %}{% endblock %}", "{{ super() }}",
    "{% block a %}{{ super() }}{% endblock %}", "{{ self.a() }}"
    "{% block a %}x{% endblock %}", "{{ self.zz() }}",
    "{% for loop in xs %}{% endfor %}", "{% set true = 1 %}",
    "{% set xs.a = 1 %}", "{% set a.b.c = 1 %}", "{{ namespace(a=1) }}",
    "{{ loop }}", "{% for i in xs %}{{ loop }}{% endfor %}",
    "{{ [nowhere] }}", "{{ {'a': nowhere} }}", "{{ [nowhere]|first }}",
    "{{ 1 if no }}|", "{{ (1 if no) is defined }}", "{{ (1 if no)|list }}",
    "{{ [1 if no] }}", "{{ (1 if no) ~ 'a' }}", "{{ (1 if no) + 1 }}",
    "{{ 'a' 'b' \"c\" }}", "{{ 1.5.2 }}", "{{ xs.1 }}", "{{ xs.1.5 }}",
    "{{ nested.1.0 }}", "{{ 1_000 }}", "{{ 1__0 }}", "{{ 0x }}", "{{ 010 }}",
    "{{ 1e400 }}", "{{ -n ** 2 }}", "{{ 2 ** 3 ** 2 }}", "{{ not n == 7 }}",
    "{{ - n|abs }}", "{{ (-n)|abs }}", "{{ n in xs not in [true] }}",
    "{{ 1 < 2 == true }}", "{{ xs[1,2] }}", "{{ xs[::0] }}", "{{ d[1:2] }}",
    "{{ d[xs] }}", "{{ d[['a']] is defined }}", "{{ {xs: 1} }}",
    "{{ {1: 'a', 1.0: 'b', true: 'c'} }}", "{{ [1, 1.0, true]|unique|list }}",
    "{{ html|e|e }}", "{{ (html|e) + '<' }}", "{{ (html|e) ~ '<' }}",
    "{{ [html|e] }}", "{{ '%s<'|e|format('<') }}", "{{ (html|e)[:3]|e }}",
    "{{ (html|e)|upper|e }}", "{{ html|safe|e }}", "{{ d|tojson|e }}",
    "{{ d.items }}", "{{ xs.append(4) }}{{ xs }}", "{{ xs.pop() }}{{ xs }}",
    "{{ d.update({'z': 1}) }}{{ d }}", "{{ xs is iterable }}", "{{ 0.1 + 0.2 }}",
    "{{ 1e16 }} {{ 1e15 }} {{ 123456789.123 }} {{ 1e-4 }} {{ 1e-5 }}",
    "{{ -0.0 }}", "{{ 5 // -2 }} {{ -5 % 3 }} {{ 5.5 // -2 }} {{ -5.5 % 2 }}",
    "{{ 1 / 3 }}", "{{ 7 / 0 }}", "{{ 7 // 0 }}", "{{ 7 % 0 }}",
    "{{ 2.5|round }} {{ 3.5|round }} {{ 2.675|round(2) }} {{ 25|round(-1) }}",
    "{{ '1_0'|int }} {{ '_1'|int }} {{ ' 12 '|int }} {{ '0x10'|int(0, 16) }}"
    " {{ '0b1'|int(base=0) }} {{ '1e3'|int }} {{ 'inf'|float }}"
    " {{ 'nan'|float }} {{ '-inf'|float }} {{ '1e3'|float }}",
    "{{ 'inf'|float|int }}", "{{ h|int }}", "{{ 9223372036854775807 }}",
    "{{ 9223372036854775807 + 0 }}", "{{ -9223372036854775807 - 1 }}",
    "{{ 9223372036854775807 == 9223372036854775807.0 }}",
    "{{ 9007199254740993 > 9007199254740992.0 }}",
    "{{ '\\x4' }}", "{{ '\\", "{{ 'x",
    "{% if n %}a{% endif", "{% endif %}", "{% for x in %}{% endfor %}",
    "{% for x xs %}{% endfor %}", "{% for 1 in xs %}{% endfor %}",
    "{% for a, b in xs %}{% endfor %}", "{% for a, b in pairs %}{{ a }}"
    "{% endfor %}{{ a }}", "{% for (a, b), c in [[[1, 2], 3]] %}{{ a + b + c }}"
    "{% endfor %}", "{% set a = 1, 2 %}{{ a }}", "{% set a, = [1] %}{{ a }}",
    "{% set (a, b) = 1, 2 %}{{ a }}{{ b }}", "{% include 'nope' %}",
    "{% include 'nope' ignore missing %}x", "{% include ['a', 'b'] %}",
    "{% include [] ignore missing %}y", "{% import 'nope' as a %}",
    "{% extends 'nope' %}", "{% extends nowhere %}", "{% include n %}",
    "{% for x in xs %}{% extends 'main' %}{% endfor %}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
    "{% macro m() %}x{% endmacro %}{% call m() %}{% endcall %}",
    "{% macro m(caller) %}{{ caller }}{% endmacro %}{{ m() }}",
    "{% macro m(caller=1) %}{{ caller }}{% endmacro %}{{ m() }}"
    "{% call m() %}{% endcall %}", "{% call n %}{% endcall %}",
    "{% call range(3) %}{% endcall %}", "{{ caller() }}",
    "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}"
    "{{ m(1, 2, 3, z=4) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m }}"
    "{{ m.name }}{{ m.arguments }}", "{{ m(*1) }}", "{{ range(*[1, 4])|list }}",
    "{{ dict(**d) }}", "{{ dict(a=1, **{'a': 2}) }}", "{{ f(a, b=1, c) }}",
    "{{ n() }}", "{{ 'a'() }}", "{{ s.nothing() }}", "{{ s.upper(1) }}",
    "{% filter %}{% endfilter %}", "{% filter upper %}{{ n", "{% unknown %}",
    "{% block a required %}{% endblock %}", "{% block a required %}x"
    "{% endblock %}", "{% block a-b %}{% endblock %}", "{% block a %}x"
    "{% endblock b %}", "{% set x %}{% endset y %}",
    "{% with a = 1, b = a %}{{ b }}{% endwith %}",
    "{% set a = 3 %}{% with a = 1, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "{% with n = n + 1 %}{{ n }}{% endwith %}{{ n }}", "{{ n }}}", "{{ {} }}",
    "{{ {'a': {'b': 1}}['a'] }}", "{{ '}}' }}", "{{ '{{' ~ \"%}\" }}",
    "{% if '%}' %}x{% endif %}", "{{- s -}}  \u00a0 x", "a \u2003{{- s }}",
    "{%- if yes -%} x {%- endif -%}", "{%+ if yes +%} x {%+ endif +%} y",
    "{% raw -%}  {{ x }}  {%- endraw -%}  z", "{%- raw %} a {% endraw +%} z",
    "{% RAW %}", "{%raw%}{%endraw%}", "{# {# #} #}", "{#\n\n#}{{ nowhere }}",
    "{% print 1, s %}", "{% print %}", "{% if yes: %}x{% endif %}",
    "{% set _ = [1] %}{% for i in xs %}{% set _ = _ + [i] %}{{ _ }}{% endfor %}"
    "{{ _ }}", "{{ words|map('nofilter')|list }}", "{{ words|map(nowhere) }}",
    "{{ words|select('notest')|list }}", "{{ e|map('nofilter')|list }}",
    "{{ e|first }}", "{{ e|first is defined }}", "{{ e|max }}", "{{ e|sum }}",
    "{{ mixed|sort }}", "{{ mixed|min }}", "{{ rows|sort }}", "{{ rows|sort("
    "attribute='zz') }}", "{{ words|groupby('zz') }}", "{{ d|groupby(0) }}",
    "{{ nested|unique|list }}", "{{ xs|batch(0)|list }}", "{{ xs|slice(0) |list"
    " }}", "{{ e|batch(2, 'x')|list }}", "{{ n|length }}", "{{ n|list }}",
    "{{ none|list }}", "{{ n|join }}", "{{ s|join('-') }}", "{{ d|join('-') }}",
    "{{ d|first }}{{ d|last }}{{ s|last }}", "{{ xs|map('abs')|last }}",
    "{{ xs|map('abs')|length }}", "{{ xs|map('abs')|reverse }}",
    "{{ (xs|map('abs'))[0] is defined }}", "{{ 1 in xs|map('abs') }}",
    "{% set g = xs|map('abs') %}{{ g|list }}{{ g|list }}",
    "{% for i in xs|map('int', default=nowhere) %}{{ i }}{% endfor %}",
    "{% set ns = namespace(k=0) %}{% for i in range(9) if ns.k < 3 %}{{ i }}"
    "{% set ns.k = ns.k + 1 %}{% endfor %}",
    "{% for i in xs if loop.first %}{% endfor %}", "{% for i in xs %}"
    "{{ loop.nope }}{% endfor %}", "{% for i in xs %}{% for k in xs %}"
    "{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}",
    "{% for i in xs %}{{ loop(xs) }}{% endfor %}", "{% for i in xs %}"
    "{{ loop.cycle() }}{% endfor %}", "{% for i in n %}{% endfor %}",
    "{% for i in nowhere %}{% endfor %}", "{% for i in none %}{% else %}x"
    "{% endfor %}", "{{ nowhere is callable }}", "{{ nowhere is iterable }}",
    "{{ nowhere is sequence }}", "{{ nowhere == 1 }}", "{{ 1 in [nowhere] }}",
    "{{ nowhere in [] }}", "{{ nowhere and 1 }}", "{{ 0 and nowhere }}",
    "{{ nowhere.a is defined }}", "{{ nowhere|default(nowhere) is defined }}",
    "{{ nowhere|default|length }}", "{{ user.zz.yy }}", "{{ user.zz|d('-') }}",
    "{{ none.a }}", "{{ none.a is defined }}", "{{ n.a is defined }}",
    "{{ s|truncate(2) }}", "{{ s|truncate(3) }}|{{ long|truncate(30) }}",
    "{{ s|indent(n) }}", "{{ multi|indent }}", "{{ n|indent }}", "{{ n|center"
    "(9) }}|", "{{ s|wordwrap(0) }}", "{{ ''|wordwrap(0) }}", "{{ 'a b'|title"
    " }} {{ \"it's o'neill-smith (x) [y] {z}\"|title }}", "{{ '\u00df'|upper"
    "}} {{ '\u00c4\u00d6'|lower }} {{ '\u0391\u03b2'|upper }}",
    "{{ '\\x00\\x7f\\x80\u200b\U0001f600'|list }}", "{{ ['\\n', \"it's\", "
    "'\"', '\\'\"', '\\\\', '\\r', '\\t', '\u00e9'] }}",
    "{{ '\U0001f600\\x7f<>&' | tojson }}", "{{ [1.0, none, true, 'a']|tojson"
    " }}", "{{ {'b': 1, 'a': [1, {}], 'c': []}|tojson(indent=2) }}",
    "{{ {1: 2, 'a': 3}|tojson }}", "{{ {(1, 2): 3}|tojson }}",
    "{{ {none: 1}|tojson }}", "{{ {true: 1, false: 2}|tojson }}",
    "{{ nowhere|tojson }}", "{{ range(3)|tojson }}", "{{ (1, 2)|tojson }}",
    "{{ 'abc'|int(default='x') }}", "{{ [1]|int }}", "{{ none|float }}",
    "{{ 'a' * 3 }} {{ 2 * 'b' }} {{ 'a' * -1 }}|{{ [1] * 2 }}",
    "{{ 'a' + 1 }}", "{{ 1 + 'a' }}", "{{ [1] + (1,) }}", "{{ true + true }}",
    "{{ 'a' < 1 }}", "{{ none < 1 }}", "{{ [1, 2] < [1, 3] }} {{ (1,) < (1, 2)"
    " }}", "{{ [1] == (1,) }}", "{{ d == {'a': 1, 'b': 2, 'C': 3} }}",
    "{{ range(3) == range(0, 3, 1) }} {{ range(5)[2] }} {{ range(9)[::2] }} "
    "{{ range(5).start }} {{ range(2) }} {{ range(1, 9, 2) }}",
    "{{ d.keys() }}{{ d.values() }}{{ d.items() }}", "{{ dict() }}{{ [] }}"
    "{{ () }}{{ (1,) }}", "{{ '%d' % 1.9 }}", "{{ '%d' % 'a' }}",
    "{{ '%s %s' % (1,) }}", "{{ '%s' % (1, 2) }}", "{{ '%y' % 1 }}",
    "{{ '%' % 1 }}", "{{ 'a' % 1 }}", "{{ 'a' % {} }}", "{{ '%(a)s' % 1 }}",
    "{{ '%(z)s' % d }}", "{{ '%*d' % (5, 3) }}|", "{{ '%.3d|%+.1e|%#o' % (7, "
    "12.5, 8) }}", "{{ '%5%' % () }}", "{{ '%g %g %g' % (1e20, 0.0001, 1.0) }}",
    "{{ 'a,b'.split(',') }} {{ ' a  b '.split() }} {{ 'abc'.split('') }}",
    "{{ ','.join([1]) }}", "{{ 'x'.join('abc') }}", "{{ 'abc'.replace('b') }}",
    "{{ s.startswith(('a', 'h')) }}", "{{ u|length }} {{ u[::-1] }} {{ u|list"
    " }}", "{% set x = 1 %}{% block b %}{{ x }}{% endblock %}",
    "{% for i in xs %}{% block b scoped %}{{ i }}{{ loop.index }}{% endblock %}"
    "{% endfor %}", "{% for i in xs %}{% block b %}{{ i is defined }}"
    "{% endblock %}{% endfor %}", "x\n", "x\n\n", "\n", "", "\r\n", "a\r\nb\rc\n",
    "{{ multi }}\n", "{{ 1 }}\n{{ 2 }}\n\n", "{{ 3 is divisibleby 0 }}", "{{ 'a' is divisibleby 2 }}", "{{ 2.5 is odd }}",
    "{{ 'b' is in 'abc' }} {{ 5 is in xs }} {{ 3 is not in(xs) }}",
    "{{ 1 is is 2 }}", "{{ n is number is true }}", "{{ n is eq 7 }}",
    "{{ not n is odd }}", "{{ 'upper' is filter }}{{ 'zz' is test }}",
    "{{ n if yes else nowhere if no else 2 }}", "{{ (n, ) }}", "{{ n, }}",
    "{{ }}", "{{ ( }}", "{{ ) }}", "{{ [1, 2 }}", "{{ {1} }}", "{{ a b }}",
    "{{ n | }}", "{{ | n }}", "{{ n ! }}", "{{ n && s }}", "{{ n; s }}",
    "{{ $x }}", "{{ n.. }}", "{{ .5 }}", "{{ 5. }}", "{{ n[] }}", "{{ n[:] }}",
]


def python_result(case):
    env = jinja2.Environment(undefined=jinja2.StrictUndefined,
                             loader=jinja2.DictLoader(case["templates"]))
    try:
        # From JSON each time: templates can change lists and dicts.
        context = json.loads(json.dumps(case["context"]))
        return True, env.get_template(case["name"]).render(context)
    except RecursionError:
        return None, "recursion"
    except Exception as e:      # whatever a template can raise
        return False, f"{type(e).__name__}: {e}"


def make_cases(count, seed):
    cases = [({"templates": {"main": text}, "name": "main",
               "context": CONTEXT}, {"by hand"}) for text in FIXED]
    for i in range(count):
        gen = Gen(random.Random(f"{seed}/{i}"))
        cases.append((gen.make(), gen.used))
    return cases


def ours(program, cases):
    lines = "".join(json.dumps(case) + "\n" for case, _ in cases)
    done = subprocess.run([program], input=lines.encode(), timeout=600,
                          stdout=subprocess.PIPE, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) < len(cases):
        print(f"Bail out! {program} ended with status {done.returncode} after "
              f"{len(answers)} templates; the next is:")
        print(json.dumps(cases[len(answers)][0]["templates"]))
        sys.exit(1)
    return answers


def skipped(expected, answer):
    if expected[0] is None:
        return "Python's recursion limit"
    if expected[0] and (" at 0x" in expected[1] or
                        "<built-in method" in expected[1] or
                        "<function" in expected[1] or
                        "<class" in expected[1]):
        return "address of a Python object"
    if not answer["ok"] and "64 bits" in answer["error"]:
        return "more than 64 bits"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", default=os.path.join(
        os.environ.get("KF_BUILD", "build"), "tests/conformance/jinja_render"))
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--show", type=int, default=1,
                        help="how many of the smallest differences to print")
    parser.add_argument("--errors", type=int, default=0,
                        help="how many of the commonest refusals to print")
    options = parser.parse_args()

    cases = make_cases(options.count, options.seed)
    answers = ours(options.program, cases)
    seen, skips = collections.Counter(), collections.Counter()
    same = refused = 0
    different, errors = [], collections.Counter()
    for (case, used), answer in zip(cases, answers):
        expected = python_result(case)
        reason = skipped(expected, answer)
        if reason:
            skips[reason] += 1
            continue
        if expected[0] == answer["ok"] and \
                (not expected[0] or expected[1] == answer["text"]):
            seen.update(used)
            same += expected[0]
            refused += not expected[0]
            if not expected[0]:
                errors[expected[1].split("\n")[0]] += 1
        else:
            different.append((case, expected, answer))

    thin = [name for name, n in seen.items() if n < 5 and name != "by hand"]
    good = not different
    print("1..2")
    print(f"{'ok' if good else 'not ok'} 1 - {same} templates rendered alike, "
          f"{refused} refused by both, {len(different)} differ")
    print(f"{'not ok' if thin and options.count >= 5000 else 'ok'} 2 - every "
          f"construct was compared {', '.join(thin)}")
    for name in sorted(seen):
        print(f"# {seen[name]:6} {name}")
    if options.errors:
        for text, n in errors.most_common(options.errors):
            print(f"# {n:6} refused: {text}")
    for name in sorted(skips):
        print(f"# {skips[name]:6} skipped: {name}")
    different.sort(key=lambda x: sum(map(len, x[0]["templates"].values())))
    for case, expected, answer in different[:options.show]:
        print("# --- differs")
        for name, text in case["templates"].items():
            print(f"# {name}: {text!r}")
        print(f"# jinja2: {expected!r}")
        print(f"# kforge: {answer!r}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
