"""VLD: logos found in video, the first application of DRS (§V-A-1, figure 4). Needs OpenCV: `rheostat[video]`.

    frames ──> extract ──good──> match ──> aggregate (by frame)
                 └─rejected

`extract` finds SIFT features in a frame, more in some frames than in others. `match` compares each feature with those
of 16 logos. A logo is in a frame if enough features match it; `aggregate` says so once, when the frame is complete.
"""

import base64
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from rheostat.errors import ConfigError
from rheostat.load import Step
from rheostat.spark.query.per_record.record_function import Record, per_record
from rheostat.spark.query.user_functions import final_rows
from rheostat.topology import Operator, Source, Topology
from rheostat.workloads.application import Application
from rheostat.workloads.feeder import MakeRecord
from rheostat.workloads.intake import checked, json_records, require

FRAME = "frame long, image string, truth array<long>"
"""`image` is a JPEG or PNG in base 64; `truth` the logos in it, as far as known, which no operator looks at."""
LOGOS = 16
NEAR = 160.0
"""Features whose descriptors are nearer than this (L2) match."""
ENOUGH = 6
"""Matching features that make a logo."""
WIDTH, HEIGHT, LOGO_SIZE = 320, 240, 72
_MOST_BYTES = 4_000_000


def topology(folder: Path, substreams: int = 8) -> Topology:
    opencv()
    return Topology(
        "vld",
        [
            Source("frames", reader=json_records(folder, FRAME)),
            Operator("extract", extract, inputs="frames", outputs={"good": 60, "rejected": 0}),
            Operator("match", match, inputs="extract.good", selectivity=0.3),
            Operator("aggregate", aggregate, inputs="match", key="frame", substreams=substreams, selectivity=0.05),
        ],
    )


@checked("frame long, at timestamp, descriptor binary", optional=["truth"])
def extract(frame: Record) -> Iterator[Record]:
    require(frame["frame"] >= 0, "unknown frame")
    require(0 < len(frame["image"]) <= _MOST_BYTES, "image too large or empty")
    for descriptor in features(_decoded(frame["image"])):
        yield {"frame": frame["frame"], "at": frame["entered"], "descriptor": descriptor.astype(np.uint8).tobytes()}


@per_record("frame long, at timestamp, logo long")
def match(feature: Record) -> Iterator[Record]:
    logo = nearest_logo(np.frombuffer(feature["descriptor"], np.uint8))
    if logo is not None:
        yield {"frame": feature["frame"], "at": feature["at"], "logo": logo}


@final_rows
def aggregate(matches: DataFrame) -> DataFrame:
    counted = (
        matches.withWatermark("at", "10 seconds").groupBy("frame", "at", "logo").agg(sf.count("*").alias("matches"))
    )
    return counted.filter(sf.col("matches") >= ENOUGH).select("frame", "logo", "matches")


def opencv() -> Any:
    try:
        import cv2
    except ImportError:
        raise ConfigError("the application 'vld' needs OpenCV: pip install 'rheostat[video]'") from None
    return cv2


def features(image: np.ndarray) -> np.ndarray:
    """The SIFT descriptors of an image, 128 numbers each."""
    _, descriptors = _sift().detectAndCompute(image, None)
    return np.zeros((0, 128), np.float32) if descriptors is None else descriptors


def nearest_logo(descriptor: np.ndarray) -> int | None:
    """The logo that has the feature most like this one, if it is like it at all."""
    known, owners = _logo_features()
    distances = np.linalg.norm(known - descriptor.astype(np.float32), axis=1)
    best = int(np.argmin(distances))
    return int(owners[best]) if distances[best] < NEAR else None


@cache
def _sift() -> Any:
    return opencv().SIFT_create(nfeatures=150, contrastThreshold=0.06)


@cache
def _logo_features() -> tuple[np.ndarray, np.ndarray]:
    """The descriptors of all logos, in three sizes, and whose they are."""
    found = [
        (number, features(_on_grey(_resized(logo(number), scale))))
        for number in range(LOGOS)
        for scale in (0.75, 1.0, 1.4)
    ]
    owners = [np.full(len(descriptors), number) for number, descriptors in found]
    return np.concatenate([descriptors for _, descriptors in found]), np.concatenate(owners)


@cache
def logo(number: int) -> np.ndarray:
    """A logo of a few shapes and a letter, in grey."""
    cv2, rng = opencv(), np.random.default_rng(1000 + number)
    image = np.full((LOGO_SIZE, LOGO_SIZE), 230, np.uint8)
    for _ in range(7):
        (x, y), grey = map(int, rng.integers(8, LOGO_SIZE - 8, 2)), int(rng.integers(0, 160))
        if rng.random() < 0.5:
            cv2.circle(image, (x, y), int(rng.integers(4, 16)), grey, int(rng.choice([-1, 2, 3])))
        else:
            corner = tuple(map(int, rng.integers(4, LOGO_SIZE - 4, 2)))
            cv2.rectangle(image, (x, y), corner, grey, int(rng.choice([2, 3, 4])))
    cv2.putText(image, chr(65 + number), (18, 52), cv2.FONT_HERSHEY_DUPLEX, 1.4, 0, 3)
    return image


