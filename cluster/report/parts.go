// Package report collects the data that a host reports to the cluster.
package report

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/bundle/dnf"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/internal/version"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/verify/nodereport"
)

// Intervals and time limits of the parts. Parts that run a program or read much data
// have a long limit; rpm reads every file that airgap installed.
const (
	soon      = 10 * time.Second
	steadily  = 30 * time.Second // by all hosts at the same registries
	sometimes = time.Minute
	rarely    = 10 * time.Minute
	brief     = 10 * time.Second
	slow      = time.Minute // a GPU without a loaded driver takes seconds
	patient   = 5 * time.Minute
)

// Collector looks at the machine m.
func (s Settings) Collector(m kubeadm.Machine) (*nodereport.Collector, error) {
	c := &nodereport.Collector{Base: nodereport.Report{Program: version.String()}, Parts: s.parts(m)}
	var boot, kernel error
	c.Base.BootID, boot = nodereport.BootID(m.Host)
	c.Base.Kernel, kernel = nodereport.Kernel(m.Host)
	return c, errors.Join(boot, kernel)
}

func (s Settings) parts(m kubeadm.Machine) []nodereport.Part {
	type report = nodereport.Report
	h := m.Host
	parts := []nodereport.Part{
		part("units", soon, brief, func(ctx context.Context, r *report) (err error) {
			r.Units, err = s.units(ctx, h)
			return err
		}),
		part("programs", sometimes, brief, func(ctx context.Context, r *report) (err error) { r.Programs, err = s.programs(ctx, h); return err }),
		part("cgroup", sometimes, brief, func(ctx context.Context, r *report) (err error) { r.Cgroup, err = effectiveCgroup(ctx, m); return err }),
		part("proxyMode", soon, brief, func(ctx context.Context, r *report) (err error) {
			r.ProxyMode, err = nodereport.ProxyMode(ctx, nodereport.ProxyModeURL)
			return err
		}),
		part("images", soon, brief, func(ctx context.Context, r *report) (err error) { r.Images, err = s.images(ctx, m); return err }),
		{
			Name: "packages", Every: rarely, Limit: patient, Files: []string{dnf.RecordFile(site.DnfDir), site.VersionlockUndo, dnf.VersionLockList},
			Look: func(ctx context.Context, r *report) (err error) { r.Packages, err = s.packages(ctx, m); return err },
		},
		part("links", soon, brief, func(_ context.Context, r *report) (err error) { r.Links, err = nodereport.Links(); return err }),
		part("sysctls", soon, brief, func(_ context.Context, r *report) (err error) { r.Sysctls, err = driftedSysctls(m); return err }),
		part("registries", steadily, brief, func(ctx context.Context, r *report) error {
			r.Registries = nodereport.Registries(ctx, s.Registries)
			return nil
		}),
		part("clock", soon, brief, func(ctx context.Context, r *report) (err error) {
			r.Clock, err = nodereport.ReadClock(ctx, h)
			return err
		}),
		part("certificates", sometimes, brief, func(_ context.Context, r *report) (err error) {
			r.Certificates, err = nodereport.Certificates(h)
			return err
		}),
		part("gpu", sometimes, slow, func(ctx context.Context, r *report) (err error) { r.GPU, err = s.GPU.ask(ctx, h); return err }),
	}
	parts = append(parts, part("disks", steadily, brief, func(_ context.Context, r *report) (err error) {
		r.Disks, err = nodereport.Disks(s.places())
		return err
	}))
	if s.Address != "" {
		parts = append(parts, part("network", sometimes, slow, func(ctx context.Context, r *report) (err error) { r.Network, err = s.network(ctx, m); return err }), s.hostLinksPart(h))
	}
	if s.NextBoot != nil {
		parts = append(parts, s.nextBootPart(h))
	}
	if s.Etcd {
		parts = append(parts,
			part("etcd", soon, brief, func(ctx context.Context, r *report) (err error) { r.Etcd, err = s.etcdMember(ctx, m); return err }),
			part("apiServer", soon, brief, func(ctx context.Context, r *report) (err error) {
				r.APIServer, err = s.ownAPIServer(ctx, m)
				return err
			}))
	}
	return parts
}

func part(name string, every, limit time.Duration, look func(context.Context, *nodereport.Report) error) nodereport.Part {
	return nodereport.Part{Name: name, Every: every, Limit: limit, Look: look}
}

// places returns the directories with a minimum of free space in preflight. The unit cannot read
// UpgradeDir, which has unencrypted keys: its parent directory replaces it.
func (s Settings) places() []nodereport.Directory {
	var places []nodereport.Directory
	for _, space := range preflight.Spaces(s.crio(), s.roles()...) {
		if space.Path == site.UpgradeDir {
			space.Path = site.StateDir
		}
		places = append(places, nodereport.Directory{Path: space.Path, Use: space.User})
	}
	return places
}

func (s Settings) crio() bool { return slices.Contains(s.Units, "crio.service") }

