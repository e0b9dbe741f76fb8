"""Tweets: cleaned, classified and set aside. Without Spark."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from rheostat.workloads import twitter
from rheostat.workloads.twitter import author_kind, clean, find_author, find_topic, store
from rheostat.workloads.twitter_wide import find_sentiment, find_source, tell_kind, weigh_sentiment, weigh_source

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def tweet(**changed):
    return {"entered": NOW, "at": None, "id": 1, "user": "@user30", "text": "a b", "malformed": None, **changed}


def only(records):
    (record,) = records
    return record


def test_links_and_names_are_no_words_and_tags_stand_apart():
    _, cleaned = only(clean(tweet(text="See https://t.co/a1 @bob: Vaccines WORK! #covid")))
    assert cleaned == {"id": 1, "user": "@user30", "words": ["see", "vaccines", "work"], "tags": ["covid"]}


@pytest.mark.parametrize(
    ("words", "tags", "topic", "score"),
    [
        (["the", "vaccines", "work"], [], "health", 1 / 3),
        (["goal", "market"], ["election"], "politics", 3 / 5),
        (["nothing", "special"], [], "other", 0.0),
        ([], [], "other", 0.0),
    ],
)
def test_the_topic_is_that_of_most_words(words, tags, topic, score):
    found = only(find_topic({"id": 1, "user": "@user1", "words": words, "tags": tags}))
    assert (found["topic"], found["score"]) == (topic, pytest.approx(score))


def test_a_tweet_is_stored_under_topic_and_author():
    assert [author_kind(f"@user{n}") for n in (0, 20, 60, 200)] == ["press", "official", "expert", "private"]
    assert author_kind("@bob") == "private"
    told = only(find_author({"id": 7, "user": "@user30", "topic": "sport", "score": 0.25}))
    assert only(store(told)) == {"key": "sport/official/7", "value": "@user30 0.250"}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"id": -1}, "unknown id"),
        ({"user": "bob"}, "unknown user"),
        ({"text": "x" * 4001}, "text too long"),
        ({"text": None}, "no text"),
        ({"at": NOW - timedelta(minutes=2)}, "more than 60 s late"),
        ({"at": NOW + timedelta(minutes=2)}, "more than 5 s in the future"),
    ],
)
def test_tweets_that_cannot_be_used_are_set_aside(changed, reason):
    output, rejected = only(clean(tweet(**changed)))
    assert (output, rejected["reason"]) == ("rejected", reason)


def test_news_and_opinions_take_different_ways():
    news = {"id": 1, "user": "@user3", "words": ["a"] * 10, "tags": []}
    assert only(tell_kind(news)) == ("news", news)
    assert only(weigh_source(only(find_source(news)))) == {
        "id": 1,
        "label": "news/press",
        "weight": pytest.approx(0.35),
    }
    opinion = {"id": 2, "user": "@user900", "words": ["great", "goal", "never", "x"], "tags": []}
    assert only(tell_kind(opinion)) == ("opinions", opinion)
    judged = only(weigh_sentiment(only(find_sentiment(opinion))))
    assert judged == {"id": 2, "label": "opinion/positive", "weight": 0.25}


def test_generated_tweets_are_usable_and_of_all_topics():
    make = twitter.generate(1)
    cleaned = [only(clean(tweet(**make(0.0)))) for _ in range(2000)]
    assert {output for output, _ in cleaned} == {"good"}
    topics = Counter(only(find_topic(record))["topic"] for _, record in cleaned)
    assert set(topics) == {*twitter.TOPICS, "other"}
    assert min(topics.values()) > 100
    assert 0.55 < sum(only(tell_kind(record))[0] == "news" for _, record in cleaned) / 2000 < 0.7
