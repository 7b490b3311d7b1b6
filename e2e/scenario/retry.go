package scenario

import "strings"

// retries makes kubectl repeat a call with a broken connection for twenty seconds: a load
// balancer may still send connections to a dead host. A user would repeat the call, too. It
// does not repeat calls that read stdin or run a program in a pod.
const retries = `kubectl() {
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

// withRetries adds retries to a command if it is a shell line that calls kubectl.
func withRetries(args []string) []string {
	if len(args) < 3 || args[0] != "sh" || args[1] != "-c" || !strings.Contains(args[2], "kubectl ") {
		return args
	}
	return append([]string{"sh", "-c", retries + args[2]}, args[3:]...)
}

// IsGone returns a shell line that succeeds if the API server answers that an object does not
// exist. It fails if the API server does not answer.
func IsGone(object string) string {
	return Kubectl + "get " + object + " 2>&1 | grep -q NotFound"
}
