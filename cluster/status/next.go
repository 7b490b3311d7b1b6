package status

import (
	"slices"
	"strings"

	"airgap.dev/airgap/cluster/certs"
	"airgap.dev/airgap/verify/nodereport"
)

// whatToDo returns the next actions, the most urgent first; none if the host is healthy. The
// conclusion says how to continue with the steps.
func (st *Status) whatToDo() []string {
	if len(st.Steps) == 0 && st.Cluster == "" && len(st.Problems) == 0 {
		return []string{"airgap preflight DIR judges this server by the bundle in DIR, and airgap install DIR installs it"}
	}
	var all []string
	if st.Health != nil && !st.Health.OK {
		all = append(all, "run airgap verify on a control-plane host: it lists the problems of the cluster")
	}
	all = append(all, append(st.deadNodes(), st.nextOwed()...)...)
	for _, renew := range []struct {
		by   nodereport.Renewer
		what string
	}{
		{nodereport.RenewedByAirgap, "run airgap certs renew to renew the certificates"},
		{nodereport.NotRenewed, "run airgap certs rotate-ca to replace a CA"},
		{nodereport.RenewedByKubelet, "the kubelet has not renewed its certificate: journalctl -u kubelet says why"},
	} {
		if slices.ContainsFunc(st.Certificates, func(c certs.Certificate) bool { return c.Renewed == renew.by }) {
			all = append(all, renew.what)
		}
	}
	if st.Backup != nil && st.Backup.Taken.After(st.now) {
		all = append(all, "set the clock; if it is right, delete the backups from the future, then airgap backup takes a new one")
	}
	if st.unsaved() {
		all = append(all, "airgap backup takes a backup; journalctl -u airgap-backup says why the last one was not taken")
	}
	if len(all) > 0 || st.unwell() {
		all = append(all, "run airgap support-bundle to collect data for support, without secrets")
	}
	return all
}

// unsaved reports whether a control plane has no backup of the last two days.
func (st *Status) unsaved() bool {
	return st.Unsaved || st.Backup != nil && st.now.Sub(st.Backup.Taken) > oldBackup
}

// unwell reports whether the host may need support. A running command is no reason.
func (st *Status) unwell() bool {
	bad := []string{stepFailed, stepDrifted, stepInterrupted, stepUnknown, stepUndone}
	steps := slices.ContainsFunc(st.Steps, func(s stepStatus) bool { return slices.Contains(bad, s.State) })
	return steps && !st.Busy || len(st.Problems)+len(st.Damage) > 0 ||
		strings.HasPrefix(st.Registry, "silent") || strings.HasPrefix(st.Registry, "unknown")
}
