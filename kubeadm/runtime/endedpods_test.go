package runtime

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

// TestEndedPods checks that only the last container of the last attempt is reported, and not
// containers that stopped earlier or other pods.
func TestEndedPods(t *testing.T) {
	f, m := hosttest.New(t)
	now := time.Now().Add(-time.Hour)
	var list []string
	for id, c := range map[string]struct {
		name string
		at   time.Duration
	}{
		"old":   {"kube-apiserver", -time.Hour},
		"first": {"kube-apiserver", 2 * time.Minute},
		"last":  {"kube-apiserver", 3 * time.Minute},
		"dns":   {"coredns", 3 * time.Minute},
		"etcd":  {"etcd", -time.Minute},
	} {
		list = append(list, fmt.Sprintf(`{"id":%q,"metadata":{"name":%q},"createdAt":"%d"}`, id, c.name, now.Add(c.at).UnixNano()))
	}
	f.Answers["crictl --runtime-endpoint unix://"+containerd().socket+" ps --all --state Exited"] = func(host.Cmd) ([]byte, error) {
		return []byte(`{"containers":[` + strings.Join(list, ",") + `]}`), nil
	}
	f.Answers["sh -c exec crictl"] = func(c host.Cmd) ([]byte, error) {
		return []byte("container " + c.Args[len(c.Args)-1] + ": unknown flag\n"), nil
	}
	if got := ExitedContainers(t.Context(), m, time.Now()); got != "" {
		t.Errorf("before the first container: %q", got)
	}
	want := "kube-apiserver has exited; its last log lines:\ncontainer last: unknown flag"
	if got := ExitedContainers(t.Context(), m, now); got != want {
		t.Errorf("got %q", got)
	}
	err := Explain(t.Context(), m, host.Failure{What: "kubeadm upgrade", Err: errors.New("timed out"), Ended: ExitedContainers(t.Context(), m, now)})
	if err == nil || !strings.HasSuffix(err.Error(), "\n"+want) {
		t.Errorf("got %v", err)
	}
}
