"""Small faults of meaning in a C program, at the level of tokens. Pure: text in,
mutants out. Not a test itself.

OPERATORS is the table: each takes a program's tokens and gives edits, each a
list of (place, count, text): so many tokens from that place become the text.
What is no part of the values is left alone: directives other than OpenMP's (most
name sizes of tiles), prefetches, numbers of threads, sizes of scratch, and what
is done when there is none. A mutant need not compile, and may turn out to be the
same program; who judges it finds out.
"""

import collections
import hashlib
import random
import re

TOKEN = re.compile(r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<directive>\#(?:\\\n|[^\n])*)
  | (?P<string>"(?:\\.|[^"\\])*")
  | (?P<char>'(?:\\.|[^'\\])*')
  | (?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\w*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<mark><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|[-+*/%&|^<>=!]=|&&|\|\||.)
""", re.X | re.S | re.M)

TYPES = {"int", "char", "float", "double", "void", "size_t", "unsigned",
         "const", "long", "short", "bool", "_Bool", "struct", "static", "enum",
         "union", "typedef", "extern", "inline", "register", "restrict",
         "volatile", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t",
         "uint32_t", "int64_t", "uint64_t", "ptrdiff_t", "intptr_t",
         "uintptr_t", "__m512", "__m512i", "__m512d", "__m256", "__m256i",
         "__m128", "__m128i", "__m256d", "__mmask16", "__mmask8"}
KEYWORDS = TYPES | {"for", "if", "else", "while", "do", "return", "break",
                    "continue", "switch", "case", "default", "goto", "sizeof"}
NO_FAULT = re.compile(r"prefetch|assume_aligned|builtin_expect|ivdep|restrict|"
                      r"_Static_assert|omp_set|omp_get|omp_in_parallel|"
                      r"kf_temp|kf_keep|alloc|"
                      r"if \(!\w+(?: \|\| !\w+)*\)$|return \d+;")
OPEN, CLOSE = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}

Token = collections.namedtuple("Token", "kind text line")
Mutant = collections.namedtuple("Mutant", "operator line before after text")


class Program:
    """Its tokens, and those that count: without space."""

    def __init__(self, text):
        self.all, line = [], 1
        for found in TOKEN.finditer(text):
            self.all.append(Token(found.lastgroup, found[0], line))
            line += found[0].count("\n")
        self.at = [i for i, t in enumerate(self.all) if t.kind != "space"]
        self.tokens = [self.all[i] for i in self.at]
        self.text = [t.text for t in self.tokens]
        self.pair = self._pairs()
        self.inside = self._functions()

    def _pairs(self):
        """{place: place of the bracket that belongs to it}, both ways."""
        pair, stack = {}, []
        for i, text in enumerate(self.text):
            if self.tokens[i].kind != "mark":
                continue
            if text in OPEN:
                stack.append(i)
            elif text in CLOSE and stack:
                pair[i] = stack.pop()
                pair[pair[i]] = i
        return pair

    def _functions(self):
        """For each place: does it lie in a function's body?"""
        inside, end = [], -1
        for i, text in enumerate(self.text):
            if i > end and text == "{" and i and self.text[i - 1] == ")":
                end = self.pair.get(i, i)
            inside.append(i <= end)
        return inside

    def kind(self, i):
        return self.tokens[i].kind if 0 <= i < len(self.tokens) else ""

    def is_value_end(self, i):
        """Does an operand end here?"""
        if self.kind(i) in ("number", "string", "char"):
            return True
        if self.kind(i) == "word":
            return self.text[i] not in KEYWORDS
        if i < 0 or self.text[i] not in (")", "]"):
            return False
        return not self.is_cast(self.pair.get(i, i)) and \
            not self.is_control(self.pair.get(i, i))

    def is_cast(self, i):
        """Does ( open a cast?"""
        return self.text[i] == "(" and self.text[i + 1] in TYPES and \
            not (i and self.text[i - 1] == "sizeof")

    def is_control(self, i):
        return self.text[i] == "(" and i > 0 and \
            self.text[i - 1] in ("for", "if", "while", "switch")

    def is_binary(self, i):
        return self.kind(i) == "mark" and self.is_value_end(i - 1)

    def operand_start(self, i):
        """Where the operand that ends at i begins."""
        while True:
            if self.text[i] in (")", "]"):
                i = self.pair.get(i, i)
                if self.is_value_end(i - 1):
                    i -= 1
                    continue
                return i
            if i >= 2 and self.text[i - 1] in (".", "->"):
                i -= 2
                continue
            return i

    def operand_end(self, i):
        """Where the operand that begins at i ends; None: not a plain one."""
        while i < len(self.text) and self.is_cast_or_sign(i):
            i = self.pair[i] + 1 if self.text[i] == "(" else i + 1
        if self.text[i] == "(":
            i = self.pair.get(i, i)
        elif self.kind(i) not in ("word", "number") or \
                self.text[i] in KEYWORDS:
            return None
        while i + 1 < len(self.text):
            if self.text[i + 1] in ("(", "["):
                i = self.pair.get(i + 1, i + 1)
            elif self.text[i + 1] in (".", "->"):
                i += 2
            else:
                break
        return i

    def is_cast_or_sign(self, i):
        return self.text[i] == "-" or \
            (self.is_cast(i) and i in self.pair)

    def expression_end(self, i):
        """The last place before , ; or the bracket that closes around i."""
        while i < len(self.text) and self.text[i] not in (",", ";", ")", "]",
                                                          "}", "?", ":"):
            i = self.pair.get(i, i) + 1 if self.text[i] in OPEN else i + 1
        return i - 1

    def source(self, first, last):
        """The text between two places, both included."""
        return "".join(t.text for t in
                       self.all[self.at[first]:self.at[last] + 1])

    def edited(self, edits):
        """The whole text with edits of (place, count, text)."""
        texts = [t.text for t in self.all]
        for place, count, new in edits:
            first = self.at[place]
            last = self.at[place + count - 1] if count else first - 1
            for i in range(first, last + 1):
                texts[i] = ""
            texts[first] = new if count else new + texts[first]
        return "".join(texts)

    def loops(self):
        """(variable, first place of init, of condition, of step, end) of each
        loop that is written as for (...; ...; ...)."""
        for i, text in enumerate(self.text):
            if text != "for" or self.text[i + 1] != "(":
                continue
            end = self.pair.get(i + 1)
            parts = [k for k in range(i + 2, end or 0)
                     if self.text[k] == ";" and self._depth_is(i + 1, k)]
            if end and len(parts) == 2:
                yield i + 2, parts[0] + 1, parts[1] + 1, end

    def _depth_is(self, opened, place):
        i = opened + 1
        while i < place:
            i = self.pair.get(i, i) + 1 if self.text[i] in OPEN else i + 1
        return i == place

    def marks(self, *texts):
        """Places of binary operators inside functions."""
        return [i for i, t in enumerate(self.text)
                if t in texts and self.inside[i] and self.is_binary(i)]

    def is_declared_pointer(self, i):
        """Is this * part of a type, not a product?"""
        return self.text[i - 1] in TYPES or \
            self.text[i + 1] in ("const", "restrict", ")", "*", ",")


