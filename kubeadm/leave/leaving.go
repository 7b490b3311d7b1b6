package leave

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path"
	"slices"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/etcd"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/pki"
	"airgap.dev/airgap/kubeadm/runtime"
)

// Leave undoes init or join: it removes the pods, the certificates, and the cluster's objects in
// the kernel. It does nothing on a host where airgap has not started kubeadm, so that it leaves
// foreign clusters unchanged.
func (m Member) Leave(ctx context.Context) error {
	s, err := node.StateOf(m.Machine)
	if err != nil || s == node.Untouched {
		return err
	}
	before, err := m.record()
	if err != nil {
		return err
	}
	if err := m.resetNode(ctx, s); err != nil {
		return err
	}
	if err := m.Run(ctx, "systemctl", "disable", "--now", "kubelet"); err != nil {
		return fmt.Errorf("stop the kubelet: %w", err)
	}
	if err := m.removeCgroups(ctx); err != nil {
		return err
	}
	if err := m.deleteLinks(ctx, before); err != nil {
		return err
	}
	if err := m.deleteRoutes(ctx, before); err != nil {
		return err
	}
	if err := m.cleanFilter(ctx, before); err != nil {
		return err
	}
	var errs []error
	for _, file := range []string{ConfigFile, ConfiguredFile, UpgradedFile, ProxyConfiguredFile, ProxyPendingFile, pki.RenewalFile, pki.RotationFile, jointoken.JoinConf, node.StateFile} {
		errs = append(errs, host.Remove(m.Path(file)))
	}
	errs = append(errs, host.RemoveTree(m.Path(node.PatchesDir)))
	return errors.Join(errs...)
}

// LeaveForRestore is Leave for a host of a cluster that is about to be restored from a backup: it sends
// nothing to the old cluster. It keeps the other changes of airgap on the host.
func (m Member) LeaveForRestore(ctx context.Context) error {
	m.Alone = true
	return m.Leave(ctx)
}

// resetNode runs kubeadm reset. It starts the runtime first: without it kubeadm only warns, and
// the pods would continue to run.
func (m Member) resetNode(ctx context.Context, s node.State) error {
	if err := runtime.Start(ctx, m.Machine, "which has to remove the pods"); err != nil {
		return err
	}
	args := []string{"--force", "--cri-socket", runtime.Endpoint(m.Machine)}
	client, others := m.others(ctx)
	if others && s == node.Ended {
		if err := m.quorumStays(ctx); err != nil {
			return err
		}
	}
	if _, err := os.Stat(m.Path(kube.AdminConf)); others || err != nil { // a worker has no such file
		if err := m.noteListed(); err != nil {
			return err
		}
	}
	if others {
		return m.removeNode(ctx, client, args)
	}
	if s != node.Ended || m.Wipe {
		if err := m.KubeadmReset(ctx, args...); err != nil || s == node.Ended {
			return err
		}
		return m.dropRestored()
	}
	// The skipped phase deletes etcd's data. It also removes the member from etcd, but no other
	// member exists or is reachable.
	if err := m.KubeadmReset(ctx, append(args, "--skip-phases", "remove-etcd-member")...); err != nil {
		return err
	}
	if m.Wipe {
		return host.RemoveTree(m.Path(node.EtcdDir + "/member"))
	}
	return m.keepEtcd(ctx)
}

// dropRestored deletes the data of an interrupted restore. kubeadm reset deletes etcd's data only
// if kubeadm had already created etcd's manifest.
func (m Member) dropRestored() error {
	if _, err := os.Stat(m.Path(ConfigFile)); err != nil {
		return host.IgnoreMissing(err) // the host was joining
	}
	return errors.Join(host.RemoveTree(m.Path(node.EtcdDir+"/"+etcd.Draft)), host.RemoveTree(m.Path(node.EtcdDir+"/member")))
}

// keepEtcd moves the data of the stopped etcd to KeptDir, because kubeadm init requires an empty
// directory. KeptDir may be on another file system. keepEtcd also copies the encryption keys of
// Secrets: at a later undo the host may have the keys of another cluster.
func (m Member) keepEtcd(ctx context.Context) error {
	data, copied := node.EtcdDir+"/member", node.EtcdDir+"/copied"
	if err := host.RemoveTree(m.Path(copied)); err != nil {
		return err
	}
	if _, err := os.Stat(m.Path(data)); err != nil {
		return host.IgnoreMissing(err)
	}
	part := partlyKept
	if err := errors.Join(host.RemoveTree(m.Path(part)), os.MkdirAll(m.Path(KeptDir), 0o700)); err != nil {
		return err
	}
	if err := m.copyEtcd(ctx, data, part); err != nil {
		next := "free space in " + KeptDir
		if !m.Alone { // during a restore, --wipe-data would delete the old data
			next += ", or run airgap reset --wipe-data"
		}
		return &host.Failure{What: "keep etcd's data", Err: err, Next: next}
	}
	to := m.unused(path.Join(KeptDir, "etcd-"+time.Now().UTC().Format("20060102T150405Z")))
	if err := os.Rename(m.Path(part), m.Path(to)); err != nil {
		return err
	}
	if err := host.SyncDir(m.Path(KeptDir)); err != nil {
		return err
	}
	if err := os.Rename(m.Path(data), m.Path(copied)); err != nil {
		return err
	}
	return host.RemoveTree(m.Path(copied))
}

