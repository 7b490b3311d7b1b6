package verify

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/verify/nodereport"
)

var update = flag.Bool("update", false, "write the golden file again")

// TestAdvice compares the fixes of the rules about hosts with the golden file. Each line was
// checked against the effect of its command. Check a changed line again.
func TestAdvice(t *testing.T) {
	taken := metav1.NewTime(time.Now())
	etcd := func(change func(*nodereport.Etcd)) nodereport.Report {
		e := &nodereport.Etcd{HasLeader: true, Members: []string{"w1"}, Quota: 2 << 30, Snapshot: &taken}
		change(e)
		return nodereport.Report{Etcd: e}
	}
	var all []Finding
	for _, c := range []struct {
		rule rule
		says nodereport.Report
	}{
		{packagesUnchanged(), nodereport.Report{Packages: &nodereport.Packages{Changed: []string{"S.5....T.  /usr/bin/kubelet"}, Unlocked: []string{"kubelet"}}}},
		{packagesUnchanged(), nodereport.Report{Packages: &nodereport.Packages{Unlocked: []string{"kubelet"}, Plugin: nodereport.PluginMissing}}},
		{packagesUnchanged(), nodereport.Report{Packages: &nodereport.Packages{Unlocked: []string{"kubelet"}, Plugin: nodereport.PluginOff}}},
		{unitsRun(), nodereport.Report{Units: []nodereport.Unit{{Name: "kubelet.service", State: "active", Restricted: "PrivateTmp=yes: own mounts"}}}},
		{sysctlsStay(), nodereport.Report{Sysctls: []nodereport.Setting{{Key: "kernel.panic", Saw: "0", Want: "10"}, {Key: "systemd-sysctl.service", Saw: "masked", Want: "not masked"}}}},
		{imagesPinned(), nodereport.Report{Images: &nodereport.Images{Unpinned: []string{"pause:3.10"}, Missing: []string{"flannel:v1"}}}},
		{registriesReached(), nodereport.Report{Registries: []nodereport.Registry{{Address: "10.0.0.1:5000", Error: "no answer"}}}},
		{timeSynchronized(), nodereport.Report{Clock: &nodereport.Clock{}}},
		{etcdHealthy(), etcd(func(e *nodereport.Etcd) { e.HasLeader = false })},
		{etcdHealthy(), etcd(func(e *nodereport.Etcd) { e.Alarms, e.Bytes = []string{"NOSPACE"}, 2<<30 })},
	} {
		v := seen(t, node("w1", corev1.ConditionTrue), report(t, "w1", c.says))
		all = append(all, c.rule.judge(v)...)
	}
	all = append(all, judgePressure(seen(t, node("w1", corev1.ConditionTrue, func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue})
	})))...)
	var got strings.Builder
	for _, f := range all {
		fmt.Fprintf(&got, "%s: %s\n  %s\n", f.Object, f.Saw, f.Fix)
	}
	const path = "testdata/golden/advice.txt"
	if *update {
		if err := host.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got.String() != string(want) {
		t.Errorf("%s differs (go test ./verify -update writes it again), %v:\n%s", path, err, got.String())
	}
}
