"""YAML files of ours: read into a closed, typed schema, with errors that name the line and the mend."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from parsimony.errors import InputError

Model = TypeVar("Model", bound=BaseModel)


def read_yaml(path: Path, model: type[Model]) -> Model:
    """Read `path` as a `model`.

    Raises:
        InputError: not readable, not YAML, a key twice, or not of the schema; the first fault is named, with its line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", mend="check the path", file=str(path)) from None
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 at byte {error.start}", mend="save it as UTF-8", file=str(path)) from None
    return parse_yaml(text, model, file=str(path))


def parse_yaml(text: str, model: type[Model], *, file: str) -> Model:
    """The same for a text; `file` is what errors call it."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        row = error.problem_mark.line + 1 if error.problem_mark else None
        problem = " ".join(str(part) for part in (error.context, error.problem) if part)
        raise InputError(f"is not YAML ({problem})", mend="mend the line", file=file, row=row) from None
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        raise InputError(f"is not YAML ({error})", mend="mend the file", file=file) from None
    try:
        _refuse_repeated_keys(root, file)
    except RecursionError:  # an anchor inside of what it names
        raise InputError("refers to itself", mend="write what is meant instead of the alias", file=file) from None
    if not isinstance(data, dict):
        raise InputError(
            "does not hold a mapping", mend="write `name: value` lines; see configs/demo.yaml", file=file, row=1
        )
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise _first_fault(error, root, model, file) from None


def _refuse_repeated_keys(node: yaml.Node | None, file: str) -> None:
    if isinstance(node, yaml.MappingNode):
        seen: dict[object, int] = {}
        for key, value in node.value:
            row = key.start_mark.line + 1
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise InputError(
                        f"is given twice (first in line {seen[key.value]})",
                        mend="keep one of them",
                        file=file,
                        row=row,
                        field=key.value,
                    )
                seen[key.value] = row
            _refuse_repeated_keys(value, file)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_repeated_keys(item, file)


def _first_fault(error: ValidationError, root: yaml.Node | None, model: type[BaseModel], file: str) -> InputError:
    fault = error.errors(include_url=False)[0]
    # Parts that name a branch of a union (`SandboxDocker`, `function-after[...]`) are no keys of the file.
    path = [part for part in fault["loc"] if isinstance(part, int) or "[" not in part]
    row, path = _locate(root, path)
    name = ".".join(str(part) for part in path) or None
    if fault["type"] == "extra_forbidden":
        known = _known_fields(model, path[:-1])
        near = difflib.get_close_matches(str(path[-1]), known, n=1)
        mend = f"did you mean `{near[0]}`?" if near else f"known here: {', '.join(known)}"
        return InputError("is not a known field", mend=mend, file=file, row=row, field=name)
    if fault["type"] == "missing":
        return InputError("is missing", mend=f"add `{path[-1]}:`", file=file, row=row, field=name)
    problem = fault["msg"].removeprefix("Value error, ")
    problem, _, mend = problem.partition("; ")
    given = f" (given: {fault['input']!r})" if isinstance(fault["input"], str | int | float | bool) else ""
    return InputError(problem + given, mend=mend or "mend the value", file=file, row=row, field=name)


def _locate(root: yaml.Node | None, path: Sequence[str | int]) -> tuple[int, list[str | int]]:
    """The line of the deepest part of `path` that is in the file, and the parts that are (plus one that is missing)."""
    node, row, kept = root, 1, []
    for number, part in enumerate(path):
        found = None
        if isinstance(node, yaml.MappingNode):
            found = next(((k, v) for k, v in node.value if k.value == str(part)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            found = (node.value[part], node.value[part])
        if found is None:
            if number == len(path) - 1:
                kept.append(part)
            continue
        row, node = found[0].start_mark.line + 1, found[1]
        kept.append(part)
    return row, kept


def _known_fields(model: type[BaseModel], path: Sequence[str | int]) -> list[str]:
    current: type[BaseModel] = model
    for part in path:
        field = current.model_fields.get(str(part))
        nested = _models_in(field.annotation) if field is not None else []
        if not nested:
            return sorted(current.model_fields)
        if len(nested) > 1:
            return sorted({name for one in nested for name in one.model_fields})
        current = nested[0]
    return sorted(current.model_fields)


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in getattr(annotation, "__args__", ()) for found in _models_in(part)]
