package scenario

import (
	"strings"

	"airgap.dev/airgap/e2e/lab"
)

// ClusterName is the name of the cluster and of its bundle.
func (e *Env) ClusterName() string {
	if e.hosts != nil {
		return e.hosts.Cluster
	}
	return "bank"
}

// BundleOnStick is the directory of the bundle on a server.
func (e *Env) BundleOnStick() string { return lab.StickPath + "/" + e.ClusterName() }

// Skips is the flag that skips checks: in the lab those that a container cannot pass, on
// foreign hosts those of the hosts file.
func (e *Env) Skips() string {
	if e.hosts != nil {
		return "--skip=" + strings.Join(e.hosts.Skip, ",")
	}
	return LabSkips
}
