"""Texts that act on what shows them, unless they are escaped: one for each channel."""

from __future__ import annotations

POISONS = {
    "controls": "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0)])),
    "escapes": "\x1b[31m\x1b]0;title\x07\x1b]8;;http://x\x07\x9b31m\x1b[2J\x1b(0\x08\x08",
    "directions": "\u202e\u2066\u2067\u061c\u200f\u200e",
    "unseen": "\u200b\u2060\ufeff\ufffe\ufff9\U000e0041\u00ad\u2028\u2029",
    "halves": "\ud800\udfff\udcff",
    "xml": "]]><![CDATA[<!--&#0;&x;<?xml?></testsuite>\"'>",
    "commands": (
        "\n::error file=a::x\r\n##[error]x%0A::set-output name=a::b,c:d\n##[##[add-mask]\n::"
    ),
    "json": '"},{"a":"\\"\\u0000\\\\',
    "markdown": (
        "`|``\\|\n\n# h\n</details><img src=x onerror=alert(1)>@all #1 [a](javascript:b)![c](d)"
    ),
    "html": (
        "\"><img src=//hostile.test/a onerror=hit()>'><script>hit()</script></style></svg></title>"
        "<link rel=stylesheet href=//hostile.test/b><!--<base href=//hostile.test>&lt;&#x3c;"
    ),
    "templates": "{{ 7 * 191 }}{% raw %}{# x #}{{ self.__init__ }}$x^2$ \\input{/etc/x}",
    "expressions": "${{ secrets.GITHUB_TOKEN }}{0}%s%(x)s{{}}$(id)`id`",
    "long": "x\x1b" * 3_000,
}
