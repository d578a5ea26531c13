"""What all schemas share: strictness, one way to read a text, and a few kinds of values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationError

from tnet_core.errors import TNetError, state_problem
from tnet_core.modeling.config import TNetConfig
from tnet_core.schemas.files import read_bounded
from tnet_core.schemas.text import parse_json

T = TypeVar("T")
STRICT = ConfigDict(
    strict=True,  # "1" is no number, 1 is not true
    extra="forbid",
    frozen=True,
    allow_inf_nan=False,
    arbitrary_types_allowed=True,  # arrays, which numpy checks
    populate_by_name=True,
)


class Schema(BaseModel):
    """The content of a file, or a part of it; what does not fit is a TNetError that names the field."""

    model_config = STRICT

    @classmethod
    def read(cls, text: bytes, *, context: Any = None) -> Self:
        """Return the content of a JSON text; the error begins with 'it' or 'its field'."""
        parse_json(text)
        try:
            return cls.model_validate_json(text, context=context)
        except ValidationError as error:
            raise TNetError(state_problem(error)) from None

    @classmethod
    def read_file(cls, path: Path, limit: int) -> Self:
        """Return the content of a JSON file of at most `limit` bytes."""
        data = read_bounded(path, limit)
        try:
            return cls.read(data)
        except TNetError as error:
            raise TNetError(f"'{path}' cannot be used: {error}") from None

    @classmethod
    def make(cls, **fields: Any) -> Self:
        """Return the same from values of Python."""
        try:
            return cls(**fields)
        except ValidationError as error:
            raise TNetError(state_problem(error)) from None


def _check_schema(value: Any) -> int:
    if type(value) is not int or value != 1:
        raise ValueError(f"is {value!r:.40}, but this version reads schema 1")
    return value


def _read_model(value: Any) -> Any:
    return TNetConfig.from_dict(value) if not isinstance(value, TNetConfig) else value


SchemaNumber = Annotated[int, BeforeValidator(_check_schema)]
ModelConfig = Annotated[TNetConfig, BeforeValidator(_read_model), PlainSerializer(TNetConfig.to_dict)]
Many = Annotated[tuple[T, ...], Field(fail_fast=True)]  # a long list that is all wrong makes one error, not a million


def make_line_check(longest: int) -> Callable[[str], str]:
    """Return a function that refuses what is not one line that any terminal can print."""

    def check(text: str) -> str:
        if "\n" in text:
            raise ValueError("must be one line")
        if not text.strip() or len(text) > longest or not text.isprintable():
            raise ValueError(f"must be a printable text of at most {longest} characters")
        return text

    return check


def check_line(longest: int) -> AfterValidator:
    """Return a check for one line that any terminal can print."""
    return AfterValidator(make_line_check(longest))
