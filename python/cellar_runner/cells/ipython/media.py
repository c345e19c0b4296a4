"""The rest of `IPython.display`, where IPython is not installed: links, frames, sound and code."""

from __future__ import annotations

import io
import os
import wave
from base64 import b64encode
from html import escape
from mimetypes import guess_type

from ...pristine import BUILTINS as __builtins__
from .display import DisplayObject, TextDisplayObject, display


class IFrame:
    def __init__(self, src, width, height, extras=None, **params):
        self.src, self.width, self.height = src, width, height
        self.extras, self.params = extras or [], params

    def _repr_html_(self):
        from urllib.parse import urlencode

        query = "?" + urlencode(self.params) if self.params else ""
        frame = (
            '\n        <iframe\n            width="{}"\n            height="{}"\n'
            '            src="{}{}"\n            frameborder="0"\n            allowfullscreen\n'
            '            referrerpolicy="strict-origin-when-cross-origin"\n'
            "            {}\n        ></iframe>\n        "
        )
        return frame.format(self.width, self.height, self.src, query, " ".join(self.extras))


class YouTubeVideo(IFrame):
    def __init__(self, id, width=400, height=300, allow_autoplay=False, **params):
        self.id = id
        extras = ['allow="autoplay"'] if allow_autoplay else []
        address = "https://www.youtube.com/embed/{}".format(id)
        super().__init__(address, width, height, extras, **params)


class FileLink:
    def __init__(self, path, url_prefix="", result_html_prefix="", result_html_suffix="<br>"):
        path = os.fspath(path)
        if os.path.isdir(path):
            raise ValueError(
                "Cannot display a directory using FileLink. "
                "Use FileLinks to display '{}'.".format(path)
            )
        self.path, self.url_prefix = path, url_prefix
        self.result_html_prefix, self.result_html_suffix = result_html_prefix, result_html_suffix

    def _link(self):
        address = escape(self.url_prefix + self.path, quote=False)
        link = "<a href='{}' target='_blank'>{}</a>".format(address, escape(self.path, quote=False))
        return self.result_html_prefix + link + self.result_html_suffix

    def _repr_html_(self):
        if os.path.exists(self.path):
            return self._link()
        told = (
            "Path (<tt>{}</tt>) doesn't exist. It may still be in the process of being "
            "generated, or you may have the incorrect path."
        )
        return told.format(self.path)

    def __repr__(self):
        return os.path.abspath(self.path)


class FileLinks(FileLink):
    def __init__(self, path, url_prefix="", included_suffixes=None, recursive=True, **options):
        self.path, self.url_prefix = os.fspath(path).rstrip("/"), url_prefix
        self.included_suffixes, self.recursive = included_suffixes, recursive

    def _files(self):
        for folder, folders, names in os.walk(self.path):
            folders.sort()
            if not self.recursive:
                del folders[:]
            suffixes = tuple(self.included_suffixes or ("",))
            yield folder, sorted(name for name in names if name.endswith(suffixes))

    def _repr_html_(self):
        lines = []
        for folder, names in self._files():
            lines.append(escape(folder) + "/<br>")
            for name in names:
                link = FileLink(os.path.join(folder, name), self.url_prefix)._link()
                lines.append("&nbsp;&nbsp;" + link)
        return "\n".join(lines)

    def __repr__(self):
        lines = []
        for folder, names in self._files():
            lines.append(folder + "/")
            lines.extend("  " + name for name in names)
        return "\n".join(lines)


class Code(TextDisplayObject):
    def __init__(self, data=None, url=None, filename=None, language=None):
        self.language = language
        super().__init__(data, url, filename)

    def __repr__(self):
        return self.data

    def _repr_html_(self):
        return '<div class="highlight"><pre>{}</pre></div>'.format(escape(self.data))

    def _repr_latex_(self):
        return "\\begin{{verbatim}}\n{}\n\\end{{verbatim}}".format(self.data)


