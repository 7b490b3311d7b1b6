package verify

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/verify/apitest"
	"airgap.dev/airgap/verify/result"
)

// TestEmptyCluster uses a real API server with only its default objects.
func TestEmptyCluster(t *testing.T) {
	server := apitest.Start(t)
	o := Options{API: server.Config, Timeout: 5 * time.Second, Soak: 300 * time.Millisecond}
	r, err := Run(t.Context(), o)
	if err != nil || r.OK {
		t.Fatalf("ok %v, %v", r.OK, err)
	}
	for _, rule := range r.Rules[1:] {
		if rule.Outcome == result.OK {
			t.Errorf("%s is ok", rule.ID)
		}
		o.Only = append(o.Only, rule.ID)
	}
	if r, err = Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for _, rule := range r.Rules[1:] {
		if rule.Outcome != result.Broken && (rule.Outcome != result.Unseen || rule.Why == "" || rule.Fix == "") {
			t.Errorf("chosen: %+v", rule)
		}
	}
	t.Run("namespaces", func(t *testing.T) { oddNamespaces(t, &testCluster{t, server, server.Client(t)}) })
}

// oddNamespaces checks a namespace that does not exist, an empty one, and one that the user is not
// allowed to get.
func oddNamespaces(t *testing.T, b *testCluster) {
	b.mayRead("tenant", "shop", "list", "watch")
	tenant := rest.CopyConfig(b.server.Config)
	tenant.Impersonate = rest.ImpersonationConfig{UserName: "tenant"}
	seen := func(o Options) result.RuleResult {
		t.Helper()
		r := b.verify(o)
		if r.OK {
			t.Errorf("ok in %v: %+v", o.Scope, r.Rules)
		}
		return ruleOf(t, r, "pods")
	}
	o := Options{API: b.server.Config, Scope: []string{"shpo"}, Timeout: 2 * time.Second, Soak: 300 * time.Millisecond}
	if got := seen(o); got.Outcome != result.Unseen || got.Why != "namespace shpo does not exist" {
		t.Errorf("namespace that does not exist: %+v", got)
	}
	o.Scope = []string{"shop"}
	if got := seen(o); got.Outcome != result.LeftOut || got.Why != "no pods outside of the system namespaces" {
		t.Errorf("empty namespace: %+v", got)
	}
	o.API = tenant
	if got := seen(o); got.Outcome != result.Unseen || !strings.HasPrefix(got.Why, "namespace shop is empty") {
		t.Errorf("namespace that seems empty: %+v", got)
	}
	_, err := b.client.CoreV1().Nodes().Create(t.Context(), node("cp1", corev1.ConditionTrue), metav1.CreateOptions{})
	b.must(err)
	b.pod(pod("shop", "cart", "cp1"))
	if r := b.verify(o); !r.OK || ruleOf(t, r, "pods").Outcome != result.OK {
		t.Errorf("namespace with a pod: ok %v, %+v, findings %+v", r.OK, r.Rules, r.Findings)
	}
}

// TestLearnsAgain: during a session, a node is removed from the list of the site, and a namespace of
// the scope is created.
func TestLearnsAgain(t *testing.T) {
	t.Parallel()
	b := newTestCluster(t)
	var w wire
	o, said := b.listening()
	o.API, o.Only, o.refresh = w.on(o.API), []string{"nodes-ready"}, 50*time.Millisecond
	removed := make(chan struct{})
	o.Facts = func(context.Context) Facts {
		select {
		case <-removed:
			return Facts{Nodes: []string{"cp1"}}
		default:
			return Facts{Nodes: []string{"cp1", "w9"}}
		}
	}
	said.on("Node w9: it has not joined", func() { close(removed) })
	if r := b.verify(o); !r.OK {
		t.Errorf("findings %+v", r.Findings)
	}
	if n := w.count("/api/v1/nodes"); n != 1 {
		t.Errorf("nodes were requested %d times", n)
	}
	o, said = b.listening()
	o.Only, o.Scope, o.refresh, o.Nodes = []string{"pods"}, []string{"shop"}, 50*time.Millisecond, nil
	said.on("namespace shop does not exist", func() {
		b.mayRead("nobody", "shop", "list")
		b.pod(pod("shop", "cart", "cp1"))
	})
	if r := b.verify(o); !r.OK {
		t.Errorf("findings %+v, rules %+v", r.Findings, r.Rules)
	}
}

func ruleOf(t *testing.T, r result.Report, id string) result.RuleResult {
	t.Helper()
	for _, rule := range r.Rules {
		if rule.ID == id {
			return rule
		}
	}
	t.Fatalf("rule %s is missing in %+v", id, r.Rules)
	return result.RuleResult{}
}

// TestUnknownRules: an unknown rule and an empty list of rules are errors.
func TestUnknownRules(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1:1"}
	var all []string
	for _, r := range Rules() {
		all = append(all, r.ID)
	}
	for want, o := range map[string]Options{
		`rule "nodes-redy" does not exist`: {Only: []string{"nodes-redy"}},
		`rule "since" does not exist`:      {Only: []string{"since"}},
		"no rule is left":                  {Skip: all},
	} {
		o.API = config
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
