"""Likeness of texts by their words and the pieces of them: no model, no network, the same on each machine."""

import hashlib
import math
import re
import unicodedata

from .inputs import mapping, whole
from .inputs import text as checked

MOST_TEXTS = 5_000
PIECE = 4
#: A word says more than the pieces of it, which make other forms of the word alike.
WORD_WEIGHT, PAIR_WEIGHT, PIECE_WEIGHT = 1.0, 0.5, 0.4
_WORD = re.compile(r"\w+")


def _words(value):
    return _WORD.findall(unicodedata.normalize("NFKC", value).casefold())


def _features(value):
    """How often each word, pair of words and piece of a word is there."""
    words = _words(value)
    counts = {}

    def count(feature, weight):
        counts[feature] = counts.get(feature, 0.0) + weight

    for word in words:
        count("w:" + word, WORD_WEIGHT)
        edged = "<" + word + ">"
        for at in range(len(edged) - PIECE + 1):
            count("p:" + edged[at : at + PIECE], PIECE_WEIGHT)
    for one, other in zip(words, words[1:]):
        count("b:" + one + " " + other, PAIR_WEIGHT)
    return {feature: 1 + math.log(weight) if weight > 1 else weight for feature, weight in counts.items()}


def _texts(values, name, least=1):
    if not isinstance(values, list) or not least <= len(values) <= MOST_TEXTS:
        raise ValueError("{} must be a list of {} to {:,} texts".format(name, least, MOST_TEXTS))
    return [checked(value, "{}[{}]".format(name, index)) for index, value in enumerate(values)]


def _unit(vector):
    length = math.sqrt(math.fsum(value * value for value in vector.values()))
    return {key: value / length for key, value in vector.items()} if length else {}


def _dot(one, other):
    small, large = (one, other) if len(one) <= len(other) else (other, one)
    return math.fsum(value * large[key] for key, value in small.items() if key in large)


class _Corpus:
    """Features weighted by how few of the texts have them."""

    def __init__(self, texts):
        found = [_features(one) for one in texts]
        self.total = len(found)
        self.having = {}
        for features in found:
            for feature in features:
                self.having[feature] = self.having.get(feature, 0) + 1
        self.vectors = [self._weighted(features) for features in found]

    def _weighted(self, features):
        return _unit(
            {
                feature: weight * (1 + math.log((1 + self.total) / (1 + self.having.get(feature, 0))))
                for feature, weight in features.items()
            }
        )

    def vector(self, value) -> dict:
        return self._weighted(_features(value))


def embed_text(texts, dimensions=256) -> dict:
    """Vectors of length 1; texts with words in common have similar ones."""
    values = [texts] if isinstance(texts, str) else texts
    size = whole(dimensions, "dimensions", 8, 4_096)
    return {"dimensions": size, "vectors": [_embedded(value, size) for value in _texts(values, "texts")]}


def _embedded(value, size):
    vector = [0.0] * size
    for feature, weight in _features(value).items():
        digest = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "big")
        # The sign lets features that share a place cancel each other, rather than add up.
        vector[(digest >> 1) % size] += weight if digest & 1 else -weight
    length = math.sqrt(math.fsum(part * part for part in vector))
    return [part / length for part in vector] if length else vector


def similarity_search(query, documents, top_k=5) -> list:
    """The documents that are most like a query, best first."""
    texts = _texts(documents, "documents")
    corpus = _Corpus(texts)
    wanted = corpus.vector(checked(query, "query"))
    scores = [(round(_dot(wanted, vector), 12), index) for index, vector in enumerate(corpus.vectors)]
    best = sorted(scores, key=lambda one: (-one[0], one[1]))[: whole(top_k, "top_k", 1, MOST_TEXTS)]
    return [{"index": index, "score": score, "document": texts[index]} for score, index in best]


def classify_text(text, labels) -> dict:
    """The label whose examples are most like a text."""
    known = mapping(labels, "labels", 2, 1_000)
    examples = {
        label: _texts([one] if isinstance(one, str) else one, "labels." + label) for label, one in known.items()
    }
    # The label itself is an example of what it means.
    flat = [(label, one) for label, given in examples.items() for one in [label.replace("_", " "), *given]]
    corpus = _Corpus([one for _, one in flat])
    wanted = corpus.vector(checked(text, "text"))
    likeness = {label: [] for label in known}
    for (label, _), vector in zip(flat, corpus.vectors):
        likeness[label].append(_dot(wanted, vector))
    # The best example counts most; the mean of all breaks what is equal.
    scores = {label: round(0.8 * max(all_) + 0.2 * math.fsum(all_) / len(all_), 12) for label, all_ in likeness.items()}
    ranked = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return {
        "label": ranked[0][0] if ranked[0][1] > 0 else None,
        "scores": [{"label": label, "score": score} for label, score in ranked],
    }
