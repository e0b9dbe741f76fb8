"""Logos in generated video: found where they are, without Spark."""

import base64

import numpy as np
import pytest

pytest.importorskip("cv2")

from rheostat.workloads import vld
from rheostat.workloads.vld import ENOUGH, extract, features, match, nearest_logo, precision_and_recall

GOOD = {"entered": None, "frame": 1, "image": "", "truth": None, "malformed": None}


def found_in(frame):
    counts = np.zeros(vld.LOGOS, int)
    for output, feature in extract({**GOOD, "entered": "now", **frame}):
        assert output == "good"
        for matched in match(feature):
            counts[matched["logo"]] += 1
    return {(frame["frame"], logo) for logo in np.flatnonzero(counts >= ENOUGH).tolist()}


def test_logos_are_found_where_they_are():
    make = vld.generate(1)
    frames = [make(0.0) for _ in range(30)]
    truth = {(frame["frame"], logo) for frame in frames for logo in frame["truth"]}
    precision, recall = precision_and_recall(set().union(*map(found_in, frames)), truth)
    assert len(truth) > 20
    assert precision > 0.9
    assert recall > 0.8


def test_the_number_of_features_varies_from_frame_to_frame():
    make = vld.generate(2)
    counts = [len(list(extract({**GOOD, "entered": "now", **make(0.0)}))) for _ in range(30)]
    assert max(counts) > 3 * (min(counts) + 1)


def test_a_feature_of_a_logo_is_nearest_to_it_and_noise_to_none():
    for number in (0, 7, 15):
        own = features(np.pad(vld.logo(number), 12, constant_values=128))
        assert all(nearest_logo(each) is not None for each in own)
        assert sum(nearest_logo(each) == number for each in own) > 0.8 * len(own)
    noise = np.random.default_rng(1).integers(0, 255, 128)
    assert nearest_logo(noise) is None


def test_precision_and_recall_of_pairs():
    assert precision_and_recall({(1, 2), (1, 3)}, {(1, 2), (2, 2), (2, 4)}) == (0.5, pytest.approx(1 / 3))
    assert precision_and_recall(set(), set()) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"image": "!!"}, "no image"),
        ({"image": base64.b64encode(b"no picture").decode()}, "no image"),
        ({"image": ""}, "image too large or empty"),
        ({"image": "A" * 5_000_000}, "image too large or empty"),
        ({"frame": -1}, "unknown frame"),
        ({"image": None}, "no image"),
    ],
)
def test_frames_that_cannot_be_used_are_set_aside(changed, reason):
    ((output, rejected),) = extract({**GOOD, "entered": "now", "image": "AAAA", **changed})
    assert (output, rejected["reason"]) == ("rejected", reason)
