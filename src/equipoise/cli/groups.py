"""Help in groups: commands by what one wants to do, and the many options of a command by what they are about."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

OPTIONS = {
    "Mostly enough": "--suite --probe --out --report --retry --certain --max-cost --yes --quiet",
    "More: what is asked": "--config --sample --repeat --seed --set --until-certain --probabilities --reading",
    "More: own prompts": "--pairs --read --columns --names --letters --bands",
    "More: where": "--base-url --key-variable --key-command --header --trust-config --allow-insecure "
    "--allow-secret-url",
    "More: how the model answers": "--temperature --top-p --max-tokens --model-seed --system --extra",
    "More: pace": "--concurrency --deadline --tries --rpm",
    "More: limits": "--allow-missing --max-requests --max-tokens-total --price",
    "More: a judge": "--judge --judge-base-url --judge-key-variable --judge-price --judge-anyway --no-judge",
}
OTHERS = "More"
"""Options that are in no group come last."""
MANY = 20
"""A command with fewer options lists them as they are."""
_GROUP_OF = {option: group for group, options in OPTIONS.items() for option in options.split()}


class GroupedCommand(TyperCommand):
    """A command whose options stand in groups, if there are many."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options into the help."""
        if len(self.params) < MANY:
            super().format_options(ctx, formatter)
            return
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Arguments", *OPTIONS, OTHERS)}
        for parameter in self.get_params(ctx):
            names = [_GROUP_OF[name] for name in parameter.opts if name in _GROUP_OF]
            group = (names or [OTHERS])[0] if parameter.param_type_name == "option" else "Arguments"
            if record := parameter.get_help_record(ctx):
                groups[group].append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class GroupedCommands(TyperGroup):
    """The command line, whose commands stand in groups: the panels that they were added to."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the name that typer gives it
        """Write the commands into the help, each with its first sentence."""
        widest = max(map(len, self.commands))
        groups: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            text = command.get_short_help_str(formatter.width - 6 - widest)
            groups.setdefault(command.rich_help_panel, []).append((name.ljust(widest), text))  # type: ignore[attr-defined]
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)
