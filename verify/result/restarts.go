package result

// RestartsSince counts the restarts since the baseline. A pod that is new since then, also a static
// pod under its old name, is compared with zero. A reboot of the host explains one restart.
func (p PodState) RestartsSince(before PodState, rebooted bool) int32 {
	n := p.Restarts
	if before.Restarts <= n {
		n -= before.Restarts
	}
	if rebooted && before.Name != "" {
		n--
	}
	return max(n, 0)
}

// Rebooted returns the nodes whose hosts have booted since the baseline.
func Rebooted(before, now map[string]NodeState) map[string]bool {
	all := map[string]bool{}
	for name, n := range now {
		was, there := before[name]
		all[name] = there && was.BootID != n.BootID
	}
	return all
}
