package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/preflight/facts"
)

var bootCommands = Check{
	ID: "boot-commands", Title: "No script changes the cluster's settings at boot", Source: "systemd-rc-local-generator(8), crontab(5), udev(7)",
	Breaks: "After a reboot a script sets a kernel parameter to another value, or filters the cluster's packets, although no configuration file does.",
	Needs:  []string{"bootCommands"}, Run: judgeBootCommands,
}

// judgeBootCommands only warns: it cannot see whether a script runs, and when.
func judgeBootCommands(f *facts.Facts, w *Want) Result {
	var found []string
	for _, c := range f.Boot.Commands {
		if why := w.changes(c); why != "" {
			found = append(found, fmt.Sprintf("%s %s: %s", c.Place, why, c.Text))
		}
	}
	if len(found) == 0 {
		return pass("none")
	}
	return Result{Warn, strings.Join(found, "\n"), "no such line",
		"remove the lines; or give the parameters airgap's values, and let the rules accept the pod subnet and the ports that airgap preflight lists in ports-free"}
}

// changes describes the effect of a command on the cluster; "" for none.
func (w *Want) changes(c nextboot.Command) string {
	set := c.Parameters()
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if w.refuses(name, set[name]) {
			return "sets " + name + " = " + set[name]
		}
	}
	if c.Filters() {
		return "changes the packet filter"
	}
	return ""
}

// refuses reports whether a value of a kernel parameter is not the one that the cluster needs.
func (w *Want) refuses(name, value string) bool {
	for _, b := range w.Sysctls {
		if n, err := strconv.Atoi(value); b.Name == name {
			return err != nil || b.Floor && n < b.Value || !b.Floor && n != b.Value
		}
	}
	if want, is := w.KubeletSysctls[name]; is {
		return value != want
	}
	switch {
	case strings.HasPrefix(name, "net.ipv4.conf.") && strings.HasSuffix(name, ".forwarding"):
		return value != "1"
	case strings.HasPrefix(name, "net.ipv4.conf.") && strings.HasSuffix(name, ".rp_filter"):
		return value == "1" && w.Network.StrictFails
	case name == facts.ForwardingParameter:
		return value != "1"
	}
	return false
}