# --- operators: each gives lists of edits ------------------------------------

def bound(p):
    """One iteration too many or too few at the end of a loop."""
    for _, condition, step, _ in p.loops():
        for i in range(condition, step - 1):
            if p.text[i] in ("<", "<=", ">", ">=") and p.is_binary(i):
                last = p.expression_end(i + 1)
                yield [(i, 1, {"<": "<=", "<=": "<", ">": ">=",
                               ">=": ">"}[p.text[i]])]
                if p.text[i] in ("<", "<="):
                    bound_text = p.source(i + 1, last)
                    yield [(i + 1, last - i, f"({bound_text}) - 1")]


def tile(p):
    """The last few iterations are left out; the remainder beyond a multiple
    is swallowed."""
    for _, condition, step, _ in p.loops():
        for i in range(condition, step - 1):
            if p.text[i] == "<" and p.is_binary(i):
                last = p.expression_end(i + 1)
                bound_text = p.source(i + 1, last)
                yield [(i + 1, last - i, f"({bound_text}) - 8")]
                yield [(i + 1, last - i, f"({bound_text}) / 7 * 7")]
    for i in p.marks("+"):
        if p.kind(i + 1) == "number" and p.text[i + 2] == ")" and \
                p.text[i + 3] in ("/", "&"):
            yield [(i, 2, "")]


