"""Text in pictures, with Tesseract."""

import base64
import binascii
import io

from .inputs import text

MOST_PIXELS = 40_000_000


def ocr_extract(image, language="eng") -> dict:
    """Read the text in a picture, which is given as base64."""
    import pytesseract
    from PIL import Image, UnidentifiedImageError

    try:
        data = base64.b64decode(text(image, "image", 20_000_000), validate=True)
        picture = Image.open(io.BytesIO(data))
    except (binascii.Error, UnidentifiedImageError):
        raise ValueError("image must be a PNG, JPEG or other picture in base64") from None
    if picture.width * picture.height > MOST_PIXELS:
        raise ValueError("the picture has more than {:,} pixels".format(MOST_PIXELS))
    if not text(language, "language", 50).replace("+", "").replace("_", "").isalnum():
        raise ValueError("language must be a code of Tesseract such as 'eng' or 'eng+deu'")
    try:
        found = pytesseract.image_to_data(picture, lang=language, output_type=pytesseract.Output.DICT)
    except pytesseract.TesseractNotFoundError:
        raise ImportError("ocr_extract needs the program tesseract, which is not installed") from None
    except pytesseract.TesseractError as error:
        raise ValueError("tesseract failed: {}".format(str(error).split("\n")[0])) from None
    return _lines(found)


def _lines(found):
    lines, scores = {}, []
    for index, word in enumerate(found["text"]):
        score = float(found["conf"][index])
        if word.strip() and score >= 0:
            place = tuple(found[key][index] for key in ("block_num", "par_num", "line_num"))
            lines.setdefault(place, []).append(word)
            scores.append(score)
    return {
        "text": "\n".join(" ".join(words) for words in lines.values()),
        "confidence": sum(scores) / len(scores) / 100 if scores else None,
        "words": len(scores),
    }
