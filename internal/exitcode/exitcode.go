// Package exitcode has the exit codes of airgap, which it also reads of itself on other hosts.
package exitcode

// Exit codes, documented in `airgap --help`.
const (
	OK          = 0
	Failed      = 1
	Usage       = 2
	Preflight   = 3
	Verify      = 4
	Incomplete  = 5 // the command went on without hosts that failed
	Interrupted = 130
)
