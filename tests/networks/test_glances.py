"""Glances: what questions see in the places of a picture."""

import torch
from torch.testing import assert_close

from mindseye.networks import Glances


def glances(questions: int = 3, kinds: int = 1) -> Glances:
    torch.manual_seed(0)
    return Glances(4, questions, 8, kinds=kinds, heads=2)


def features(rows: int = 5, columns: int = 6) -> torch.Tensor:
    return torch.randn(2, 4, rows, columns, generator=torch.Generator().manual_seed(1))


FIRST = torch.zeros(2, dtype=torch.int64)


def test_one_place_is_all_that_can_be_seen():
    made, x = glances(), features(1, 1)
    where = torch.full((2, 2, 1, 1), -1.0)  # the middle of one place is where linspace begins
    values = made.places(torch.cat([x, where], 1))[:, 8:, 0, 0]
    assert_close(made(x, FIRST), values[:, None].expand(-1, 3, -1))


def test_a_question_of_nothing_sees_the_mean_of_all_places():
    made, x = glances(), features()
    with torch.no_grad():
        made.questions.zero_()
        made.places.weight[:, 4:].zero_()
    values = made.places(torch.cat([x, torch.zeros(2, 2, 5, 6)], 1))[:, 8:]
    assert_close(made(x, FIRST), values.mean((2, 3))[:, None].expand(-1, 3, -1))


def test_where_a_thing_is_does_not_matter_to_who_does_not_ask_where():
    made, x = glances(), features()
    with torch.no_grad():
        made.places.weight[:, 4:].zero_()
    assert_close(made(x.roll((2, 3), (2, 3)), FIRST), made(x, FIRST))


def test_a_question_about_the_left_sees_what_is_furthest_left():
    made, x = Glances(4, 1, 8, heads=1), features()
    with torch.no_grad():
        made.questions.zero_()[..., 0] = 1.0
        made.places.weight[:8].zero_()
        made.places.weight[0, 4] = -1e4  # the key is how far left a place is
        made.places.weight[8:, 4:].zero_()  # and the values do not say where they are
    values = made.places(torch.cat([x, torch.zeros(2, 2, 5, 6)], 1))[:, 8:]
    assert_close(made(x, FIRST)[:, 0], values[..., 0].mean(-1))


def test_pictures_are_asked_the_questions_of_their_kind():
    made, x = glances(kinds=2), features()
    each = torch.stack([made(x, FIRST), made(x, FIRST + 1)])
    mixed = made(x, torch.tensor([1, 0]))
    assert_close(mixed, torch.stack([each[1, 0], each[0, 1]]))
