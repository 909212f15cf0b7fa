"""`make` with a RUN that a shell, make or rich would read as something else; what it prints can be pasted."""

import json

import pytest

SUITE = "tools/wmo-score/tests/tasks"


@pytest.mark.parametrize("name", ["it's $HOME", "a [bold]b  c", '$(shell false) `false` "x"; false'])
def test_a_run_of_any_name_and_its_printed_lines(shell, tmp_path, name):
    run = tmp_path / name
    where = {"WHERE": str(run)}
    made = shell(f'make run RUN="$WHERE" SUITE={SUITE} SLOTS=0 JOBS=2', env=where)
    assert made.returncode == 0, made.stderr
    assert (run / "state.json").is_file()
    assert made.stdout.count("simulat") == 1
    see, go_on = (line for line in made.stdout.splitlines() if line.startswith(("see it: ", "go on: ")))
    seen = shell(
        see.removeprefix("see it: ").replace("--into best/", '--into "$BEST"'), env={"BEST": f"{tmp_path}/best"}
    )
    assert seen.returncode == 0, seen.stderr
    assert (tmp_path / "best/SYSTEM.md").is_file()
    again = shell(go_on.removeprefix("go on: ").replace("SLOTS=4", "SLOTS=0").replace("make run", "make status"))
    assert again.returncode == 0, again.stderr
    assert shell('make best RUN="$WHERE"', env=where).returncode == 0
    assert json.loads((run / "run.json").read_text())["settings"]["iterations"] == 0


def test_a_variable_that_make_does_not_know_is_refused(shell):
    refused = shell("make -n run RUNS=x SLOTS=1")
    assert (refused.returncode, "unknown variable 'RUNS': there are PYTHON RUN SUITE" in refused.stderr) == (2, True)
    known = shell(
        "make -n run RUN=x SUITE=x SLOTS=1 ATTEMPTS=1 JUDGE=1 ENV=replay RECORDED=y PYTHON=python3", env={"SLOT": "2"}
    )
    assert known.returncode == 0, known.stderr
