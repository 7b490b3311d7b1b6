// Package kubeadm turns a prepared host into a node of a cluster, and keeps
// the container runtime and the kubelet in agreement.
//
// In flow the sections kubernetes: and runtime: of airgap.yaml, what was
// observed of the host, and the files of the bundle. Out flow lists of what
// the bundle has to hold (Images, Files, Packages, Repository) and steps:
// host settings, runtime, init or join, cgroup agreement.
//
// kubeadm does kubeadm's work: this package writes its configuration, runs it
// and explains its failures. It never edits what kubeadm wrote, never pulls
// an image, never talks to anything outside the cluster, and never resets a
// node that was set up to the end.
package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"airgap.dev/airgap/internal/host"
)

// Where things lie on a node, before Machine.Root.
const (
	BinDir        = "/opt/airgap/bin"
	CRISocket     = "/run/containerd/containerd.sock"
	AdminConf     = "/etc/kubernetes/admin.conf"
	KubeletConf   = "/etc/kubernetes/kubelet.conf"
	ConfigFile    = "/etc/airgap/kubeadm.yaml"
	schedulerConf = "/etc/kubernetes/scheduler.conf"
	clusterCA     = "/etc/kubernetes/pki/ca.crt"
	kubeletDir    = "/var/lib/kubelet"
	kubeletConfig = kubeletDir + "/config.yaml"
	etcdDir       = "/var/lib/etcd"
	lockFile      = "/run/airgap/kubeadm.lock"
	stateDir      = "/var/lib/airgap"
	undoDir       = stateDir + "/undo"
	logDir        = "/var/log/airgap"
)

// Machine is the host that the steps change. Root comes before every path
// that is read or written; "" or "/" is the machine itself.
type Machine struct {
	Host    host.Host
	Root    string
	Network Traces // what the network plugin leaves on a host
	Wipe    bool   // an undo need not keep etcd's data
}

func (m Machine) path(p string) string { return filepath.Join("/", m.Root, p) }

// run runs a command whose output nobody reads.
func (m Machine) run(ctx context.Context, name string, args ...string) error {
	_, err := m.Host.Run(ctx, host.Cmd{Name: name, Args: args})
	return err
}

// unitIs asks systemctl is-active or is-enabled. Any answer but yes is a no;
// only a systemctl that cannot be run is an error.
func (m Machine) unitIs(ctx context.Context, question, unit string) (bool, error) {
	err := m.run(ctx, "systemctl", question, "--quiet", unit)
	var failed *host.CommandError
	if errors.As(err, &failed) && failed.ExitCode > 0 {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask systemd about %s: %w", unit, err)
	}
	return true, nil
}

// unitRuns reports whether unit is active now and after a reboot.
func (m Machine) unitRuns(ctx context.Context, unit string) (bool, error) {
	enabled, err := m.unitIs(ctx, "is-enabled", unit)
	if err != nil || !enabled {
		return false, err
	}
	return m.unitIs(ctx, "is-active", unit)
}
