import shutil
from dataclasses import replace

from wmo_episode.warm import warm_compile_cache


def cached(runtime):
    return {path.name for path in (runtime / "compile-cache").rglob("*") if path.is_file()}


def test_warming_caches_the_seeds_code_and_no_later_episode_adds_to_it(
    make_runtime, environment, scripted, says, call, vendor, seed, tmp_path_factory
):
    runtime = tmp_path_factory.mktemp("warm") / "runtime"
    shutil.copytree(vendor / "runtime" / "node_modules", runtime / "node_modules")
    (runtime / "compile-cache").mkdir()
    assert warm_compile_cache(runtime, seed)
    warmed = cached(runtime)
    assert len(warmed) > len([file for file in seed.files if file.path.endswith(".ts")])
    provider = scripted(says(call("submit", answer="x")))
    edited = make_runtime(provider, edits={"src/node.ts": "export const edited: number = 1;\n"})
    assert replace(edited, runtime=runtime).run("t", "Go.", environment).stop_reason == "submitted"
    assert cached(runtime) == warmed