def _resized(image: np.ndarray, scale: float) -> np.ndarray:
    size = max(8, round(LOGO_SIZE * scale))
    return np.asarray(opencv().resize(image, (size, size), interpolation=3))


def _on_grey(image: np.ndarray) -> np.ndarray:
    return np.pad(image, 12, constant_values=128)


def _decoded(text: str) -> np.ndarray:
    cv2 = opencv()
    try:
        data = np.frombuffer(base64.b64decode(text, validate=True), np.uint8)
        image = cv2.imdecode(data, cv2.IMREAD_GRAYSCALE) if len(data) else None
    except (ValueError, cv2.error):
        image = None
    require(image is not None, "no image")
    return np.asarray(image)


def generate(seed: int) -> MakeRecord:
    """Video in which up to three logos move, grow and shrink before blurred shapes, which have few features or many."""
    cv2, rng = opencv(), np.random.default_rng(seed)
    number = 0
    actors: list[dict[str, float]] = []

    def make(time_s: float) -> dict[str, Any]:
        nonlocal number
        actors[:] = [actor for actor in actors if 0 < actor["x"] < WIDTH and 0 < actor["y"] < HEIGHT]
        if len(actors) < 3 and rng.random() < 0.15:
            taken = {int(actor["logo"]) for actor in actors}
            new = int(rng.choice([n for n in range(LOGOS) if n not in taken]))
            actors.append({"logo": new, "x": rng.uniform(60, WIDTH - 60), "y": rng.uniform(60, HEIGHT - 60),
                           "dx": rng.normal(0, 4), "dy": rng.normal(0, 3), "scale": rng.uniform(0.9, 1.2)})  # fmt: skip
        image = _background(rng)
        shown: list[dict[str, float]] = []
        for actor in actors:
            actor["x"], actor["y"] = actor["x"] + actor["dx"], actor["y"] + actor["dy"]
            actor["scale"] = float(np.clip(actor["scale"] * rng.normal(1.0, 0.02), 0.8, 1.4))
            picture = _resized(logo(int(actor["logo"])), actor["scale"])
            if not _hides(actor, shown) and _paste(image, picture, actor["x"], actor["y"]):
                shown.append(actor)
        number += 1
        _, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 90])
        truth = sorted(int(actor["logo"]) for actor in shown)
        return {"frame": number, "image": base64.b64encode(data.tobytes()).decode(), "truth": truth}

    return make


def _hides(actor: dict[str, float], others: list[dict[str, float]]) -> bool:
    """Whether it would cover one of the others."""
    near = 1.4 * LOGO_SIZE
    return any(abs(actor["x"] - other["x"]) < near and abs(actor["y"] - other["y"]) < near for other in others)


def _background(rng: np.random.Generator) -> np.ndarray:
    """Blurred shapes; the more of them the more features."""
    cv2 = opencv()
    image = np.full((HEIGHT, WIDTH), 128, np.uint8)
    for _ in range(int(rng.integers(0, 25))):
        x, y = int(rng.integers(WIDTH)), int(rng.integers(HEIGHT))
        cv2.circle(image, (x, y), int(rng.integers(5, 40)), int(rng.integers(60, 200)), -1)
    return np.asarray(cv2.GaussianBlur(image, (9, 9), 3))


def _paste(image: np.ndarray, picture: np.ndarray, x: float, y: float) -> bool:
    """Put a picture into the image, around (x, y), if it is all inside."""
    size = len(picture)
    top, left = round(y - size / 2), round(x - size / 2)
    if not (0 <= top <= HEIGHT - size and 0 <= left <= WIDTH - size):
        return False
    image[top : top + size, left : left + size] = picture
    return True


def precision_and_recall(found: set[tuple[int, int]], truth: set[tuple[int, int]]) -> tuple[float, float]:
    """Of pairs (frame, logo)."""
    right = len(found & truth)
    return right / max(1, len(found)), right / max(1, len(truth))


def summary(directory: Path) -> str:
    """How well the logos were found, in the frames that have results so far and are known."""
    from pyarrow import dataset

    results = directory / "results" / "aggregate"
    rows = dataset.dataset(results).to_table(["frame", "logo"]).to_pylist() if results.exists() else []
    found = {(row["frame"], row["logo"]) for row in rows}
    newest = max((frame for frame, _ in found), default=0)
    frames = [json.loads(line) for file in (directory / "input").glob("*.json") for line in file.open()]
    truth = {(each["frame"], logo) for each in frames for logo in each.get("truth", ()) if each["frame"] <= newest}
    precision, recall = precision_and_recall(found, truth)
    return f"logos in {newest:,} frames: precision {precision:.3f}, recall {recall:.3f}"


APPLICATION = Application(topology, generate, Step([(0, 6), (60, 12), (180, 18), (240, 6)]), summary=summary)