class Audio(DisplayObject):
    _read_flags = "rb"

    def __init__(
        self,
        data=None,
        filename=None,
        url=None,
        embed=None,
        rate=None,
        autoplay=False,
        normalize=True,
        *,
        element_id=None,
    ):
        if data is None and filename is None and url is None:
            raise ValueError("No audio data found. Expecting filename, url, or data.")
        if embed is False and url is None:
            raise ValueError("No url found. Expecting url when embed=False")
        data, url, filename = self._located(data, url, filename)
        self.embed = (url is None) if embed is None else embed
        self.autoplay, self.element_id = autoplay, element_id
        self.mimetype = guess_type(filename or url or "")[0] or "audio/wav"
        if data is not None and not isinstance(data, bytes):
            if rate is None:
                raise ValueError(
                    "rate must be specified when data is a numpy array or list of audio samples."
                )
            data = _wave(data, rate, normalize)
        super().__init__(data, url, filename)

    def _may_be_file(self, _text):
        return True

    def _repr_html_(self):
        source = self.url
        if self.embed:
            content = b64encode(self.data).decode("ascii")
            source = "data:{};base64,{}".format(self.mimetype, content)
        named = 'id="{}"'.format(self.element_id) if self.element_id else ""
        playing = 'autoplay="autoplay"' if self.autoplay else ""
        player = (
            '\n                <audio {} controls="controls" {}>\n'
            '                    <source src="{}" type="{}" />\n'
            "                    Your browser does not support the audio element.\n"
            "                </audio>\n              "
        )
        return player.format(named, playing, source, self.mimetype)


def _wave(samples, rate, normalize):
    is_nested = hasattr(next(iter(samples), None), "__iter__")
    rows = [list(map(float, row)) for row in (samples if is_nested else [samples])]
    highest = max((abs(sample) for row in rows for sample in row), default=0) or 1
    if not normalize:
        if highest > 1:
            raise ValueError("Audio data must be between -1 and 1 when normalize=False.")
        highest = 1
    levels = (int(sample / highest * 32767) for sounding in zip(*rows) for sample in sounding)
    frames = b"".join(level.to_bytes(2, "little", signed=True) for level in levels)
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as target:
        target.setnchannels(len(rows))
        target.setsampwidth(2)
        target.setframerate(rate)
        target.writeframes(frames)
    return buffer.getvalue()


class Video(DisplayObject):
    _read_flags = "rb"
    _addresses = ("http://", "https://", "data:")

    def __init__(
        self,
        data=None,
        url=None,
        filename=None,
        embed=False,
        mimetype=None,
        width=None,
        height=None,
        html_attributes="controls",
    ):
        data, url, filename = self._located(data, url, filename)
        if data is not None and not embed:
            raise ValueError(
                "To embed videos, you must pass embed=True "
                "(this may make your notebook files huge)\nConsider passing Video(url='...')"
            )
        self.embed = embed
        self.mimetype = mimetype or guess_type(filename or url or "")[0] or "video/mp4"
        self.width, self.height, self.html_attributes = width, height, html_attributes
        super().__init__(data, url, filename)

    def _may_be_file(self, text):
        return os.path.exists(text)

    def _repr_html_(self):
        told = {"width": self.width, "height": self.height}
        size = "".join(' {}="{}"'.format(name, value) for name, value in told.items() if value)
        if not self.embed:
            source = self.url if self.url is not None else self.filename
        else:
            content = self.data
            if isinstance(content, bytes):
                content = b64encode(content).decode("ascii")
            source = "data:{};base64,{}".format(self.mimetype, content)
        otherwise = "Your browser does not support the <code>video</code> element."
        return '<video src="{}" {} {}>\n      {}\n    </video>'.format(source, self.html_attributes, size, otherwise)


class ProgressBar(DisplayObject):
    def __init__(self, total):
        self.total = total
        self._progress = 0
        self.html_width = "60ex"
        self.text_width = 60
        self._display_id = os.urandom(16).hex()

    def __repr__(self):
        filled = int(self.text_width * self.progress / self.total) if self.total else 0
        bar = "=" * filled + " " * (self.text_width - filled)
        return "[{}] {}/{}".format(bar, self.progress, self.total)

    def _repr_html_(self):
        return "<progress style='width:{}' max='{}' value='{}'></progress>".format(
            self.html_width, self.total, self.progress
        )

    def display(self) -> None:
        display(self, display_id=self._display_id)

    def update(self) -> None:
        display(self, display_id=self._display_id, update=True)

    @property
    def progress(self) -> int:
        return self._progress

    @progress.setter
    def progress(self, value: int) -> None:
        self._progress = value
        self.update()

    def __iter__(self):
        self.display()
        self._progress = -1
        return self

    def __next__(self):
        self.progress += 1
        if self.progress < self.total:
            return self.progress
        raise StopIteration
