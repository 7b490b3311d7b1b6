package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/verify/result"
)

// TestRun runs its cases in order on one cluster in a real API server. Each case leaves the cluster
// healthy.
func TestRun(t *testing.T) {
	b := newTestCluster(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *testCluster)
	}{
		{"healthy", isHealthy},
		{"becomes healthy", becomesHealthy},
		{"stays broken", staysBroken},
		{"breaks within the soak window", breaksInSoak},
		{"never completes the soak window", neverSoaks},
		{"an image is missing, then pushed", imageBrought},
		{"no permission", forbidden},
		{"interrupted", interrupted},
		{"API server lost and available again", apiServerBack},
		{"API server lost permanently", apiServerGone},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(t, &testCluster{t, b.server, b.client})
		})
	}
}

func isHealthy(t *testing.T, b *testCluster) {
	o := b.options()
	o.ImageExists = func(context.Context, string, string) (bool, error) { return true, nil }
	listed := 0
	o.Listed = func() { listed++ }
	r := b.verify(o)
	if !r.OK || len(r.Findings) > 0 {
		t.Fatalf("findings %+v", r.Findings)
	}
	if listed != 1 {
		t.Errorf("Listed was called %d times", listed)
	}
	if want := (result.Counts{Nodes: 1, Pods: 6, Workloads: 3, Images: 1}); r.Counts != want {
		t.Errorf("looked at %+v, want %+v", r.Counts, want)
	}
	if r.Took < o.Soak || r.Took > o.Soak+10*time.Second {
		t.Errorf("took %s with a soak window of %s", r.Took, o.Soak)
	}
	// No host sends a NodeReport, Calico is not installed, there are no webhooks, and no kubelet
	// renews a Lease.
	okRules := []string{
		apiServer, "nodes-ready", "node-leases", "nodes-pressure", "nodes-schedulable", "kubelet-versions", "control-plane", "leaders",
		"system-workloads", "system-pods", "terminating", "dns", "images",
	}
	for _, rule := range r.Rules {
		want := result.LeftOut
		if slices.Contains(okRules, rule.ID) {
			want = result.OK
		}
		if rule.Outcome != want || (rule.Why == "") != (want == result.OK) {
			t.Errorf("%s: %s (%s), want %s", rule.ID, rule.Outcome, rule.Why, want)
		}
	}
}

func becomesHealthy(t *testing.T, b *testCluster) {
	b.node(node("cp1", corev1.ConditionFalse, controlPlaneNode))
	b.deployment(0)
	o, said := b.listening()
	said.on("coredns: 0 of 2 pods available", func() {
		b.deployment(2)
		b.node(node("cp1", corev1.ConditionTrue, controlPlaneNode))
	})
	if r := b.verify(o); !r.OK {
		t.Fatalf("findings %+v", r.Findings)
	}
	said.want(t, "Node cp1: not Ready: KubeletNotReady: cni plugin not initialized", "Nodes are Ready: ok")
}

func staysBroken(t *testing.T, b *testCluster) {
	b.pod(pod("kube-system", "kube-scheduler-cp1", "cp1", waiting("ImagePullBackOff", "not found")))
	defer b.pod(pod("kube-system", "kube-scheduler-cp1", "cp1"))
	o, said := b.listening()
	o.Nodes = []string{"cp1", "w1"}
	o.Timeout = 3 * time.Second
	said.on("kube-scheduler-cp1: container main: ImagePullBackOff: not found", func() {
		b.pod(pod("kube-system", "kube-scheduler-cp1", "cp1", waiting("CrashLoopBackOff", "back-off 10s")))
	})
	r := b.verify(o)
	if r.OK {
		t.Fatal("the cluster is reported as ok")
	}
	// The report has the last state.
	crash := "container main: CrashLoopBackOff: back-off 10s"
	wantSaw(t, r.Findings,
		Finding{Object: "Node w1", Saw: "it has not joined"},
		Finding{Object: "Pod kube-system/kube-scheduler-cp1", Saw: crash},
		Finding{Object: "Pod kube-system/kube-scheduler-cp1", Saw: crash})
	for _, f := range r.Findings {
		if f.Since.Before(r.Began) || f.Fix == "" {
			t.Errorf("%s: since %s (verified from %s), fix %q", f.Object, f.Since, r.Began, f.Fix)
		}
	}
}

func breaksInSoak(t *testing.T, b *testCluster) {
	o, said := b.listening()
	o.Soak = 2500 * time.Millisecond
	said.on("Nodes are Ready: ok", func() {
		time.Sleep(1200 * time.Millisecond) // it is ok for a while
		b.deployment(1)
		time.AfterFunc(300*time.Millisecond, func() { b.deployment(2) })
	})
	r := b.verify(o)
	if !r.OK || r.Took < o.Soak+time.Second {
		t.Errorf("ok %v after %s: the soak window did not start again", r.OK, r.Took)
	}
}

func neverSoaks(t *testing.T, b *testCluster) {
	o := b.options()
	o.Soak, o.Timeout = time.Minute, 2*time.Second
	r := b.verify(o)
	if r.OK || len(r.Findings) != 1 || r.Findings[0].Rule != "soak" || !strings.Contains(r.Findings[0].Saw, "have been ok for") {
		t.Errorf("ok %v, findings %+v", r.OK, r.Findings)
	}
}

