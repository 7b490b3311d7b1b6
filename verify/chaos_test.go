package verify

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/verify/nodereport"
	"airgap.dev/airgap/verify/result"
)

// TestChaos runs an engine behind a proxy with random faults, while the cluster breaks and is
// repaired. The seed determines the faults. The reports must be right, for the whole cluster and
// for each rule: never ok if a defect is older than the bound, and never broken if the cluster
// has been healthy for that long. After all faults, the engine must report the right state.
//
// The clock is fake and the API server is in memory (TestMemoryServer compares it with the real
// one). So a seed uses the real bounds of the engine, covers twenty minutes, and takes a second.
// TestChaosRealServer uses the real API server and the real clock.
//
// AIRGAP_CHAOS_SEEDS sets the number of seeds, AIRGAP_CHAOS_SEED a single seed. Two runs with the
// same seed may differ: simultaneous requests have no fixed order.
func TestChaos(t *testing.T) {
	var own bounds
	own.fill()
	slow := pace{bound: own.silent, slack: 5 * time.Second, length: 20 * time.Minute}
	var all chaosFigures
	t.Run("seeds", func(t *testing.T) {
		for _, seed := range chaosSeeds(t) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { all.add(memoryChaosCluster(t, newMemoryServer()).chaos(slow, own, seed)) })
			})
		}
	})
	all.check(t)
}

// TestChaosRealServer is TestChaos with a real API server, in real time and with a short bound. On a
// busy machine, reports may be as late as the server.
func TestChaosRealServer(t *testing.T) {
	t.Parallel()
	quick := pace{bound: 3 * time.Second, slack: 2 * time.Second, length: 15 * time.Second, mark: 300 * time.Millisecond}
	var all chaosFigures
	all.add(realChaosCluster(t).chaos(quick, bounds{down: time.Second, silent: 3 * time.Second, renew: 2 * time.Second}, 0, 1, 2, 3, 4, 5, 6, 7))
	all.check(t)
}

func chaosSeeds(t *testing.T) []uint64 {
	if one := os.Getenv("AIRGAP_CHAOS_SEED"); one != "" {
		seed, err := strconv.ParseUint(one, 10, 64)
		if err != nil {
			t.Fatalf("AIRGAP_CHAOS_SEED: %v", err)
		}
		return []uint64{seed}
	}
	count := 30
	if many := os.Getenv("AIRGAP_CHAOS_SEEDS"); many != "" {
		var err error
		if count, err = strconv.Atoi(many); err != nil {
			t.Fatalf("AIRGAP_CHAOS_SEEDS: %v", err)
		}
	}
	seeds := make([]uint64, count)
	for i := range seeds {
		seeds[i] = uint64(i)
	}
	return seeds
}

// realChaosCluster creates the cluster in a real API server.
func realChaosCluster(t *testing.T) *chaosCluster {
	b := &chaosCluster{testCluster: newTestCluster(t), hosts: map[string]string{}}
	var err error
	b.dynamic, err = dynamic.NewForConfig(b.server.Config)
	b.must(err)
	b.nodeReports(b.dynamic)
	b.createReport(b.dynamic, report(t, "cp1", nodereport.Report{Heartbeat: metav1.NowMicro()})) // waits until the API server serves the kind
	transport, err := rest.TransportFor(b.server.Config)
	b.must(err)
	to, err := url.Parse(b.server.Config.Host)
	b.must(err)
	b.transport = through(func(r *http.Request) (*http.Response, error) {
		r.URL.Scheme, r.URL.Host = to.Scheme, to.Host
		return transport.RoundTrip(r)
	})
	b.more(300 * time.Millisecond)
	return b
}

