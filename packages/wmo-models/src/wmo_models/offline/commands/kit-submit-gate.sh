python3 - <<'EDIT'
from pathlib import Path
path = Path("candidate/runtime.py")
request = Path("REQUEST.md").read_bytes().decode()
default = request.partition("```python\n")[2].partition("```")[0]
text = path.read_bytes().decode() if path.is_file() else default
start = "    nudges = 0\n    for "
call = "        observation = kit.execute(call.tool, call.arguments)\n"
reminder = '''\
CHECK_REMINDER = "Before submitting: check your work now by running it or inspecting the result; then submit again."


def run('''
gate = '''\
        if call.tool == "submit" and not reminded:
            reminded = True
            messages.append(("user", CHECK_REMINDER))
            continue
'''
if all(text.count(place) == 1 for place in (start, call, "\ndef run(")):
    text = text.replace(start, "    reminded = False\n" + start).replace(call, gate + call)
    path.write_bytes(text.replace("\ndef run(", "\n" + reminder).encode())
    print("edited", path)
else:
    print("found no place in", path)
EDIT
