# Runs a command and kills it with SIGKILL, alone or with its children. The kill comes $later
# seconds after the journal gets a line that matches $entry, or after the start when
# $entry is empty. When a line that matches $past comes first, the moment is missed, and
# the kill comes at once. Prints the result (killed, missed or ended CODE), and then the
# output of the command. A line must be noticed before a short step ends, also on a busy
# machine: this script runs with a higher priority than the command, and bash reads the new
# bytes of the journal a thousand times a second without another program.
export LC_ALL=C
command=$1 entry=$2 past=$3 later=$4 children=$5 lower=$6
journal=/var/lib/airgap/journal.jsonl
seen=$(stat -c %s $journal 2>/dev/null || echo 0)
how=killed
exec {pause}<> <(:)
nice -n "$lower" $command >/tmp/said 2>&1 &
pid=$!
said= new=
while [ -n "$entry" ] && kill -0 $pid 2>/dev/null; do
	if [ -z "$new" ] && [ -e $journal ]; then
		exec {new}<$journal
		[ "$seen" = 0 ] || read -r -u $new -N "$seen" _
	fi
	[ -z "$new" ] || { read -r -u $new -d '' more; said+=$more; }
	[[ $said =~ $entry ]] && break
	[[ -n $past && $said =~ $past ]] && { how=missed later=0.000; break; }
	read -r -t 0.001 -u $pause
done
[ "$later" = 0.000 ] || sleep "$later"
groups=
# A child that was just forked is still in the process group of this script.
[ -z "$children" ] || groups=$(ps -o pgid= --ppid $pid | grep -vw "$(ps -o pgid= -p $$ | tr -d ' ')")
if kill -9 $pid 2>/dev/null; then
	for group in $groups; do kill -9 -- -$group 2>/dev/null; done
	echo $how; wait $pid 2>/dev/null
else wait $pid; echo "ended $?"; fi
cat /tmp/said; rm /tmp/said