// memoryChaosCluster creates the cluster in a server in memory.
func memoryChaosCluster(t *testing.T, server *memoryServer) *chaosCluster {
	network := newMemoryNet()
	end := network.serve(server)
	transport := network.transport()
	t.Cleanup(func() {
		time.Sleep(time.Minute) // a reflector that waits after a 429 checks its context later
		transport.CloseIdleConnections()
		end()
	})
	b := &chaosCluster{testCluster: &testCluster{t: t}, hosts: map[string]string{}}
	b.transport = through(func(r *http.Request) (*http.Response, error) {
		r.URL.Scheme, r.URL.Host = "http", "memory"
		return transport.RoundTrip(r)
	})
	config := &rest.Config{Host: "http://memory", Transport: b.transport, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"}}
	var err error
	b.client, err = kubernetes.NewForConfig(config)
	b.must(err)
	b.dynamic, err = dynamic.NewForConfig(config)
	b.must(err)
	b.fill()
	b.more(10 * time.Second)
	return b
}

// more adds two nodes. Each node gets a report and a kubelet that renews its Lease. Leaders renew
// theirs. All Leases have the durations of Kubernetes.
func (b *chaosCluster) more(renewed time.Duration) {
	holds := func(namespace, name string, duration int32, pause time.Duration) {
		l := lease(namespace, name, time.Now())
		l.Spec.LeaseDurationSeconds = &duration
		b.lease(l)
		b.renews(namespace, name, pause)
	}
	for _, component := range electing() {
		holds(metav1.NamespaceSystem, component, 15, min(renewed, 2*time.Second))
	}
	holds(corev1.NamespaceNodeLease, "cp1", 40, renewed)
	for _, host := range []string{"w1", "w2"} {
		b.node(node(host, corev1.ConditionTrue))
		holds(corev1.NamespaceNodeLease, host, 40, renewed)
		for namespace, name := range map[string]string{"kube-system": "kube-proxy", "kube-flannel": "kube-flannel-ds"} {
			owner, err := b.client.AppsV1().DaemonSets(namespace).Get(b.t.Context(), name, metav1.GetOptions{})
			b.must(err)
			b.pod(pod(namespace, name+"-"+host, host, ownedBy(string(owner.UID))))
		}
		b.report(host, "active")
	}
	b.report("cp1", "active")
}

// engineRun is one engine behind its proxy.
type engineRun struct {
	seed    uint64
	options Options
	proxy   *chaosProxy
	oracle  *oracle
}

// chaos runs the script of the first seed, with one engine for each seed.
func (b *chaosCluster) chaos(pace pace, bounds bounds, seeds ...uint64) *chaosFigures {
	ctx, end := context.WithCancel(b.t.Context())
	var running sync.WaitGroup
	script, lists, truth, canary := newScript(seeds[0], pace), &past{lists: map[kind][][]byte{}}, newTruths(), &canary{}
	for _, k := range chaosKinds() {
		lists.note(b, k)
	}
	if b.server != nil {
		running.Go(func() { canary.run(ctx, b.t, b.client) })
	}
	running.Go(func() { b.beats(ctx) })
	var engineRuns []*engineRun
	for _, seed := range seeds {
		g := &engineRun{seed: seed, proxy: newChaosProxy(b.transport, newPlan(seed, pace, script), lists), oracle: newOracle(pace, truth, canary)}
		g.options = Options{
			API: g.proxy.config(), Nodes: []string{"cp1", "w1", "w2"}, NodeReports: true, Only: chaosRules(), Workloads: []string{"Deployment kube-system/coredns"},
			Soak: pace.bound / 10, Timeout: pace.bound, bounds: bounds,
		}
		engineRuns = append(engineRuns, g)
		running.Go(func() { g.run(ctx) })
	}
	began := time.Now()
	for _, c := range script {
		sleep(ctx, time.Until(began.Add(c.at)))
		truth.step(b, c)
		lists.note(b, c.defect.kind)
	}
	settle(b.t, engineRuns, pace, began.Add(script[len(script)-1].at+time.Second))
	end()
	running.Wait()
	figures := &chaosFigures{}
	for _, g := range engineRuns {
		g.proxy.close()
		figures.add(g.figures(b.t))
	}
	return figures
}

// settle waits until each engine reports the right state after the last fault.
func settle(t *testing.T, engineRuns []*engineRun, pace pace, from time.Time) {
	patience := 2*time.Minute + 4*pace.bound
	for limit := from.Add(patience); time.Now().Before(limit); time.Sleep(100 * time.Millisecond) {
		if !slices.ContainsFunc(engineRuns, func(g *engineRun) bool { return !g.oracle.settled(from) }) {
			return
		}
	}
	for _, g := range engineRuns {
		if !g.oracle.settled(from) {
			t.Errorf("seed %d: no right report for %s after the last fault; the last one is %+v\n%s", g.seed, patience, g.oracle.said, g.again())
		}
	}
}

// run watches with even seeds. With odd seeds, it runs one verification after the other.
func (g *engineRun) run(ctx context.Context) {
	if g.seed%2 == 1 {
		for ctx.Err() == nil {
			g.proxy.forget()
			if r, err := Run(ctx, g.options); err == nil {
				g.oracle.checkReport(r)
			}
		}
		return
	}
	o := g.options
	o.Timeout, o.Watch, o.Seen = 0, func(result.Event) {}, g.oracle.checkReport
	var looking sync.WaitGroup
	defer looking.Wait()
	looking.Go(func() {
		for ctx.Err() == nil {
			sleep(ctx, 200*time.Millisecond)
			g.oracle.look()
		}
	})
	_, _ = Run(ctx, o)
}

// chaosFigures are the results of some seeds.
type chaosFigures struct {
	mu         sync.Mutex
	seeds, bad int
	faults     map[fault]int
	outcomes   map[result.Outcome]int
	wrong      map[string]int // seeds
	longest    time.Duration
}

func (f *chaosFigures) add(g *chaosFigures) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seeds, f.bad, f.longest = f.seeds+g.seeds, f.bad+g.bad, max(f.longest, g.longest)
	f.faults, f.outcomes, f.wrong = sum(f.faults, g.faults), sum(f.outcomes, g.outcomes), sum(f.wrong, g.wrong)
}

