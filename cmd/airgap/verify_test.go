package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui/uitest"
	"airgap.dev/airgap/verify/apitest"
)

// TestVerify runs the command against a real API server with one node.
func TestVerify(t *testing.T) {
	server := apitest.Start(t)
	c := &oneNode{t: t, client: server.Client(t), dir: t.TempDir()}
	ca := filepath.Join(c.dir, "ca.crt")
	data, err := os.ReadFile(server.Config.CAFile)
	if err == nil {
		err = host.WriteFile(ca, data, 0o644)
	}
	if err == nil {
		err = host.WriteFile(filepath.Join(c.dir, "kubeconfig"), fmt.Appendf(nil, `{apiVersion: v1, kind: Config, current-context: a,
clusters: [{name: a, cluster: {server: %q, certificate-authority: %q}}], users: [{name: a, user: {token: %q}}], contexts: [{name: a, context: {cluster: a, user: a}}]}`,
			server.Config.Host, ca, server.Config.BearerToken), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.ready(corev1.ConditionTrue)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *oneNode)
	}{
		{"baseline", savesAndCompares},
		{"page", writesPage},
		{"nothing there", nothingThere},
		{"no answer", timeIsForAll},
		{"watch as JSON", watchesAsJSON},
		{"watch on a terminal", watchesOnTerminal},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, &oneNode{t, c.client, c.dir}) })
	}
}

// oneNode is a cluster of one node, and the files to reach it.
type oneNode struct {
	t      *testing.T
	client kubernetes.Interface
	dir    string
}

func (c *oneNode) ready(status corev1.ConditionStatus) {
	c.t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1"}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, Reason: "Tested"}}
	_, _ = c.client.CoreV1().Nodes().Create(c.t.Context(), n, metav1.CreateOptions{}) // exists after the first call
	if _, err := c.client.CoreV1().Nodes().UpdateStatus(c.t.Context(), n, metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *oneNode) args(more ...string) []string {
	return append([]string{"verify", "--kubeconfig", filepath.Join(c.dir, "kubeconfig"), "--registry", "127.0.0.1:1", "--ca", filepath.Join(c.dir, "ca.crt")}, more...)
}

func (c *oneNode) nodesReady(more ...string) []string {
	return c.args(append([]string{"--only", "nodes-ready"}, more...)...)
}

// verify runs the command with one rule, and checks the exit code.
func (c *oneNode) verify(code int, more ...string) (stdout, stderr string) {
	c.t.Helper()
	return c.run(code, c.nodesReady(more...))
}

func (c *oneNode) run(code int, args []string) (stdout, stderr string) {
	c.t.Helper()
	var out, progress bytes.Buffer
	if got := run(c.t.Context(), args, nil, &out, &progress); got != code {
		c.t.Errorf("%q: exit code %d, want %d\n%s%s", args, got, code, out.String(), progress.String())
	}
	return out.String(), progress.String()
}

func savesAndCompares(t *testing.T, c *oneNode) {
	c.ready(corev1.ConditionFalse)
	file, metrics := filepath.Join(t.TempDir(), "before.json"), filepath.Join(t.TempDir(), "airgap.prom")
	_, said := c.verify(exitcode.Verify, "--timeout", "2s", "--soak", "1s", "--baseline", verification.SaveBaseline, file, "--textfile", metrics)
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o644 || !strings.Contains(said, "before.json (1 node, 0 workloads, 1 finding)") {
		t.Fatalf("the baseline: %v, %v\n%s", info, err, said)
	}
	if text, err := os.ReadFile(metrics); err != nil || !strings.Contains(string(text), "\nairgap_verify_ok 0\n") {
		t.Errorf("%s, %v", text, err)
	}
	if shown, _ := c.verify(exitcode.OK, "--soak", "100ms", "--baseline", verification.CompareBaseline, file); !strings.Contains(shown, "known   Node w1: not Ready: Tested") {
		t.Errorf("compared:\n%s", shown)
	}
	c.ready(corev1.ConditionTrue)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Replace(data, []byte(`"cluster": "`), []byte(`"cluster": "x`), 1)
	if err := host.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	shown, said := c.verify(exitcode.Failed, "--baseline", verification.CompareBaseline, file)
	if shown != "" || !strings.Contains(said, "it is of another cluster (x") || !strings.Contains(said, "hint: name this cluster's baseline") {
		t.Errorf("another cluster's baseline:\n%s%s", shown, said)
	}
}

func writesPage(t *testing.T, c *oneNode) {
	page, _ := c.verify(exitcode.OK, "--soak", "100ms", "--output", "html")
	for _, want := range []string{"The cluster is healthy", "127.0.0.1:", "<td>v1.", verification.CurrentUser(), `<td class="outcome ok">`} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not on the page:\n%s", want, page)
		}
	}
}

