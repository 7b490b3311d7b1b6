// Package kubeadm turns a prepared host into a node of a cluster, looks after
// it, and takes it back.
//
// In flow the sections kubernetes:, runtime: and hostSettings: of airgap.yaml,
// what was observed of the host, and the files of the bundle. Out flow what the
// bundle has to hold (Images, Files, Packages, PackageRepository), the table of
// ports (Listens), and steps with their undo: kernel modules and parameters,
// swap, firewalld, NetworkManager, SELinux, fapolicyd; the runtime; init or
// join; modes of files, cgroup agreement. In a cluster that stands IssueCode lets
// a host in, Compliance tells what a host has of the baseline, Rotation replaces
// the key of the Secrets, Renewal makes certificates anew, and Replacement an
// authority.
//
// kubeadm does kubeadm's work: this package writes its configuration, runs it
// and explains its failures. Of what kubeadm made it changes the modes of files,
// authorities that are replaced and, of CoreDNS, the Corefile at a site without
// name servers and the host of a pod. A node that was set up to the end is reset by
// an undo only. Nothing here pulls an image or talks to anything outside the cluster.
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
	BinDir                = "/opt/airgap/bin"
	AdminConf             = "/etc/kubernetes/admin.conf"
	KubeletConf           = "/etc/kubernetes/kubelet.conf"
	ConfigFile            = "/etc/airgap/kubeadm.yaml"
	schedulerConf         = "/etc/kubernetes/scheduler.conf"
	superAdminConf        = "/etc/kubernetes/super-admin.conf"
	controllerManagerConf = "/etc/kubernetes/controller-manager.conf"
	ClusterCA             = "/etc/kubernetes/pki/ca.crt"
	kubeletDir            = "/var/lib/kubelet"
	kubeletConfig         = kubeletDir + "/config.yaml"
	etcdDir               = "/var/lib/etcd"
	lockFile              = "/run/airgap/kubeadm.lock"
	stateDir              = "/var/lib/airgap"
	undoDir               = stateDir + "/undo"
	logDir                = "/var/log/airgap"
)

// Machine is the host that the steps change. Root comes before every path
// that is read or written; "" or "/" is the machine itself.
type Machine struct {
	Host    host.Host
	Root    string
	Network Traces // what the network plugin leaves on a host
	Pods    string // network of the pods' addresses; not needed to go back
	Wipe    bool   // an undo need not keep etcd's data
	Alone   bool   // an undo asks nothing of the cluster: it is about to be another one
	EtcdURL string // of this host's own member; "" is where kubeadm has it listen
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
