"""The catalogue on the wire."""

from typing import Any, Literal

from pydantic import Field

from app.api.schemas.values import CompleteList, OpenShape


class CatalogueAttribute(OpenShape):
    """An option of an entry."""

    name: str
    type: str
    required: bool
    default: Any = None
    range: str | None = Field(default=None, description="Accepted range, if it is smaller than that of the type.")
    attrs: list["CatalogueAttribute"] | None = Field(default=None, description="The options of an object.")
    kinds: list["CatalogueEntry"] | None = Field(default=None, description="Entries of a list of objects with a kind.")


class OpInput(OpenShape):
    """An input of an op."""

    name: str
    role: str = Field(description="What it holds: numbers, integers, truth values or a random key.")
    required: bool
    variadic: bool = Field(description="Whether it stands for any number of inputs.")
    gradient: bool = Field(description="Whether a gradient flows to it.")


class OpEntry(OpenShape):
    """An op with its inputs and attributes; or one of another framework that is not supported, and why."""

    name: str
    supported: bool
    reason: str | None = Field(description="Why it is not supported.")
    instead: str | None = Field(description="What to use instead of an unsupported op.")
    aliases: list[str]
    family: str
    doc: str
    inputs: list[OpInput]
    attrs: list[CatalogueAttribute]
    outputs: Literal["one", "several"]
    output_count: int | None = Field(description="null where it depends on the call.")
    output_names: list[str] = Field(description="Empty where the outputs have no names of their own.")
    differentiable: bool
    no_gradient: str | None = Field(description="Why a floating result carries no gradient.")
    gradient_notes: dict[str, str] = Field(description="By attribute, why the gradient differs from the slope.")
    second_order: Literal["rule", "composition"] | None = Field(
        description="How a gradient of the gradient is formed: by the op's rule, or through other ops."
    )
    data_dependent: bool = Field(description="Whether a shape depends on data, so that no graph can hold the op.")


class OpList(CompleteList[OpEntry]):
    """Every op, in the order of the families; at the end those that are not supported."""


class CatalogueEntry(OpenShape):
    """An optimizer, schedule, loss, layer, initializer or metric."""

    kind: str
    doc: str
    attrs: list[CatalogueAttribute] = Field(description="Its options.")


class CatalogueList(CompleteList[CatalogueEntry]):
    """Every entry of a kind."""


class LossOperand(OpenShape):
    """An operand of a loss beside the predictions."""

    name: str
    required: bool
    takes: str = Field(description="Whether it is given by the name of an input, or in numbers too.")
    shape: str = Field(description="Its type and shape, in words.")


class LossEntry(CatalogueEntry):
    """A loss, its operands and its options."""

    aliases: list[str]
    predictions: str = Field(description="Accepted shapes and values of the predictions.")
    operands: list[LossOperand]


class LossList(CompleteList[LossEntry]):
    """Every loss."""


class MetricEntry(CatalogueEntry):
    """A metric and its options."""

    predictions: dict[str, str] = Field(description="Accepted forms of predictions, in words.")
    goal: Literal["min", "max"] | None = Field(description="Whether higher or lower values are better; null: neither.")
    every_step: bool = Field(
        description="Whether rows of training steps include it; otherwise only rows of validations and epochs."
    )


class MetricList(CompleteList[MetricEntry]):
    """Every metric."""