def begin(p):
    """A loop begins one later, or takes every other step."""
    for init, condition, step, end in p.loops():
        for i in range(init, condition - 1):
            if p.text[i] == "=" and p.kind(i + 1) == "number" and \
                    p.text[i + 2] in (";", ","):
                yield [(i + 1, 1, f"{p.text[i + 1]} + 1")]
        for i in range(step, end):
            if p.text[i] == "++" and p.kind(i - 1) == "word":
                yield [(i, 1, " += 2")]


def comparison(p):
    other = {"<": ("<=", ">"), "<=": ("<",), ">": (">=", "<"), ">=": (">",),
             "==": ("!=",), "!=": ("==",), "&&": ("||",), "||": ("&&",)}
    in_loops = {i for _, condition, step, _ in p.loops()
                for i in range(condition, step)}
    for i in p.marks(*other):
        if i not in in_loops:
            for new in other[p.text[i]]:
                yield [(i, 1, new)]


def arithmetic(p):
    """+ for -, * for +, / for *, and the reverse."""
    other = {"+": ("-",), "-": ("+",), "*": ("+", "/"), "/": ("*",),
             "%": ("/",), "<<": (">>",), ">>": ("<<",), "&": ("|",)}
    for i in p.marks(*other):
        if p.text[i] == "*" and p.is_declared_pointer(i):
            continue
        for new in other[p.text[i]]:
            yield [(i, 1, new)]


def accumulate(p):
    """A sum that is set and not added to, or taken off."""
    other = {"+=": ("=", "-="), "-=": ("+=",), "*=": ("/=", "="),
             "/=": ("*=",)}
    for i in p.marks(*other):
        for new in other[p.text[i]]:
            yield [(i, 1, new)]


def stale(p):
    """What is set at the beginning keeps what it had."""
    for i, text in enumerate(p.text):
        if text in ("float", "double") and p.inside[i] and \
                p.text[i - 1] in (";", "{", "}") and \
                p.kind(i + 1) == "word" and p.text[i + 2] == "=" and \
                p.kind(i + 3) == "number" and p.text[i + 4] in (";", ","):
            yield [(i, 0, "static ")]


def index(p):
    """One beside the element that is meant."""
    for i, text in enumerate(p.text):
        if text == "[" and p.inside[i] and p.is_value_end(i - 1) and \
                p.text[i - 1] not in ("in", "out", "weight", "shape"):
            last = p.pair.get(i, i) - 1
            if last > i and p.kind(last) != "string":
                inner = p.source(i + 1, last)
                yield [(i + 1, last - i, f"({inner}) + 1")]
                yield [(i + 1, last - i, f"({inner}) - 1")]


def scope_of_loops(p):
    """For each place the variables of the loops around it."""
    around = collections.defaultdict(list)
    for init, condition, _, end in p.loops():
        names = [p.text[i - 1] for i in range(init, condition)
                 if p.text[i] == "=" and p.kind(i - 1) == "word"]
        body = end + 1
        last = p.pair.get(body, body) if p.text[body] == "{" else \
            statement_end(p, body)
        for i in range(init, last + 1):
            around[i] += names[:1]
    return around


def statement_end(p, i):
    while i < len(p.text) and p.text[i] not in (";", "{"):
        i = p.pair.get(i, i) + 1 if p.text[i] in ("(", "[") else i + 1
    if i < len(p.text) and p.text[i] == "{":
        return p.pair.get(i, i)
    return min(i, len(p.text) - 1)


def swapped_index(p):
    """Inside [ ] one loop's variable for another's."""
    around, depth = scope_of_loops(p), 0
    for i, text in enumerate(p.text):
        depth += (text == "[") - (text == "]")
        if depth and p.kind(i) == "word" and text in around[i] and \
                p.text[i - 1] not in (".", "->"):
            for other in dict.fromkeys(around[i]):
                if other != text:
                    yield [(i, 1, other)]


