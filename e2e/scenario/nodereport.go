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

// nodeReport contains the fields of a node report that the scenario checks.
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

// checkReports checks the node report of each host, that it shows changes on the host, and that
// a node can neither write nor read another node's report.
func checkReports(ctx context.Context, e *Env, first, worker lab.Machine) error {
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

// reportsItself waits until the report is complete, because its parts have different
// periods: the first rpm query takes a moment, and the first pod creates the pods' bridge.
func reportsItself(ctx context.Context, e *Env, first, m lab.Machine, controlPlane bool) error {
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
		wrong := got.wrong(m.Name(), strings.TrimSpace(boot), controlPlane)
		if len(wrong) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit:
			return fmt.Errorf("wrong parts: %s:\n%s", strings.Join(wrong, ", "), r.Stdout)
		case <-time.After(time.Second):
		}
	}
}

// wrong returns the parts that differ from the report of a healthy host.
func (r nodeReport) wrong(host, bootID string, controlPlane bool) []string {
	n := r.Report
	failed := map[string]bool{
		"unknown":      len(n.Unknown) > 0,
		"bootID":       n.BootID != bootID,
		"cgroup":       n.Cgroup.Runtime != "systemd" || n.Cgroup.Kubelet != "systemd",
		"proxyMode":    n.ProxyMode == "",
		"units":        len(n.Units) < 2,
		"images":       n.Images == nil || len(n.Images.Unpinned)+len(n.Images.Missing) > 0,
		"packages":     n.Packages == nil || len(n.Packages.Changed)+len(n.Packages.Unlocked) > 0,
		"sysctls":      len(n.Sysctls) > 0,
		"registries":   len(n.Registries) != 1 || n.Registries[0].Error != "",
		"links":        len(n.Links) < 3, // the host's interface, the pods' bridge, the tunnel
		"certificates": len(n.Certificates) < 3,
		"clock":        n.Clock == nil,
		"disks":        len(n.Disks) == 0 || n.Disks[0].Free <= 0 || n.Disks[0].Free > n.Disks[0].Size,
		"apiServer":    (n.APIServer != nil) != controlPlane || controlPlane && n.APIServer.Error != "",
		"etcd":         (n.Etcd != nil) != controlPlane || controlPlane && (n.Etcd.Member != host || n.Etcd.Error != "" || !n.Etcd.HasLeader),
	}
	for _, u := range n.Units {
		failed["units"] = failed["units"] || u.State != "active"
	}
	maps.DeleteFunc(failed, func(_ string, wrong bool) bool { return !wrong })
	return slices.Sorted(maps.Keys(failed))
}

// reportsChange checks that the report shows a changed kernel parameter and a stopped registry.
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

// reportsForItself checks that the kubelet's identity cannot access other reports, and that
// the unit has no write access on its host.
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

// awaitReport waits until the value of a report at a jsonpath matches pattern.
func awaitReport(ctx context.Context, e *Env, first, m lab.Machine, path, pattern string) error {
	ask := Kubectl + "get nodereport " + m.Name() + " -o jsonpath='" + path + "'"
	return e.Script(ctx, first, `i=0; until `+ask+` >/tmp/report && { cat /tmp/report; echo; } | grep -Eq '`+pattern+`'; do
		i=$((i+1)); [ $i -lt 100 ] || { cat /tmp/report; exit 1; }; sleep 1; done; rm /tmp/report`)
}

// reportDeleted checks that a node's report is deleted with the node.
func reportDeleted(ctx context.Context, e *Env, first, worker lab.Machine) error {
	return e.Script(ctx, first,
		Kubectl+"get nodereport "+worker.Name(),
		Kubectl+"delete node "+worker.Name(),
		Retry(IsGone("nodereport "+worker.Name())))
}
