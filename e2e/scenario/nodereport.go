package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
)

// nodeReport is as much of a host's report as the scenario looks at.
type nodeReport struct {
	Report struct {
		BootID, Kernel, ProxyMode string
		Cgroup                    struct{ Runtime, Kubelet string }
		Units                     []struct{ Name, State string }
		Images                    *struct{ Unpinned, Missing []string }
		Packages                  *struct{ Changed, Unlocked []string }
		Sysctls                   []struct{ Key, Saw, Want string }
		Registries                []struct{ Address, Error string }
		Links                     []struct{ Name string }
		Certificates              []struct{ File string }
		Clock                     *struct{ Synchronized bool }
		Disks                     []struct{ Size, Free int64 }
		APIServer                 *struct{ Error string }
		Etcd                      *struct {
			Member, Error string
			HasLeader     bool
		}
		Unknown []struct{ Part, Reason string }
	}
}

// reported wants a report of each host as it is, that what changes on a host
// comes to the cluster, and that no node may write or read for another.
func reported(ctx context.Context, e *Env, first, worker lab.Machine) error {
	for _, m := range []lab.Machine{first, worker} {
		if err := reportsItself(ctx, e, first, m, m == first); err != nil {
			return fmt.Errorf("report of %s: %w", m.Name(), err)
		}
	}
	if err := reportsChange(ctx, e, first, worker); err != nil {
		return err
	}
	return reportsForItself(ctx, e, first, worker)
}

// reportsItself waits, since each part is looked at at its own pace: the first
// look of rpm takes a moment, and the pods' bridge comes with the first pod.
func reportsItself(ctx context.Context, e *Env, first, m lab.Machine, master bool) error {
	limit := time.After(100 * time.Second)
	for {
		r, err := e.Must(ctx, first, nil, "sh", "-c", Kubectl+"get nodereport "+m.Name()+" -o json")
		if err != nil {
			return err
		}
		boot, err := lab.Output(ctx, m, "cat", "/proc/sys/kernel/random/boot_id")
		if err != nil {
			return err
		}
		var got nodeReport
		if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil {
			return err
		}
		wrong := got.wrong(m.Name(), strings.TrimSpace(boot), master)
		if len(wrong) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit:
			return fmt.Errorf("not as it should be: %s:\n%s", strings.Join(wrong, ", "), r.Stdout)
		case <-time.After(time.Second):
		}
	}
}

// wrong names the parts that are not what a healthy host reports.
func (r nodeReport) wrong(host, bootID string, master bool) []string {
	n := r.Report
	is := map[string]bool{
		"unknown":      len(n.Unknown) > 0,
		"bootID":       n.BootID != bootID,
		"cgroup":       n.Cgroup.Runtime != "systemd" || n.Cgroup.Kubelet != "systemd",
		"proxyMode":    n.ProxyMode == "",
		"units":        len(n.Units) < 2,
		"images":       n.Images == nil || len(n.Images.Unpinned)+len(n.Images.Missing) > 0,
		"packages":     n.Packages == nil || len(n.Packages.Changed)+len(n.Packages.Unlocked) > 0,
		"sysctls":      len(n.Sysctls) > 0,
		"registries":   len(n.Registries) != 1 || n.Registries[0].Error != "",
		"links":        len(n.Links) < 3, // its own, the pods' bridge, the tunnel
		"certificates": len(n.Certificates) < 3,
		"clock":        n.Clock == nil,
		"disks":        len(n.Disks) == 0 || n.Disks[0].Free <= 0 || n.Disks[0].Free > n.Disks[0].Size,
		"apiServer":    (n.APIServer != nil) != master || master && n.APIServer.Error != "",
		"etcd":         (n.Etcd != nil) != master || master && (n.Etcd.Member != host || n.Etcd.Error != "" || !n.Etcd.HasLeader),
	}
	for _, u := range n.Units {
		is["units"] = is["units"] || u.State != "active"
	}
	maps.DeleteFunc(is, func(_ string, wrong bool) bool { return !wrong })
	return slices.Sorted(maps.Keys(is))
}

// reportsChange: a kernel parameter, and a registry that is silent.
func reportsChange(ctx context.Context, e *Env, first, worker lab.Machine) error {
	if err := e.Script(ctx, worker, "sysctl -qw net.ipv4.ip_forward=0"); err != nil {
		return err
	}
	if err := e.Script(ctx, first, "systemctl stop airgap-registry"); err != nil {
		return err
	}
	if err := awaitReport(ctx, e, first, worker, `{.report.sysctls}{.report.registries}`, `"key":"net.ipv4.ip_forward","saw":"0","want":"1".*"error":"connect: connection refused"`); err != nil {
		return err
	}
	if err := awaitReport(ctx, e, first, first, `{.report.units}`, `"name":"airgap-registry.service","state":"inactive"`); err != nil {
		return err
	}
	if err := e.Script(ctx, first, "systemctl start airgap-registry"); err != nil {
		return err
	}
	if err := e.Script(ctx, worker, "sysctl -qw net.ipv4.ip_forward=1"); err != nil {
		return err
	}
	return awaitReport(ctx, e, first, worker, `{.report.sysctls}{.report.registries[*].error}`, `^$`)
}

// reportsForItself has the kubelet's identity try what is none of its business,
// and the unit what it may not do on its own host.
func reportsForItself(ctx context.Context, e *Env, first, worker lab.Machine) error {
	const kubelets = "KUBECONFIG=/etc/kubernetes/kubelet.conf kubectl "
	return e.Script(ctx, worker,
		kubelets+"get nodereport "+worker.Name(),
		kubelets+"get nodereports 2>&1 | grep -q 'cannot list'",
		kubelets+"delete nodereport "+worker.Name()+" 2>&1 | grep -q 'cannot delete'",
		kubelets+"get nodereport "+first.Name()+" 2>&1 | grep -q 'cannot get'",
		`printf '{"apiVersion":"airgap.dev/v1alpha1","kind":"NodeReport","metadata":{"name":"other"},"report":{"heartbeat":"2026-03-01T12:00:00Z","program":"v1"}}' | `+kubelets+"create -f - 2>&1 | grep -q 'may write only its own report'",
		`set -- $(systemctl show -p MainPID --value airgap-node-report); grep -q "^CapEff:.*0000000000000000" /proc/$1/status`,
		`nsenter -t $(systemctl show -p MainPID --value airgap-node-report) -m sh -c '! touch /etc/x && ! touch /var/lib/airgap/x && ! echo 1 >/proc/sys/net/ipv4/ip_forward' 2>/dev/null`,
		"airgap node-report --once --output json | grep -q '\"bootID\": \"'$(cat /proc/sys/kernel/random/boot_id)",
	)
}

// awaitReport waits until what a report has at a path of kubectl fits.
func awaitReport(ctx context.Context, e *Env, first, m lab.Machine, path, pattern string) error {
	ask := Kubectl + "get nodereport " + m.Name() + " -o jsonpath='" + path + "'"
	return e.Script(ctx, first, `i=0; until `+ask+` >/tmp/report && { cat /tmp/report; echo; } | grep -Eq '`+pattern+`'; do
		i=$((i+1)); [ $i -lt 100 ] || { cat /tmp/report; exit 1; }; sleep 1; done; rm /tmp/report`)
}

// forgotten: a node's report goes with the node.
func forgotten(ctx context.Context, e *Env, first, worker lab.Machine) error {
	return e.Script(ctx, first,
		Kubectl+"get nodereport "+worker.Name(),
		Kubectl+"delete node "+worker.Name(),
		Soon(Gone("nodereport "+worker.Name())))
}
