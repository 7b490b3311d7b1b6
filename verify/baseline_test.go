package verify

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func savedBaseline(t *testing.T) []byte {
	t.Helper()
	s := seen(t, node("w1", corev1.ConditionTrue), pod("kube-system", "etcd-w1", "w1", of("Node", "w1"), restarted(3))).snapshot()
	r := broken()
	r.snapshot, r.lasting = &s, []KnownFinding{{r.Findings[0], "Pod of Deployment kube-system/coredns"}}
	var b bytes.Buffer
	if err := NewBaseline(r, "uid-1").Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestBaselineComesBack(t *testing.T) {
	b, err := ReadBaseline(bytes.NewReader(savedBaseline(t)))
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := b.Write(&again); err != nil || !bytes.Equal(again.Bytes(), savedBaseline(t)) {
		t.Errorf("came back as\n%s, %v", again.Bytes(), err)
	}
	if b.Cluster != "uid-1" || !b.Taken.Equal(broken().Began.Add(90*time.Second)) || b.Findings[0].Object != "Pod kube-system/coredns" || b.OK {
		t.Errorf("read %+v", b)
	}
	if NewBaseline(Report{}, "x") != nil {
		t.Error("a baseline of a cluster that was never seen")
	}
}

func TestReadBaselineRefuses(t *testing.T) {
	whole := string(savedBaseline(t))
	for name, tc := range map[string]struct{ text, want string }{
		"empty":          {"", "it is empty"},
		"cut":            {whole[:len(whole)/2], "damaged"},
		"more behind":    {whole + "{}", "damaged"},
		"a verdict":      {string(must(json.Marshal(broken()))), `kind "", want "VerifyBaseline"`},
		"another kind":   {`{"kind": "Cluster"}`, `kind "Cluster"`},
		"newer":          {strings.Replace(whole, "v1alpha1", "v2", 1), `apiVersion "airgap.dev/v2"`},
		"null":           {"null", "no baseline of airgap verify"},
		"list":           {"[]", "no baseline"},
		"no cluster":     {strings.Replace(whole, "uid-1", "", 1), "the cluster, the time or the snapshot is missing"},
		"no snapshot":    {strings.Replace(whole, `"snapshot"`, `"x"`, 1), "the cluster, the time or the snapshot is missing"},
		"another number": {strings.Replace(whole, `"restarts": 3`, `"restarts": "x"`, 1), "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ReadBaseline(strings.NewReader(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// FuzzReadBaseline wants what could be read to be usable: no part of it is
// missing.
func FuzzReadBaseline(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"airgap.dev/v1alpha1","kind":"VerifyBaseline","cluster":"x","taken":"2026-11-21T08:00:00Z","snapshot":{"nodes":{},"workloads":{},"containers":{"a":{}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := ReadBaseline(bytes.NewReader(data))
		if err != nil {
			return
		}
		v := seen(t, node("w1", corev1.ConditionTrue), pod("kube-system", "x", "w1"))
		stillThere(b).judge(v)
		noRestarts(b).judge(v)
		differences(b.Snapshot, v.snapshot())
		b.know(v, "pods", []Finding{{Object: "Pod kube-system/x"}})
	})
}
