package result

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func savedBaseline(t *testing.T) []byte {
	t.Helper()
	s := Snapshot{
		Nodes:      map[string]NodeState{"w1": {Roles: []string{}}},
		Workloads:  map[string]WorkloadState{},
		Containers: map[string]ContainerState{"Pod kube-system/etcd-w1, container main": {Images: []string{}, Pods: map[string]PodState{"etcd-w1": {"etcd-w1", "w1", 3}}}},
	}
	r := broken()
	r.Snapshot, r.KnownFindings = &s, []KnownFinding{{r.Findings[0], "Pod of Deployment kube-system/coredns"}}
	var b bytes.Buffer
	if err := NewBaseline(r, "uid-1").Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWriteAndReadBaseline(t *testing.T) {
	b, err := ReadBaseline(bytes.NewReader(savedBaseline(t)))
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := b.Write(&again); err != nil || !bytes.Equal(again.Bytes(), savedBaseline(t)) {
		t.Errorf("after a second write: got\n%s, %v", again.Bytes(), err)
	}
	if b.Cluster != "uid-1" || !b.Taken.Equal(broken().Began.Add(90*time.Second)) || b.Findings[0].Object != "Pod kube-system/coredns" || b.OK {
		t.Errorf("read %+v", b)
	}
	if NewBaseline(Report{}, "x") != nil {
		t.Error("got a baseline of a report without a snapshot")
	}
}

func TestReadBaselineRefuses(t *testing.T) {
	complete := string(savedBaseline(t))
	for name, tc := range map[string]struct{ text, want string }{
		"empty":         {"", "the file is empty"},
		"truncated":     {complete[:len(complete)/2], "damaged"},
		"trailing data": {complete + "{}", "damaged"},
		"a report":      {string(must(json.Marshal(broken()))), `kind "", want "VerifyBaseline"`},
		"another kind":  {`{"kind": "Cluster"}`, `kind "Cluster"`},
		"newer":         {strings.Replace(complete, "v1alpha1", "v2", 1), `apiVersion "airgap.dev/v2"`},
		"null":          {"null", "not a baseline of airgap verify"},
		"list":          {"[]", "not a baseline"},
		"no cluster":    {strings.Replace(complete, "uid-1", "", 1), "the cluster, the time or the snapshot is missing"},
		"no snapshot":   {strings.Replace(complete, `"snapshot"`, `"x"`, 1), "the cluster, the time or the snapshot is missing"},
		"not a number":  {strings.Replace(complete, `"restarts": 3`, `"restarts": "x"`, 1), "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ReadBaseline(strings.NewReader(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
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
