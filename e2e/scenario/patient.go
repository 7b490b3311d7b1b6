package scenario

import "strings"

// patience has kubectl ask again for twenty seconds where a connection broke off: for some of
// them a balancer still sends callers to a host that has died. A person would repeat the call.
// What reads its input, or runs a program in a pod, is asked once.
const patience = `kubectl() {
	case " $* " in *" -f - "*|*" exec "*) command kubectl "$@"; return ;; esac
	_tries=0
	while :; do
		{ _said=$(command kubectl "$@" 2>&1 >&3 3>&-); _code=$?; } 3>&1
		{ [ $_code != 0 ] && [ $_tries -lt 20 ] && echo "$_said" | grep -Eq 'EOF|connection re(fused|set)|handshake timeout|i/o timeout'; } || break
		_tries=$((_tries+1)); sleep 1
	done
	[ -z "$_said" ] || echo "$_said" >&2
	return $_code
}
`

// patient is a command with patience, where it is a shell line that calls kubectl.
func patient(args []string) []string {
	if len(args) < 3 || args[0] != "sh" || args[1] != "-c" || !strings.Contains(args[2], "kubectl ") {
		return args
	}
	return append([]string{"sh", "-c", patience + args[2]}, args[3:]...)
}

// Gone is a shell line that wants the API server to say that an object does not exist. That it
// does not answer is no such word.
func Gone(object string) string {
	return Kubectl + "get " + object + " 2>&1 | grep -q NotFound"
}
