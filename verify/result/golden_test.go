package result

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

var update = flag.Bool("update", false, "write the golden files")

// upgraded is a cluster after an upgrade with faults, compared with a baseline.
func upgraded() Report {
	r := broken()
	day := r.Began
	r.About = About{Cluster: "bank", Server: "10.0.0.10:6443", Version: "v1.36.3", Program: "0.9.0", By: "kim on cp1"}
	r.Rules = append(r.Rules,
		RuleResult{"data-plane", "Pods on every node answer", Known, 0, "", ""},
		RuleResult{"restarts", "No container restarted since the baseline", Broken, 2, "", ""},
		RuleResult{"since", "No fault occurred since the given time", Broken, 1, "w2 has no events", ""})
	r.Findings = append(r.Findings,
		Finding{
			Rule:   "restarts",
			Object: "DaemonSet kube-system/kube-proxy, container kube-proxy",
			Saw:    "3 restarts since the baseline, in kube-proxy-abcde, kube-proxy-fghij",
			Want:   "none",
			Since:  day,
			Fix:    "kubectl logs --previous",
		},
		Finding{Rule: "restarts", Object: "Pod kube-system/etcd-cp1, container etcd", Saw: "1 restart since the baseline, in etcd-cp1", Want: "none", Since: day},
		Finding{Rule: "since", Object: "Node w1", Saw: "its Ready turned True: KubeletReady", Want: "no such event", Since: day.Add(-30 * time.Hour), Fix: "journalctl"})
	r.Baseline = &Comparison{
		Taken: day.Add(-2 * time.Hour),
		Known: []Finding{{Rule: "data-plane", Object: "name kubernetes.default", Saw: "no answer from w1", Want: "an answer from every node", Since: day, Fix: "look at CoreDNS"}},
		Changed: []Difference{
			{
				"image",
				"registry.k8s.io/kube-proxy:v1.35.4@sha256:" + strings.Repeat("a", 64),
				"registry.k8s.io/kube-proxy:v1.36.3@sha256:" + strings.Repeat("b", 64),
				[]string{"DaemonSet kube-system/kube-proxy, container kube-proxy"},
			},
			{"kubelet", "v1.35.4", "v1.36.3", []string{"Node cp1", "Node w1", "Node w2", "Node w3", "Node w4"}},
			{"workload", "", isNew, []string{"Deployment kube-system/metrics"}},
		},
	}
	return r
}

// well is a healthy cluster.
func well() Report {
	r := Report{OK: true, Began: broken().Began, Took: 7 * time.Second, Counts: Counts{Nodes: 1, Pods: 9, Workloads: 3, Images: 8}}
	r.Rules = []RuleResult{
		{"nodes-ready", "Nodes are Ready", OK, 0, "", ""},
		{"gpus", "GPUs on the PCI bus work and are schedulable", LeftOut, 0, "no host has GPUs", ""},
		{"clocks", "The hosts' clocks agree with this computer's", LeftOut, 0, "too early: the lease of w1 was renewed less than twice", ""},
	}
	r.Kinds = []KindResult{{"nodes", 2.5, 0, 0, 0}, {"pods", 61, 3, 2, 1}}
	return r
}

func TestGolden(t *testing.T) {
	for name, r := range map[string]Report{"broken": broken(), "upgraded": upgraded(), "well": well()} {
		golden(t, name+".txt", r.WriteText)
		golden(t, name+".xml", r.WriteJUnit)
		golden(t, name+".html", r.WriteHTML)
		golden(t, name+".prom", textfile(t, r))
	}
}

// textfile returns a function that writes the metrics file.
func textfile(t *testing.T, r Report) func(io.Writer) error {
	return func(w io.Writer) error {
		path := filepath.Join(t.TempDir(), "a.prom")
		if err := r.WriteTextfile(path); err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	}
}

func golden(t *testing.T, name string, render func(io.Writer) error) {
	t.Helper()
	got := written(t, render)
	path := filepath.Join("testdata/golden", name)
	if *update {
		if err := host.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test ./verify/result -update writes it):\n%s", path, got)
	}
}

// TestTextfile overwrites the metrics of an earlier run and reads them like Prometheus.
func TestTextfile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "airgap.prom")
	r := upgraded()
	r.Rules[0].ID = "a \"rule\"\nwith\\all"
	for _, one := range []Report{well(), r} {
		if err := one.WriteTextfile(path); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(f)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"airgap_verify_ok": 0, "airgap_verify_nodes": 2, "airgap_verify_known_findings": 1, "airgap_verify_last_run_timestamp_seconds": 1795248090} {
		if f := families[name]; f == nil || f.GetHelp() == "" || f.GetMetric()[0].GetGauge().GetValue() != want {
			t.Errorf("%s: got %v, want %v", name, f, want)
		}
	}
	holds := map[string]float64{}
	for _, m := range families["airgap_verify_rule_holds"].GetMetric() {
		holds[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
	}
	_, judged := holds["images"]
	_, known := holds["data-plane"]
	if judged || known || len(holds) != 4 || holds[r.Rules[0].ID] != 1 || holds["pods"] != 0 {
		t.Errorf("rule_holds: got %v, want no value for unseen and known rules", holds)
	}
	info, err := f.Stat()
	left, _ := os.ReadDir(dir)
	if err != nil || info.Mode().Perm() != 0o644 || len(left) != 1 {
		t.Errorf("got mode %s, %v, files in the directory: %v", info.Mode(), err, left)
	}
	if err := r.WriteTextfile(filepath.Join(dir, "nowhere", "x.prom")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the directory: got %v, want ErrNotExist", err)
	}
}

// TestHTMLEscapesText: text from containers and kubelets must not become markup.
func TestHTMLEscapesText(t *testing.T) {
	const hostile = `"'><script>alert(1)</script><img src=x onerror=alert(2)></style></title>{{.}}` + "`javascript:alert(3)//"
	r := upgraded()
	r.About = About{hostile, hostile, hostile, hostile, hostile, []string{hostile}}
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Object, f.Saw, f.Want, f.Fix = hostile, hostile, hostile, hostile
	}
	r.Baseline.Known = slices.Clone(r.Findings)
	r.Baseline.Changed = []Difference{{hostile, hostile, hostile, []string{hostile}}}
	page := written(t, r.WriteHTML)
	for _, never := range []string{"<script", "<img", "onerror=alert(2)></style>"} {
		if bytes.Contains(page, []byte(never)) {
			t.Errorf("the page has %q", never)
		}
	}
	if n := bytes.Count(page, []byte("&lt;script&gt;alert(1)")); n < 20 {
		t.Errorf("got the text %d times, want at least 20", n)
	}
	if bytes.Contains(page, []byte("://")) {
		t.Error("the page has a URL")
	}
}

// TestJUnitCounts compares the counts of the suite with its cases.
func TestJUnitCounts(t *testing.T) {
	var suite ui.Suite
	if err := xml.Unmarshal(written(t, upgraded().WriteJUnit), &suite); err != nil {
		t.Fatal(err)
	}
	if suite.Tests != 6 || suite.Failures != 3 || suite.Errors != 1 || suite.Cases[3].Output == "" || !strings.Contains(suite.Output, "v1.35.4 → v1.36.3") {
		t.Errorf("got %+v", suite)
	}
}
