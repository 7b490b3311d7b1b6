# Runs a command and kills it with SIGKILL, it alone or with its children: so many
# seconds after a line that matches $entry comes into the journal, or after the start when
# $entry is empty. When a line that matches $past comes first, the moment is
# over, and the kill comes at once. Says how it went (killed, missed or ended
# CODE), and then what the command said.
command=$1 entry=$2 past=$3 later=$4 children=$5
journal=/var/lib/airgap/journal.jsonl
next=$(($(wc -l 2>/dev/null <$journal || echo 0) + 1))
how=killed
$command >/tmp/said 2>&1 &
pid=$!
if [ -n "$entry" ]; then # tail ends with the command
	read -r line < <(tail -s 0.005 -n +$next -F --pid=$pid $journal 2>/dev/null | grep -m1 --line-buffered -E "$entry${past:+|$past}")
	[[ $line =~ $entry ]] || { how=missed later=0; }
fi
[ "$later" = 0.000 ] || sleep "$later"
groups=
[ -z "$children" ] || groups=$(ps -o pgid= --ppid $pid)
if kill -9 $pid 2>/dev/null; then
	for group in $groups; do kill -9 -- -$group 2>/dev/null; done
	echo $how; wait $pid 2>/dev/null
else wait $pid; echo "ended $?"; fi
cat /tmp/said
