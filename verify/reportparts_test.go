package verify

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/verify/nodereport"
)

// TestFromTheFuture checks dates from a clock that was ahead.
func TestFromTheFuture(t *testing.T) {
	now := time.Now()
	later, before := metav1.NewTime(now.Add(time.Hour)), metav1.NewTime(now.Add(-time.Hour))
	valid := metav1.NewTime(now.Add(400 * 24 * time.Hour))
	at := func(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }
	backed := func(taken metav1.Time) *nodereport.Etcd {
		return &nodereport.Etcd{HasLeader: true, Members: []string{"w1"}, Snapshot: &taken}
	}
	for name, test := range map[string]struct {
		rule rule
		says nodereport.Report
		want []Finding
	}{
		"a valid certificate": {certificates(), nodereport.Report{Certificates: []nodereport.Certificate{{File: "/a.crt", Ends: valid, Begins: &before}}}, nil},
		"a certificate that is not valid yet": {certificates(), nodereport.Report{Certificates: []nodereport.Certificate{{File: "/a.crt", Ends: valid, Begins: &later}}},
			[]Finding{{Object: "Node w1, /a.crt", Saw: "is valid only from " + at(later) + ": the clock was ahead when it was made, or is behind now"}}},
		"a backup": {etcdHealthy(), nodereport.Report{Etcd: backed(before)}, nil},
		"a backup from the future": {etcdHealthy(), nodereport.Report{Etcd: backed(later)},
			[]Finding{{Object: "etcd on w1", Saw: "the newest backup is from the future, " + at(later) + ": the clock was ahead when it was taken, or is behind now"}}},
	} {
		v := seen(t, node("w1", corev1.ConditionTrue), report(t, "w1", test.says))
		v.now = now
		t.Run(name, func(t *testing.T) { wantSaw(t, test.rule.judge(v), test.want...) })
	}
}

func TestDiskSpace(t *testing.T) {
	const gb = 1e9
	disk := func(free int64, inodesFree int64) nodereport.Disk {
		return nodereport.Disk{Path: "/var/lib/kubelet", Uses: []string{"kubelet", "etcd"}, Size: 100 * gb, Free: free, Inodes: 1000, InodesFree: inodesFree}
	}
	for name, test := range map[string]struct {
		disk nodereport.Disk
		saw  string
	}{
		"enough space":                   {disk(15*gb, 50), ""},
		"little space":                   {disk(14*gb, 900), "14 % free, 14.0 GB of 100.0 GB (kubelet, etcd)"},
		"few inodes":                     {disk(90*gb, 49), "4 % of its inodes free (kubelet, etcd)"},
		"inodes are created when needed": {nodereport.Disk{Size: 100 * gb, Free: 50 * gb}, ""},
	} {
		var want []Finding
		if test.saw != "" {
			want = []Finding{{Object: "Node w1, /var/lib/kubelet", Saw: test.saw}}
		}
		v := seen(t, node("w1", corev1.ConditionTrue), report(t, "w1", nodereport.Report{Disks: []nodereport.Disk{test.disk}}))
		t.Run(name, func(t *testing.T) { wantSaw(t, judgeDisks(v), want...) })
	}
}

func TestAPIServers(t *testing.T) {
	v := seen(t)
	for host, a := range map[string]*nodereport.APIServer{"cp1": {Behind: 40}, "cp2": {Error: "it is not ready: etcd"}, "cp3": {Behind: 41}, "w1": nil} {
		v.put(t, report(t, host, nodereport.Report{APIServer: a}))
	}
	wantSaw(t, judgeAPIServers(v), Finding{Object: "API server on cp2", Saw: "it is not ready: etcd"}, Finding{Object: "API server on cp3", Saw: "its cache is 41 seconds behind etcd"})
}

// TestPartsExpected: a part is missing on a host if another host with the same airgap version reports
// it. It is not missing on a host with an older version during an upgrade.
func TestPartsExpected(t *testing.T) {
	has, none := &nodereport.APIServer{}, (*nodereport.APIServer)(nil)
	says := func(program string, a *nodereport.APIServer) *nodereport.Report {
		return &nodereport.Report{Heartbeat: metav1.NowMicro(), Program: program, APIServer: a}
	}
	for name, test := range map[string]struct {
		first, second    *nodereport.Report
		missing, nothing string
	}{
		"both":                 {says("2", has), says("2", has), "", ""},
		"neither":              {says("2", none), says("2", none), "", "no host reports apiServer: the hosts run an older airgap"},
		"one of two":           {says("2", has), says("2", none), "the NodeReport does not contain apiServer: cp2", ""},
		"an older airgap":      {says("2", has), says("1", none), "", ""},
		"one has no report":    {says("2", has), nil, "no NodeReport: cp2", ""},
		"none has a report":    {nil, nil, "", "no host reports apiServer: the hosts run an older airgap"},
		"an older one reports": {says("1", has), says("2", none), "", ""},
	} {
		v := seen(t, node("cp1", corev1.ConditionTrue, controlPlaneNode), node("cp2", corev1.ConditionTrue, controlPlaneNode), node("w1", corev1.ConditionTrue))
		for host, r := range map[string]*nodereport.Report{"cp1": test.first, "cp2": test.second} {
			if r != nil {
				v.put(t, report(t, host, *r))
			}
		}
		if got := apiServers().expects(v); got.missing != test.missing || got.nothing != test.nothing {
			t.Errorf("%s: %+v", name, got)
		}
		if got := diskSpace().expects(v); !strings.HasPrefix(got.nothing, "no host reports") {
			t.Errorf("%s: %+v for disks, which no host reports", name, got)
		}
	}
}
