package preflight

import (
	"fmt"
	"regexp"
	"strings"

	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/preflight/unitfile"
)

var logins = Check{
	ID: "login-session", Title: "A quiet or lost session does not end airgap", Source: "logind.conf(5); DISA STIG: StopIdleSessionSec=900",
	Breaks: "airgap stops in the middle of a long step, such as a copy or the installation of a driver, because its terminal had no input.",
	Needs:  []string{"unitFiles"}, Run: judgeLogins,
}

// noTime matches a time span of zero, as in systemd.time(7).
var noTime = regexp.MustCompile(`^(0+\s*[a-zµ]*\s*)+$`)

// judgeLogins never fails: airgap can be repeated after it was stopped.
func judgeLogins(f *facts.Facts, _ *Want) Result {
	var found []string
	settings := unitfile.Order(f.UnitFiles, "Login", "logind")
	if idle := unitfile.Last(settings, "StopIdleSessionSec"); idle.Value != "" && idle.Value != "infinity" && !noTime.MatchString(idle.Value) {
		found = append(found, fmt.Sprintf("logind ends a session without input (StopIdleSessionSec=%s in %s)", idle.Value, idle.At()))
	}
	if kill := unitfile.Last(settings, "KillUserProcesses"); unitfile.On(kill.Value) {
		found = append(found, fmt.Sprintf("logind ends all programs of a user, with tmux and nohup, when the session ends (KillUserProcesses=%s in %s)", kill.Value, kill.At()))
	}
	if len(found) == 0 {
		return pass("logind does not end sessions")
	}
	return Result{Warn, strings.Join(found, "; "), "long commands in a unit, which airgap starts at a terminal",
		"start airgap install and other long commands at a terminal: they go on in a unit, and the same command follows them. In scripts and with nohup: systemd-run --unit=airgap-script --collect --working-directory=/ airgap install DIR"}
}
