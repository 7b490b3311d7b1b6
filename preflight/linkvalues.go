package preflight

import (
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

// moment returns the value of a parameter that applies to a link, now or after the next boot, and
// the line that sets it; "" if the line is unknown.
type moment func(link, parameter string) (value int, line string)

// nowAndBoot joins the results for the present values and for those of the next boot. set is a line
// that sets such a value at boot.
func nowAndBoot(now, boot Result, set facts.Sysctl) Result {
	switch {
	case boot.Status == Pass && now.Status == Pass:
		return now
	case boot.Status == Pass && set.Boot != "":
		now.Found += " now, although " + set.Setting() + " at every boot"
		return now
	case boot.Status == Pass:
		return now
	case now.Status == Pass:
		boot.Found = "from the next boot on " + boot.Found
		return boot
	case boot.Found == now.Found || worse(now.Status, boot.Status) == boot.Status:
		return boot
	default:
		return now
	}
}

func addLine(lines []string, line string) []string {
	if line == "" || slices.Contains(lines, line) {
		return lines
	}
	return append(lines, line)
}

func inBrackets(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return " (" + strings.Join(lines, "; ") + ")"
}
