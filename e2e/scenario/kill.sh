# Runs a command and kills it, and it alone, with SIGKILL: so many seconds after
# a line that matches $entry comes into the journal, or after the start when
# $entry is empty. When a line that matches $past comes first, the moment is
# over, and the kill comes at once. Says how it went (killed, missed or ended
# CODE), and then what the command said.
command=$1 entry=$2 past=$3 later=$4
journal=/var/lib/airgap/journal.jsonl
next=$(($(wc -l 2>/dev/null <$journal || echo 0) + 1))
how=killed
$command >/tmp/said 2>&1 &
pid=$!
if [ -n "$entry" ]; then # tail is told of a line as it comes, and ends with the command
	read -r line < <(tail -n +$next -F --pid=$pid $journal 2>/dev/null | grep -m1 --line-buffered -E "$entry${past:+|$past}")
	[[ $line =~ $entry ]] || { how=missed later=0; }
fi
[ "$later" = 0.000 ] || sleep "$later"
if kill -9 $pid 2>/dev/null; then echo $how; wait $pid 2>/dev/null
else wait $pid; echo "ended $?"; fi
cat /tmp/said
