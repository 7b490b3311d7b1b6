package verify

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"airgap.dev/airgap/verify/nodereport"
)

// chaosObjects has the kinds of the rules in the chaos test.
func chaosObjects() map[kind]metav1.TypeMeta {
	return map[kind]metav1.TypeMeta{
		nodes:            {APIVersion: "v1", Kind: "Node"},
		pods:             {APIVersion: "v1", Kind: "Pod"},
		namespaceObjects: {APIVersion: "v1", Kind: "Namespace"},
		services:         {APIVersion: "v1", Kind: "Service"},
		daemonSets:       {APIVersion: "apps/v1", Kind: "DaemonSet"},
		deployments:      {APIVersion: "apps/v1", Kind: "Deployment"},
		statefulSets:     {APIVersion: "apps/v1", Kind: "StatefulSet"},
		replicaSets:      {APIVersion: "apps/v1", Kind: "ReplicaSet"},
		jobs:             {APIVersion: "batch/v1", Kind: "Job"},
		endpointSlices:   {APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"},
		leases:           {APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		nodeReports:      {APIVersion: nodereport.Kind.GroupVersion().String(), Kind: nodereport.Kind.Kind},
	}
}

func chaosKinds() []kind {
	return []kind{nodes, pods, services, daemonSets, deployments, statefulSets, replicaSets, endpointSlices, leases, nodeReports}
}

// chaosRules are the rules that detect a defect.
func chaosRules() []string {
	return []string{"nodes-ready", "control-plane", "system-workloads", "system-pods", "leaders", "dns", "node-leases", "node-reports", "units"}
}

// defect is a problem of the cluster.
type defect struct {
	name string
	kind kind // kind with the problem
	set  func(b *chaosCluster, healthy bool)
	// rules are broken by the defect. Without it and the others of the same rules, they are ok.
	rules []string
}

func defects() []defect {
	const scheduler = "kube-scheduler-cp1"
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	return []defect{
		{"a pod crashes", pods, func(b *chaosCluster, healthy bool) {
			if healthy {
				b.pod(pod("kube-system", "etcd-cp1", "cp1"))
			} else {
				b.pod(pod("kube-system", "etcd-cp1", "cp1", waiting("CrashLoopBackOff", "back-off 10s")))
			}
		}, []string{"system-pods", "control-plane"}},
		{"a pod is deleted", pods, func(b *chaosCluster, healthy bool) {
			if healthy {
				b.pod(pod("kube-system", scheduler, "cp1"))
			} else {
				b.must(b.client.CoreV1().Pods("kube-system").Delete(b.t.Context(), scheduler, now))
			}
		}, []string{"control-plane"}},
		{"a node is not ready", nodes, func(b *chaosCluster, healthy bool) { b.node(node("w1", ready(healthy))) }, []string{"nodes-ready"}},
		{"too few pods", deployments, func(b *chaosCluster, healthy bool) { b.deployment(map[bool]int32{true: 2}[healthy]) }, []string{"system-workloads"}},
		{"a unit failed", nodeReports, func(b *chaosCluster, healthy bool) {
			b.report("w1", map[bool]string{true: "active", false: "failed"}[healthy])
		}, []string{"units"}},
		{"a report is deleted", nodeReports, func(b *chaosCluster, healthy bool) {
			if healthy {
				b.report("cp1", "active")
			} else {
				b.silence("cp1")
				b.must(b.dynamic.Resource(nodereport.Resource).Delete(b.t.Context(), "cp1", now))
			}
		}, []string{"node-reports", "units"}},
		{stale, nodeReports, func(b *chaosCluster, healthy bool) {
			if healthy {
				b.report("w2", "active")
			}
		}, []string{"node-reports", "units"}},
		{"DNS has no endpoint", endpointSlices, func(b *chaosCluster, healthy bool) {
			slices := b.client.DiscoveryV1().EndpointSlices("kube-system")
			_, err := slices.Update(b.t.Context(), endpoints(healthy), metav1.UpdateOptions{})
			b.must(err)
		}, []string{"dns"}},
	}
}

func ready(healthy bool) corev1.ConditionStatus {
	if healthy {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// stale is a defect that begins staleAfter before it is visible: at the last heartbeat of w2.
const (
	stale  = "a report is stale"
	silent = "a host reports for the last time"
)

// chaosCluster is the cluster of the engines. It is healthy at the start.
type chaosCluster struct {
	*testCluster

	mu    sync.Mutex
	hosts map[string]string // reporting hosts, with the state of their kubelet

	dynamic   dynamic.Interface
	transport http.RoundTripper // to the API server
}

// report writes the report of a host with the state of its kubelet.
func (b *chaosCluster) report(host, kubelet string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hosts[host] = kubelet
	b.heartbeat(host)
}

// silence stops the reports of a host.
func (b *chaosCluster) silence(host string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.hosts, host)
}

// beats sends a report of each host every minute.
func (b *chaosCluster) beats(ctx context.Context) {
	for sleep(ctx, time.Minute); ctx.Err() == nil; sleep(ctx, time.Minute) {
		b.mu.Lock()
		for host := range b.hosts {
			b.heartbeat(host)
		}
		b.mu.Unlock()
	}
}

func (b *chaosCluster) heartbeat(host string) {
	kubelet := b.hosts[host]
	r := report(b.t, host, nodereport.Report{Heartbeat: metav1.NowMicro(), Units: []nodereport.Unit{{Name: "kubelet.service", State: kubelet}}})
	reports := b.dynamic.Resource(nodereport.Resource)
	was, err := reports.Get(b.t.Context(), host, metav1.GetOptions{})
	if err != nil {
		_, err = reports.Create(b.t.Context(), r, metav1.CreateOptions{})
		b.must(err)
		return
	}
	r.SetResourceVersion(was.GetResourceVersion())
	_, err = reports.Update(b.t.Context(), r, metav1.UpdateOptions{})
	b.must(err)
}

// change is a step in the script of the cluster.
type change struct {
	at      time.Duration
	defect  defect
	healthy bool
}

func (c change) String() string {
	return fmt.Sprintf("%s: %s: %s", c.at.Round(time.Millisecond), c.defect.name, map[bool]string{true: "healthy", false: "broken"}[c.healthy])
}

// newScript breaks and repairs the cluster in turn, for longer than the bound or for a moment, by
// one defect or by two that overlap. The state at its end is random.
func newScript(seed uint64, pace pace) []change {
	random := rand.New(rand.NewPCG(seed, 7))
	length := func() time.Duration {
		if random.IntN(3) == 0 {
			return pace.bound/20 + time.Duration(random.Int64N(int64(pace.bound/2)))
		}
		return pace.bound + pace.slack + time.Duration(random.Int64N(int64(pace.bound)))
	}
	var script []change
	at, free := time.Second, staleAfter // free is when w2 reports permanently
	for at < pace.length {
		some := slices.DeleteFunc(defects(), func(a defect) bool { return a.name == stale && at-staleAfter < free })
		first, second := pick(random, some...), pick(random, some...)
		if first.name == stale {
			script = append(script, change{at - staleAfter, defect{silent, nodeReports, func(b *chaosCluster, _ bool) { b.report("w2", "active"); b.silence("w2") }, nil}, true})
			second = first
		}
		script = append(script, change{at, first, false})
		broken := length()
		if first.name == stale {
			free = at + broken + time.Minute
		}
		if second.name != first.name && second.name != stale && random.IntN(2) == 0 {
			script = append(script, change{at + broken/2, second, false}, change{at + broken/2, first, true}, change{at + broken, second, true})
		} else {
			script = append(script, change{at + broken, first, true})
		}
		at += broken + length()
	}
	if last := script[len(script)-1]; last.defect.name != stale && random.IntN(2) == 0 && last.healthy {
		script = script[:len(script)-1]
	}
	slices.SortStableFunc(script, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	return script
}

// past has the lists of each kind after each change.
type past struct {
	mu    sync.Mutex
	lists map[kind][][]byte
}

// note adds the current list of a kind.
func (p *past) note(b *chaosCluster, k kind) {
	list, err := b.dynamic.Resource(sources[k].resource).List(b.t.Context(), metav1.ListOptions{})
	b.must(err)
	text, err := json.Marshal(list)
	b.must(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lists[k] = append(p.lists[k], text)
}

// before returns the newest list that is older than a version and than the last change.
func (p *past) before(k kind, version uint64) ([]byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lists := p.lists[k]
	for i := len(lists) - 2; i >= 0; i-- {
		if versionIn(lists[i]) < version {
			return lists[i], true
		}
	}
	return nil, false
}