func sum[K comparable](a, b map[K]int) map[K]int {
	if a == nil {
		a = map[K]int{}
	}
	for k, n := range b {
		a[k] += n
	}
	return a
}

func (f *chaosFigures) String() string {
	text := fmt.Sprintf("%d seeds, %d with a wrong report; longest time to a right report %s\n", f.seeds, f.bad, f.longest.Round(time.Millisecond))
	return text + "faults: " + counted(f.faults) + "\nreports: " + counted(f.outcomes) + "\nseeds with a wrong report: " + counted(f.wrong)
}

// check logs the figures. It fails if no engine ever reported ok, or none reported broken.
func (f *chaosFigures) check(t *testing.T) {
	t.Log(f)
	if f.seeds > 1 && (f.outcomes[result.OK] == 0 || f.outcomes[result.Broken] == 0) {
		t.Error("no engine ever reported the cluster as ok, or none as broken")
	}
}

func counted[K ~string](of map[K]int) string {
	text := ""
	for _, k := range slices.Sorted(maps.Keys(of)) {
		text += fmt.Sprintf("%s %d, ", k, of[k])
	}
	return text
}

// figures reports the errors of an engine, and how to reproduce them.
func (g *engineRun) figures(t *testing.T) *chaosFigures {
	o := g.oracle
	o.mu.Lock()
	defer o.mu.Unlock()
	f := &chaosFigures{seeds: 1, faults: g.proxy.faults(), outcomes: o.outcomes, wrong: map[string]int{}, longest: o.longest}
	for sort := range o.wrong {
		f.bad, f.wrong[sort] = 1, 1
	}
	for _, words := range o.first {
		t.Errorf("seed %d: %s\n%s", g.seed, words, g.again())
	}
	return f
}

// again returns the plan of the proxy, and the command that reproduces it.
func (g *engineRun) again() string {
	return fmt.Sprintf("%s\nthis seed only: AIRGAP_CHAOS_SEED=%d go test ./verify -run 'TestChaos$' -count=1 -v", g.proxy.plan, g.seed)
}