def axis(p):
    """Another axis, input or weight than the one that is meant."""
    named = {p.text[i] for i in range(len(p.text))
             if p.kind(i) == "string" and i > 2 and p.text[i - 4:i - 3] ==
             ["kf_weight"]}
    for i, text in enumerate(p.text):
        if text in ("shape", "weight", "in") and p.text[i + 1] == "[" and \
                p.kind(i + 2) == "number" and p.text[i + 3] == "]":
            number = int(re.match(r"\d+", p.text[i + 2])[0])
            yield [(i + 2, 1, str(number + 1))]
            if number:
                yield [(i + 2, 1, str(number - 1))]
        if p.kind(i) == "string" and text in named:
            for other in sorted(named - {text})[:2]:
                yield [(i, 1, other)]


def constant(p):
    """Another number; a small one, as an eps is, dropped or ten times as
    large."""
    for i in range(len(p.text)):
        if p.kind(i) != "number" or not p.inside[i] or \
                p.text[i - 1] == "[" or p.text[i].startswith(("0x", "0X")):
            continue
        value = float(re.match(r"[\d.]+(?:[eE][-+]?\d+)?", p.text[i])[0])
        tail = "f" if p.text[i].endswith("f") else ""
        if not is_real(p.text[i]):
            yield [(i, 1, str(int(value) + 1))]
        elif value == 0:
            yield [(i, 1, f"1.0{tail}")]
        else:
            yield [(i, 1, f"{10 * value if value < 1e-2 else 2 * value!r}"
                    f"{tail}")]
            yield [(i, 1, f"0.0{tail}")]


def is_real(text):
    return "." in text or "e" in text.lower()


def misplaced_eps(p):
    """root(x + eps) becomes root(x) + eps."""
    for i, text in enumerate(p.text):
        if not re.search(r"sqrt|log", text) or p.text[i + 1] != "(":
            continue
        end = p.pair.get(i + 1, i + 1)
        for k in range(i + 2, end):
            if p.text[k] == "+" and p.is_binary(k) and \
                    p.text[end - 1] != ")" and p.expression_end(k) + 1 == end:
                inner, eps = p.source(i + 2, k - 1), p.source(k + 1, end - 1)
                yield [(i, end - i + 1, f"({text}({inner}) + {eps})")]


def dropped(p):
    """A term or a factor is left out."""
    for i in p.marks("+", "-", "*", "/"):
        if p.text[i] == "*" and p.is_declared_pointer(i):
            continue
        last = p.operand_end(i + 1)
        if last is None or last + 1 >= len(p.text):
            continue
        if p.text[i] in ("+", "-"):
            while p.text[last + 1] in ("*", "/", "%"):
                more = p.operand_end(last + 2)
                if more is None:
                    break
                last = more
        yield [(i, last - i + 1, "")]


def exchanged(p):
    """b - a for a - b, b / a for a / b."""
    for i in p.marks("-", "/"):
        first, last = p.operand_start(i - 1), p.operand_end(i + 1)
        if last is not None:
            left, right = p.source(first, i - 1), p.source(i + 1, last)
            if left != right:
                yield [(first, last - first + 1,
                        f"{right} {p.text[i]} {left}")]


FUNCTION = {"fmaxf": "fminf", "fmax": "fmin", "fminf": "fmaxf", "fmin": "fmax",
            "sqrtf": "cbrtf", "sqrt": "cbrt", "expf": "exp2f", "exp": "exp2",
            "logf": "log2f", "log": "log2", "tanhf": "erff", "erff": "tanhf",
            "erf": "tanh", "tanh": "erf", "fabsf": "", "fabs": "", "cosf":
            "sinf", "sinf": "cosf", "log1pf": "logf", "log1p": "log",
            "expm1f": "expf", "_mm512_max_ps": "_mm512_min_ps",
            "_mm512_min_ps": "_mm512_max_ps", "_mm512_add_ps":
            "_mm512_sub_ps", "_mm512_sub_ps": "_mm512_add_ps",
            "_mm512_mul_ps": "_mm512_add_ps", "_mm512_div_ps":
            "_mm512_mul_ps", "_mm512_fmadd_ps": "_mm512_fmsub_ps",
            "_mm512_fnmadd_ps": "_mm512_fmadd_ps", "_mm512_reduce_add_ps":
            "_mm512_reduce_max_ps", "_mm512_reduce_max_ps":
            "_mm512_reduce_min_ps"}