// nothingThere runs rules without objects in this cluster, and a namespace that does not exist.
func nothingThere(t *testing.T, c *oneNode) {
	for _, rule := range []string{"certificates", "etcd", "units", "data-plane", "gpus", "pods"} {
		file := filepath.Join(t.TempDir(), "airgap.prom")
		shown, _ := c.run(exitcode.Verify, c.args("--only", rule, "--timeout", "1s", "--soak", "100ms", "--textfile", file))
		if !strings.Contains(shown, "unseen  ") || !strings.Contains(shown, "fix:  ") || !strings.Contains(shown, "It is unknown if the cluster is healthy (1 rule unseen)") {
			t.Errorf("%s:\n%s", rule, shown)
		}
		metrics, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(metrics), `rule_holds{rule="`+rule) || !strings.Contains(string(metrics), `rule_unseen{rule="`+rule+`"} 1`) {
			t.Errorf("%s: %v\n%s", rule, err, metrics)
		}
	}
	shown, said := c.run(exitcode.Failed, c.args("--only", "pods", "--namespace", "shpo"))
	if shown != "" || !strings.Contains(said, "verify the namespace shpo: the cluster does not have it") || !strings.Contains(said, "hint: kubectl get namespaces") {
		t.Errorf("a namespace that does not exist:\n%s%s", shown, said)
	}
}

// timeIsForAll uses an API server that does not answer: requests before the verification count toward
// --timeout, too.
func timeIsForAll(t *testing.T, c *oneNode) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Appendf(nil, `{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: %q}}], contexts: [{name: a, context: {cluster: a}}]}`, silent.URL)
	if err := host.WriteFile(path, config, 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c.run(exitcode.Verify, c.args("--kubeconfig", path, "--only", "pods", "--namespace", "shop", "--timeout", "4s", "--soak", "1s"))
	if took := time.Since(began); took > 7*time.Second {
		t.Errorf("it took %s", took)
	}
}

// watchesAsJSON ends after the event healthy.
func watchesAsJSON(t *testing.T, c *oneNode) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	w := &waiting{Writer: &out, text: `"event":"healthy"`, then: cancel}
	if code := run(ctx, c.nodesReady("--watch", "--output", "json"), nil, w, io.Discard); code != exitcode.OK {
		t.Errorf("exit code %d", code)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var last struct {
		Event  string
		Report struct{ OK bool }
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Event != "result" || !last.Report.OK || len(lines) != 2 {
		t.Errorf("%v in\n%s", err, out.String())
	}
}

// waiting calls then when the text is written.
type waiting struct {
	io.Writer
	text string
	then func()
}

func (w *waiting) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(w.text)) {
		w.then()
	}
	return w.Writer.Write(p)
}

// watchesOnTerminal shows the rules below the changes, and leaves the changes and the result.
func watchesOnTerminal(t *testing.T, c *oneNode) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tty := uitest.New(t)
	ended := make(chan int)
	go func() { ended <- run(ctx, c.nodesReady("--watch"), tty.File, tty.File, tty.File) }()
	tty.Await(t, "all rules have been ok for")
	c.ready(corev1.ConditionFalse)
	tty.Await(t, "broken  nodes-ready: Node w1: not Ready: Tested; want: Ready")
	tty.Await(t, "not all rules are ok")
	cancel()
	if code := <-ended; code != exitcode.Verify {
		t.Errorf("exit code %d, want %d", code, exitcode.Verify)
	}
	screen := tty.Screen()
	if !strings.Contains(screen, "The cluster is not healthy (1 finding)") || strings.Contains(screen, "all rules have been ok") || strings.Count(screen, "nodes-ready: Node w1") != 1 {
		t.Errorf("left on the screen:\n%s", screen)
	}
	c.ready(corev1.ConditionTrue)
}
