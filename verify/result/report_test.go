package result

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/ui"
)

func broken() Report {
	since := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	return Report{
		Began: since, Took: 90 * time.Second,
		Rules: []RuleResult{
			{"nodes-ready", "Nodes are Ready", OK, 0, "", ""},
			{"pods", "System pods run", Broken, 1, "", ""},
			{"images", "Images are there", Unseen, 0, "nothing runs", "airgap status"},
		},
		Findings: []Finding{{Rule: "pods", Object: "Pod kube-system/coredns", Saw: "a <broken> \"message\"", Want: "ready", Since: since, Fix: "kubectl logs"}},
		Counts:   Counts{Nodes: 2, Pods: 12, Workloads: 3, Images: 8},
	}
}

func written(t *testing.T, write func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWriteText(t *testing.T) {
	want := `ok      Nodes are Ready
broken  System pods run
        Pod kube-system/coredns: a <broken> "message"
          want: ready, broken since 08:00:00
          fix:  kubectl logs
unseen  Images are there (nothing runs)
          fix:  airgap status

The cluster is not healthy (1 finding, 1 rule unseen) after 1m30s: 2 nodes, 12 pods, 3 workloads, 8 images
`
	if got := string(written(t, broken().WriteText)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestJSON(t *testing.T) {
	var got struct {
		OK          bool
		TookSeconds float64
		Findings    []Finding
		Rules       []RuleResult
	}
	data, err := json.Marshal(broken())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got.OK || got.TookSeconds != 90 || len(got.Rules) != 3 || got.Findings[0].Saw != broken().Findings[0].Saw {
		t.Errorf("got %+v", got)
	}
}

func TestWriteJUnit(t *testing.T) {
	out := written(t, broken().WriteJUnit)
	var suite ui.Suite
	if err := xml.Unmarshal(out, &suite); err != nil {
		t.Fatal(err)
	}
	if suite.Tests != 3 || suite.Failures != 1 || suite.Errors != 1 || len(suite.Cases) != 3 {
		t.Errorf("counts are %+v", suite)
	}
	if f := suite.Cases[1].Failure; f == nil || !strings.Contains(f.Text, "kubectl logs") || f.Message != `Pod kube-system/coredns: a <broken> "message"` {
		t.Errorf("failure is %+v", f)
	}
}