def function(p):
    """Another function than the one that is meant."""
    for i, text in enumerate(p.text):
        if text in FUNCTION and p.text[i + 1] == "(":
            yield [(i, 1, FUNCTION[text])]


def removed(p):
    """A statement is left out."""
    for i, text in enumerate(p.text):
        if not p.inside[i] or p.kind(i) not in ("word", "mark") or \
                text in KEYWORDS or text in ("{", "}", ";", ")", "]") or \
                not begins_statement(p, i):
            continue
        last = statement_end(p, i)
        body = p.text[i:last]
        if p.text[last] == ";" and "{" not in body and \
                not is_declaration(p, i) and ":" not in body[:2]:
            yield [(i, last - i, "")]


def begins_statement(p, i):
    before = p.text[i - 1]
    if before in (";", "{", "}", "else", "do") or \
            p.kind(i - 1) == "directive":
        opened = next((k for k in range(i - 1, -1, -1)
                       if p.text[k] == "(" and p.pair.get(k, -1) > i), None)
        return opened is None       # not within for (...)
    return before == ")" and p.is_control(p.pair.get(i - 1, i - 1))


def is_declaration(p, i):
    """NAME NAME or NAME *NAME =: a type that is not in TYPES."""
    return p.kind(i) == "word" and \
        (p.kind(i + 1) == "word" or
         (p.text[i + 1] == "*" and p.kind(i + 2) == "word" and
          p.text[i + 3] in ("=", ";", ",")))


def barrier(p):
    """Threads do not wait for each other, or share what was each one's own."""
    for i in range(len(p.text)):
        text = p.text[i]
        if p.kind(i) != "directive" or "omp" not in text:
            continue
        if re.search(r"omp\s+(barrier|critical|atomic)", text):
            yield [(i, 1, "")]
        if re.search(r"omp\s+for\b(?!.*nowait)", text, re.S):
            yield [(i, 1, text + " nowait")]
        for clause in re.finditer(r"\b(reduction|private|firstprivate|"
                                  r"lastprivate)\s*\([^)]*\)", text):
            yield [(i, 1, text.replace(clause[0], "", 1))]


OPERATORS = {f.__name__: f for f in (
    bound, tile, begin, comparison, arithmetic, accumulate, stale, index,
    swapped_index, axis, constant, misplaced_eps, dropped, exchanged, function,
    removed, barrier)}


# --- mutants ------------------------------------------------------------------

def line_of(text, number):
    lines = text.splitlines()
    return lines[number - 1].strip() if number <= len(lines) else ""


def changed_lines(before, after):
    """(number, line before, line after) of the first that differs."""
    old, new = before.splitlines(), after.splitlines()
    for i, (a, b) in enumerate(zip(old, new)):
        if a != b:
            return i + 1, a.strip(), b.strip()
    return min(len(old), len(new)), "", ""


def mutants(text):
    """All mutants of a program, each text once."""
    program, seen, found = Program(text), {text}, []
    for name, operator in OPERATORS.items():
        for edits in operator(program):
            number = program.tokens[edits[0][0]].line
            if NO_FAULT.search(line_of(text, number)):
                continue
            new = program.edited(edits)
            if new not in seen:
                seen.add(new)
                found.append(Mutant(name, *changed_lines(text, new), new))
    return found


def sample(text, count, seed):
    """So many of them; the operators take turns, so that one which finds many
    places does not crowd out the others. The same seed gives the same ones."""
    words = hashlib.sha256(f"{seed}\n{text}".encode()).digest()
    rng = random.Random(int.from_bytes(words, "big"))
    queues = collections.defaultdict(list)
    for mutant in mutants(text):
        queues[mutant.operator].append(mutant)
    for queue in queues.values():
        rng.shuffle(queue)
    chosen = []
    while len(chosen) < count and any(queues.values()):
        names = [name for name, queue in sorted(queues.items()) if queue]
        rng.shuffle(names)
        chosen += [queues[name].pop() for name in names]
    return chosen[:count]