// copyEtcd copies etcd's data and the encryption keys, and syncs the copy to the disk.
func (m Member) copyEtcd(ctx context.Context, data, to string) error {
	if err := m.Run(ctx, "cp", "--archive", "--reflink=auto", m.Path(data), m.Path(to)); err != nil {
		return err
	}
	if err := encryption.CopyKeys(m.Machine, to); err != nil {
		return err
	}
	return m.Run(ctx, "sync", "--file-system", m.Path(to))
}

// unused is p, or p with a number if p exists: after a clock change the same second can occur
// twice.
func (m Member) unused(p string) string {
	free := p
	for n := 2; ; n++ {
		if _, err := os.Lstat(m.Path(free)); err != nil {
			return free
		}
		free = fmt.Sprintf("%s-%d", p, n)
	}
}

// deleteLinks deletes the cluster's network interfaces. The kernel deletes their routes.
func (m Member) deleteLinks(ctx context.Context, before record) error {
	now, err := m.links(ctx)
	if err != nil {
		return err
	}
	var deleted []string
	for _, pattern := range m.traces().Links {
		for _, link := range now {
			if !settings.IsNamed(link)(pattern) || slices.Contains(before.Links, link) || slices.Contains(deleted, link) {
				continue
			}
			if err := m.deleteLink(ctx, link); err != nil {
				return err
			}
			deleted = append(deleted, link)
		}
	}
	return nil
}

// deleteRoutes deletes the routes to pods of other hosts through the host's own interface. A pod
// network without a tunnel creates them.
func (m Member) deleteRoutes(ctx context.Context, before record) error {
	if before.Pods == "" { // record of an older airgap without such networks
		return nil
	}
	pods, err := netip.ParsePrefix(before.Pods)
	if err != nil {
		return fmt.Errorf("read the pod network in %s: %w", recordFile, err)
	}
	out, err := m.Host.Run(ctx, host.Cmd{Name: "ip", Args: []string{"-json", "route"}})
	var all []struct{ Dst, Gateway, Dev string }
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil {
		return fmt.Errorf("list routes: %w", err)
	}
	for _, r := range all {
		to, err := netip.ParsePrefix(r.Dst)
		if err != nil || r.Gateway == "" || !pods.Contains(to.Addr()) {
			continue
		}
		if err := m.Run(ctx, "ip", "route", "delete", r.Dst, "via", r.Gateway, "dev", r.Dev); err != nil {
			return fmt.Errorf("delete the route to the pods of %s: %w", r.Gateway, err)
		}
	}
	return nil
}

// deleteLink deletes an interface. It is no error if the interface no longer exists: the kernel
// deletes both ends of a pair together.
func (m Member) deleteLink(ctx context.Context, link string) error {
	failed := m.Run(ctx, "ip", "link", "delete", link)
	if failed == nil {
		return nil
	}
	if now, err := m.links(ctx); err == nil && !slices.Contains(now, link) {
		return nil
	}
	return fmt.Errorf("delete network interface %s: %w", link, failed)
}

// links are the names of the host's network interfaces. It does not read /sys, which may show
// another network namespace.
func (m Member) links(ctx context.Context) ([]string, error) {
	out, err := m.Host.Run(ctx, host.Cmd{Name: "ip", Args: []string{"-json", "link"}})
	var all []struct{ IfName string }
	if err == nil && len(out) > 0 {
		err = json.Unmarshal(out, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("list network interfaces: %w", err)
	}
	names := make([]string, len(all))
	for i, link := range all {
		names[i] = link.IfName
	}
	return names, nil
}

// KubeadmReset runs kubeadm reset, which deletes the targets of symbolic links. It runs only if the
// paths resolve as at the installation (Unmoved).
func (m Member) KubeadmReset(ctx context.Context, args ...string) error {
	if err := m.CheckTargets(kubeadmDeletes()...); err != nil {
		return err
	}
	return node.Kubeadm(ctx, m.Machine, nil, nil, "reset", args...)
}
