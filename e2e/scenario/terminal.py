# Runs a command on a separate terminal. It waits for each text and then types the answer. The
# command and the answers come on stdin, because every user on the host can read arguments.
import json, os, pty, sys, time

job = json.load(sys.stdin)
pid, screen = pty.fork()
if pid == 0:
    os.execvp(job["args"][0], job["args"])
unseen, answers, typed = b"", job["answers"], time.monotonic()
while True:
    try:
        data = os.read(screen, 4096)
    except OSError:
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    unseen += data
    while answers and answers[0]["after"].encode() in unseen:
        answer = answers.pop(0)
        unseen = unseen[unseen.index(answer["after"].encode()) + len(answer["after"]):]
        os.write(screen, answer["type"].encode())
        typed = time.monotonic()
_, status = os.waitpid(pid, 0)
code = os.waitstatus_to_exitcode(status)
if answers:
    print("never asked:", answers[0]["after"])
    code = 99
print("ended %.1f s after the last key" % (time.monotonic() - typed))
sys.exit(code if code >= 0 else 128 - code)