func imageBrought(t *testing.T, b *testCluster) {
	var asked atomic.Int32
	o, said := b.listening()
	o.ImageExists = func(_ context.Context, repository, digest string) (bool, error) {
		if repository != "registry.k8s.io/kube-proxy" || !strings.HasPrefix(digest, "sha256:aaa") {
			return false, fmt.Errorf("asked for %s@%s", repository, digest)
		}
		switch n := asked.Add(1); {
		case n == 1:
			return false, errors.New("connection refused")
		case n < 4:
			return false, nil
		}
		return true, nil
	}
	if r := b.verify(o); !r.OK {
		t.Fatalf("findings %+v", r.Findings)
	}
	said.want(t, "it is not in the registry; it runs in kube-flannel/", "Every running image is in the registry: ok")
	if n := asked.Load(); n != 4 {
		t.Errorf("the registry was asked %d times, want 4: a found image is not checked again", n)
	}
}

func forbidden(t *testing.T, b *testCluster) {
	config := rest.CopyConfig(b.server.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "visitor"}
	o := b.options()
	o.API, o.Timeout = config, 2*time.Second
	r := b.verify(o)
	if r.OK || len(r.Findings) == 0 {
		t.Errorf("ok %v, findings %+v", r.OK, r.Findings)
	}
	for _, f := range r.Findings {
		if !strings.Contains(f.Saw, "forbidden") || f.Rule != "api-server" || !strings.Contains(f.Fix, "--verb=list,watch --resource=") {
			t.Errorf("findings %+v", f)
		}
	}
	for _, rule := range r.Rules[1:] {
		if rule.Outcome == result.OK || rule.Outcome == result.LeftOut && !strings.HasPrefix(rule.Why, "the cluster does not have nodereports") {
			t.Errorf("%s: %s (%s) although it could read nothing", rule.ID, rule.Outcome, rule.Why)
		}
	}
}

func interrupted(t *testing.T, b *testCluster) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	o := b.options()
	o.Soak = time.Minute
	if r, err := Run(ctx, o); !errors.Is(err, context.DeadlineExceeded) || r.OK {
		t.Errorf("got %v, ok %v", err, r.OK)
	}
}

// apiServerBack changes the cluster while the engine cannot see it.
func apiServerBack(t *testing.T, b *testCluster) {
	o, said := b.listening()
	o.Soak = 3 * time.Second
	said.on("Nodes are Ready: ok", b.server.Stop)
	said.on("The API server answers: not yet", func() {
		b.server.Restart(b.t)
		b.must(b.client.CoreV1().Pods("kube-system").Delete(b.t.Context(), "kube-scheduler-cp1", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	})
	said.on("kube-scheduler-cp1: it does not exist", func() { b.pod(pod("kube-system", "kube-scheduler-cp1", "cp1")) })
	if r := b.verify(o); !r.OK {
		t.Fatalf("findings %+v", r.Findings)
	}
	said.want(t, "The API server answers: not yet", "The API server answers: ok", "kube-scheduler-cp1: it does not exist")
}

func apiServerGone(t *testing.T, b *testCluster) {
	o, said := b.listening()
	o.Soak, o.Timeout = time.Minute, 5*time.Second
	said.on("Nodes are Ready: ok", b.server.Stop)
	r := b.verify(o)
	if r.OK || len(r.Findings) != 1 || r.Findings[0].Rule != "api-server" {
		t.Fatalf("ok %v, findings %+v", r.OK, r.Findings)
	}
	if i := slices.IndexFunc(r.Rules, func(r result.RuleResult) bool { return r.Outcome == result.OK }); i >= 0 {
		t.Errorf("%s is ok although the cluster cannot be seen", r.Rules[i].ID)
	}
	if r.Counts.Nodes != 1 {
		t.Errorf("the counts of the last view are lost: %+v", r.Counts)
	}
}

// listening returns options with a progress that the test can wait for.
func (b *testCluster) listening() (Options, *progressLog) {
	s := &progressLog{Progress: ui.Discard(), react: map[string]func(){}}
	o := b.options()
	o.Progress = s
	b.t.Cleanup(s.reactions.Wait)
	return o, s
}

// progressLog records the progress, and reacts to a line once.
type progressLog struct {
	ui.Progress
	mu        sync.Mutex
	lines     []string
	react     map[string]func()
	reactions sync.WaitGroup
}

func (s *progressLog) on(part string, f func()) { s.react[part] = f }

func (s *progressLog) Say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := fmt.Sprintf(format, args...)
	s.lines = append(s.lines, line)
	for part, f := range s.react {
		if strings.Contains(line, part) {
			delete(s.react, part)
			s.reactions.Go(f)
		}
	}
}

func (s *progressLog) want(t *testing.T, parts ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, part := range parts {
		if !strings.Contains(strings.Join(s.lines, "\n"), part) {
			t.Errorf("no line contains %q:\n%s", part, strings.Join(s.lines, "\n"))
		}
	}
}

func (s *progressLog) wantNever(t *testing.T, part string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines {
		if strings.Contains(line, part) {
			t.Errorf("unexpected line %q", line)
		}
	}
}
