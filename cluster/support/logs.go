package support

import (
	"cmp"
	"context"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/upkeep"
	"airgap.dev/airgap/verify/nodereport"
)

// loggedUnits returns the systemd units of a node. The most useful logs are first.
func loggedUnits() []string {
	return []string{
		"kubelet.service", "containerd.service", "crio.service", registry.UnitName, nodereport.UnitName, jointoken.ApproverUnit, "airgap-registry-renew.service",
		"airgap-backup.service", upkeep.RenewService, upkeep.VerifyService, "airgap-cdi.service", "airgap-mig.service", "airgap-persistenced.service", "nvidia-persistenced.service", "nvidia-fabricmanager.service",
		"firewalld.service", "NetworkManager.service", "chronyd.service", "fapolicyd.service",
	}
}

// The number of a unit's newest lines limits the work of journalctl. The part's Room limits the text.
const (
	mostLines = 20_000
	someLines = 4_000
)

// unitLogs returns the parts with the journal of the units and of the kernel.
func (e *Evidence) unitLogs() []Part {
	var all []Part
	for i, unit := range loggedUnits() {
		room, lines := some, someLines
		if i < 4 {
			room, lines = plenty, mostLines
		}
		name := "logs/" + strings.TrimSuffix(unit, ".service") + ".log"
		all = append(all, e.journal(name, "Log of "+unit, room, lines, "--unit", unit))
	}
	return append(all,
		e.journal("logs/kernel.log", "Log of the kernel since the boot", some, someLines, "--dmesg"),
		e.journal("logs/errors.log", "All errors in the journal since the boot", some, someLines, "--boot", "--priority", "err"),
	)
}

func (e *Evidence) journal(name, title string, room, lines int, which ...string) Part {
	args := append([]string{"--no-pager", "--quiet", "--output", "short-iso-precise", "--lines", strconv.Itoa(lines)}, which...)
	return Part{Name: name, Title: title, Limit: long, Room: room, Log: true, Midway: true, Write: func(ctx context.Context, w io.Writer) error {
		return e.command(ctx, w, "journalctl", args...)
	}}
}

// mostPods limits the number of pod logs, because a host with crashing pods has many.
const mostPods = 60

// podLogs returns the parts with the container logs of system pods. Static pods are first. Each container has its
// newest two files. The archive does not contain logs of the site's own pods.
func (e *Evidence) podLogs() []Part {
	var all []podLog
	for _, namespace := range []string{"kube-system", "kube-flannel", "calico-system", "tigera-operator", "airgap-system"} {
		for _, file := range e.found("var/log/pods/" + namespace + "_*/*/*.log") {
			all = append(all, readPodLog(file))
		}
	}
	slices.SortStableFunc(all, func(a, b podLog) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.container(), b.container()), cmp.Compare(b.number, a.number))
	})
	var parts []Part
	same, last := 0, ""
	for _, l := range all {
		if l.container() != last {
			same, last = 0, l.container()
		}
		if same++; same > 2 || len(parts) == mostPods {
			continue
		}
		room := little
		if l.rank() == 0 {
			room = 2 * some
		}
		parts = append(parts, e.log(below("logs/pods", l.name()), "Log of a container", l.file, room))
	}
	return parts
}

// podLog is the file var/log/pods/NAMESPACE_POD_UID/CONTAINER/NUMBER.log. NUMBER counts the restarts of the
// container from 0.
type podLog struct {
	file   string
	number int
}

func readPodLog(file string) podLog {
	number, err := strconv.Atoi(strings.TrimSuffix(path.Base(file), ".log"))
	if err != nil {
		number = -1
	}
	return podLog{file, number}
}

func (l podLog) container() string { return path.Dir(l.file) }

// rank returns 0 for the static pods of a control plane, otherwise 1.
func (l podLog) rank() int {
	switch path.Base(l.container()) {
	case "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler":
		return 0
	}
	return 1
}

// name returns the name in the archive, with the first 8 characters of the pod's UID.
func (l podLog) name() string {
	pod := path.Base(path.Dir(l.container()))
	if at := strings.LastIndexByte(pod, '_'); at >= 0 {
		pod = pod[:min(at+9, len(pod))]
	}
	return path.Join(pod, path.Base(l.container())+"-"+path.Base(l.file))
}
