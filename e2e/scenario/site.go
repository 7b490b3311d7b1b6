package scenario

import (
	"strings"

	"airgap.dev/airgap/e2e/lab"
)

// What scenarios that run on hosts of others, too, may not take for granted.

// ClusterName is the cluster's name, and that of its bundle.
func (e *Env) ClusterName() string {
	if e.hosts != nil {
		return e.hosts.Cluster
	}
	return "bank"
}

// OnStick is where a server finds the bundle.
func (e *Env) OnStick() string { return lab.StickPath + "/" + e.ClusterName() }

// Skips is the flag that leaves checks out: in the lab what a container cannot
// pass, elsewhere what the file of hosts says.
func (e *Env) Skips() string {
	if e.hosts != nil {
		return "--skip=" + strings.Join(e.hosts.Skip, ",")
	}
	return LabSkips
}
