package exitcode

// Exit codes, documented in `airgap --help`.
const (
	OK          = 0
	Failed      = 1
	Usage       = 2
	Preflight   = 3
	Verify      = 4
	Interrupted = 130
)
