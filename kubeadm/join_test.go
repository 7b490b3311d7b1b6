package kubeadm

import (
	"context"
	"io"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
)

func TestJoin(t *testing.T) {
	f, m := newFake(t)
	a := newAPI(t)
	withKubeadm(t, f, m, a)
	f.put(t, clusterCA, a.ca())
	material, err := Material(m, section(t, `version: 1.36.3`))
	if err != nil {
		t.Fatal(err)
	}
	if len(material.CACertHashes) != 1 || len(material.CACertHashes[0]) != len("sha256:")+64 || material.APIServer != "192.0.2.11:6443" {
		t.Errorf("got %+v", material)
	}

	material.APIServer = a.Listener.Addr().String()

	f, m = newFake(t)
	withKubeadm(t, f, m, a)
	const code = "abcdef.0123456789abcdef"
	join, asked, seen := f.answers["kubeadm join"], 0, ""
	f.answers["kubeadm join --config /dev/stdin"] = func(c host.Cmd) ([]byte, error) {
		text, err := io.ReadAll(c.Stdin)
		if seen = string(text); err != nil {
			t.Error(err)
		}
		if left := f.holding(t, "0123456789"); len(left) > 0 {
			t.Errorf("the code is in %v, which stay when airgap is killed now", left)
		}
		return join(c)
	}
	s := Join(m, section(t, `version: 1.36.3`), Node{Name: "w1", Address: "192.0.2.21"}, material, func(context.Context) (string, error) {
		asked++
		return code, nil
	})
	mustHold(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s.Done, true)
	if !strings.Contains(seen, code) || !strings.Contains(seen, material.CACertHashes[0]) {
		t.Errorf("kubeadm read\n%s", seen)
	}
	if strings.Contains(strings.Join(f.calls, " "), "0123456789") || len(f.holding(t, "0123456789")) > 0 {
		t.Error("the code was left in a file or given as an argument")
	}
	if err := s.Run(t.Context()); err != nil || asked != 1 {
		t.Errorf("a joined host asked for a code again (%d times): %v", asked, err)
	}
}

func TestJoinRefuses(t *testing.T) {
	up := newAPI(t).Listener.Addr().String()
	gone := newAPI(t)
	gone.Close()
	hashes := []string{"sha256:00"}
	for name, tc := range map[string]struct {
		material JoinMaterial
		code     string
		says     string
	}{
		"no CA hash": {JoinMaterial{APIServer: up}, "abcdef.0123456789abcdef", "lacks the hash"},
		"bad code":   {JoinMaterial{APIServer: up, CACertHashes: hashes}, "ABCDEF", "that is no code"},
		"no server":  {JoinMaterial{APIServer: gone.Listener.Addr().String(), CACertHashes: hashes}, "abcdef.0123456789abcdef", "reach the API server"},
	} {
		t.Run(name, func(t *testing.T) {
			f, m := newFake(t)
			s := Join(m, section(t, `version: 1.36.3`), Node{Name: "w1"}, tc.material, func(context.Context) (string, error) { return tc.code, nil })
			err := s.Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), tc.code) || len(f.calls) > 0 {
				t.Errorf("got %v, ran %v", err, f.calls)
			}
		})
	}
}
