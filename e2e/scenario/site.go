package scenario

import (
	"strings"

	"airgap.dev/airgap/e2e/lab"
)

// What scenarios that run on hosts of others, too, may not take for granted.

// clusterName is the cluster's name, and that of its bundle.
func (e *Env) clusterName() string {
	if e.hosts != nil {
		return e.hosts.Cluster
	}
	return "bank"
}

// onStick is where a server finds the bundle.
func (e *Env) onStick() string { return lab.StickPath + "/" + e.clusterName() }

// skips is the flag that leaves checks out: in the lab what a container cannot
// pass, elsewhere what the file of hosts says.
func (e *Env) skips() string {
	if e.hosts != nil {
		return "--skip=" + strings.Join(e.hosts.Skip, ",")
	}
	return labSkips
}