func (s Settings) roles() []preflight.Role {
	roles := []preflight.Role{preflight.Worker}
	if s.Etcd {
		roles = append(roles, preflight.ControlPlane)
	}
	if s.Own != nil {
		roles = append(roles, preflight.Registry)
	}
	return roles
}

// ownAPIServer asks this host's API server over a new connection each time: a stopping server
// keeps its connections.
func (s Settings) ownAPIServer(ctx context.Context, m kubeadm.Machine) (*nodereport.APIServer, error) {
	config, err := kube.RESTConfig(m.Machine, kube.KubeletConf)
	if err != nil {
		return nil, err
	}
	if config.Host, err = kube.OwnAPIServer(m.Machine); err != nil {
		return nil, err
	}
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	defer utilnet.CloseIdleConnectionsFor(connection.Transport)
	client, err := kubernetes.NewForConfigAndClient(config, connection)
	if err != nil {
		return nil, err
	}
	return nodereport.QueryAPIServer(ctx, client, s.Node), nil
}

func (s Settings) etcdMember(ctx context.Context, m kubeadm.Machine) (*nodereport.Etcd, error) {
	member, err := m.LocalEtcd()
	if errors.Is(err, leave.ErrNoEtcd) { // of this host it was said that there is one
		return &nodereport.Etcd{Error: err.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	found := &nodereport.Etcd{}
	if self, err := member.Self(ctx); err != nil {
		found.Error = err.Error()
	} else {
		*found = nodereport.Etcd{
			Member: self.Name, HasLeader: self.HasLeader, Leads: self.Leads, Bytes: self.Bytes, Quota: self.Quota,
			Alarms: self.Alarms, Members: self.Members, Unstarted: self.Unstarted, Error: nodereport.EtcdHealthError(ctx, nodereport.EtcdHealth),
			Times: memberTimes(m), Wanted: s.EtcdTimes,
		}
	}
	newest, err := site.Backups().Newest()
	if newest != nil {
		found.Snapshot = &metav1.Time{Time: newest.Taken}
	}
	return found, err
}

// memberTimes returns nil for a manifest that cannot be read: the pod of a manifest without sense does not run.
func memberTimes(m kubeadm.Machine) *nodereport.EtcdTimes {
	flags, err := node.ManifestFlags(m.Machine, node.Etcd)
	if err != nil {
		return nil
	}
	heartbeat, election := kubeadm.EtcdMillisOf(flags)
	return &nodereport.EtcdTimes{Heartbeat: heartbeat, Election: election}
}

func effectiveCgroup(ctx context.Context, m kubeadm.Machine) (*nodereport.Cgroup, error) {
	found, err := runtime.ReadBack(ctx, m.Machine)
	if err != nil {
		return nil, err
	}
	v, err := runtime.CgroupVersion(m.Host)
	if err != nil {
		return nil, err
	}
	kubelet, err := nodereport.LocalKubelet().Driver(ctx)
	return &nodereport.Cgroup{
		Version: v, Runtime: string(found.Runtime), Kubelet: kubelet, Configured: string(found.Kubelet),
		Host: string(found.Host), Others: found.Others,
	}, err
}

func (s Settings) images(ctx context.Context, m kubeadm.Machine) (*nodereport.Images, error) {
	unpinned, missing, err := runtime.Pinned(ctx, m.Machine, s.Pinned)
	return &nodereport.Images{Unpinned: unpinned, Missing: missing}, err
}

// packages leaves out of rpm's findings the modes that airgap itself has changed.
func (s Settings) packages(ctx context.Context, m kubeadm.Machine) (*nodereport.Packages, error) {
	changed, err := dnf.Transaction{Host: m.Host, StateDir: site.DnfDir}.Altered(ctx)
	if err != nil {
		return nil, err
	}
	closed, err := kubeadm.ClosedFiles(m)
	if err != nil {
		return nil, err
	}
	lock := dnf.VersionLock{UndoFile: site.VersionlockUndo, Packages: s.Locked}
	unlocked, err := lock.Unlocked()
	if err != nil {
		return nil, err
	}
	found := &nodereport.Packages{Changed: exceptModes(changed, closed), Unlocked: unlocked}
	if len(unlocked) > 0 {
		found.Plugin, err = lock.Plugin()
	}
	return found, err
}

// exceptModes drops lines that say no more than that the mode of one of files is
// another one.
func exceptModes(lines, files []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool {
		differs, file, _ := strings.Cut(line, "  ")
		return strings.Trim(differs, ".") == "M" && slices.Contains(files, file)
	})
}

func driftedSysctls(m kubeadm.Machine) ([]nodereport.Setting, error) {
	drifted, err := settings.DriftedSysctls(m.Machine)
	var all []nodereport.Setting
	for _, d := range drifted {
		all = append(all, nodereport.Setting{Key: d.Key, Saw: d.Saw, Want: d.Want})
	}
	return all, err
}
