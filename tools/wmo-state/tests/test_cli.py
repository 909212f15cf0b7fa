"""The command line: every command has its help, with an example."""

import pytest
from click.testing import CliRunner
from wmo_state.cli import command


def test_the_tool_has_help_with_an_example():
    assert "Example: wmo-state" in CliRunner().invoke(command, ["--help"]).output


@pytest.mark.parametrize("name", sorted(command.commands))
def test_every_command_has_help_with_an_example(name):
    done = CliRunner().invoke(command, [name, "--help"])
    assert done.exit_code == 0
    assert f"Example: wmo-state {name}" in done.output


@pytest.mark.parametrize("line", [[], ["init"], ["next"], ["nonsense"]])
def test_a_bad_line_is_usage(line):
    assert CliRunner().invoke(command, line).exit_code == 2
