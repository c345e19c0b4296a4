"""The characters of fonts without a map to Unicode: PDF's encodings and the names of glyphs."""

from __future__ import annotations

import re
import unicodedata

from ...pristine import BUILTINS as __builtins__

_ACCENTS = {
    "grave": "\u0300",
    "acute": "\u0301",
    "circumflex": "\u0302",
    "tilde": "\u0303",
    "macron": "\u0304",
    "breve": "\u0306",
    "dotaccent": "\u0307",
    "dieresis": "\u0308",
    "ring": "\u030a",
    "hungarumlaut": "\u030b",
    "caron": "\u030c",
    "cedilla": "\u0327",
    "ogonek": "\u0328",
}
_NAMES = (
    "space:  exclam:! quotedbl:\" numbersign:# dollar:$ percent:% ampersand:& quotesingle:' parenleft:( parenright:) "
    "asterisk:* plus:+ comma:, hyphen:- minus:\u2212 period:. slash:/ zero:0 one:1 two:2 three:3 four:4 five:5 six:6 "
    "seven:7 eight:8 nine:9 colon:: semicolon:; less:< equal:= greater:> question:? at:@ bracketleft:[ backslash:\\ "
    "bracketright:] asciicircum:^ underscore:_ grave:` braceleft:{ bar:| braceright:} asciitilde:~ quoteleft:\u2018 "
    "quoteright:\u2019 quotedblleft:\u201c quotedblright:\u201d quotesinglbase:\u201a quotedblbase:\u201e "
    "endash:\u2013 emdash:\u2014 bullet:\u2022 ellipsis:\u2026 dagger:\u2020 daggerdbl:\u2021 perthousand:\u2030 "
    "guilsinglleft:\u2039 guilsinglright:\u203a guillemotleft:\xab guillemotright:\xbb trademark:\u2122 fi:fi fl:fl "
    "ff:ff ffi:ffi ffl:ffl AE:\xc6 ae:\xe6 OE:\u0152 oe:\u0153 Oslash:\xd8 oslash:\xf8 germandbls:\xdf "
    "dotlessi:\u0131 Lslash:\u0141 lslash:\u0142 Eth:\xd0 eth:\xf0 Thorn:\xde thorn:\xfe Euro:\u20ac cent:\xa2 "
    "sterling:\xa3 currency:\xa4 yen:\xa5 brokenbar:\xa6 section:\xa7 dieresis:\xa8 copyright:\xa9 ordfeminine:\xaa "
    "logicalnot:\xac registered:\xae macron:\xaf degree:\xb0 plusminus:\xb1 acute:\xb4 mu:\xb5 paragraph:\xb6 "
    "periodcentered:\xb7 cedilla:\xb8 ordmasculine:\xba onequarter:\xbc onehalf:\xbd threequarters:\xbe "
    "questiondown:\xbf exclamdown:\xa1 multiply:\xd7 divide:\xf7 florin:\u0192 fraction:\u2044 nbspace:\xa0 "
    "Delta:\u2206 Omega:\u2126 pi:\u03c0 infinity:\u221e notequal:\u2260 lessequal:\u2264 greaterequal:\u2265"
)
_STANDARD_HIGH = (
    "161:exclamdown 162:cent 163:sterling 164:fraction 165:yen 166:florin 167:section 168:currency 169:quotesingle "
    "170:quotedblleft 171:guillemotleft 172:guilsinglleft 173:guilsinglright 174:fi 175:fl 177:endash 178:dagger "
    "179:daggerdbl 180:periodcentered 182:paragraph 183:bullet 184:quotesinglbase 185:quotedblbase "
    "186:quotedblright 187:guillemotright 188:ellipsis 189:perthousand 191:questiondown 193:grave 194:acute "
    "200:dieresis 208:emdash 225:AE 227:ordfeminine 232:Lslash 233:Oslash 234:OE 235:ordmasculine 241:ae "
    "245:dotlessi 248:lslash 249:oslash 250:oe 251:germandbls"
)
_HEX_NAME = re.compile(r"(?:uni([0-9A-F]{4})|u([0-9A-F]{4,6}))")


class Glyphs:
    def __init__(self):
        self._known = dict(
            item.split(":", 1) for item in _NAMES.split(" ") if item.count(":") and not item.startswith(":")
        )
        self._known["space"] = " "

    def character(self, name: str) -> str:
        """What a glyph shows, or nothing."""
        name = name.partition(".")[0]
        if name in self._known:
            return self._known[name]
        if len(name) == 1:
            return name
        match = _HEX_NAME.fullmatch(name)
        if match:
            code = int(match.group(1) or match.group(2), 16)
            return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else ""
        accent = _ACCENTS.get(name[1:])
        return unicodedata.normalize("NFC", name[0] + accent) if accent else ""

    def encoding(self, name: str) -> list[str]:
        """The characters of the 256 codes."""
        if name == "StandardEncoding":
            codes = [chr(code) if 32 <= code < 127 else "" for code in range(256)]
            codes[39], codes[96] = "\u2019", "\u2018"
            for item in _STANDARD_HIGH.split():
                code, _, glyph = item.partition(":")
                codes[int(code)] = self._known[glyph]
            return codes
        codec = "mac_roman" if name == "MacRomanEncoding" else "cp1252"
        return [bytes((code,)).decode(codec, "ignore") if code >= 32 else "" for code in range(256)]
